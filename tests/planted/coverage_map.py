"""Which tests execute which line, and what each costs: measured once by coverage, kept as JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path

from planting import PACKAGE

# Tests of what the mutants change. Those that quote the source would notice any edit (`test_bugs`), and those of a
# browser, a GPU, a cluster's clock or the documents notice little and take long.
SUITES = (
    *("tests/privacy", "tests/engine/cpu", "tests/engine/disk", "tests/estimators", "tests/algorithms"),
    *("tests/learning", "tests/data", "tests/golden", "tests/test_evaluation.py", "tests/test_planning.py"),
    *(
        "tests/audit/checks",
        "tests/audit/oracles",
        "tests/audit/test_run.py",
        "tests/model",
        "tests/cli/test_budget_command.py",
    ),
    *(f"src/dpsparse/{name}" for name in ("privacy", "engine", "estimators", "algorithms", "learning", "data")),
)
ENGINE_TESTS = tuple(
    f"tests/engine/test_{name}.py"
    for name in ("differences", "errors", "quantize", "queries", "regrets", "vector_sums", "protocols")
)
LEFT_OUT = ("test_dask.py", "test_gpu_fits.py", "test_notebook.py")
# Compiled loops run unseen by coverage: whoever runs the caller runs them.
CALLERS = {
    "engine/cpu/numba_kernels.py": ("engine/cpu/dense_rows.py", "engine/cpu/sparse_rows.py", "engine/cpu/dispatch.py")
}


def collect(root, folder):
    """Run the suites once under coverage; write and return the map.

    Parameters
    ----------
    root : path
        A checkout.
    folder : path
        Where the measurements and ``map.json`` go.
    """
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(root).resolve() / "src"), str(Path(__file__).parent)]),
        "COVERAGE_FILE": str(folder / "coverage"),
        "DPSPARSE_OUTCOMES": str(folder / "outcomes.jsonl"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "outcomes"]
    command += [
        "--cov",
        "--cov-context=test",
        "--cov-report=",
        "-m",
        "(not slow or hypothesis) and not long and not cuda",
    ]
    command += [f"--ignore-glob=*/{name}" for name in LEFT_OUT]
    subprocess.run([*command, *SUITES, *ENGINE_TESTS], cwd=root, env=environment, check=False, timeout=4 * 3600)
    return _write(root, folder)


def _write(root, folder):
    from coverage import CoverageData

    costs = {}
    for line in (folder / "outcomes.jsonl").read_text().splitlines():
        test = json.loads(line)
        if test["passed"]:
            costs[test["test"]] = test["seconds"]
    data = CoverageData(str(folder / "coverage"))
    data.read()
    names = sorted(costs)
    numbers = {name: number for number, name in enumerate(names)}
    package = Path(root).resolve() / PACKAGE
    files = {}
    for path in data.measured_files():
        if not Path(path).is_relative_to(package):
            continue
        lines = {}
        for line, contexts in data.contexts_by_lineno(path).items():
            found = {numbers[name] for name in (context.partition("|")[0] for context in contexts) if name in numbers}
            if found:
                lines[line] = sorted(found)
        files[Path(path).relative_to(package).as_posix()] = lines
    written = {"tests": names, "seconds": [costs[name] for name in names], "files": files}
    (folder / "map.json").write_text(json.dumps(written))
    return Map(folder)


class Map:
    """The tests of a line, read from a folder that `collect` filled."""

    def __init__(self, folder):
        self._folder = Path(folder)
        read = json.loads((self._folder / "map.json").read_text())
        self.names = read["tests"]
        self.seconds = dict(zip(self.names, read["seconds"], strict=True))
        self._files = {
            file: {int(line): set(tests) for line, tests in lines.items()} for file, lines in read["files"].items()
        }

    def drop(self, tests):
        """Leave out some tests, in the file too."""
        path = self._folder / "map.json"
        read = json.loads(path.read_text())
        numbers = {self.names.index(test) for test in tests}
        for lines in read["files"].values():
            for line, known in lines.items():
                lines[line] = [number for number in known if number not in numbers]
        path.write_text(json.dumps(read))
        self.__init__(self._folder)

    def tests_of(self, mutant):
        """The tests that execute a mutant's statement; of its file, where it runs at import or is compiled.

        Those of its module come first, then those of its folder, each from the cheapest on.
        """
        lines = self._files.get(mutant.file, {})
        tests = set().union(*(lines.get(line, ()) for line in range(mutant.lines[0], mutant.lines[1] + 1)))
        if not tests:
            for file in CALLERS.get(mutant.file, (mutant.file,)):
                tests |= set().union(*self._files.get(file, {}).values())
        folder, _, name = mutant.file.removesuffix(".py").rpartition("/")
        near = [f"{PACKAGE}/{mutant.file}", f"tests/{folder}/test_{name}.py", f"tests/{folder}/"]
        ordered = sorted((self.names[test] for test in tests), key=lambda test: (self.seconds[test], test))
        return sorted(ordered, key=lambda test: next((k for k, start in enumerate(near) if test.startswith(start)), 3))

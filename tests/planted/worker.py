"""One mutant or bug at a time, in forked children that have the libraries loaded and not yet the package."""

import contextlib
import importlib
import json
import math
import os
import resource
import shutil
import signal
import sys
import time
from functools import partial
from pathlib import Path

from planting import PACKAGE, planted

HERE = Path(__file__).parent
# Loaded once, before any child: most of a short test's time.
LIBRARIES = (
    *("numpy", "scipy.stats", "scipy.sparse", "sklearn.utils.estimator_checks", "sklearn.model_selection", "numba"),
    *("pandas", "hypothesis.strategies", "sqlalchemy", "opendp.prelude", "click.testing", "rich", "joblib", "pytest"),
    *("dp_accounting", "pyarrow.parquet", "_pytest.doctest", "psycopg", "sqlalchemy.dialects.sqlite.pysqlite"),
)
# A child is given this many times the tests' own time of the processor, and some to begin; by the clock, many times
# more: a loaded machine is no reason to call a mutant noticed.
PATIENCE, BEGIN, BY_THE_CLOCK = 3, 25, 12
# Seconds of the processor for all checks of the audit; the games on whole fits take longest, and come last.
HUNT, SLOWEST = 3_600, "fit games"
# What pytest's exit status says of a mutant; 1 or 2 are of tests that fail or cannot be imported.
BROKEN = 70
ENDED = {0: "survived", 3: "error", 4: "error", 5: "error", BROKEN: "error"}


class Worker:
    """A copy of the checkout in which mutants live, one after the other.

    Parameters
    ----------
    copy : path
        The copy.
    results : path
        The file to append to.
    budget : float
        Seconds of tests to spend on a mutant.
    """

    def __init__(self, copy, results, budget):
        self.copy, self.results, self.budget = copy, results, budget
        for library in LIBRARIES:
            with contextlib.suppress(ImportError):
                importlib.import_module(library)

    def start(self, mutant, tests, seconds):
        """Fork a child that tries a mutant; give its process id."""
        child = os.fork()
        if child:
            return child
        try:
            began = time.perf_counter()
            status, by = self.tried(mutant, tests, seconds)
            result = {"key": mutant.key, "status": status, "by": by, "seconds": round(time.perf_counter() - began, 1)}
            line = json.dumps({**result, "mutant": str(mutant)}) + "\n"
            with open(self.results, "a") as file:
                file.write(line)
            print(f"{status:10s} {result['seconds']:6.1f} s {mutant}  {by}", flush=True)
        finally:
            os._exit(0)

    def tried(self, mutant, tests, seconds):
        """How a mutant ended, and by which test: killed, timeout, survived, no test, or error of this program."""
        if not tests:
            return "no test", ""
        with planted(mutant, self.copy / PACKAGE):
            for stage in stages(tests, seconds, self.budget):
                limit = PATIENCE * sum(seconds.get(test, 1.0) for test in stage) + BEGIN
                status, by = self._run(partial(self._be_pytest, stage, "-x"), limit)
                if status != "survived":
                    return status, by
        return "survived", f"{len(tests)} tests"

    def failing(self, tests, seconds):
        """The tests that fail here without any mutant: they would call every mutant noticed."""
        self._run(partial(self._be_pytest, tests, "--maxfail=0"), PATIENCE * sum(seconds.values()) + BEGIN)
        passed = {line["test"] for line in self._outcomes() if line["passed"]}
        return [test for test in tests if test not in passed]

    def hunted(self, bug):
        """The check of the audit that noticed a bug, None for none, and what it saw; the likeliest is asked first."""
        with planted(bug, self.copy / PACKAGE):
            status, by = self._run(partial(self._be_audit, bug.check), HUNT)
        seen = [line["seen"] for line in self._outcomes()] if status == "killed" else [f"{status} {by}"]
        return (by if status == "killed" else None), seen[0]

    def _run(self, be, limit):
        """Fork a child that is something else from then on; how it ended, and which test or check failed first."""
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
            self._become(be)
        # pytest may end before what it started; a mutant may make a loop endless.
        until = time.monotonic() + BY_THE_CLOCK * limit
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < until:
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if ended[0] == 0:
            os.waitpid(child, 0)
            return "timeout", "clock"
        code = os.waitstatus_to_exitcode(ended[1])
        if code == -signal.SIGXCPU:
            return "timeout", "processor"
        if code in ENDED:
            return ENDED[code], ""
        failed = [line for line in self._outcomes() if not line["passed"]]
        return "killed", failed[0]["test"] if failed else f"exit status {code}"

    def _outcomes(self):
        path = self.copy / "outcomes.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def _become(self, be):
        try:
            os.chdir(self.copy)
            (self.copy / "outcomes.jsonl").unlink(missing_ok=True)
            os.environ.update(
                PYTHONPATH=os.pathsep.join([str(self.copy / "src"), str(HERE)]),
                PYTHONDONTWRITEBYTECODE="1",
                DPSPARSE_CHOSEN=str(self.copy / "chosen.txt"),
                DPSPARSE_OUTCOMES=str(self.copy / "outcomes.jsonl"),
            )
            sys.path[:] = [str(self.copy / "src"), *(path for path in sys.path if not _is_package(path))]
            sys.dont_write_bytecode = True
            log = os.open(self.copy / "log.txt", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os._exit(int(be()))
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(BROKEN)

    def _be_pytest(self, stage, stop):
        import pytest

        temporary = self.copy / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        (self.copy / "chosen.txt").write_text("\n".join(stage))
        files = list(dict.fromkeys(test.partition("::")[0] for test in stage))
        options = [stop, "-q", "-p", "no:cacheprovider", "-p", "outcomes", "-m", "not cuda"]
        # Those loaded before the fork.
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        return pytest.main([*options, f"--basetemp={temporary}", f"--rootdir={self.copy}", *files])

    def _be_audit(self, likeliest):
        from dpsparse.audit.run import CHECKS, run_check

        for name in sorted(CHECKS, key=lambda name: (name != likeliest, name == SLOWEST)):
            for finding in run_check(name):
                if not finding.good:
                    outcome = {"test": name, "passed": False, "seen": f"{finding.mechanism}: {finding.found}"}
                    (self.copy / "outcomes.jsonl").write_text(json.dumps(outcome) + "\n")
                    return 1
        return 0


def _is_package(path):
    return (Path(path) / "dpsparse").is_dir()


def stages(tests, seconds, budget):
    """Cut tests into a quick stage and the rest, up to a budget of seconds; the order is kept within a stage."""
    quick, rest, spent = [], [], 0.0
    for test in tests:
        cost = seconds.get(test, 1.0)
        if spent + cost > budget:
            continue
        spent += cost
        (quick if spent < 2 and len(quick) < 100 else rest).append(test)
    return [stage for stage in (quick, rest) if stage]

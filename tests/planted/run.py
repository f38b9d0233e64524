"""Plant changes in the package's source and see who notices.

``python tests/planted/run.py --results FOLDER --bugs`` plants bugs, which break the guarantee: a check of the audit
must notice each. ``python tests/planted/run.py --results FOLDER --sample 200 --seed 1`` tries mutants: a test must.

Of mutants the first run measures which tests execute which line (about a quarter of an hour). Each change lives in a
copy of the checkout and is tried in forked children. A mutant meets the tests of its folder first, then all others that
execute its line, cheapest first, until one fails. Results of mutants are appended to ``FOLDER/results.jsonl``; a run
that was stopped goes on where it was.
"""

import argparse
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from bugs.all import BUGS
from coverage_map import Map, collect
from mutants import all_mutants
from planting import StaleEdit
from worker import Worker

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EQUIVALENT, NOTICED = HERE / "equivalent.json", HERE / "noticed.json"
UNNOTICED = ("survived", "no test")
# An edit that cannot run would be noticed by anything, and shows nothing.
BROKEN_EDIT = re.compile(r"\b(NameError|AttributeError|UnboundLocalError|ImportError|SyntaxError)\b")


def wilson(successes, trials, z=1.96):
    """The 95 % interval of Wilson for a share.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(95, 100)]
    [0.888, 0.978]
    """
    if not trials:
        return 0.0, 1.0
    share = successes / trials
    center, width = share + z * z / (2 * trials), z * math.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    scale = 1 + z * z / trials
    return (center - width) / scale, (center + width) / scale


def stratified(mutants, size, seed):
    """A random sample in which every file has its share, and at least one."""
    chance = random.Random(seed)
    files = {}
    for mutant in mutants:
        files.setdefault(mutant.file, []).append(mutant)
    sample = []
    for _, of_file in sorted(files.items()):
        share = size * len(of_file) / len(mutants)
        count = max(1, math.floor(share) + (chance.random() < share % 1))
        sample += chance.sample(of_file, min(count, len(of_file)))
    chance.shuffle(sample)
    return sample


def argued():
    """The changes that are argued to change nothing that matters: {(file, function, text, change): reason}."""
    entries = json.loads(EQUIVALENT.read_text())
    return {(entry["file"], entry["function"], entry["line"], entry["change"]): entry["reason"] for entry in entries}


def name_of(mutant):
    """How the committed list names a mutant."""
    return mutant.file, mutant.function, mutant.text, mutant.change


def results_in(folder):
    """The newest result of each mutant; those that could not be tried are left out."""
    path = Path(folder) / "results.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {result["key"]: result for result in map(json.loads, lines) if result["status"] != "error"}


def print_score(mutants, results):
    """Print the score of these mutants, and each that was not noticed and is not argued."""
    reasons = argued()
    tried = [mutant for mutant in mutants if mutant.key in results]
    counts = Counter(results[mutant.key]["status"] for mutant in tried)
    unnoticed = [mutant for mutant in tried if results[mutant.key]["status"] in UNNOTICED]
    equivalent = [mutant for mutant in unnoticed if name_of(mutant) in reasons]
    left = [mutant for mutant in unnoticed if name_of(mutant) not in reasons]
    trials = len(tried) - len(equivalent)
    low, high = wilson(trials - len(left), trials)
    for mutant in left:
        print(f"{results[mutant.key]['status']}: {mutant}")
    print(f"{len(tried)} of {len(mutants)} mutants tried: " + ", ".join(f"{n} {word}" for word, n in counts.items()))
    print(f"{len(equivalent)} argued equivalent, {len(left)} unnoticed")
    if trials:
        print(f"score {(trials - len(left)) / trials:.1%} (95 % interval {low:.1%} to {high:.1%})")
    return left


def copied(folder):
    """A copy of the source, the tests and what these read, to be changed; with what was compiled of them."""
    for name in ("src", "tests", "docs", "benchmarks"):
        # A file with a temporary name may be gone by the time that it is copied.
        leave = shutil.ignore_patterns("*.pyc.*", "*.tmp.*", "_build", ".*")
        shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True, ignore=leave)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy2(path, folder / path.name)
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", folder / "src", folder / "tests"], check=True, timeout=600
    )
    return folder


def run(mutants, tests, folder, *, jobs, budget, until):
    """Try mutants in up to `jobs` children at a time, and append their results."""
    slots = [Worker(copied(folder / f"copy{number}"), folder / "results.jsonl", budget) for number in range(jobs)]
    waiting, running = list(mutants), {}
    while running or (waiting and time.time() < until):
        if waiting and slots and time.time() < until:
            mutant, slot = waiting.pop(0), slots.pop()
            running[slot.start(mutant, tests.tests_of(mutant), tests.seconds)] = slot
        else:
            child, _ = os.waitpid(-1, 0)
            slots.append(running.pop(child))


def still_noticed(folder):
    """Try the committed few, each with the one test that is to notice it; give those that are not noticed."""
    mutants, lost = {name_of(mutant): mutant for mutant in all_mutants(ROOT)}, []
    worker = Worker(copied(folder / "copy"), folder / "results.jsonl", math.inf)
    for entry in json.loads(NOTICED.read_text()):
        name = tuple(entry[part] for part in ("file", "function", "line", "change"))
        status = worker.tried(mutants[name], [entry["test"]], {})[0] if name in mutants else "no longer in the source"
        print(f"{status}: {name}", flush=True)
        lost += [name] if status != "killed" else []
    return lost


def hunt(bugs, folder, tests=None):
    """Plant bugs one by one and print who notices; give those that none of some tests does, or not the expected check.

    Parameters
    ----------
    bugs : sequence of Bug
        What to plant.
    folder : Path
        For the copy of the checkout.
    tests : list of str or None
        The tests that are to notice; None for the checks of the audit.
    """
    worker, lost = Worker(copied(folder / "copy"), folder / "results.jsonl", math.inf), []
    for bug in bugs:
        try:
            by, seen = worker.hunted(bug) if tests is None else worker.tried(bug, tests, {})
        except StaleEdit as stale:
            by, seen = None, str(stale)
        good = by == (bug.check if tests is None else "killed") and not BROKEN_EDIT.search(seen)
        print(f"{'noticed' if good else 'LOST'}: {bug.name} | {by}: {seen}", flush=True)
        lost += [] if good else [bug]
    print(f"{len(bugs) - len(lost)} of {len(bugs)} bugs are noticed as expected")
    return lost


def _measured(folder):
    """The map of the tests, without those that fail in a forked child for reasons of their own."""
    tests = collect(ROOT, folder)
    failing = Worker(copied(folder / "copy0"), folder / "results.jsonl", math.inf).failing(tests.names, tests.seconds)
    print(f"{len(tests.names)} tests, {len(failing)} of them left out: {failing}", flush=True)
    tests.drop(failing)
    return tests


def _wanted(bug, options):
    named = not options.bugs or any(part in bug.name for part in options.bugs)
    return named and options.check in (None, bug.check)


def main():
    """Parse the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", required=True, type=Path, help="folder of the measurements and results")
    parser.add_argument("--sample", type=int, help="try this many, every file its share; all without it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", nargs="*", default=[], help="parts of file names, such as accounting/gdp")
    parser.add_argument("--only", nargs="*", default=[], help="keys of mutants, to try again")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=float, default=120, help="seconds of tests for one mutant")
    parser.add_argument("--minutes", type=float, default=12 * 60, help="start no mutant after this time")
    parser.add_argument("--score", action="store_true", help="print the score of the results, try nothing")
    parser.add_argument("--noticed", action="store_true", help="try the few that CI tries, and nothing else")
    parser.add_argument("--bugs", nargs="*", help="hunt bugs; all, or those whose name has one of these parts")
    parser.add_argument("--check", help="of these bugs, those that this check of the audit is to notice")
    parser.add_argument("--tests", nargs="*", help="the tests that are to notice these bugs, not the audit")
    options = parser.parse_args()
    if options.bugs is not None:
        wanted = [bug for bug in BUGS if _wanted(bug, options)]
        sys.exit(bool(hunt(wanted, options.results.resolve(), options.tests)))
    if options.noticed:
        sys.exit(bool(still_noticed(options.results.resolve())))
    mutants = all_mutants(ROOT, options.files)
    if options.sample:
        mutants = stratified(mutants, options.sample, options.seed)
    if options.only:
        mutants = [mutant for mutant in mutants if mutant.key in options.only]
    if not options.score:
        folder = options.results.resolve()
        tests = Map(folder) if (folder / "map.json").exists() else _measured(folder)
        done = () if options.only else results_in(folder)
        left = [mutant for mutant in mutants if mutant.key not in done]
        run(left, tests, folder, jobs=options.jobs, budget=options.budget, until=time.time() + 60 * options.minutes)
    sys.exit(bool(print_score(mutants, results_in(options.results))))


if __name__ == "__main__":
    main()

"""Replay in every configuration, in every part of the rows, and at real sizes.

The other replays take few configurations and many pairs of small tables. Here every combination of what may be known
(centre and scale of the response, units, the intercept, records a person, gaps) meets a few pairs; the record lies in
every place, modulo the parts that `tune`, `fit_and_evaluate` and the paper's loops make of rows, in tables of every
remainder; and tables are larger than every block of records.
"""

import itertools
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from dpsparse import PrivateSparseRegressor
from dpsparse.audit.checks.check_replay import cached_schedules, replay_pair, replay_runs
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.attacked import ESTIMATORS, WEAK
from dpsparse.audit.harness.fits import CountPursuit, YesNoPursuit, at_size
from dpsparse.audit.harness.neighbors import N_FEATURES, N_RECORDS, STORAGES, Pair, pairs
from dpsparse.audit.harness.tape import Run, Script, recorded
from dpsparse.data.raw_data import read_table
from dpsparse.datasets import make_heavy_tailed
from dpsparse.engine.config import configured
from dpsparse.engine.threads import threads
from dpsparse.privacy.protection import ADJACENCIES, Adjacency

UNITS: dict[str, dict[str, Any]] = {
    "units known": {"feature_center": 0.0, "feature_scale": 1.0},
    "some units known": {"feature_center": {0: 0.3, 2: 1.0}, "feature_scale": {0: 2.0}},
    "units unknown": {},
}
# Sizes that plan for few releases, for splits, and for every release there is.
SIZES = (110, 600, 2_000)
# A table of more records than two blocks of the engines hold, an odd number; a file of more than two blocks.
LARGE, LINES = 40_001, 90_001


def check_configurations(pairs_each: int = 2) -> Iterator[Finding]:
    """Every configuration of the pursuit."""
    with cached_schedules():
        for units in UNITS:
            yield _check_units(units, PrivateSparseRegressor, list(configurations(units)), pairs_each)
            name = f"yes/no responses, {units}"
            yield _check_units(name, YesNoPursuit, list(classifier_configurations(units)), pairs_each)
            yield _check_units(f"counts, {units}", CountPursuit, list(count_configurations(units)), pairs_each)


def check_parts() -> Iterator[Finding]:
    """Every residue of the parts of the rows."""
    with cached_schedules():
        for name, parts in PARTS.items():
            yield _check_parts(name, parts)


def check_real_sizes() -> Iterator[Finding]:
    """Tables and files larger than a block."""
    # In one thread, so that the sums of blocks come onto the tape in order.
    with cached_schedules(), threads(1):
        for number, name in enumerate(REAL):
            yield _check_real(name, ADJACENCIES[number % 2])
        yield _check_file()


def configurations(units: str) -> Iterator[dict[str, Any]]:
    """All combinations of what may be known beside the units, in words and as parameters."""
    for center, scale, intercept, most, missing in itertools.product(
        (None, 0.5), (None, 1.5), (True, False), (1, 2), ("refuse", "center")
    ):
        yield {
            **UNITS[units],
            "response_center": center,
            "response_scale": scale,
            "fit_intercept": intercept,
            "records_per_person": most,
            "missing": missing,
        }


def classifier_configurations(units: str) -> Iterator[dict[str, Any]]:
    """The same for a classifier, of whose response nothing is known: some features are selected, or all are taken."""
    for sparsity, intercept, most, missing in itertools.product((2, 4), (True, False), (1, 2), ("refuse", "center")):
        yield {
            **UNITS[units],
            "sparsity": sparsity,
            "fit_intercept": intercept,
            "records_per_person": most,
            "missing": missing,
        }


def count_configurations(units: str) -> Iterator[dict[str, Any]]:
    """The same for a Poisson regression, with and without an exposure."""
    for sparsity, exposure, most, missing in itertools.product((2, 3), (None, 3), (1, 2), ("refuse", "center")):
        yield {
            **UNITS[units],
            "sparsity": sparsity,
            "exposure": exposure,
            "records_per_person": most,
            "missing": missing,
        }


def _check_units(name: str, estimator: type[Any], configured: list[dict[str, Any]], pairs_each: int) -> Finding:
    """Pairs, storages, sizes and relations take turns."""
    every, storages, fault, turn = pairs(), list(STORAGES), None, 0
    for options in configured:
        for _ in range(pairs_each):
            pair, storage = every[turn % len(every)], storages[turn % len(storages)]
            adjacency, size = ADJACENCIES[turn % 2], SIZES[turn % len(SIZES)]
            turn += 1
            model = at_size(size, estimator)(**({"sparsity": 2, "adjacency": adjacency} | WEAK | options))
            fault, _ = replay_pair(model, pair, storage, adjacency)
            if fault:
                told = ", ".join(f"{key}={value}" for key, value in options.items() if not key.startswith("feature"))
                return _finding(name, f"{fault} ({told}; pair: {pair.name}; {storage}, {adjacency})", False)
    return _finding(name, f"{len(configured)} configurations, {turn} pairs", True)


# How many parts of the rows each makes.
PARTS = {"tune": 5, "fit_and_evaluate": 5, "DPIHTH": 3, "DPIHTL": 3}


def _check_parts(name: str, parts: int) -> Finding:
    """A record in every place, in tables of every number of rows, modulo the parts."""
    companions, played = pairs()[0].companions, 0
    first, second = np.array([1e6, 50.0, 50, 50, 50]), np.array([-1e6, 50.0, -50, 50, -50])
    sizes = range(N_RECORDS - parts + 1, N_RECORDS + 1)
    for n, place in itertools.product(sizes, (0, *range(2 * parts, 3 * parts), -1)):
        pair = Pair("in every part", (companions[0][:n], companions[1][:n]), first, second, place % n)
        adjacency = ADJACENCIES[played % 2]
        fault, _ = replay_pair(ESTIMATORS[name](adjacency=adjacency), pair, "C order", adjacency)
        played += 1
        if fault:
            return _finding(f"{name}, parts", f"{fault} ({n} records, record {pair.position})", False)
    return _finding(f"{name}, parts", f"{played} tables and places", True)


def _pursuit(**known: Any) -> Callable[..., Any]:
    return partial(PrivateSparseRegressor, sparsity=2, **WEAK, **known)


REAL: dict[str, tuple[Callable[..., Any], str, dict[str, int]]] = {
    "units unknown": (_pursuit(), "C order", {}),
    "units unknown, centre known": (_pursuit(response_center=0.5, missing="center"), "Fortran order", {}),
    "units known": (_pursuit(**UNITS["units known"]), "CSR", {"least_records": 2**14, "least_query_records": 2**14}),
    "scale known, blocks of features": (_pursuit(response_scale=1.5), "float32", {"block_bytes": 2**20}),
    "memory map": (_pursuit(fit_intercept=False), "memory map", {"disk_block_bytes": 2**20}),
    "yes/no responses": (partial(YesNoPursuit, sparsity=2, **WEAK), "C order", {}),
    "counts": (partial(CountPursuit, sparsity=2, exposure=1, **WEAK), "C order", {}),
    "DPIHTH": (ESTIMATORS["DPIHTH"], "C order", {"block_bytes": 2**18}),
    "tune": (ESTIMATORS["tune"], "C order", {}),
    "evaluate": (ESTIMATORS["evaluate, scale unknown"], "C order", {}),
}


@lru_cache(maxsize=1)
def _large_pairs() -> list[Pair]:
    """Two tables of heavy tails; a record that goes from one end to the other, and one that moves a little."""
    tables = []
    for shift in (0, 1):
        X, y, _ = make_heavy_tailed(LARGE, N_FEATURES, 2, df=3.0, random_state=shift)
        X[:, 1] = X[:, 1] > 1
        tables.append(np.column_stack([y, X]) * (1 + shift) + shift)
    far = np.array([1e6, 50.0, 1, 50, 50]), np.array([-1e6, 50.0, 0, -50, -50])
    near = np.array([0.3, 0.5, 0, 1.0, 0.2]), np.array([1.1, -0.4, 1, 0.7, 0.1])
    return [Pair(name, (tables[0], tables[1]), *ends, 17_004) for name, ends in (("far", far), ("near", near))]


def _check_real(name: str, adjacency: Adjacency) -> Finding:
    model, storage, sizes = REAL[name]
    with configured(**sizes):
        faults = [replay_pair(model(adjacency=adjacency), pair, storage, adjacency)[0] for pair in _large_pairs()]
    fault = faults[0] or faults[1]
    return _finding(f"{name}, {LARGE:,} records", fault or f"{storage}, {adjacency}", not fault)


def _check_file() -> Finding:
    """A fit on a raw file of several blocks."""
    first, second = b"1000000000,yes,north,1000000", b",no,her own,-1000000"

    def lines(shift: Any) -> Any:
        values = ((k * 7_919 % 1_000) * (1 + shift) for k in range(LINES))
        return [
            b"%d.5,%s,%s of the whole country and all its islands,%d" % (x, (b"yes", b"no")[x % 2], side, x - 400)
            for x, side in zip(values, itertools.cycle((b"north", b"south")), strict=False)
        ]

    companions, place = (lines(0), lines(1)), 60_006

    def run_on(which: int, version: int, script: Script | None) -> Run:
        rows = list(companions[which])
        rows[LINES - 1 - place] = companions[0][LINES - 1 - place]
        rows[place] = (first, second)[version]
        path.unlink(missing_ok=True)
        path.write_bytes(b"\n".join([b"amount,member,region,y", *rows, b""]))
        model = PrivateSparseRegressor(sparsity=2, **WEAK)
        return recorded(model, lambda: (read_table(path, "y"),), script)

    with tempfile.TemporaryDirectory() as folder, configured(csv_block_bytes=2**20):
        path = Path(folder) / "table.csv"
        fault, _ = replay_runs(run_on)
    return _finding(f"raw file, {LINES:,} lines", fault or "several blocks of lines, replace-one", not fault)


def _finding(name: str, evidence: str, good: bool) -> Finding:
    return Finding(f"configurations: {name}", "within the declared sensitivity", evidence, good)

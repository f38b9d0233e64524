"""People whose rows lie in several partitions of dask, on neighbours: the statistics of the fit in memory, every one.

`replay of people` attacks the fit in memory. Here both neighbours are fitted from partitions, with the same outputs: if
every statistic has the same integers as in memory, a person moves it as far as there, and no further.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from dpsparse.audit.checks.check_replay import cached_schedules, statistic_moves
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness import many_rows
from dpsparse.audit.harness.attacked import PEOPLE
from dpsparse.audit.harness.neighbors import blanked, pairs
from dpsparse.audit.harness.patching import replaced
from dpsparse.audit.harness.tape import Run, Script, run

# Fits that know all units, that have pairs and splits, and of all features with gaps.
FITS = (
    "PrivateSparseRegressor, by person",
    "PrivateSparseRegressor, by person, units unknown",
    "PrivateSparseRegressor, by person, all features",
)
# Bits are compared, so a few pairs are enough.
SHARE = 3
# Rows of a partition: fewer than some people have.
ROWS = (37, 23)


def check_partitions() -> Iterator[Finding]:
    """Fit neighbours from partitions; a finding for each fit."""
    try:
        import dask
    except ImportError:
        yield Finding("people in partitions", "the bits of the fit in memory", "not checked: dask is not there", True)
        return
    with dask.config.set(scheduler="synchronous"):
        for k, name in enumerate(FITS):
            violation, n_pairs = compared(name, k)
            evidence = violation or f"{n_pairs} pairs: every statistic of both neighbours is the same"
            yield Finding(f"{name}, in partitions", "the bits of the fit in memory", evidence, violation is None)


def compared(name: str, place: int) -> tuple[str | None, int]:
    """The first difference or None, and the number of pairs: one in `SHARE` is fitted by one of the estimators."""
    mine = pairs()[place :: SHARE * len(FITS)]
    with cached_schedules():
        for k, pair in enumerate(mine):
            adjacency = ("replace-one", "zero-out-one")[k % 2]
            neighbors = blanked(pair) if adjacency == "zero-out-one" else pair
            script: Script | None = None
            for version in (0, 1):
                table = neighbors.table(0, version)
                in_memory = run(PEOPLE[name](adjacency=adjacency), table, script=script)
                script = in_memory.tape.script
                with _in_partitions(ROWS[k % 2]):
                    in_partitions = run(PEOPLE[name](adjacency=adjacency), table, script=script)
                violation = _violation(in_memory, in_partitions)
                if violation:
                    return f"{violation} (pair: {pair.name})", len(mine)
    return None, len(mine)


def _violation(first: Run, second: Run) -> str | None:
    """The first difference between a fit in memory and one in partitions, or None."""
    if first.error or second.error:
        return f"raises {first.error or second.error}"
    if first.tape.flow != second.tape.flow:
        return "the releases differ in number, kind, price or order"
    moved = statistic_moves(first, second)
    for (release, _), draws in zip(first.tape.releases(), moved, strict=True):
        if any(np.any(np.array(draw, dtype=object) != 0) for draw in draws):
            return f"{release.name} is another in partitions"
    return None


def _in_partitions(rows: int) -> AbstractContextManager[Any]:
    """Have people's rows in partitions of so many, and their responses in others."""
    import dask.array as da

    spread_out = many_rows.spread_out

    def divided(X: Any, y: Any) -> Any:
        features, responses, ids = spread_out(X, y)
        return da.from_array(features, chunks=(rows, features.shape[1])), da.from_array(responses, chunks=50), ids

    return replaced(many_rows, spread_out=divided)

"""Rows and columns that a path may not read: made absurd, they change no statistic.

`tune` and `fit_and_evaluate` divide the records by their positions. With the same releases, and the records of one part
taken from a table that has nothing in common with the first (`raw_shapes`), the exact statistics of the other part must
be the same, and so must everything that leaves. A column that the bounds leave out, and the columns that a model does
not need, may be anything at all. The parts are specified here anew.
"""

import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpsparse import PrivateSparseRegressor
from dpsparse.audit.checks.check_replay import cached_schedules, different, statistic_moves
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.fits import EvaluatedCells, HeldOutPursuit, TunedPursuit, public_model_of_cells
from dpsparse.audit.harness.raw_fits import DROPPED, TARGET, run_raw
from dpsparse.audit.harness.raw_shapes import COLUMNS, TELLING, as_lines, mixed, raw_shapes, with_column
from dpsparse.audit.harness.tape import Run
from dpsparse.model.table_predictions import ModelTable

WEAK = {"epsilon": 400.0, "delta": 1e-2}
TRAINING, HELD_OUT = 0, 1


def check_raw_parts() -> Iterator[Finding]:
    """Paths with parts, then columns."""
    with cached_schedules(), tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "work"
        for name, (model, share, source, usual) in PARTED.items():
            yield _check_rows(name, partial(run_raw, model, source, place), share, usual)
        yield _check_column("a fit, a column left out", PrivateSparseRegressor, "CSV, bounds", place, [DROPPED])
        needed = {TARGET, *public_model_of_cells().columns_needed}
        others = [name for name in COLUMNS if name not in needed]
        yield _check_column("evaluate, columns not needed", EvaluatedCells, "CSV", place, others)
        yield _check_predictions(place, [*others, TARGET])


def _held_out(share: float) -> Callable[..., Any]:
    class HeldOut(HeldOutPursuit):
        holdout = share

    return partial(HeldOut, sparsity=2)


_TUNED, _GAPS = partial(TunedPursuit, sparsity=2), "usual, other values"
# The estimator, the share that is held out, where the table is, and which one.
PARTED: dict[str, tuple[Callable[..., Any], Fraction, str, str]] = {
    "tune": (_TUNED, Fraction(1, 5), "CSV", TELLING),
    "tune, store": (_TUNED, Fraction(1, 5), "store", _GAPS),
    "fit_and_evaluate": (_held_out(0.2), Fraction(1, 5), "CSV", TELLING),
    "fit_and_evaluate, store, three of ten": (_held_out(0.3), Fraction(3, 10), "store", _GAPS),
    "fit_and_evaluate, frame, a half": (_held_out(0.5), Fraction(1, 2), "frame", TELLING),
}


def part_of(place: int, share: Fraction) -> int:
    """The part of a row: it is held out where the number of rows held out so far steps up, as evenly as can be."""
    return HELD_OUT if (place + 1) * share // 1 > place * share // 1 else TRAINING


def _check_rows(name: str, run_on: Callable[..., Any], share: Fraction, which: str) -> Finding:
    tables, moved = raw_shapes(), set()
    usual = tables[which]
    base = run_on(usual, WEAK, None)
    fault = base.error or _of_no_part(base)
    for part in (TRAINING, HELD_OUT) if not fault else ():
        for shape, table in tables.items():
            absurd = mixed(usual, table, lambda place, part=part: part_of(place, share) == part)
            other = run_on(absurd, WEAK, base.tape.script)
            fault = different(base, other)
            if fault is None:
                read = _parts_that_move(base, other)
                moved |= read
                fault = "rows of one part are read in another" if read - {part} else None
            if fault:
                return _finding(name, f"{fault} (part {part}; table: {shape})", False)
    # A path that reads nothing would pass.
    good = not fault and moved == {TRAINING, HELD_OUT}
    return _finding(name, fault or f"{2 * len(tables)} tables: the statistics of the other part are the same", good)


def _of_no_part(base: Run) -> str | None:
    lost = [release.name for release, _ in base.tape.releases() if release.part not in (TRAINING, HELD_OUT)]
    return f"{lost[0]} belongs to no part" if lost else None


def _parts_that_move(base: Run, other: Run) -> set[int | None]:
    moves = statistic_moves(base, other)
    releases = [release for release, _ in base.tape.releases()]
    return {
        release.part
        for release, moved in zip(releases, moves, strict=True)
        if any(np.any(np.asarray(each, dtype=object) != 0) for each in moved)
    }


def _check_column(
    name: str, model: type[Any] | type[EvaluatedCells], source: str, place: Path, columns: list[str]
) -> Finding:
    """Cells of columns that are not to be read."""
    tables, run_on = raw_shapes(), partial(run_raw, model, source, place)
    base = run_on(tables["usual"], WEAK, None)
    if base.error:
        return _finding(name, base.error, False)
    for shape, table in _with_columns(tables, columns).items():
        other = run_on(table, WEAK, base.tape.script)
        fault = different(base, other) or (_parts_that_move(base, other) and "a statistic reads them")
        if fault:
            return _finding(name, f"{fault} (table: {shape})", False)
    return _finding(name, f"{len(columns)} columns of {len(tables)} tables change nothing", True)


def _check_predictions(place: Path, columns: list[str]) -> Finding:
    """Predictions, which are the holder's own, read the columns of the model's features and no others."""
    tables, model, different = raw_shapes(), public_model_of_cells(), set()
    path = place.with_name("table.csv")
    for table in [tables["usual"], *_with_columns(tables, columns).values()]:
        path.unlink(missing_ok=True)
        path.write_bytes(as_lines(table))
        different.add(ModelTable(model, path).predictions().tobytes())
    return _finding("predict, columns not needed", f"{len(different)} different predictions", len(different) == 1)


def _with_columns(tables: dict[str, list[list[bytes]]], columns: list[str]) -> dict[str, list[list[bytes]]]:
    """The usual table with these columns of each other table whose records have all their cells."""
    made = {}
    for name, table in tables.items():
        if all(len(record) == len(COLUMNS) for record in table) and name != "quotes left open":
            made[name] = tables["usual"]
            for column in columns:
                made[name] = with_column(made[name], column, table)
    return made


def _finding(name: str, evidence: str, good: bool) -> Finding:
    return Finding(f"out of reach: {name}", "not read", evidence, bool(good))

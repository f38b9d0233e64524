"""Record and replay of what is learned of a raw table: kinds, categories, responses and names.

For every pair of files that differ in one line, the releases run four times with the same outputs: two versions of the
line, each among two sets of companions. Then

- a statistic moves by no more than its declared sensitivity;
- the line's own change of a sum is the same among all companions: no quote, separator or odd cell moves other records;
- releases, prices and errors are the same in kind, number and order, and every draw is paid for in advance;
- how records are read, and the names, depend on releases alone;
- all other records have the same features, bit for bit.

Whole fits on the same files are replayed as fits on arrays are (`check_replay`).
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.audit.checks.check_replay import Replayed, cached_schedules, changes, replay_runs, statistic_moves, unpaid
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.fits import HeldOutPursuit, TruthCells, TunedPursuit, YesNoCells, at_size
from dpsparse.audit.harness.raw_fits import as_store
from dpsparse.audit.harness.raw_pairs import HELD_OUT_POSITION, N_LINES, POSITION, TARGET, RawPair, blanked, raw_pairs
from dpsparse.audit.harness.tape import Run, Script, Tape, recorded, same
from dpsparse.data.raw_data import read_table
from dpsparse.engine.config import configured
from dpsparse.io.cells.raw_table import CsvTable
from dpsparse.io.store.store_table import CELL_BYTES, StoreTable
from dpsparse.learning.categories import release_labels
from dpsparse.learning.preparation import Preparation
from dpsparse.learning.table_prices import SLOTS, names_failure, preparation_slot
from dpsparse.privacy.accounting.meter import Commitment, Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.partition import select_names
from dpsparse.privacy.protection import ADJACENCIES, Adjacency

# So weak that the releases follow the records; two records a person, so that thresholds must know of them.
EPSILON, DELTA, RECORDS_PER_PERSON = 400.0, 1e-2, 2
# Those that hold lines out.
PARTED = ("tune on raw tables", "fit_and_evaluate on raw tables")
FITS: dict[str, Callable[..., Any]] = {
    "fits on raw tables": lambda **known: at_size(2_000)(sparsity=3, **known),
    "classifiers on raw tables": partial(YesNoCells, sparsity=3),
    "classifiers of truths on raw tables": partial(TruthCells, sparsity=3),
    "tune on raw tables": partial(TunedPursuit, sparsity=2),
    "fit_and_evaluate on raw tables": partial(HeldOutPursuit, sparsity=2),
    "formulas on raw tables": lambda **known: at_size(2_000)(sparsity=3, **known),
}
# Every kind of term: as it is, numbers made of a record, a spline, and products of each kind.
FORMULA = (
    f"{TARGET} ~ amount*C(region) + member + I(amount**2) + I(mixed >= 5) + C(grade):C(region) + I(region == 'north')"
    " + bs(amount, knots=[20], lower=0, upper=40)"
)


@dataclass(frozen=True)
class Learned:
    """One run: its tape, its error, what was learned, and the features of the records."""

    tape: Tape
    error: str | None
    released: dict[str, Any]
    features: Any


def check_raw_tables() -> Iterator[Finding]:
    """The selection of names by itself, and replays on every pair under both relations."""
    yield _check_names()
    for adjacency in ADJACENCIES:
        yield _check("raw tables", adjacency, replay_raw_pair)
    with cached_schedules():
        for name, model in FITS.items():
            formula = FORMULA if name.startswith("formulas") else None
            for adjacency in ADJACENCIES:
                yield _check(name, adjacency, partial(replay_raw_fit, model, formula=formula))
            if name in PARTED:
                yield _check(f"{name}, held out", ADJACENCIES[0], partial(replay_raw_fit, model), HELD_OUT_POSITION)


def check_stores() -> Iterator[Finding]:
    """The same releases from stores of the files' cells."""
    for adjacency in ADJACENCIES:
        yield _check(
            "stores of cells", adjacency, partial(replay_raw_pair, opened=lambda path: StoreTable(as_store(path)))
        )


class _Given:
    """A source whose noise is given, a different number for each value; it keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def gaussian(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.asked.append((values.tolist(), scale))
        return values + self.noise(len(values))

    @staticmethod
    def noise(count: int) -> NDArray[np.int64]:
        return np.arange(count, dtype=np.int64) * 1_000 - 1_500


def _check_names() -> Finding:
    """Every value of every column has noise of the given scale, and is released where it exceeds the threshold."""
    columns = [{"d": 1, "a": 2, "c": 2, "b": 2}, {"x": 2}, {}]
    scale, threshold = 77.0, 2 * 2**24 - 1
    source = _Given()
    given: Any = source
    released = select_names(columns, scale, threshold, given)
    asked = [([2**24 * column[value] for value in sorted(column)], scale) for column in columns]
    expected = []
    for column in columns:
        noisy = {value: 2**24 * column[value] + k * 1_000 - 1_500 for k, value in enumerate(sorted(column))}
        expected.append({value: count for value, count in noisy.items() if count > threshold})
    good = source.asked == asked and released == expected
    evidence = f"{sum(map(len, released))} of {sum(map(len, expected))} names"
    return Finding("selection of names", "noise on every count, names above the threshold", evidence, bool(good))


def _check(name: str, adjacency: Adjacency, replay: Callable[..., Any], position: int = POSITION) -> Finding:
    shares: dict[str, float] = {}
    violation = None
    with tempfile.TemporaryDirectory() as folder:
        for pair in raw_pairs():
            shown = replace(blanked(pair) if adjacency == "zero-out-one" else pair, position=position)
            violation, seen = replay(shown, adjacency, Path(folder) / "table.csv")
            if violation:
                violation = f"{violation} (pair: {pair.name})"
                break
            for release, share in seen.items():
                shares[release] = max(share, shares.get(release, 0.0))
    evidence = violation or (
        f"{len(raw_pairs())} pairs: releases move by up to "
        f"{min(shares.values()):.4f} to {max(shares.values()):.4f} of it"
    )
    # A bound that no pair comes near would mean that the pairs are too tame to test it. Those of fits are tested on
    # arrays, in whose pairs nothing has a kind to keep to.
    learned = [
        share for release, share in shares.items() if release.endswith(("kinds", "distinct values", "categories"))
    ]
    # A line that is held out takes no part in what is learned.
    near = min(learned, default=0.0) if position == POSITION else max(shares.values(), default=0.0)
    good = not violation and near > 0.99
    return Finding(f"{name}, {adjacency}", "within the declared sensitivity", evidence, bool(good))


def replay_raw_fit(
    model: Callable[..., Any], pair: RawPair, adjacency: Adjacency, path: Path, formula: str | None = None
) -> Replayed:
    """Four fits with the same outputs: the first violation or None, and the changes as shares of their bounds."""

    def run_on(companions: int, version: int, script: Script | None) -> Run:
        pair.write(path, companions, version)
        options = {"records_per_person": RECORDS_PER_PERSON, "epsilon": EPSILON, "delta": DELTA}
        opened = partial(read_table, path, TARGET, formula=formula)
        return recorded(model(adjacency=adjacency, **options), lambda: (opened(),), script)

    return replay_runs(run_on)


def replay_raw_pair(pair: RawPair, adjacency: Adjacency, path: Path, opened: Callable[..., Any] = CsvTable) -> Replayed:
    """Four runs with the same outputs: the first violation or None, and the changes as shares of their bounds."""

    def run(companions: int, version: int, script: Script | None = None) -> "Learned":
        pair.write(path, companions, version)
        # Blocks of six records, so that one begins right after the line.
        with configured(csv_block_bytes=CELL_BYTES * 8 * 6):
            return learn(lambda: opened(path), adjacency, script)

    base = run(0, 0)
    script = base.tape.script
    fault = base.error or unpaid(base.tape, _guarantee(adjacency))
    if fault:
        return fault, {}
    others = [run(0, 1, script), run(1, 0, script), run(1, 1, script)]
    for other in others:
        fault = _different(base, other)
        if fault:
            return fault, {}
    # The number of distinct values is no sum over records: what a line adds to it depends on the others.
    moves = [statistic_moves(one, two, ("distinct values",)) for one, two in ((base, others[0]), others[1:])]
    if moves[0] != moves[1]:
        return "another record's term moves", {}
    for first, second in ((base, others[0]), others[1:]):
        left = [np.delete(run.features, POSITION, axis=0) for run in (first, second)]
        if not same(left[0], left[1]):
            return "another record's features change", {}
    return changes(base, others[0])


def learn(opened: Callable[..., Any], adjacency: Adjacency, script: Script | None = None) -> "Learned":
    """Make all releases about a raw table under a tape; names are those of all text features."""
    tape = Tape(script)
    guarantee = _guarantee(adjacency)
    price = guarantee.rho_per_record / (len(SLOTS) + 1) * (1 - 1e-6)
    slots = {name: preparation_slot(name, price, N_LINES) for name in SLOTS}
    slots["names"] = preparation_slot("names", price, N_LINES, names_failure(guarantee))
    meter = Meter(guarantee, N_LINES, tape)
    with tape.running():
        try:
            raw = opened()
            meter.commit(Commitment(tuple(slots.values())))
            encoding = Preparation(raw, TARGET, meter, slots).run()
            texts = [k for k, feature in enumerate(encoding.features) if feature.kind == "text"]
            names = release_labels(meter, slots["names"], raw, encoding.features, texts)
            features = np.column_stack(encoding.encode(raw))
        except Exception as raised:
            return Learned(tape, f"raises {type(raised).__name__}: {raised}", {}, None)
    released = {"encoding": encoding, "names": names, "record": meter.record(), "n_records": raw.n_records}
    return Learned(tape, None, released, features)


def _guarantee(adjacency: Adjacency) -> Guarantee:
    return Guarantee(EPSILON, DELTA, adjacency, RECORDS_PER_PERSON)


def _different(base: "Learned", other: "Learned") -> str | None:
    """The first difference between two runs that saw the same releases, or None."""
    if other.error:
        return other.error
    if base.tape.flow != other.tape.flow:
        return "the releases differ in number, kind, price or order"
    changed = [name for name in base.released if not same(base.released[name], other.released[name])]
    return f"the {changed[0]} depends on more than releases" if changed else None

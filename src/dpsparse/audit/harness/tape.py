"""Recording a fit's draws, and running the fit again with the same outputs.

A `Tape` takes the place of the noise source. It keeps every charge, and for every draw the statistic handed to the
mechanism. Played back, it gives a second fit the outputs of the first, so that the two see the same releases and
differ only in the data they read.
"""

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from dpsparse.audit.harness.neighbors import STORAGES
from dpsparse.audit.harness.patching import replaced
from dpsparse.engine import errors, regrets, vector_sums
from dpsparse.engine.cpu import dense_rows, sparse_rows
from dpsparse.engine.cpu.local_rows import LocalRecords
from dpsparse.engine.cpu.people_rows import PeopleLevels
from dpsparse.estimators._private import PrivateEstimator
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.release import Release
from dpsparse.privacy.mechanisms import partition, selection
from dpsparse.privacy.noise import NoiseSource, SeededSource


class Diverged(Exception):
    """A fit asked for more draws than the one it is replayed from."""


# The outputs of draws, in order: integers, places of picks, names with their counts.
Script = list[Any]


@dataclass(frozen=True)
class Draw:
    """A draw: its kind, its scale (for a pick the rate), the statistic as handed over, and the output."""

    kind: str
    scale: float
    statistic: np.ndarray
    output: Any


@dataclass(frozen=True)
class NameCounts:
    """The statistic of a release of names: exact counts of values, column by column, and the threshold in steps."""

    counts: tuple[Any, ...]
    threshold: int

    def moves(self, other: "NameCounts") -> list[int]:
        """By how many steps the counts of values differ, where they do; a value that a table does not hold counts 0."""
        return [
            partition.RECORD_STEPS * (theirs.get(value, 0) - own.get(value, 0))
            for own, theirs in zip(self.counts, other.counts, strict=True)
            for value in sorted({*own, *theirs})
            if theirs.get(value) != own.get(value)
        ]


class Tape:
    """A source of noise that records everything.

    `script`: outputs to give; None to draw them.
    `source`: where fresh outputs come from.
    """

    name, private, noiseless = "tape (audit only)", False, False

    def __init__(self, script: Script | None = None, source: NoiseSource | None = None) -> None:
        self._script = script
        self._source = source or SeededSource(0)
        self.events: list[Any] = []
        self.sums: list[NDArray[Any]] = []

    def gaussian(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Gaussian noise, recorded."""
        noisy = self._answer("gaussian", values, scale, lambda: self._source.gaussian(values, scale))
        return np.array(noisy)

    def laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Laplace noise, recorded."""
        noisy = self._answer("laplace", values, scale, lambda: self._source.laplace(values, scale))
        return np.array(noisy)

    def bits(self, count: int) -> int:
        """Refuse: picks are recorded whole."""
        raise Diverged("bits were drawn outside a pick")

    def _answer(self, kind: str, values: Any, scale: float, fresh: Callable[..., Any]) -> Any:
        made = len(self.draws)
        if self._script is not None and made >= len(self._script):
            raise Diverged("more draws than before")
        output = fresh() if self._script is None else self._script[made]
        if kind in ("gaussian", "laplace") and not isinstance(output, np.ndarray):
            raise Diverged("another kind of draw than before")
        self.events.append(Draw(kind, float(scale), np.array(values), output))
        return output

    @property
    def draws(self) -> "list[Draw]":
        """The draws alone."""
        return [event for event in self.events if isinstance(event, Draw)]

    @property
    def script(self) -> Script:
        """The outputs to give to a second fit."""
        return [draw.output for draw in self.draws]

    @property
    def flow(self) -> list[Release | tuple[str, float, tuple[int]]]:
        """Number, kind, price and order of releases, without the statistics."""
        return [e if isinstance(e, Release) else (e.kind, e.scale, e.statistic.shape) for e in self.events]

    def releases(self) -> list[tuple[Release, list[Any]]]:
        """Each charge with the draws made on it, in order; draws before any charge come under None."""
        groups: list[tuple[Any, list[Draw]]] = [(None, [])]
        for event in self.events:
            if isinstance(event, Release):
                groups.append((event, []))
            else:
                groups[-1][1].append(event)
        return groups if groups[0][1] else groups[1:]

    @contextlib.contextmanager
    def running(self) -> "Iterator[Tape]":
        """Record every fit in the block on this tape."""
        charge, skip, pick, select = Meter.charge, Meter.skip, selection.pick_index, partition.select_names

        def charged(meter: Meter, *releases: Release) -> None:
            charge(meter, *releases)
            self.events.extend(releases)

        def skipped(meter: Meter, name: str) -> None:
            skip(meter, name)
            self.events.append(meter.record().releases[-1])

        def picked(scores: NDArray[np.int64], rate: float, source: "Tape", excluded: list[int] | tuple[()] = ()) -> int:
            left = np.delete(np.arange(len(scores)), np.asarray(excluded, dtype=int))
            return int(left[self._answer("pick", scores[left], rate, lambda: pick(scores[left], rate, self._source))])

        def named(counts: list[dict[str, int]], scale: float, threshold: int, source: "Tape") -> Any:
            # The number of values is data, so the statistic is one object whatever it holds.
            statistic = NameCounts(tuple(map(dict, counts)), threshold)
            return self._answer("names", statistic, scale, lambda: select(counts, scale, threshold, self._source))

        with contextlib.ExitStack() as stack:
            stack.enter_context(replaced(partition, select_names=named))
            stack.enter_context(replaced(Meter, charge=charged, skip=skipped))
            stack.enter_context(replaced(selection, pick_index=picked))
            stack.enter_context(replaced(PrivateEstimator, _noise_source=lambda _: self))
            for owner, names in _SUMS:
                kept = {name: self._kept(getattr(owner, name)) for name in names}
                stack.enter_context(replaced(owner, **kept))
            yield self

    def _kept(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def keep(*arguments: Any) -> Any:
            sums = function(*arguments)
            self.sums.append(np.array(sums))
            return sums

        return keep


# The functions by which an engine hands a sum over rows to an algorithm.
_SUMS = (
    (dense_rows.DenseRows, ["weighted_sums", "feature_counts"]),
    (dense_rows.QuantizedDense, ["weighted_sums"]),
    (sparse_rows.SparseRows, ["weighted_sums", "feature_counts"]),
    (sparse_rows.QuantizedSparse, ["weighted_sums"]),
    (PeopleLevels, ["weighted_sums"]),
    (vector_sums, ["vector_sums", "gram_sums", "counts_at_most"]),
    (LocalRecords, ["counts_at_most"]),
    (regrets, ["regret_sums"]),
    (errors.Errors, ["count", "size_counts", "improvement_counts"]),
    (errors.Errors, ["error_sums", "improvement_sums", "square_sums", "cut_counts"]),
)


@dataclass(frozen=True)
class Run:
    """One fit: its tape, its error and warnings, and its fitted attributes."""

    tape: Tape
    error: str | None
    warnings: list[Any]
    fitted: dict[str, Any]


def run(
    model: Any,
    table: NDArray[np.float64],
    storage: str = "C order",
    script: Script | None = None,
    source: NoiseSource | None = None,
) -> "Run":
    """Fit `model` on a table (response first) under a tape, whatever values the table holds."""
    return recorded(model, lambda: (STORAGES[storage](table[:, 1:]), table[:, 0].copy()), script, source)


def recorded(
    model: Any, read: Callable[..., Any], script: Script | None = None, source: NoiseSource | None = None
) -> "Run":
    """Fit `model` under a tape on what `read` gives, the arguments of its `fit`."""
    tape = Tape(script, source)
    error = None
    with warnings.catch_warnings(record=True) as caught, tape.running(), sklearn.config_context(assume_finite=True):
        warnings.simplefilter("always")
        try:
            model.fit(*read())
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    parameters = model.get_params()
    error = error or _not_as_asked(model, parameters)
    fitted = {name: value for name, value in vars(model).items() if name not in parameters}
    return Run(tape, error, [(w.category.__name__, str(w.message)) for w in caught], fitted)


def _not_as_asked(model: Any, parameters: dict[str, Any]) -> str | None:
    """An error where a record states another guarantee than its estimator."""
    stated = vars(model.privacy_.guarantee)
    changed = [
        name for name in ("epsilon", "delta", "adjacency", "records_per_person") if stated[name] != parameters[name]
    ]
    return f"another {changed[0]} than was asked for" if changed else None


# Most of what is compared is of these types, which hold nothing else; a type derived from one may.
_ATOMS = frozenset({str, bytes, int, bool, type(None)})


def same(first: Any, second: Any, compared: tuple[Any, ...] = ()) -> bool:
    """Whether two objects are equal bit for bit, with all that they hold: attributes beside fields, and closures."""
    if type(first) is not type(second):
        return False
    if type(first) in _ATOMS:
        return bool(first == second)
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and first.shape == second.shape and _same_cells(first, second)
    if isinstance(first, float):
        return np.float64(first).tobytes() == np.float64(second).tobytes()
    # An object that holds itself was met before.
    if first is second or (id(first), id(second)) in compared:
        return True
    compared = (*compared, (id(first), id(second)))
    mine, others = _parts(first), _parts(second)
    if mine is None or others is None:
        return bool(first == second)
    return len(mine) == len(others) and all(same(a, b, compared) for a, b in zip(mine, others, strict=True))


def _same_cells(first: NDArray[Any], second: NDArray[Any]) -> bool:
    return same(first.tolist(), second.tolist()) if first.dtype.hasobject else first.tobytes() == second.tobytes()


def _parts(value: Any) -> list[Any] | None:
    """What an object is made of, in a fixed order; None where it is nothing but itself."""
    if isinstance(value, (tuple, list)):
        return list(value)
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, FunctionType):
        held = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__qualname__, value.__code__.co_code, value.__defaults__, value.__kwdefaults__, *held]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if is_dataclass(value) or (hasattr(value, "__dict__") and not isinstance(value, (type, ModuleType))):
        known = [field.name for field in fields(value)] if is_dataclass(value) else []
        kind: Any = type(value)
        left = {*known, *_cached_properties(kind)}
        beside = {name: held for name, held in getattr(value, "__dict__", {}).items() if name not in left}
        return [*(getattr(value, name) for name in known), *beside, *beside.values()]
    return None


@functools.cache
def _cached_properties(kind: Any) -> list[str]:
    """Those are there once somebody has looked at them."""
    members = inspect.getmembers_static(kind, lambda member: isinstance(member, functools.cached_property))
    return [name for name, _ in members]

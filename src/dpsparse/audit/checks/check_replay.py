"""Record and replay: change one record, replay the noise, and see what else changes.

For every pair of neighbours the fit runs four times with the same outputs: two versions of a record, each among two
sets of companions. Then

- a statistic moves by no more than its declared sensitivity;
- the record's own change is the same integers among all companions: no other record's term moves;
- releases, prices, warnings and errors are the same in kind, number and order, and every draw is paid for in advance;
- the fitted attributes are the same bits: they depend on releases alone;
- of disjoint parts of the rows, only one moves; no feature is selected twice.
"""

import contextlib
import math
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpsparse import DPIHTH, DPIHTL, DPSLR, PrivateSparseRegressor, PrivateSparseTwoPartRegressor
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.counted import CountPursuit
from dpsparse.audit.harness.evaluated import (
    EvaluatedInAnyUnit,
    EvaluatedMeans,
    EvaluatedModel,
    EvaluatedOutcomes,
    HeldOutPursuit,
)
from dpsparse.audit.harness.many_rows import (
    ManyRowsCounts,
    ManyRowsHeldOut,
    ManyRowsPursuit,
    ManyRowsTwoParts,
    ManyRowsYesNo,
)
from dpsparse.audit.harness.neighbors import CLIP, STORAGES, Pair, blanked, on_the_plane, pairs
from dpsparse.audit.harness.patching import replaced
from dpsparse.audit.harness.sized import at_size
from dpsparse.audit.harness.tape import NameCounts, Run, Script, Tape, run, same
from dpsparse.audit.harness.tuned import TunedPursuit
from dpsparse.audit.harness.yes_no import YesNoPursuit
from dpsparse.audit.oracles.price_oracle import wrong_price
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine import queries
from dpsparse.estimators import _pursuit, _raw_fit
from dpsparse.privacy.accounting.release import GaussianMechanism, PartitionSelection, Release
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.protection import ADJACENCIES, Adjacency

# At this guarantee the Gaussian account covers every pursuit below, which therefore commits to its releases.
OPTIONS: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-2}
PURSUIT = OPTIONS | STANDARDIZED
# So weak that picks follow the records, where noise would leave the units anywhere on their grids.
WEAK: dict[str, Any] = {"epsilon": 200.0, "delta": 1e-2}
LOOP: dict[str, Any] = {"sparsity": 2, "n_iter": 3, "clip_bound": CLIP, **OPTIONS}
# Sums of squares are taken in integers: only the declared sensitivity itself is rounded.
ROUNDING = 1e-12

# The first violation or None, and each release's largest change as a share of its sensitivity.
Replayed = tuple[str | None, dict[str, float]]


class Taped(Protocol):
    """A run whose releases are on a tape."""

    @property
    def tape(self) -> Tape:
        """The tape."""


PURSUITS: dict[str, Callable[..., Any]] = {
    # Two records a person leave a record a quarter of the budget, and change no sensitivity.
    "PrivateSparseRegressor, units unknown, every release": lambda **o: at_size(2_000)(
        sparsity=2, records_per_person=2, **(WEAK | {"epsilon": 300.0}), **o
    ),
    # Of the sizes that have splits, one at which they cost most and follow the records.
    "PrivateSparseRegressor, units unknown, splits": lambda **o: at_size(110)(sparsity=2, **WEAK, **o),
    "PrivateSparseRegressor, public response, no intercept": lambda **o: PrivateSparseRegressor(
        sparsity=2, response_center=0.0, response_scale=1.0, fit_intercept=False, **PURSUIT, **o
    ),
    "PrivateSparseRegressor": lambda **o: PrivateSparseRegressor(
        sparsity=2, feature_center=0.3, feature_scale=2.0, **OPTIONS, **o
    ),
    'PrivateSparseRegressor(sparsity="auto")': lambda **o: PrivateSparseRegressor(
        sparsity="auto", max_sparsity=2, **PURSUIT, **o
    ),
    # A guarantee so weak that the schedule affords a release of each row of the Gram matrix.
    "PrivateSparseRegressor, Gram rows": lambda **o: PrivateSparseRegressor(
        sparsity=2, **(PURSUIT | {"epsilon": 100.0}), **o
    ),
    "PrivateSparseRegressor, units unknown": lambda **o: PrivateSparseRegressor(sparsity=2, **OPTIONS, **o),
    "PrivateSparseRegressor, units unknown, middle size": lambda **o: at_size(600)(sparsity=1, **WEAK, **o),
    "PrivateSparseRegressor, some units": lambda **o: at_size(1_000)(
        sparsity=2, feature_center={0: 0.3, 2: 1.0}, feature_scale={0: 2.0}, **WEAK, **o
    ),
    "PrivateSparseRegressor, units checked": lambda **o: at_size(2_000)(
        sparsity=2, response_scale=1.0, **(STANDARDIZED | WEAK), **o
    ),
}
ALL_FEATURES: dict[str, Callable[..., Any]] = {
    "PrivateSparseRegressor, all features": lambda **o: PrivateSparseRegressor(sparsity=4, **PURSUIT, **o),
    "PrivateSparseRegressor, units unknown, all features, no intercept": lambda **o: at_size(2_000)(
        sparsity=4, fit_intercept=False, **WEAK, **o
    ),
}
# Steps to the estimator that an estimand names, of a table large enough for them.
REFERENCES: dict[str, Callable[..., Any]] = {
    "PrivateSparseRegressor, step to the mean": lambda **o: at_size(2_000)(sparsity=2, **(STANDARDIZED | WEAK), **o),
    "PrivateSparseRegressor, step to the mean, one column": lambda **o: at_size(2_000)(
        sparsity=1, fit_intercept=False, **(STANDARDIZED | WEAK), **o
    ),
    "PrivateSparseRegressor, step to the typical response": lambda **o: at_size(2_000)(
        sparsity=2, estimand="typical", response_scale=1.0, **(STANDARDIZED | WEAK), **o
    ),
    "PrivateSparseRegressor, step to the typical response, all features, units unknown": lambda **o: at_size(2_000)(
        sparsity=4, estimand="typical", **WEAK, **o
    ),
}
# Responses are yes or no; every release of theirs is made at every size.
CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "PrivateSparseClassifier": lambda **o: YesNoPursuit(
        sparsity=2, feature_center=0.3, feature_scale=2.0, **OPTIONS, **o
    ),
    "PrivateSparseClassifier, units known": lambda **o: at_size(2_000, YesNoPursuit)(
        sparsity=2, **(STANDARDIZED | WEAK), **o
    ),
    "PrivateSparseClassifier, units unknown": lambda **o: at_size(2_000, YesNoPursuit)(
        sparsity=2, records_per_person=2, **(WEAK | {"epsilon": 300.0}), **o
    ),
    "PrivateSparseClassifier, one column": lambda **o: at_size(2_000, YesNoPursuit)(
        sparsity=1, fit_intercept=False, **(STANDARDIZED | WEAK), **o
    ),
    "PrivateSparseClassifier, all features": lambda **o: YesNoPursuit(sparsity=4, missing="center", **WEAK, **o),
}
# Each record is a person with several rows.
PEOPLE: dict[str, Callable[..., Any]] = {
    "PrivateSparseRegressor, by person": lambda **o: at_size(2_000, ManyRowsPursuit)(
        sparsity=2, **(STANDARDIZED | WEAK), **o
    ),
    "PrivateSparseRegressor, by person, units unknown": lambda **o: at_size(110, ManyRowsPursuit)(
        sparsity=2, **WEAK, **o
    ),
    "PrivateSparseRegressor, by person, all features": lambda **o: ManyRowsPursuit(
        sparsity=4, estimand="typical", missing="center", **PURSUIT, **o
    ),
    # Deviations from a person's mean; people with one row are left out.
    "PrivateSparseRegressor, within people": lambda **o: at_size(2_000, ManyRowsPursuit)(
        sparsity=2, within=True, **(STANDARDIZED | WEAK), **o
    ),
    "PrivateSparsePoissonRegressor, by person": lambda **o: at_size(2_000, ManyRowsCounts)(
        sparsity=2, exposure=1, **(STANDARDIZED | WEAK), **o
    ),
    "fit_and_evaluate, by person": lambda **o: ManyRowsHeldOut(sparsity=1, **(STANDARDIZED | WEAK), **o),
    "PrivateSparseTwoPartRegressor, by person": lambda **o: at_size(2_000, ManyRowsTwoParts)(
        sparsity=2, **(STANDARDIZED | WEAK), **o
    ),
    "PrivateSparseClassifier, by person": lambda **o: at_size(2_000, ManyRowsYesNo)(
        sparsity=2, **(STANDARDIZED | WEAK), **o
    ),
}
# Responses are counts or costs; the exposure may be a column of any numbers.
COUNTS: dict[str, Callable[..., Any]] = {
    "PrivateSparsePoissonRegressor": lambda **o: CountPursuit(
        sparsity=2, feature_center=0.3, feature_scale=2.0, **OPTIONS, **o
    ),
    "PrivateSparsePoissonRegressor, exposure, units unknown": lambda **o: at_size(2_000, CountPursuit)(
        sparsity=2, exposure=1, **WEAK, **o
    ),
    "PrivateSparsePoissonRegressor, all features": lambda **o: CountPursuit(
        sparsity=4, missing="center", exposure=0, **WEAK, **o
    ),
}
# Responses that are not above 0 are no amounts: a changed record may change from or to one.
TWO_PARTS: dict[str, Callable[..., Any]] = {
    "PrivateSparseTwoPartRegressor": lambda **o: at_size(2_000, PrivateSparseTwoPartRegressor)(
        sparsity=2, **(STANDARDIZED | WEAK), **o
    ),
}
TUNED: dict[str, Callable[..., Any]] = {
    "tune": lambda **o: TunedPursuit(sparsity=1, **(STANDARDIZED | WEAK), **o),
    "tune, units unknown": lambda **o: at_size(1_000, TunedPursuit)(sparsity=1, **WEAK, **o),
}
EVALUATIONS: dict[str, Callable[..., Any]] = {
    "evaluate": lambda **o: EvaluatedModel(**OPTIONS, **o),
    "evaluate, scale unknown": lambda **o: EvaluatedInAnyUnit(**WEAK, **o),
    "evaluate, yes or no": lambda **o: EvaluatedOutcomes(**WEAK, **o),
    "evaluate, counts": lambda **o: EvaluatedMeans(**WEAK, **o),
    "fit_and_evaluate": lambda **o: HeldOutPursuit(sparsity=1, **(STANDARDIZED | WEAK), **o),
}
LOOPS: dict[str, Callable[..., Any]] = {
    "DPIHTH": lambda **o: DPIHTH(**LOOP, **o),
    "DPIHTH, largest step": lambda **o: DPIHTH(step=1e100, tau=1e100, radius=1.0, **LOOP, **o),
    "DPIHTL": lambda **o: DPIHTL(**LOOP, **o),
    # A small radius, since a residual reaches its bound only where predictions are small beside the response.
    "DPSLR": lambda **o: DPSLR(radius=0.01, **LOOP, **o),
}
ESTIMATORS = {
    **PURSUITS,
    **ALL_FEATURES,
    **LOOPS,
    **TUNED,
    **EVALUATIONS,
    **REFERENCES,
    **CLASSIFIERS,
    **PEOPLE,
    **COUNTS,
    **TWO_PARTS,
}


def check_pursuits() -> Iterator[Finding]:
    """Replay the pursuit on every pair under both relations; a finding for each estimator and relation."""
    return (check_estimator(name, adjacency) for name in PURSUITS for adjacency in ADJACENCIES)


def check_all_features() -> Iterator[Finding]:
    """Replay the pursuit that takes all features in the same way."""
    return (check_estimator(name, adjacency) for name in ALL_FEATURES for adjacency in ADJACENCIES)


def check_references() -> Iterator[Finding]:
    """Replay steps to the estimators that estimands name in the same way."""
    return (check_estimator(name, adjacency) for name in REFERENCES for adjacency in ADJACENCIES)


def check_classifiers() -> Iterator[Finding]:
    """Replay the classifier in the same way."""
    return (check_estimator(name, adjacency) for name in CLASSIFIERS for adjacency in ADJACENCIES)


def check_people() -> Iterator[Finding]:
    """Replay fits by person in the same way: neighbours differ in all rows of a person."""
    return (check_estimator(name, adjacency) for name in PEOPLE for adjacency in ADJACENCIES)


def check_counts() -> Iterator[Finding]:
    """Replay the Poisson regression in the same way."""
    return (check_estimator(name, adjacency) for name in COUNTS for adjacency in ADJACENCIES)


def check_two_parts() -> Iterator[Finding]:
    """Replay the fit in two parts in the same way."""
    return (check_estimator(name, adjacency) for name in TWO_PARTS for adjacency in ADJACENCIES)


def check_loops() -> Iterator[Finding]:
    """Replay the paper's loops in the same way."""
    return (check_estimator(name, adjacency) for adjacency in ADJACENCIES for name in LOOPS)


def check_tuning() -> Iterator[Finding]:
    """Replay the choice among candidates in the same way."""
    return (check_estimator(name, adjacency) for adjacency in ADJACENCIES for name in TUNED)


def check_evaluations() -> Iterator[Finding]:
    """Replay evaluations in the same way."""
    return (check_estimator(name, adjacency) for adjacency in ADJACENCIES for name in EVALUATIONS)


def check_estimator(name: str, adjacency: Adjacency) -> Finding:
    """Replay one estimator on every pair, the storages taking turns."""
    violation, shares = replay_all(name, adjacency)
    if violation:
        return _finding(name, adjacency, violation, False)
    evidence = (
        f"{len(pairs())} pairs: releases move by up to {min(shares.values()):.4f} to {max(shares.values()):.4f} of it"
    )
    # A bound that no pair comes near would mean that the pairs are too tame to test it.
    return _finding(name, adjacency, evidence, max(shares.values()) > 0.99)


def replay_all(name: str, adjacency: Adjacency) -> Replayed:
    """The first violation or None, and each release's largest change as a share of its sensitivity."""
    storages = list(STORAGES)
    shares: dict[str, float] = {}
    offset = list(ESTIMATORS).index(name)
    with cached_schedules():
        cases = [(pair, None) for pair in pairs()] + _fitted_cases(ESTIMATORS[name](adjacency=adjacency))
        for k, (pair, script) in enumerate(cases):
            storage = storages[(k + offset) % len(storages)]
            violation, seen = replay_pair(ESTIMATORS[name](adjacency=adjacency), pair, storage, adjacency, script)
            if violation:
                return f"{violation} (pair: {pair.name}; {storage})", {}
            for release, share in seen.items():
                shares[release] = max(share, shares.get(release, 0.0))
    return None, shares


def cached_schedules() -> contextlib.ExitStack:
    """Plan a fit once for the length of a block: the plan is a public function of public numbers, and slow."""
    plan = lru_cache(schedule_for)
    stack = contextlib.ExitStack()
    for module in (_pursuit, _raw_fit):
        stack.enter_context(replaced(module, schedule_for=plan))
    return stack


def _finding(name: str, adjacency: Adjacency, evidence: str, good: bool) -> Finding:
    return Finding(f"{name}, {adjacency}", "within the declared sensitivity", evidence, good)


def _fitted_cases(model: Any) -> list[Any]:
    """Pairs made for the effects of one fit, with the outputs that lead to these effects."""
    seen, jacobian_sums = [], queries.jacobian_sums

    def noted(records: Any, *equation: Any) -> Any:
        seen.append(equation)
        return jacobian_sums(records, *equation)

    with replaced(queries, jacobian_sums=noted):
        base = run(model, pairs()[0].table(0, 0))
    # Two parts have no equation of their own.
    if not seen or base.error or "equation_" not in base.fitted:
        return []
    center, effects, _, kept, *_ = seen[-1]
    constants = int(model.fit_intercept)
    equation = base.fitted["equation_"]
    made = on_the_plane(
        equation.features,
        equation.center,
        equation.scale,
        np.asarray(effects)[kept[constants:]],
        center + sum(effects[:constants]),
    )
    return [(pair, base.tape.script) for pair in made]


def replay_pair(model: Any, pair: Pair, storage: str, adjacency: Adjacency, script: Script | None = None) -> Replayed:
    """Four runs with the same outputs: the first violation or None, and the changes as shares of their bounds."""
    if adjacency == "zero-out-one":
        pair = blanked(pair)

    def run_on(companions: int, version: int, script: Script | None) -> Run:
        return run(model, pair.table(companions, version), storage, script)

    return replay_runs(run_on, script)


def replay_runs(run_on: Callable[..., Any], script: Script | None = None) -> Replayed:
    """The same for a function that runs a fit: on two sets of companions and two versions, with a script of outputs."""
    base = run_on(0, 0, script)
    if base.error:
        return f"raises {base.error}", {}
    violation = _malformed(base)
    if violation:
        return violation, {}
    script = base.tape.script
    moved_companions, *others = (run_on(*place, script) for place in ((1, 0), (0, 1), (1, 1)))
    for other in (moved_companions, *others):
        violation = different(base, other)
        if violation:
            return violation, {}
    if _moves(base, others[0]) != _moves(moved_companions, others[1]):
        return "another record's term moves", {}
    return changes(base, others[0])


def _malformed(base: Run) -> str | None:
    """The first fault of one run by itself, or None."""
    violation = unpaid(base.tape, base.fitted["privacy_"].guarantee)
    if violation:
        return violation
    record, support = base.fitted["privacy_"], base.fitted["support_"]
    if tuple(release for release, _ in base.tape.releases()) != record.releases:
        return "the record does not list what was charged"
    if record.epsilon > record.guarantee.epsilon:
        return "the record exceeds the guarantee"
    return "a feature is selected twice" if len(set(support.tolist())) < len(support) else None


def unpaid(tape: Tape, guarantee: Guarantee) -> str | None:
    """The first draw of a tape that its charge does not pay for, or None."""
    for release, draws in tape.releases():
        if release is None:
            return "a draw before any charge"
        violation = wrong_price(release, draws, guarantee.records_per_person)
        if violation:
            return f"{release.name}: {violation}"
    return None


def different(base: Run, other: Run) -> str | None:
    """The first difference between two runs that saw the same releases, or None."""
    if other.error:
        return f"raises {other.error}"
    if base.warnings != other.warnings:
        return "the warnings differ"
    if base.tape.flow != other.tape.flow or len(base.tape.sums) != len(other.tape.sums):
        return "the releases differ in number, kind, price or order"
    if base.fitted.keys() != other.fitted.keys():
        return "the fitted attributes differ in number"
    changed = [name for name in base.fitted if not same(base.fitted[name], other.fitted[name])]
    return f"{changed[0]} depends on more than releases" if changed else None


def _moves(first: Run, second: Run) -> list[list[int | list[int]]]:
    """The change of every sum over rows, in exact integers."""
    return [_difference(a, b).tolist() for a, b in zip(first.tape.sums, second.tape.sums, strict=True)]


def _difference(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """The second less the first, exactly: in int64 where both are within +-2^62."""
    if isinstance(first.item() if first.ndim == 0 else None, NameCounts):
        counts: Any = first.item()
        return np.array(counts.moves(second.item()), dtype=object)
    if all(a.dtype == np.int64 and np.abs(a.astype(np.float64)).max(initial=0.0) < 2.0**62 for a in (first, second)):
        moved: NDArray[Any] = second - first
        return moved
    difference: NDArray[Any] = second.astype(object) - first.astype(object)
    return difference


def statistic_moves(first: Taped, second: Taped, without: Collection[str] = ()) -> list[list[list[int]]]:
    """The change of every statistic between two runs, in exact integers, but those of some releases."""
    return [
        [_difference(a.statistic, b.statistic).tolist() for a, b in zip(draws, others, strict=True)]
        for (release, draws), (_, others) in zip(first.tape.releases(), second.tape.releases(), strict=True)
        if release.name not in without
    ]


def changes(first: Taped, second: Taped) -> Replayed:
    """The first statistic that moves too far, or None; and every change as a share of its bound."""
    shares, parts = {}, set()
    for (release, draws), (_, others) in zip(first.tape.releases(), second.tape.releases(), strict=True):
        moved = [_difference(a.statistic, b.statistic) for a, b in zip(draws, others, strict=True)]
        change = _size(release, moved)
        if change > release.sensitivity * (1 + ROUNDING):
            return f"{release.name} moves by {change:.10g}, declared {release.sensitivity:.10g}", {}
        if change and release.part is not None:
            parts.add(release.part)
        if release.size:
            shares[release.name] = float(change / release.sensitivity)
    return ("a record is read in more than one part" if len(parts) > 1 else None), shares


def _size(release: Release, changes: list[NDArray[np.int64]]) -> float:
    """The norm in which a release declares its sensitivity."""
    if not isinstance(release.mechanism, GaussianMechanism | PartitionSelection):
        return max((abs(change).max() for change in changes if change.size), default=0)
    squares = [sum(int(c) ** 2 for c in change) for change in changes]
    # A Gram matrix is drawn as its upper triangle, then its diagonal: an entry off the diagonal counts twice.
    return math.sqrt(2 * squares[0] + squares[1] if len(squares) == 2 else sum(squares))

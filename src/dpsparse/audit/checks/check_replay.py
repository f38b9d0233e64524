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
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.attacked import ESTIMATORS
from dpsparse.audit.harness.neighbors import STORAGES, Pair, blanked, on_the_plane, pairs
from dpsparse.audit.harness.patching import replaced
from dpsparse.audit.harness.tape import NameCounts, Run, Script, Tape, run, same
from dpsparse.audit.oracles.price_oracle import wrong_price
from dpsparse.engine import queries
from dpsparse.estimators import _pursuit, _raw_fit
from dpsparse.privacy.accounting.release import GaussianMechanism, PartitionSelection, Release
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.protection import ADJACENCIES, Adjacency

# Sums of squares are taken in integers: only the declared sensitivity itself is rounded.
ROUNDING = 1e-12

# The first violation or None, and each release's largest change as a share of its sensitivity.
Replayed = tuple[str | None, dict[str, float]]


class Taped(Protocol):
    """A run whose releases are on a tape."""

    @property
    def tape(self) -> Tape:
        """The tape."""


def check_estimators(names: Iterable[str]) -> Iterator[Finding]:
    """Replay some estimators on every pair under both relations; a finding for each estimator and relation."""
    return (check_estimator(name, adjacency) for name in names for adjacency in ADJACENCIES)


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

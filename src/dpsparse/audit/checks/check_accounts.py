"""Accounting: conversions, roots and the Gaussian account against oracles that share no code with them.

- rho-zCDP covers a Gaussian of mu^2 = 2 rho, whose curve is known exactly: no guarantee made of rho may lie below it.
- A root must lie on the side that keeps the guarantee, by the very curve whose root it is.
- The Gaussian account must lie above the exact curve of a sequence (`exact_curve`), whatever the order.
- The meter must refuse whatever exceeds the guarantee, by one release and by the sum over parts.
- Every slot of a commitment is used once and in order, and a slot that is skipped stays paid.
- A probability of failure is taken from delta.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from scipy import stats

from dpsparse.audit.finding import Finding
from dpsparse.audit.oracles.exact_curve import exact_delta
from dpsparse.privacy.accounting import gdp
from dpsparse.privacy.accounting.compose import compose, compose_gdp
from dpsparse.privacy.accounting.gdp import epsilon_from_mu, gaussian_curve, largest_mu
from dpsparse.privacy.accounting.meter import BudgetExceeded, Commitment, Meter
from dpsparse.privacy.accounting.release import (
    ExponentialMechanism,
    GaussianMechanism,
    Mechanism,
    Release,
    RepeatedPicks,
    Slot,
)
from dpsparse.privacy.accounting.zcdp import epsilon_from_rho, rho_from_epsilon
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SeededSource

FINE = 1e9  # a scale at which discreteness does not matter
GUARANTEES = [(0.1, 1e-6), (1.0, 1e-5), (3.0, 1e-3)]


def _pick(rho: float) -> ExponentialMechanism:
    return ExponentialMechanism(rho)


def _gaussian(rho: float, scale: float = FINE) -> GaussianMechanism:
    return GaussianMechanism.drawn(scale=scale, size=1, rho=rho)


# Later releases matter most where a pick comes last: there an account that reads forwards is too cheap.
SEQUENCES: dict[str, list[Any]] = {
    "a pick after Gaussian noise": [_gaussian(0.02), _pick(0.02)],
    "picks and Gaussian noise in turn": [_pick(0.01), _gaussian(0.01), _pick(0.02), _gaussian(0.005)],
    "one pick": [_pick(0.03)],
    "picks last": [_gaussian(0.05), _pick(0.02), _pick(0.02)],
    "several picks in one release": [_gaussian(0.02), RepeatedPicks(0.05, count=5), _gaussian(0.001)],
}


def check_accounts() -> Iterator[Finding]:
    """Conversions, roots, the Gaussian account, the meter, its slots, failures."""
    for of_guarantee in (_conversion, _roots):
        yield from map(of_guarantee, GUARANTEES)
    yield from map(_sequence, SEQUENCES)
    for check in (_meter, _slots, _skipped, _failures, _parts, _person):
        yield check()


def _gaussian_delta(mu: float, epsilon: float) -> float:
    return float(stats.norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * stats.norm.cdf(-epsilon / mu - mu / 2))


def _conversion(guarantee: tuple[float, float]) -> Finding:
    """The Gaussian of this rho is a witness; the textbook's rho + 2 sqrt(rho log(1/delta)) bounds it from above."""
    epsilon, delta = guarantee
    rho = rho_from_epsilon(epsilon, delta)
    witness = _gaussian_delta(math.sqrt(2 * rho), epsilon)
    textbook = rho + 2 * math.sqrt(-rho * math.log(delta))
    back = epsilon_from_rho(rho, delta)
    good = witness <= delta and back <= epsilon <= textbook and _gaussian_delta(math.sqrt(2 * rho), back) <= delta
    return _finding(f"rho of ({epsilon:g}, {delta:g})", f"delta <= {delta:.3g}", f"a Gaussian: {witness:.3g}", good)


def _roots(guarantee: tuple[float, float]) -> Finding:
    epsilon, delta = guarantee
    mu = largest_mu(epsilon, delta)
    back = epsilon_from_mu(mu, delta)
    upper = gdp._upper_curve
    safe = [
        upper(mu, epsilon) <= delta,
        upper(mu, back) <= delta,
        epsilon_from_rho(rho_from_epsilon(epsilon, delta), delta) <= epsilon,
        _gaussian_delta(mu * (1 + 1e-6), epsilon) > delta,
    ]
    evidence = "on the safe side" if all(safe) else "on the unsafe side"
    return _finding(f"roots at ({epsilon:g}, {delta:g})", "the end that keeps the guarantee", evidence, all(safe))


def _sequence(name: str) -> Finding:
    mechanisms = SEQUENCES[name]
    mu = compose_gdp(mechanisms)
    epsilons = [0.0, 0.5 * mu, mu, 2 * mu]
    exact, errors = exact_delta(mechanisms, epsilons)
    shares = [float(true / gaussian_curve(mu, x)) for true, x in zip(exact, epsilons, strict=True)]
    good = all(t - 2 * e <= gaussian_curve(mu, x) for t, e, x in zip(exact, errors, epsilons, strict=True))
    return _finding(name, f"mu {mu:.5f}", f"exact delta at most {max(shares):.4f} of it", good)


def _release(mechanism: Mechanism, name: str = "release", part: int | None = None) -> Release:
    return Release(name, mechanism, 1.0, FINE, part)


def _slot(mechanism: Mechanism, name: str = "release") -> Slot:
    return Slot(name, mechanism)


def _meter() -> Finding:
    guarantee = Guarantee(1.0, 1e-5)
    half = _gaussian(0.6 * guarantee.rho_per_record)
    in_part = [_release(half, part=k) for k in (0, 1, 1)]
    whole = guarantee.mu_per_record**2 / 2 * (1 - 1e-9)
    fine = _gaussian(whole)
    planned = [_slot(fine)]
    refused = {
        "a second charge of 60 %": _is_refused(guarantee, _release(half), _release(half)),
        "a second charge of 60 % to a part": _is_refused(guarantee, *in_part),
        "a sequence more costly than the guarantee": _is_refused(
            guarantee, _release(_gaussian(2 * whole)), slots=[_slot(_gaussian(2 * whole))]
        ),
        "a release not committed to": _is_refused(guarantee, _release(_gaussian(0.9 * whole)), slots=planned),
        "coarse noise on the Gaussian account": _is_refused(guarantee, _release(_gaussian(whole, 5.0)), slots=planned),
    }
    allowed = not _is_refused(guarantee, *in_part[:2]) and not _is_refused(guarantee, _release(fine), slots=planned)
    return _refusals("meter", "no more than the guarantee", refused, allowed)


def _slots() -> Finding:
    """Two slots of one price: each is used once, and the first before the second."""
    guarantee, mechanism = Guarantee(1.0, 1e-5), _gaussian(0.001)
    slots = [_slot(mechanism, name) for name in ("first", "second")]
    first, second = (_release(mechanism, slot.name) for slot in slots)
    refused = {
        "a slot used twice": _is_refused(guarantee, first, first, slots=slots),
        "slots out of order": _is_refused(guarantee, second, first, slots=slots),
        "a skipped slot used after all": _is_refused(guarantee, first, slots=slots, skip="first"),
    }
    allowed = not _is_refused(guarantee, first, second, slots=slots)
    return _refusals("slots of a commitment", "each once, in order", refused, allowed)


def _is_refused(guarantee: Guarantee, *releases: Release, slots: Sequence[Slot] = (), skip: str | None = None) -> bool:
    meter = Meter(guarantee, 100, SeededSource(0))
    try:
        if slots:
            meter.commit(Commitment(tuple(slots)))
        if skip:
            meter.skip(skip)
        for release in releases:
            meter.charge(release)
    except BudgetExceeded:
        return True
    return False


def _refusals(mechanism: str, claimed: str, refused: dict[str, bool], allowed: bool) -> Finding:
    missed = [name for name, is_refused in refused.items() if not is_refused]
    evidence = f"accepts {missed[0]}" if missed else f"refuses {len(refused)} ways to overspend"
    return _finding(mechanism, claimed, evidence, not missed and allowed)


def _skipped() -> Finding:
    """Of three slots each is skipped in turn: the record must cost as much as the commitment, in every account."""
    mechanisms = SEQUENCES["picks last"]
    slots = tuple(_slot(mechanism, f"release {k}") for k, mechanism in enumerate(mechanisms))
    commitment = Commitment(slots)
    shares = []
    for skipped in slots:
        meter = Meter(Guarantee(5.0, 1e-3), 100, SeededSource(0))
        meter.commit(commitment)
        for slot in slots:
            if slot is skipped:
                meter.skip(slot.name)
            else:
                meter.charge(_release(slot.mechanism, slot.name))
        record = meter.record()
        shares += [record.rho / commitment.composed.rho, record.mu / commitment.composed.mu]
    return _finding("a slot skipped", "stays paid", f"at least {min(shares):.6f} of its price", min(shares) >= 1)


def _failures() -> Finding:
    """Releases that fail with probability delta / 2 and would otherwise fill the guarantee, by each account in turn."""
    guarantee = Guarantee(1.0, 1e-5)
    may_fail: dict[str, Any] = {"failure_probability": guarantee.delta / 2}
    by_zcdp = GaussianMechanism(guarantee.rho_per_record, tv_slack=math.inf, **may_fail)
    by_mu = GaussianMechanism(guarantee.mu_per_record**2 / 2 * (1 - 1e-9), **may_fail)
    pure = ExponentialMechanism(1.0, guarantee.pure_epsilon_per_record, tv_slack=math.inf, **may_fail)
    covered = [compose([_slot(mechanism)]).is_within(guarantee) for mechanism in (by_zcdp, by_mu, pure)]
    never = [replace(mechanism, failure_probability=0.0) for mechanism in (by_zcdp, by_mu, pure)]
    allowed = all(compose([_slot(mechanism)]).is_within(guarantee) for mechanism in never)
    evidence = f"{sum(covered)} of {len(covered)} accounts leave it out"
    return _finding("releases that may fail", "failures are taken from delta", evidence, allowed and not any(covered))


def _parts() -> Finding:
    """Of disjoint parts the most costly one counts, in the Gaussian account too, wherever it stands."""
    cheap, costly = [_gaussian(0.001)], SEQUENCES["picks last"]
    tight = compose_gdp(costly)
    mus = [
        compose(Slot("release", mechanism, k) for k, part in enumerate(parts) for mechanism in part).mu
        for parts in ([cheap, costly], [costly, cheap])
    ]
    evidence = f"{min(mus) / tight:.6f} of the most costly"
    return _finding("disjoint parts", "the mu of the most costly part", evidence, min(mus) >= tight >= max(mus))


def _person() -> Finding:
    """A person's three records move a statistic three times as far: rho grows by 9, a pure epsilon and mu by 3."""
    one, three = Guarantee(1.0, 1e-5), Guarantee(1.0, 1e-5, records_per_person=3)
    shares = (
        9 * three.rho_per_record / one.rho_per_record,
        3 * three.pure_epsilon_per_record / one.pure_epsilon_per_record,
        3 * three.mu_per_record / one.mu_per_record,
    )
    evidence = f"{max(shares):.6f} of one record's budget"
    return _finding("three records a person", "the person's guarantee", evidence, max(shares) <= 1 + 1e-9)


def _finding(mechanism: str, claimed: str, evidence: str, good: bool) -> Finding:
    return Finding(mechanism, claimed, evidence, bool(good))

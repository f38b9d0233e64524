"""Every inequality of the accounting by itself, against the formula that proves it, written anew.

`accounts` compares whole guarantees with witnesses, which leaves room: a factor that is lost in one step may stay
within what another step gives away. Here each step meets its own formula.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import stats

from dpsparse.audit.finding import Finding
from dpsparse.privacy.accounting import gdp
from dpsparse.privacy.accounting.compose import compose, compose_gdp
from dpsparse.privacy.accounting.meter import BudgetExceeded, Commitment, Meter
from dpsparse.privacy.accounting.release import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplacePeeling,
    PartitionSelection,
    Release,
    Slot,
)
from dpsparse.privacy.accounting.zcdp import epsilon_from_rho
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.gaussian import gaussian_scale
from dpsparse.privacy.mechanisms.selection import peeling_cost, tight_peeling_scale
from dpsparse.privacy.noise import SeededSource

# Far above the rounding of any formula here, far below a factor that is lost.
NEAR = 1e-7
GUARANTEE = Guarantee(1.0, 1e-5)
RHOS, DELTAS = (1e-4, 0.01, 0.3, 4.0), (1e-9, 1e-5, 0.01)


def check_inequalities() -> Iterator[Finding]:
    """Each step of the accounts."""
    for name, (claimed, check) in INEQUALITIES.items():
        share = check()
        yield Finding(name, claimed, f"{share:.9f} of it", bool(share >= 1 - NEAR))


def _conversion() -> float:
    """Over all orders the least of Canonne, Kamath and Steinke's bounds: no epsilon may lie below it."""
    shares = []
    orders = 1 + np.exp(np.linspace(-9, 16, 200_001))
    for rho, delta in itertools.product(RHOS, DELTAS):
        bounds = rho * orders - np.log(delta * orders) / (orders - 1) + np.log(1 - 1 / orders)
        if bounds.min() > 0:
            shares.append(epsilon_from_rho(rho, delta) / bounds.min())
    return float(min(shares))


def _gaussian_step() -> float:
    """(D / s)^2 is added, and a scale of D / sqrt(2 rho) makes it 2 rho."""
    shares = (
        gdp.with_gaussian(later, rho) / (later + (3.0 / gaussian_scale(3.0, rho)) ** 2)
        for later, rho in itertools.product((0.0, 0.5), RHOS)
    )
    return float(min(shares))


def _pick_step() -> float:
    """A pick's randomised response, e0 / 2 to either side, before Gaussian noise: the tightest pair of its window."""
    shares = []
    for later, rho in itertools.product((0.0, 0.04, 1.0), (0.005, 0.05)):
        e0, mu = math.sqrt(8 * rho), math.sqrt(later)
        after, truth = math.sqrt(gdp.with_pick(later, rho)), 1 / (1 + math.exp(-e0 / 2))
        for x in (0.0, 0.5 * after, after, 2 * after):
            curve = gdp.gaussian_curve
            exact = truth * curve(mu, x - e0 / 2) + (1 - truth) * curve(mu, x + e0 / 2)
            shares.append(float(curve(after, x) / exact) if exact else 1.0)
    return float(min(shares))


def _certificate() -> float:
    """No pair is certified whose claim lies below what one pick costs."""
    refused = [not gdp.is_certified(0.4, ratio, constant) for ratio, constant in ((0.0, 1.2), (0.5, 1.0), (2.0, 0.99))]
    return float(all(refused) and all(gdp.is_certified(0.4, *pair) for pair in gdp.CERTIFICATES))


def _pure_step() -> float:
    """Randomised response of e tells the truth with 1 / (1 + exp(-e)): Phi(m / 2) must be as much."""
    shares = (
        (2 * stats.norm.cdf(math.sqrt(gdp.with_pure(0.0, e**2 / 2)) / 2) - 1) / math.tanh(e / 2)
        for e in (1e-3, 0.1, 0.5, 2.0)
    )
    return float(min(shares))


def _discreteness() -> float:
    """The total variation between a discrete and a rounded Gaussian, summed up; of many numbers a lower bound.

    That of independent draws is at least their squared Hellinger distance, 1 less a power of the affinity of one.
    """
    shares = []
    for scale, count in ((4.0, 1), (6.0, 1), (4.0, 1_000_000), (6.0, 4_000_000)):
        k = np.arange(-40, 41)
        discrete = np.exp(-(k**2) / (2 * scale**2))
        discrete /= discrete.sum()
        rounded = stats.norm.cdf((k + 0.5) / scale) - stats.norm.cdf((k - 0.5) / scale)
        one, affinity = np.abs(discrete - rounded).sum() / 2, np.sqrt(discrete * rounded).sum()
        least = one if count == 1 else 1 - affinity**count
        shares.append(gdp.discreteness_slack(scale, count) / least)
    return float(min(shares))


def _slack_share() -> float:
    """Both tables of a pair are swapped for ideal ones: (1 + e^epsilon) times the slack comes out of delta."""
    most = 1e-3 * GUARANTEE.delta / (1 + math.exp(GUARANTEE.epsilon))
    fits = [gdp.tv_slack_fits(most * factor, GUARANTEE.epsilon, GUARANTEE.delta) for factor in (0.999, 1.001)]
    return float(fits == [True, False])


def _limit_of_mu() -> float:
    """Delta of the limit on mu, and the share of delta that is kept for the slack, are delta at most."""
    shares = []
    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-5), (3.0, 1e-3)):
        mu = Guarantee(epsilon, delta).mu_per_record
        spent = stats.norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * stats.norm.cdf(-epsilon / mu - mu / 2)
        shares.append(delta / (spent + 1e-3 * delta))
    return float(min(shares))


def _person() -> float:
    """Three records: 9 rho, 3 times a pure epsilon, 3 mu; each account by itself."""
    three = replace(GUARANTEE, records_per_person=3)
    pairs = (
        (three.epsilon_spent(0.01), GUARANTEE.epsilon_spent(0.09)),
        (three.epsilon_spent(math.inf, 0.2), 0.6),
        (three.epsilon_spent(math.inf, mu=0.1), GUARANTEE.epsilon_spent(math.inf, mu=0.3)),
        (GUARANTEE.rho_per_record, 9 * three.rho_per_record),
        (GUARANTEE.pure_epsilon_per_record, 3 * three.pure_epsilon_per_record),
        (GUARANTEE.mu_per_record, 3 * three.mu_per_record),
    )
    return min(stated / least for stated, least in pairs)


_A, _B, _C, _D, _E = (GaussianMechanism(rho, rho, rho / 1e6, rho / 1e5) for rho in (0.01, 0.03, 0.02, 0.04, 0.03))
_MIXED = [Slot("a", _A), Slot("b", _B, 0), Slot("c", _C, 0), Slot("d", _D), Slot("e", _E, 1)]


def _sums() -> float:
    """Releases on all rows before and after those on parts: all of the former, and the most of the parts."""
    cost = compose(_MIXED)
    total = 0.01 + 0.04 + (0.03 + 0.02)
    never = compose([replace(slot, mechanism=replace(slot.mechanism, failure_probability=0.0)) for slot in _MIXED])
    shares = (
        cost.rho / total,
        never.pure_epsilon / total,
        cost.mu / max(compose_gdp([_A, _B, _C, _D]), compose_gdp([_A, _D, _E])),
        cost.failure_probability / (0.13 / 1e5),
        cost.tv_slack / (math.hypot(0.01, 0.03, 0.02, 0.04, 0.03) / 1e6 + 0.13 / 1e5),
    )
    return float(min(shares))


def _committed_cost() -> float:
    """What a ledger is told of a fit: every number of it, and a delta unless the fit is pure."""
    noisy = Commitment((Slot("noise", replace(_A, pure_epsilon=math.inf, failure_probability=1e-9, tv_slack=1e-9)),))
    pure = Commitment((Slot("pick", ExponentialMechanism(0.01, 0.3)),))
    cost, free = (commitment.cost(GUARANTEE) for commitment in (noisy, pure))
    told = (cost.epsilon, cost.delta / 1e-5, cost.rho / 0.01, cost.tv_slack / 2e-9, cost.failure_probability / 1e-9)
    return min(*told, float(free.delta == 0.0))


def _peeling() -> float:
    """2 D / b for a pick and D / b for a value, pure: sums, and halves of the squares; and scales that keep to it."""
    shares = []
    for s, ratio in ((1, 0.1), (5, 0.02)):
        rho, pure = peeling_cost(s, ratio, 1.0)
        shares += [rho / (s * ((2 * ratio) ** 2 + ratio**2) / 2), pure / (s * 3 * ratio)]
        rho, pure = peeling_cost(s, 7, tight_peeling_scale(GUARANTEE, s, 7))
        shares.append(max(GUARANTEE.rho_per_record / rho, GUARANTEE.epsilon / pure))
    return float(min(shares))


def _slots() -> float:
    """A slot pays for a release of its own kind, name and part, that costs no more in any account."""
    made = GaussianMechanism(0.01, 0.1, 1e-12, 1e-12)
    slot = Slot("release", made, 0)
    other = {
        "kind": LaplacePeeling(0.01, 0.1, 1e-12, 1e-12),
        "rho": replace(made, rho=0.011),
        "pure epsilon": replace(made, pure_epsilon=0.2),
        "slack": replace(made, tv_slack=1e-11),
        "failure": replace(made, failure_probability=1e-11),
    }
    releases = [Release("release", mechanism, 1.0, 1e9, 0) for mechanism in other.values()]
    releases += [Release("another", made, 1.0, 1e9, 0), Release("release", made, 1.0, 1e9, 1)]
    accepted = [_is_paid(slot, release) for release in releases]
    return float(_is_paid(slot, Release("release", made, 1.0, 1e9, 0)) and not any(accepted))


def _is_paid(slot: Slot, release: Release) -> bool:
    meter = Meter(GUARANTEE, 100, SeededSource(0))
    meter.commit(Commitment((slot,)))
    try:
        meter.charge(release)
    except BudgetExceeded:
        return False
    return True


def _partitions() -> float:
    """A selection of names costs its noise, and fails with what it states."""
    names = PartitionSelection.drawn(scale=1e3, size=500, rho=0.02, failure_probability=1e-7)
    cost = compose([Slot("names", names), Slot("noise", GaussianMechanism(0.01))])
    slack = math.sqrt(500) / (24 * 1e3**2)
    return min(cost.mu**2 / 0.06, cost.tv_slack / (slack + 1e-7), cost.failure_probability / 1e-7, cost.rho / 0.03)


INEQUALITIES = {
    "rho to epsilon": ("the least bound of all orders", _conversion),
    "Gaussian noise in the Gaussian account": ("(D / s)^2", _gaussian_step),
    "a pick in the Gaussian account": ("randomised response of e0 / 2", _pick_step),
    "certificates": ("what is false is refused", _certificate),
    "pure releases in the Gaussian account": ("randomised response", _pure_step),
    "discrete noise": ("its total variation", _discreteness),
    "a share of delta for the slack": ("(1 + e^epsilon) times it", _slack_share),
    "limits on mu": ("delta, the share kept included", _limit_of_mu),
    "three records a person, each account": ("group privacy", _person),
    "sums over parts": ("all rows, and the most of the parts", _sums),
    "the cost of a commitment": ("every number of it", _committed_cost),
    "Laplace peeling": ("pure costs and their squares", _peeling),
    "what a slot pays for": ("no more in any account", _slots),
    "names of values": ("noise, slack and failure", _partitions),
}

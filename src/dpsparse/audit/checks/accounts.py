"""The account: conversions, roots and the tight account against oracles that share no code with them.

- rho-zCDP covers a Gaussian of mu^2 = 2 rho, whose curve is known exactly: no promise made of rho may lie below it.
- A root must lie on the side that keeps the promise, by the very curve it was taken of.
- The tight account must lie above the exact curve of a sequence (`exact_curve`), whatever the order.
- The meter must refuse what exceeds the promise, by one release and by the sum over parts.
"""

import math
from dataclasses import replace

from scipy import stats

from dpsparse.audit.exact_curve import exact_delta
from dpsparse.audit.finding import Finding
from dpsparse.privacy.accounting import gdp
from dpsparse.privacy.accounting.commitment import Commitment, Price
from dpsparse.privacy.accounting.gdp import (
    discrete_excess,
    epsilon_from_mu,
    gaussian_curve,
    largest_mu,
    mu_of_sequence,
)
from dpsparse.privacy.accounting.meter import BudgetExceeded, Meter
from dpsparse.privacy.accounting.record import Release
from dpsparse.privacy.guarantee import Guarantee, epsilon_from_rho, rho_from_epsilon
from dpsparse.privacy.noise import SeededSource

FINE = 1e9  # a scale at which discreteness does not matter
PROMISES = [(0.1, 1e-6), (1.0, 1e-5), (3.0, 1e-3)]
# Later releases matter most where a pick comes last: there an account that reads forwards is too cheap.
SEQUENCES = {
    "a pick after Gaussian noise": [("gaussian", 0.02), ("pick", 0.02)],
    "picks and Gaussian noise in turn": [("pick", 0.01), ("gaussian", 0.01), ("pick", 0.02), ("gaussian", 0.005)],
    "one pick": [("pick", 0.03)],
    "picks last": [("gaussian", 0.05), ("pick", 0.02), ("pick", 0.02)],
}


def check_accounts():
    """Conversions, roots, the tight account, the meter."""
    return [
        *map(_conversion, PROMISES),
        *map(_roots, PROMISES),
        *map(_sequence, SEQUENCES),
        _meter(),
        _parts(),
        _person(),
    ]


def _gaussian_delta(mu, epsilon):
    return stats.norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * stats.norm.cdf(-epsilon / mu - mu / 2)


def _conversion(guarantee):
    """The Gaussian of this rho is a witness; the textbook's rho + 2 sqrt(rho log(1/delta)) bounds it from above."""
    epsilon, delta = guarantee
    rho = rho_from_epsilon(epsilon, delta)
    witness = _gaussian_delta(math.sqrt(2 * rho), epsilon)
    textbook = rho + 2 * math.sqrt(-rho * math.log(delta))
    back = epsilon_from_rho(rho, delta)
    good = witness <= delta and back <= epsilon <= textbook and _gaussian_delta(math.sqrt(2 * rho), back) <= delta
    return _finding(f"rho of ({epsilon:g}, {delta:g})", f"delta <= {delta:.3g}", f"a Gaussian: {witness:.3g}", good)


def _roots(guarantee):
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
    found = "on the safe side" if all(safe) else "on the unsafe side"
    return _finding(f"roots at ({epsilon:g}, {delta:g})", "the end that keeps the promise", found, all(safe))


def _sequence(name):
    prices = SEQUENCES[name]
    mu = mu_of_sequence(prices)
    epsilons = [0.0, 0.5 * mu, mu, 2 * mu]
    exact, errors = exact_delta(prices, epsilons)
    shares = [float(true / gaussian_curve(mu, x)) for true, x in zip(exact, epsilons, strict=True)]
    good = all(t - 2 * e <= gaussian_curve(mu, x) for t, e, x in zip(exact, errors, epsilons, strict=True))
    return _finding(name, f"mu {mu:.5f}", f"exact delta at most {max(shares):.4f} of it", good)


def _meter():
    guarantee = Guarantee(1.0, 1e-5)
    half = Release("half", "gaussian", "", 1.0, 1.0, 0.6 * guarantee.rho_per_record)
    in_part = [Release("part", "gaussian", "", 1.0, 1.0, 0.6 * guarantee.rho_per_record, part=k) for k in (0, 1, 1)]
    whole = guarantee.mu_per_record**2 / 2 * (1 - 1e-9)
    fine = Release("fine", "gaussian", "", 1.0, FINE, whole)
    refused = {
        "a second charge of 60 %": _is_refused(guarantee, half, half),
        "a second charge of 60 % to a part": _is_refused(guarantee, *in_part),
        "a sequence dearer than the promise": _is_refused(guarantee, replace(fine, rho=2 * whole), commit=2 * whole),
        "a release not committed to": _is_refused(guarantee, replace(fine, rho=0.9 * whole), commit=whole),
        "coarse noise on the tight account": _is_refused(guarantee, replace(fine, scale=5.0), commit=whole),
    }
    allowed = not _is_refused(guarantee, *in_part[:2]) and not _is_refused(guarantee, fine, commit=whole)
    missed = [name for name, caught in refused.items() if not caught]
    found = f"accepts {missed[0]}" if missed else f"refuses {len(refused)} ways to overspend"
    return _finding("meter", "no more than the promise", found, not missed and allowed)


def _is_refused(guarantee, *releases, commit=None):
    meter = Meter(guarantee, 100, SeededSource(0))
    try:
        if commit is not None:
            meter.commit(Commitment((Price("gaussian", commit),), discrete_excess(FINE / 2, 1)))
        for release in releases:
            meter.charge(release)
    except BudgetExceeded:
        return True
    return False


def _parts():
    """Of disjoint parts the dearest counts, on the tight account too, wherever it stands."""
    cheap, dear = [("gaussian", 0.001)], SEQUENCES["picks last"]
    tight = mu_of_sequence(dear)
    mus = [
        Commitment(tuple(Price(*price, part=k) for k, part in enumerate(parts) for price in part)).mu
        for parts in ([cheap, dear], [dear, cheap])
    ]
    found = f"{min(mus) / tight:.6f} of the dearest"
    return _finding("disjoint parts", "the dearest part's mu", found, min(mus) >= tight and max(mus) <= tight)


def _person():
    """A person's three records move a statistic three times as far: rho grows by 9, a pure epsilon and mu by 3."""
    one, three = Guarantee(1.0, 1e-5), Guarantee(1.0, 1e-5, records_per_person=3)
    shares = (
        9 * three.rho_per_record / one.rho_per_record,
        3 * three.pure_epsilon_per_record / one.pure_epsilon_per_record,
        3 * three.mu_per_record / one.mu_per_record,
    )
    found = f"{max(shares):.6f} of one record's budget"
    return _finding("three records a person", "the person's promise", found, max(shares) <= 1 + 1e-9)


def _finding(mechanism, claimed, found, good):
    return Finding(mechanism, claimed, found, bool(good))

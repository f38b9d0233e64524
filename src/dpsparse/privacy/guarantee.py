"""Promises and their currency.

A promise is (epsilon, delta)-differential privacy between neighbouring tables; the currency inside a fit is
rho, of zero-concentrated differential privacy (zCDP), because it adds up exactly. Nothing here sees data.

What may never change: every conversion errs on the private side. A promise computed from rho is an upper
bound, a rho computed from a promise is a lower bound.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, get_args

from scipy.optimize import minimize_scalar

from dpsparse.privacy.accounting.gdp import EXCESS_SHARE, epsilon_from_mu, largest_mu

Adjacency = Literal["replace-one", "zero-out-one"]
ADJACENCIES: tuple[str, ...] = get_args(Adjacency)

# Each formula below is a sum of a few terms, none much larger than the result or than 10, each right to a few
# units of 2^-53: a relative 1e-12 and an absolute 1e-14 cover their rounding many times over.
_RELATIVE, _ABSOLUTE = 1e-12, 1e-14


def _log_delta(rho: float, epsilon: float, alpha_minus_1: float) -> float:
    alpha = 1.0 + alpha_minus_1
    return alpha_minus_1 * (alpha * rho - epsilon) - math.log(alpha_minus_1) - alpha * math.log1p(1 / alpha_minus_1)


def _epsilon(rho: float, delta: float, alpha_minus_1: float) -> float:
    alpha = 1.0 + alpha_minus_1
    return alpha * rho - (math.log(delta) + math.log(alpha)) / alpha_minus_1 - math.log1p(1 / alpha_minus_1)


def epsilon_from_rho(rho: float, delta: float) -> float:
    """The epsilon that rho-zCDP implies at `delta`: an upper bound.

    Canonne, Kamath and Steinke (2020), Proposition 12 solved for epsilon: rho-zCDP implies
    (epsilon, delta)-DP for epsilon = alpha rho + log(1 / (alpha delta)) / (alpha - 1) + log(1 - 1/alpha) at
    *every* alpha > 1, so whatever alpha the numerical minimum stops at, the result is a valid bound.

    Parameters
    ----------
    rho : float
        The zCDP parameter, at least 0.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        The smallest epsilon found, at least 0.

    Examples
    --------
    >>> from dpsparse.privacy.guarantee import epsilon_from_rho
    >>> round(epsilon_from_rho(0.0102, 10**-4.4), 2)
    0.5
    """
    check_delta(delta)
    if not rho >= 0:
        raise ValueError(f"rho={rho!r} must be at least 0")
    if rho == 0:
        return 0.0
    if math.isinf(rho):
        return math.inf
    # Around the minimum alpha - 1 is near sqrt(log(1/delta) / rho); twelve powers of e on each side is ample.
    middle = 0.5 * math.log(-math.log(delta) / rho)
    found = minimize_scalar(
        lambda t: _epsilon(rho, delta, math.exp(t)),
        bounds=(middle - 12, middle + 12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    bound = float(found.fun)
    return max(0.0, bound + _RELATIVE * abs(bound) + _ABSOLUTE)


def delta_from_rho(rho: float, epsilon: float) -> float:
    """The delta that rho-zCDP implies at `epsilon`: an upper bound.

    The same theorem solved for delta: exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha
    at every alpha > 1.

    Parameters
    ----------
    rho : float
        The zCDP parameter, at least 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        The smallest delta found, at most 1.

    Examples
    --------
    >>> from dpsparse.privacy.guarantee import delta_from_rho
    >>> delta_from_rho(0.01, 0.5) < 10**-4.4
    True
    """
    if not rho >= 0 or not epsilon >= 0:
        raise ValueError(f"rho={rho!r} and epsilon={epsilon!r} must be at least 0")
    if rho == 0:
        return 0.0
    if math.isinf(rho):
        return 1.0
    middle = math.log(max(epsilon / (2 * rho), 1 / math.sqrt(rho)))
    found = minimize_scalar(
        lambda t: _log_delta(rho, epsilon, math.exp(t)),
        bounds=(middle - 12, middle + 12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    log_delta = float(found.fun)
    return min(1.0, math.exp(min(0.0, log_delta + _RELATIVE * (abs(log_delta) + 1))))


@lru_cache(maxsize=256)
def rho_from_epsilon(epsilon: float, delta: float) -> float:
    """The largest rho whose promise stays within (epsilon, delta): a lower bound.

    Found by bisection on `epsilon_from_rho`; the end that keeps the promise is returned.

    Parameters
    ----------
    epsilon : float
        More than 0.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        A rho with ``epsilon_from_rho(rho, delta) <= epsilon``.

    Examples
    --------
    >>> from dpsparse.privacy.guarantee import rho_from_epsilon
    >>> round(rho_from_epsilon(0.5, 10**-4.4), 4)
    0.0102
    """
    check_epsilon(epsilon)
    check_delta(delta)
    low, high = 0.0, epsilon
    while epsilon_from_rho(high, delta) <= epsilon:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if epsilon_from_rho(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    # A step back far beyond the noise of the inner minimum: the promise is kept whoever evaluates it.
    return low * (1 - 1e-11)


def check_epsilon(epsilon: float) -> None:
    """Raise ValueError unless epsilon is a number above 0, and of a size for which every conversion is accurate."""
    if not _is_number(epsilon) or not 1e-10 <= epsilon <= 1e10:
        raise ValueError(f"epsilon={epsilon!r} must be a number from 1e-10 to 1e10; common choices are 0.1 to 10")


def check_delta(delta: float) -> None:
    """Raise ValueError unless delta lies strictly between 0 and 1."""
    if not _is_number(delta) or not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must lie strictly between 0 and 1; use None for n**-1.1")


def check_adjacency(adjacency: str) -> None:
    """Raise ValueError unless the neighbouring relation is one the sensitivities are proved for."""
    if adjacency not in ADJACENCIES:
        raise ValueError(f"adjacency={adjacency!r} must be one of {', '.join(map(repr, ADJACENCIES))}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or (hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0)


@dataclass(frozen=True)
class Guarantee:
    """What a fit promises: (epsilon, delta)-DP for a person, between tables that are neighbours.

    Parameters
    ----------
    epsilon, delta : float
        The promise to each person.
    adjacency : {"replace-one", "zero-out-one"}
        Two tables of the same, public, number of rows are neighbours if they differ in one record
        ("replace-one"), or if one of them has a null record, which adds nothing to any sum, in the place of one
        record of the other ("zero-out-one").
    records_per_person : int
        The most records one person may hold, m. By group privacy a fit whose single records cost
        rho-zCDP costs a person m^2 rho (Bun and Steinke 2016, Proposition 1.9) and m times a pure epsilon.

    Examples
    --------
    >>> from dpsparse.privacy.guarantee import Guarantee
    >>> one, two = Guarantee(1.0, 1e-6), Guarantee(1.0, 1e-6, records_per_person=2)
    >>> one.rho_per_record == 4 * two.rho_per_record
    True
    """

    epsilon: float
    delta: float
    adjacency: Adjacency = "replace-one"
    records_per_person: int = 1

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_adjacency(self.adjacency)
        if not isinstance(self.records_per_person, int) or self.records_per_person < 1:
            raise ValueError(f"records_per_person={self.records_per_person!r} must be a whole number of at least 1")

    @cached_property
    def rho_per_record(self) -> float:
        """The zCDP that one record may cost."""
        return rho_from_epsilon(self.epsilon, self.delta) / self.records_per_person**2

    @property
    def pure_epsilon_per_record(self) -> float:
        """The pure epsilon that one record may cost, for fits accounted without delta."""
        return self.epsilon / self.records_per_person

    @cached_property
    def mu_per_record(self) -> float:
        """The mu of the tight Gaussian account that one record may cost.

        A fit that is mu-Gaussian-DP for one record is m mu-Gaussian-DP for m (Dong, Roth and Su 2022, Theorem 2.14).
        """
        return largest_mu(self.epsilon, (1 - EXCESS_SHARE) * self.delta) / self.records_per_person * (1 - 1e-11)

    def epsilon_spent(self, rho: float, pure_epsilon: float = math.inf, mu: float = math.inf) -> float:
        """What a person is promised at `delta` once a record has cost this much: the least of three sound accounts."""
        m = self.records_per_person
        by_mu = epsilon_from_mu(m * mu, (1 - EXCESS_SHARE) * self.delta) if mu < math.inf else math.inf
        return min(epsilon_from_rho(m**2 * rho, self.delta), m * pure_epsilon, by_mu)


def split(rho: float, shares: dict[str, float]) -> dict[str, float]:
    """Split rho in proportion to shares, so that the parts add up to at most rho in floating point.

    Parameters
    ----------
    rho : float
        The amount to divide.
    shares : dict of str to float
        Shares of at least 0; they are divided by their sum.

    Returns
    -------
    dict of str to float
        The parts under the same names.

    Examples
    --------
    >>> from dpsparse.privacy.guarantee import split
    >>> parts = split(0.1, {"pick": 2, "value": 1})
    >>> sum(parts.values()) <= 0.1
    True
    """
    if not shares or min(shares.values()) < 0 or sum(shares.values()) <= 0:
        raise ValueError(f"shares={shares!r} must be at least 0 with a positive sum")
    # n float operations round by at most n units of 2^-53: step that far back so the parts never exceed rho.
    unit = rho / math.fsum(shares.values()) * (1 - (len(shares) + 4) * 2.0**-52)
    return {name: unit * share for name, share in shares.items()}

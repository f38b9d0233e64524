"""Zero-concentrated differential privacy (zCDP): conversions between rho and (epsilon, delta), and shares of rho.

rho is the currency inside a fit, because it adds up exactly. Nothing here sees data.

What may never change: every conversion errs on the private side. An epsilon computed from rho is an upper bound, and a
rho computed from (epsilon, delta) is a lower bound.
"""

import math
from functools import lru_cache

from scipy.optimize import minimize_scalar

from dpsparse.privacy.accounting.bisection import bracket

# Each formula below is a sum of a few terms. None is much larger than the result or than 10, and each is right to a few
# units of 2^-53: a relative 1e-12 and an absolute 1e-14 cover the rounding many times over.
_RELATIVE, _ABSOLUTE = 1e-12, 1e-14


def _epsilon(rho: float, delta: float, alpha_minus_1: float) -> float:
    alpha = 1.0 + alpha_minus_1
    return alpha * rho - (math.log(delta) + math.log(alpha)) / alpha_minus_1 - math.log1p(1 / alpha_minus_1)


def epsilon_from_rho(rho: float, delta: float) -> float:
    """The epsilon that rho-zCDP implies at `delta`: an upper bound.

    Canonne, Kamath and Steinke (2020), Proposition 12 solved for epsilon: rho-zCDP implies
    (epsilon, delta)-DP for epsilon = alpha rho + log(1 / (alpha delta)) / (alpha - 1) + log(1 - 1/alpha) at
    *every* alpha > 1, so the result is a valid bound wherever the numerical minimum stops.

    rho is at least 0, delta in (0, 1). It is the smallest epsilon found.

    Examples
    --------
    >>> round(epsilon_from_rho(0.0102, 10**-4.4), 2)
    0.5
    """
    _check_delta(delta)
    if not rho >= 0:
        raise ValueError(f"rho={rho!r} must be at least 0")
    if rho == 0:
        return 0.0
    if math.isinf(rho):
        return math.inf
    # The minimum lies near alpha - 1 = sqrt(log(1/delta) / rho); twelve powers of e on each side are ample.
    middle = 0.5 * math.log(-math.log(delta) / rho)
    smallest = minimize_scalar(
        lambda t: _epsilon(rho, delta, math.exp(t)),
        bounds=(middle - 12, middle + 12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    bound = float(smallest.fun)
    return max(0.0, bound + _RELATIVE * abs(bound) + _ABSOLUTE)


@lru_cache(maxsize=256)
def rho_from_epsilon(epsilon: float, delta: float) -> float:
    """The largest rho that implies (epsilon, delta)-DP: a lower bound.

    Found by bisection on `epsilon_from_rho`; the end that keeps the guarantee is returned.

    epsilon is above 0, delta in (0, 1). It is a rho with ``epsilon_from_rho(rho, delta) <= epsilon``.

    Examples
    --------
    >>> round(rho_from_epsilon(0.5, 10**-4.4), 4)
    0.0102
    """
    _check_delta(delta)
    if not epsilon > 0:
        raise ValueError(f"epsilon={epsilon!r} must be above 0")
    low, _ = bracket(lambda rho: epsilon_from_rho(rho, delta) <= epsilon, epsilon)
    # A step back, far larger than the error of the inner minimum: the guarantee is kept whoever evaluates it.
    return low * (1 - 1e-11)


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must lie strictly between 0 and 1")


def split(rho: float, shares: dict[str, float]) -> dict[str, float]:
    """Split rho in proportion to shares, so that the amounts add up to at most rho in floating point.

    Shares are at least 0; they are divided by their sum.

    Examples
    --------
    >>> amounts = split(0.1, {"pick": 2, "value": 1})
    >>> sum(amounts.values()) <= 0.1
    True
    """
    if not shares or min(shares.values()) < 0 or sum(shares.values()) <= 0:
        raise ValueError(f"shares={shares!r} must be at least 0 with a positive sum")
    # n float operations round by at most n units of 2^-53: step that far back so the amounts never exceed rho.
    unit = rho / math.fsum(shares.values()) * (1 - (len(shares) + 4) * 2.0**-52)
    return {name: unit * share for name, share in shares.items()}

"""Gaussian differential privacy (GDP): the tight account of Gaussian releases and exponential-mechanism picks.

zCDP converts to (epsilon, delta) with a loss of about a fifth of rho. For fits made of Gaussian noise and picks
this module bounds the privacy curve itself. Notation: D(x) is the largest P(S) - e^x Q(S) over events S and
neighbouring tables; D_mu(x) = Phi(-x/mu + mu/2) - e^x Phi(-x/mu - mu/2) is the curve of N(mu, 1) against N(0, 1).

Theorem. Read the releases from the last to the first, starting from mu^2 = 0. A Gaussian release of sensitivity D
and scale s adds (D/s)^2 to mu^2; a pick of parameter e0 raises mu to at least a e0 and adds c e0^2 / 4, where (a, c)
is the best of the certified pairs. Then the fit's curve is at most D_mu(x) at every x.

Proof. By induction in reverse time. Let D_mu bound the curve of all later releases, whatever came before them. For a
release with outputs o and privacy loss L(o) = log P(o)/Q(o), the curve from it on is at most E_P[D_mu(x - L)].
(Gaussian.) L is at most N(m^2/2, m^2) with m = D/s up to post-processing, and the expectation is D at
sqrt(mu^2 + m^2).
(Pick.) L lies in some window [t - e0, t], and E_P[exp(-L)] = 1. D_mu is convex in e^x, so the expectation is
largest when L sits on the ends of the window: it is at most B_t(x) = p D_mu(x - t) + (1 - p) D_mu(x - t + e0), with
p e^-t + (1 - p) e^(e0 - t) = 1. Both B_t and D of the claimed mu' are curves of pairs of distributions. Multiplying
both by further Gaussians keeps the order, and D rises with mu, so it is enough to have sup_t B_t <= D_mu' at
mu = a e0, mu'^2 = mu^2 + c e0^2 / 4. `is_certified` verifies that, for all t and x, with every error on the safe
side. QED.

`with_gaussian` and `with_pick` are the steps of the theorem, `with_pure` one more for pure releases.

The claim is about Gaussian noise rounded to integers, a post-processing of the continuous mechanism. The samplers draw
discrete Gaussians; `discreteness_slack` bounds the total variation between the two, which is charged to delta.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpsparse.privacy.accounting.bisection import bracket

# (a, c): where later releases amount to mu >= a e0, a pick adds c e0^2 / 4. Certified anew for every e0 used.
CERTIFICATES = ((2.0, 1.022), (1.0, 1.052), (0.5, 1.155), (0.0, 1.6))
# Steps of a pick's window in a certificate.
_STEPS = 256
# Share of delta kept for the total variation between real and ideal releases.
TV_SLACK_SHARE = 1e-3


def gaussian_curve(mu: float, x: Any) -> Any:
    """D_mu(x), the curve of N(mu, 1) against N(0, 1); for mu = 0 it is max(0, 1 - e^x).

    Examples
    --------
    >>> round(float(gaussian_curve(1.0, 0.0)), 6)
    0.382925
    """
    x = np.asarray(x, dtype=np.float64)
    if mu == 0:
        return np.maximum(0.0, -np.expm1(x))
    # The difference of the two terms is about mu / 20 of the first in the range used, and their logarithms, below 200
    # in size, are right to a few units of 2^-53: the relative error is below 1e-11 (1 + 1 / mu), as `_rounding` says.
    upper, lower = log_ndtr(-x / mu + mu / 2), x + log_ndtr(-x / mu - mu / 2)
    return -np.exp(upper) * np.expm1(np.minimum(0.0, lower - upper))


def _rounding(mu: float) -> float:
    return 1e-11 * (1 + 1 / mu)


def _upper_curve(mu: float, x: float) -> float:
    return float(gaussian_curve(mu, x)) * (1 + _rounding(mu))


def largest_mu(epsilon: float, delta: float) -> float:
    """The largest mu with D_mu(epsilon) <= delta: a lower bound."""
    low, _ = bracket(lambda mu: _upper_curve(mu, epsilon) <= delta, 1.0)
    return low


def epsilon_from_mu(mu: float, delta: float) -> float:
    """The smallest epsilon with D_mu(epsilon) <= delta: an upper bound."""
    if mu == 0 or _upper_curve(mu, 0.0) <= delta:
        return 0.0
    _, high = bracket(lambda epsilon: _upper_curve(mu, epsilon) > delta, 1.0)
    return high


@lru_cache(maxsize=65536)
def is_certified(epsilon0: float, ratio: float, constant: float) -> bool:
    """Verify sup_t B_t(x) <= D_mu'(x) for all x, at mu = ratio e0 and mu'^2 = mu^2 + constant e0^2 / 4.

    - *All t.* For t within a step h below t_j the window [t - e0, t] lies in [t_j - e0 - h, t_j]; by convexity in e^x
      the two-point law on the wider window's ends gives at least as much. So B is taken on windows of width e0 + h
      that end at multiples of h.
    - *All x in a cell.* The left side is convex in e^x, hence below its chord; the right side is convex too, hence
      above its tangent. The chord is compared with the tangent at both ends of the cell.
    - *x beyond the grid.* The left side is at most D_mu(x - e0 - h), which is at most D_mu'(x) as soon as
      P(L > u - e0 - h) <= P(L' > u) for all u >= x; both are normal tails, and their arguments are linear in u.
    - *x < 0.* D(x) = 1 - e^x + e^x D*(-x) with D* the curve of the pair reversed; reversal maps t to e0 - t and a
      normal pair to itself, so x >= 0 is enough.
    - *Rounding.* The left side is raised and the right side lowered by more than the error of `gaussian_curve`.
    """
    if not 0 < epsilon0 <= 8:
        return False
    step = epsilon0 / _STEPS
    window = _STEPS + 1
    width = window * step
    mu = ratio * epsilon0
    after = math.sqrt(mu**2 + constant * epsilon0**2 / 4)
    rounding = _rounding(mu or after)
    last = width if mu == 0 else (width / mu + mu / 2 - after / 2) / (1 / mu - 1 / after)
    cells = math.ceil(last / step) + 1
    curve = gaussian_curve(mu, step * np.arange(-window, cells + window + 1)) * (1 + rounding)
    left = np.zeros(cells + 1)
    for j in range(window + 1):
        t = j * step
        upper_share = math.expm1(width - t) / (math.expm1(width - t) - math.expm1(-t))
        after_loss = curve[window - j : window - j + cells + 1]
        after_gain = curve[2 * window - j : 2 * window - j + cells + 1]
        np.maximum(left, upper_share * after_loss + (1 - upper_share) * after_gain, out=left)
    x = step * np.arange(cells + 1)
    right = gaussian_curve(after, x) * (1 - rounding)
    slope = -ndtr(-x / after - after / 2) * (1 + rounding)
    tangent = right[:-1] + slope[:-1] * np.exp(x[:-1]) * math.expm1(step) * (1 + rounding)
    return bool(left[0] * (1 + rounding) <= right[0] and np.all(left[1:] * (1 + rounding) <= tangent))


def with_gaussian(later: float, rho: float) -> float:
    """mu^2 of a Gaussian release of `rho` and of later releases of mu^2 = `later`: (sensitivity / scale)^2 = 2 rho."""
    return later + 2 * rho


def with_pick(later: float, rho: float, *, certify: bool = True) -> float:
    """mu^2 of a pick of `rho`, e0^2 = 8 rho, and of later releases of mu^2 = `later`.

    `certify` is False only to search for a budget; the result is then no guarantee. It is infinity where the pick could
    not be certified.
    """
    if rho == 0:
        return later
    epsilon0 = math.sqrt(8 * rho)
    # A pair with a e0 above mu may be used too: the later releases then count as a e0.
    return min(
        (
            max(later, (ratio * epsilon0) ** 2) + constant * 2 * rho
            for ratio, constant in CERTIFICATES
            if not certify or is_certified(epsilon0, ratio, constant)
        ),
        default=math.inf,
    )


def with_pure(later: float, rho: float) -> float:
    """mu^2 of adaptive pure releases, each e_i-DP, whose e_i^2 / 2 add up to rho, and of later releases: + pi rho.

    Proof. Two laws that are e-DP are a post-processing of randomised response, which tells the truth with probability
    s(e) = 1 / (1 + exp(-e)) (Kairouz, Oh and Viswanath 2015), and that is N(m, 1) against N(0, 1) cut at m/2, with
    Phi(m/2) = s(e). Here m <= a e for a = sqrt(pi/2): Phi(a e/2) - s(e) is 0 at e = 0 and in the limit; its slope has
    the sign of 2 log cosh(e/2) - pi e^2/16, which is convex, then concave, and 0 with slope 0 at e = 0, so positive,
    then negative; the difference rises, then falls to 0, and is never negative. So a pure release is a post-processing
    of a Gaussian one of m, and the step of the theorem for Gaussian releases holds for it: m^2 <= pi/2 e^2 is added.
    Over all of them sum pi/2 e_i^2 = pi rho.

    Examples
    --------
    >>> round(with_pure(0.0, 1.0), 6)
    3.141593
    """
    return later + math.pi * rho


def discreteness_slack(scale: float, count: int) -> float:
    """A bound on the total variation between `count` discrete Gaussians and rounded continuous ones of this scale.

    Slacks of several releases add up as the root of their squares, even where a release depends on those before it.

    Proof. With phi the density of N(0, s^2) and U uniform on [-1/2, 1/2], the rounded law has q_k = E phi(k + U), and
    the discrete one p_k = phi(k) / Z with Z = sum phi. U is symmetric, and log cosh(z) >= z^2/2 - z^4/12, so
    q_k / phi(k) = E cosh(k U / s^2) exp(-U^2 / (2 s^2)), and by Jensen, with E U^2 = 1/12 and E U^4 = 1/80,

        log(p_k / q_k) <= -log Z + 1 / (24 s^2) - k^2 / (24 s^4) + k^4 / (960 s^8).

    By Poisson summation Z >= 1, and under p the means of k^2 and k^4 are s^2 and 3 s^4 up to factors 1 +- e, with
    e < 1e-100 for s >= 4. So KL(p, q) < 3 (1 + e) / (960 s^4) + e / (24 s^2) < 1 / (300 s^4). KL adds over draws, and
    over adaptive releases by the chain rule, and the total variation is at most sqrt(KL / 2) (Pinsker): below
    sqrt(count) / (24 s^2) for one release; of several KL / 2 is at most the sum of the squares of such bounds.
    """
    if not count:
        return 0.0
    return math.inf if scale < 4 else math.sqrt(count) / (24 * scale**2)


def tv_slack_fits(tv_slack: float, epsilon: float, delta: float) -> bool:
    """Whether a total variation between real and ideal releases stays within the share of delta kept for it.

    Swapping one for the other, for both of two neighbouring tables, changes delta by at most (1 + e^epsilon) times it.
    """
    return (1 + math.exp(min(epsilon, 700.0))) * tv_slack <= TV_SLACK_SHARE * delta

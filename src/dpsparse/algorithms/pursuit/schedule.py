"""The schedule of a private pursuit: its releases in order and their prices, fixed in advance from public numbers."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpsparse.engine.vector_sums import VECTOR_LEVELS
from dpsparse.privacy.accounting.commitment import Commitment
from dpsparse.privacy.accounting.compose import largest_factor
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, Slot
from dpsparse.privacy.accounting.zcdp import split

FINAL_GRADIENTS = 3
# One pick more than asked; the smallest effect is dropped after the first final gradient.
SPARE_PICKS = 1
# Price of the last pick against the first: features come out largest first, and the later, smaller ones need more.
PICK_RISE = 8

# Public grids of the medians. Sizes run from a millionth to a trillion in steps of 2 %, positions in steps of 0.4 % on
# both sides of 0, intercepts from -4 to 4 response scales.
SIZES = np.exp(np.arange(math.log(1e-6), math.log(1e12), 0.02))
POSITIONS = np.exp(np.arange(math.log(1e-6), math.log(1e12), 0.004))
POSITIONS = np.concatenate([-POSITIONS[::-1], [0.0], POSITIONS])
INTERCEPTS = np.linspace(-4, 4, 401)

# Shares of rho. What these, the medians and the picks leave goes to the final gradients.
FRACTIONS, EARLY_GRADIENTS, GRAM_ROWS, GRAM = 0.012, 0.09, 0.03, 0.02


@dataclass(frozen=True)
class Schedule:
    """The price of every release, in rho, and the clip of the picks.

    Parameters
    ----------
    clip_bound : float
        Clip of the features in the picks.
    center, scale, intercept : float
        Prices of the three medians; 0 where none is released.
    picks, early_gradients : tuple of float
        One price for each pick; there is a spare one where d allows it.
    gram_row : float
        Price of one row of the Gram matrix; 0 where none is released.
    fraction : float
        Price of one count of small residuals.
    gram, final_gradient : float
        Prices of the joint Gram matrix and of each final gradient.
    factor : float
        The prices in units of the zCDP budget; above 1 where the Gaussian account allows it.
    """

    clip_bound: float
    center: float
    scale: float
    intercept: float
    picks: tuple
    early_gradients: tuple
    gram_row: float
    fraction: float
    gram: float
    final_gradient: float
    factor: float = 1.0

    def slots(self):
        """The releases of a pursuit in order of time, stated here alone: `Pursuit` makes one for each slot."""
        if self.center:
            yield _pick("response centre", self.center)
        if self.scale:
            yield _pick("response scale", self.scale)
        for k, (pick, gradient) in enumerate(zip(self.picks, self.early_gradients, strict=True), 1):
            yield _pick(f"pick {k}", pick)
            if self.gram_row and k > 1:
                yield self._gaussian(f"Gram row {k}", self.gram_row)
            yield self._gaussian(f"gradient {k}", gradient)
            yield self._gaussian(f"fraction at gradient {k}", self.fraction)
        yield self._gaussian("Gram matrix", self.gram)
        for k in range(1, FINAL_GRADIENTS + 1):
            yield self._gaussian(f"final gradient {k}", self.final_gradient)
            yield self._gaussian(f"fraction at final gradient {k}", self.fraction)
        if self.intercept:
            yield _pick("intercept", self.intercept)

    def _gaussian(self, name, rho):
        # The coarsest noise and the most numbers: no released vector has fewer levels, and no Gram matrix more entries.
        most_numbers = (len(self.picks) + 1) * (len(self.picks) + 2) // 2
        scale = VECTOR_LEVELS / math.sqrt(2 * rho)
        return Slot(name, GaussianMechanism.drawn(scale=scale, size=most_numbers, rho=rho))

    @cached_property
    def commitment(self):
        """The same releases as a commitment."""
        return Commitment(tuple(self.slots()))


def _pick(name, rho):
    return Slot(name, ExponentialMechanism(rho))


def noise_to_signal(n, d, sparsity, rho):
    """How much noise a pick sees against its signal: log d sqrt(s) / (n sqrt(rho))."""
    return max(1.0, math.log(d)) * math.sqrt(sparsity) / (n * math.sqrt(rho))


def median_share(n, rho, grid, least, most):
    """The share at which a median by exponential mechanism is safe from the far ends of its grid.

    A point beyond all data has a utility of n/2 less than the median, so all points of the grid together have odds of
    at most exp(log |grid| - e0 n / 4), e0^2 = 8 share rho: these are kept to e^-6, within public limits on the share.
    """
    epsilon0 = 4 * (math.log(len(grid)) + 6) / n
    return float(np.clip(epsilon0**2 / (8 * rho), least, most))


def median_is_safe(n, price, grid):
    """Whether a median at this price is safe from the far ends of its grid, with odds of at most e^-2."""
    return math.sqrt(8 * price) * n / 4 >= math.log(len(grid)) + 2


def schedule_for(guarantee, n, d, sparsity, **known):
    """The schedule that spends a guarantee: shares of the zCDP budget, stretched to fill the Gaussian account."""
    rho = guarantee.rho_per_record
    at_zcdp = make_schedule(n, d, sparsity, rho, **known)
    factor = largest_factor([slot.mechanism for slot in at_zcdp.slots()], guarantee.mu_per_record)
    stretched = make_schedule(n, d, sparsity, rho, factor=factor, **known)
    return stretched if stretched.commitment.composed.tv_slack_fits(guarantee) else at_zcdp


def make_schedule(n, d, sparsity, rho, *, factor=1.0, center_known=False, scale_known=False, fit_intercept=True):
    """Divide rho among the releases of a pursuit.

    Parameters
    ----------
    n, d, sparsity : int
        Records, features, picks.
    rho : float
        What a record may cost by zCDP.
    factor : float
        All prices are multiplied by this; shares stay those of `rho`.
    center_known, scale_known : bool
        Whether the response's centre and scale are public; their shares then go to the final gradients.
    fit_intercept : bool
        Without an intercept no centre is released and the last median is not taken.

    Returns
    -------
    Schedule
        Prices that add up to at most factor times rho.

    Examples
    --------
    >>> from dpsparse.algorithms.pursuit.schedule import make_schedule
    >>> plan = make_schedule(10_000, 1_000, 5, 0.01)
    >>> len(plan.picks), plan.picks[0] < plan.picks[-1]
    (6, True)
    """
    h = noise_to_signal(n, d, sparsity, rho)
    selection = float(np.clip(0.45 + 0.09 * math.log2(h / 0.02), 0.3, 0.6))
    n_picks = min(sparsity + SPARE_PICKS, d)
    row_noise = 2.6 * math.sqrt(sparsity) / (n * math.sqrt(0.12 * rho / (sparsity + 1)))
    with_rows = row_noise <= 0.12 and n_picks > 1
    shares = {
        "center": 0.0 if center_known or not fit_intercept else median_share(n, rho, POSITIONS, 0.004, 0.1),
        "scale": 0.0 if scale_known else median_share(n, rho, SIZES, 0.004, 0.1),
        "intercept": median_share(n, rho, INTERCEPTS, 0.008, 0.03) if fit_intercept else 0.0,
        "fractions": FRACTIONS,
        "early": EARLY_GRADIENTS,
        "rows": GRAM_ROWS if with_rows else 0.0,
        "gram": GRAM if with_rows else 2 * GRAM,
        "picks": selection,
    }
    shares["final"] = 1 - math.fsum(shares.values())
    prices = split(factor * rho, shares)
    return Schedule(
        clip_bound=float(np.clip(0.5 * math.sqrt(0.04 / h), 0.4, 1.5)),
        center=prices["center"],
        scale=prices["scale"],
        intercept=prices["intercept"],
        picks=_divide(prices["picks"], np.linspace(1, PICK_RISE, n_picks)),
        early_gradients=_divide(prices["early"], np.arange(1, n_picks + 1) ** 1.5),
        gram_row=_divide(prices["rows"], np.ones(max(1, n_picks - 1)))[0],
        fraction=_divide(prices["fractions"], np.ones(n_picks + FINAL_GRADIENTS))[0],
        gram=prices["gram"],
        final_gradient=_divide(prices["final"], np.ones(FINAL_GRADIENTS))[0],
        factor=factor,
    )


def _divide(price, weights):
    if price == 0:
        return (0.0,) * len(weights)
    return tuple(split(price, {str(i): float(weight) for i, weight in enumerate(weights)}).values())

"""How well predictions do on records held out: which sums to release, and what follows from them.

The releases, in order of time:

1. *Error size*. A cut c, beyond which about one record in twenty has an error, of the model or of the constant.
2. *Improvement size*. A bound b, beyond which about one improvement in twenty lies; an improvement is the constant's
   error less the model's, and so at most the distance between the two predictions.
3. *Responses*. The number m of records with a response.
4. *Errors*. The sums of min(error, c) - c / 2, of the model and of the constant.
5. *Improvement*. The sum of the improvements, clipped at +-b.
6. *Squares*. The sums of the squares of all three, for the sampling errors.
7. *Shares cut*. How many errors exceed c, and how many improvements +-b.

The first two are picks by the exponential mechanism on public grids, the others have Gaussian noise. Sensitivities are
proved in `privacy.sensitivity`, the sums are those of `engine.errors`. Prices depend on public numbers alone.

Estimates and intervals. Given c and b, what is estimated is E min(error, c) and E clip(improvement, -b, b) over the
people from whom the records are a sample. A mean is its noisy sum over the noisy m. Its variance is that of the noise
of the sum, that of the noise of m, to first order, and the sampling variance, from the noisy squares. Since c / 2 is
taken off, the noise of m hardly matters.

The mean of min(error, c)^2 of the model is a sum of release 6 over m, and costs nothing.

R2 is 1 less the ratio of E min(error, c)^2 of the model to that of the constant: both are sums of release 6, so that it
costs nothing, and m cancels. Its sampling variance is that of q1 - r q0, where q1 and q0 are a record's two terms and r
is their ratio; it takes fourth moments, which are not released (see `estimates`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.estimates import Estimate, Means
from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit.grids import Grid, Tally
from dpsparse.engine.errors import HALF_LEVELS, Errors
from dpsparse.engine.vector_sums import VECTOR_LEVELS
from dpsparse.inference.inference_constants import SHOWN_LEVEL
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.compose import largest_factor
from dpsparse.privacy.accounting.meter import Commitment, Meter
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, Slot
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.gaussian import gaussian_scale, release_vector
from dpsparse.privacy.mechanisms.quantile import release_point
from dpsparse.privacy.protection import Adjacency

# One record in this many lies beyond the cut and beyond the bound.
OUTSIDE = 20
# Shares of the budget.
SHARES = {
    "error size": 0.12,
    "improvement size": 0.10,
    "responses": 0.03,
    "errors": 0.30,
    "improvement": 0.25,
    "squares": 0.14,
    "shares cut": 0.06,
}
PICKS = {"error size", "improvement size"}


@dataclass(frozen=True)
class Scores:
    """What an evaluation releases."""

    n_records: int
    n_responses: float  # noisy
    cut: float  # Errors count up to this.
    bound: float  # Improvements count up to this, either way.
    # The means of ``min(|error|, cut)`` of the model and of the constant.
    model: Estimate
    constant: Estimate
    improvement: Estimate  # The mean of |error of the constant| - |error of the model|, clipped at +-bound.
    # 1 less the mean of ``min(|error|, cut) ** 2`` of the model over that of the constant, from -1 to 1; None where the
    # squares are too noisy to tell.
    r2: Estimate | None = None
    level: float = SHOWN_LEVEL  # Of the intervals.
    # The mean of ``min(|error|, cut) ** 2`` of the model; None where the squares are too noisy to tell.
    squared_error: Estimate | None = None


@dataclass(frozen=True)
class EvaluationPlan:
    """The releases of an evaluation and their prices, from public numbers.

    They are made once for each entry of `of`, with which their names begin, at even parts of the budget.

    Examples
    --------
    >>> guarantee = Guarantee(0.5, 1e-5)
    >>> EvaluationPlan(guarantee).commitment.is_within(guarantee)
    True
    """

    guarantee: Guarantee
    of: tuple[str, ...] = ("",)

    @cached_property
    def commitment(self) -> Commitment:
        """The releases as a commitment."""
        return filled(self.guarantee, self._slots)

    def _slots(self, rho: float) -> tuple[Slot, ...]:
        whole = rho / len(self.of) / math.fsum(SHARES.values())
        return tuple(self._slot(name, share * whole, of) for of in self.of for name, share in SHARES.items())

    def _slot(self, name: str, rho: float, of: str) -> Slot:
        if name in PICKS:
            return Slot(of + name, ExponentialMechanism(rho))
        size, change = sums_of(name, self.guarantee.adjacency)
        return Slot(of + name, GaussianMechanism.drawn(scale=gaussian_scale(change, rho), size=size, rho=rho))


def filled(guarantee: Guarantee, slots: Callable[[float], tuple[Slot, ...]]) -> Commitment:
    """The commitment that fills a guarantee, from the slots at a rho: stretched to fill the Gaussian account."""
    at_zcdp = slots(guarantee.rho_per_record * (1 - 1e-9))
    factor = largest_factor([slot.mechanism for slot in at_zcdp], guarantee.mu_per_record)
    stretched = Commitment(slots(factor * guarantee.rho_per_record * (1 - 1e-9)))
    return stretched if stretched.composed.tv_slack_fits(guarantee) else Commitment(at_zcdp)


def sums_of(name: str, adjacency: Adjacency) -> tuple[int, float]:
    """How many sums a Gaussian release has, and their l2 sensitivity, in levels."""
    return {
        "responses": (1, VECTOR_LEVELS * sensitivity.count(adjacency)),
        "errors": (2, sensitivity.bounded_norm_sum(math.sqrt(2) * HALF_LEVELS, adjacency)),
        "improvement": (1, sensitivity.bounded_norm_sum(VECTOR_LEVELS, adjacency)),
        "squares": (3, sensitivity.nonnegative_sums(VECTOR_LEVELS, 3, adjacency)),
        "shares cut": (3, VECTOR_LEVELS * sensitivity.nonnegative_sums(1, 3, adjacency)),
    }[name]


class EvaluationReleases:
    """The mechanisms of an evaluation on one meter: each release fills the next slot of its plan.

    The names of its slots begin with `of`.
    """

    def __init__(self, meter: Meter, commitment: Commitment, of: str = "") -> None:
        self._meter, self._prices, self._of = meter, {slot.name: slot.rho for slot in commitment.slots}, of
        self._adjacency = meter.guarantee.adjacency

    def quantile(self, name: str, count: Callable[[NDArray[np.float64]], NDArray[np.int64]], grid: Grid) -> float:
        """A point of a grid with about one value in twenty above it; the first one may have fewer."""
        utility = Tally.of(count, grid.points).balanced(OUTSIDE)
        return release_point(
            self._meter,
            utility,
            grid.points,
            sensitivity=sensitivity.balanced_utility(OUTSIDE, self._adjacency),
            rho=self._prices[self._of + name],
            name=self._of + name,
            log_prior=grid.log_prior,
        )

    def sums(self, name: str, levels: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
        """Noisy sums, and the standard deviation of their noise, in units of 2^20 levels."""
        _, change = sums_of(name, self._adjacency)
        name = self._of + name
        noisy = release_vector(self._meter, levels, sensitivity=change, rho=self._prices[name], name=name)
        return noisy.values / VECTOR_LEVELS, float(noisy.scale[0]) / VECTOR_LEVELS


def release_scores(
    meter: Meter,
    commitment: Commitment,
    responses: NDArray[np.float64],
    predictions: NDArray[np.float64],
    constant: float,
    response_scale: float | None = None,
) -> Scores:
    """Release how well predictions do.

    The meter has committed to the releases. Responses are NaN for a record without one. The `constant` that predictions
    are compared with, and `response_scale`, about how far responses spread, are public or were released before.
    """
    return release_errors(meter, commitment, Errors.of(responses, predictions, constant), response_scale)


def release_errors(
    meter: Meter, commitment: Commitment, errors: Errors, response_scale: float | None = None, of: str = ""
) -> Scores:
    """Release what errors tell, in the slots whose names begin with `of`; see `release_scores`."""
    releases = EvaluationReleases(meter, commitment, of)
    sizes, improvements = (
        (grids.RESPONSE_SIZES, grids.RESPONSE_SIZES)
        if response_scale is None
        else (grids.REACHES.times(response_scale), grids.IMPROVEMENTS.times(response_scale))
    )
    cut = releases.quantile("error size", errors.size_counts, sizes)
    bound = releases.quantile("improvement size", errors.improvement_counts, improvements)
    # Counts are released in steps of 2^-20 records, so that the noise is as fine as that of the other sums.
    (answered,), answered_noise = releases.sums("responses", VECTOR_LEVELS * errors.count())
    (model, base), error_noise = releases.sums("errors", errors.error_sums(cut))
    (improved,), improvement_noise = releases.sums("improvement", errors.improvement_sums(bound))
    squares, square_noise = releases.sums("squares", errors.square_sums(cut, bound))
    beyond, _ = releases.sums("shares cut", VECTOR_LEVELS * errors.cut_counts(cut, bound))
    # Not clipped at the number of records: means over a number that is too small half of the time would be too large.
    answered = max(1.0, float(answered))
    shares = np.clip(beyond / answered, 0.0, 1.0)
    mean = Means(answered, answered_noise, square_noise)
    return Scores(
        n_records=len(errors.model),
        n_responses=min(answered, float(len(errors.model))),
        cut=cut,
        bound=bound,
        model=mean.estimate(cut, model, error_noise, squares[0], shares[0], shift=0.5, least=0.0),
        constant=mean.estimate(cut, base, error_noise, squares[1], shares[1], shift=0.5, least=0.0),
        improvement=mean.estimate(bound, improved, improvement_noise, squares[2], shares[2], shift=0.0, least=-1.0),
        r2=mean.r2(squares, bound / cut, (model, base), shares),
        squared_error=mean.square(cut**2, squares[0], model, shares[0]),
    )

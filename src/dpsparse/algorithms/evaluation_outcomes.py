"""How well predicted probabilities do on records held out, where responses are yes or no.

The releases, in order of time:

1. *Log odds*. How many records have predicted log odds in each of some public bins about those of the constant.
2. *Outcomes*. How many are yes and how many no, in groups of these bins that the first release tells.

Both are histograms in which a record counts at most once, so that `sensitivity.histograms` proves their sensitivity;
they have Gaussian noise. Prices, bins and the largest number of groups depend on public numbers and the model alone.
Everything that is shown follows from the second (`outcome_estimates`).

Groups. The noise of a score grows with the square root of the number of groups, and what grouping costs falls with its
square: the best number grows with N^(2/5), N = n sqrt(rho). Groups are equal in a sum of two shares: of the records,
and of the angle arcsin sqrt p, in which all probabilities are equally hard to tell. The first keeps groups narrow where
many records are, the second where few are and errors are large.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dpsparse.algorithms.estimates import Estimate
from dpsparse.algorithms.evaluation_sums import filled
from dpsparse.algorithms.outcome_estimates import Cells, Groups, brier_scores, log_losses
from dpsparse.engine.errors import Outcomes
from dpsparse.engine.vector_sums import VECTOR_LEVELS
from dpsparse.inference.inference_constants import SHOWN_LEVEL
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.meter import Commitment, Meter
from dpsparse.privacy.accounting.release import GaussianMechanism, Slot
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.gaussian import gaussian_scale, release_vector
from dpsparse.privacy.protection import Adjacency

LOG_ODDS, OUTCOMES = "log odds", "outcomes"
# Shares of the budget.
OUTCOME_SHARES = {LOG_ODDS: 0.2, OUTCOMES: 0.8}
# Bins of log odds about those of the constant: their width, and how many lie on each side. Beyond them, at 3,000 times
# the odds, log losses count up to the last bin's.
BIN_WIDTH, BINS_BESIDE = 0.125, 64
# The number of groups is the first times N to the power of the second, and at least the third. Set, with the share of
# angles in the measure that groups have equal parts of, by `evaluate_outcomes.py`.
GROUPS, GROUPS_POWER, LEAST_GROUPS = 1.25, 0.4, 4
ANGLES = 1 / 3


@dataclass(frozen=True)
class Decile:
    """About a tenth of the records, by their predicted probability."""

    predicted: float  # The mean predicted probability.
    observed: Estimate  # The share of yes.
    share: float  # The noisy share of the records that it has.


@dataclass(frozen=True)
class OutcomeScores:
    """What an evaluation of probabilities releases."""

    n_records: int
    n_responses: float  # noisy
    # Brier scores, the means of (y - p)^2, of the model and of the constant, and the second less the first.
    model: Estimate
    constant: Estimate
    improvement: Estimate
    log_loss: Estimate
    constant_log_loss: Estimate
    auc: Estimate | None  # None where there are too few of yes or no to tell.
    calibration: tuple[Decile, ...]
    level: float = SHOWN_LEVEL  # Of the intervals.


@dataclass(frozen=True)
class OutcomePlan:
    """The releases of an evaluation of probabilities and their prices, from public numbers.

    Examples
    --------
    >>> guarantee = Guarantee(1.0, 1e-5)
    >>> OutcomePlan(guarantee, 5_000).commitment.is_within(guarantee), OutcomePlan(guarantee, 5_000).most_groups
    (True, 19)
    """

    guarantee: Guarantee
    n_records: int

    @cached_property
    def commitment(self) -> Commitment:
        """The releases as a commitment."""
        return filled(self.guarantee, self._slots)

    @property
    def most_groups(self) -> int:
        """The most groups of bins in which outcomes are counted."""
        size = self.n_records * math.sqrt(self.guarantee.rho_per_record)
        return int(min(max(LEAST_GROUPS, round(GROUPS * size**GROUPS_POWER)), 2 * BINS_BESIDE + 1))

    def _slots(self, rho: float) -> tuple[Slot, ...]:
        sizes = {LOG_ODDS: 2 * BINS_BESIDE + 1, OUTCOMES: 2 * self.most_groups}
        scales = {name: gaussian_scale(change(self.guarantee.adjacency), rho * OUTCOME_SHARES[name]) for name in sizes}
        return tuple(
            Slot(name, GaussianMechanism.drawn(scale=scales[name], size=size, rho=rho * OUTCOME_SHARES[name]))
            for name, size in sizes.items()
        )


def change(adjacency: Adjacency) -> float:
    """The l2 sensitivity of a histogram, in steps of 2^-20 records, so that noise is as fine as that of other sums."""
    return VECTOR_LEVELS * sensitivity.histograms(1, adjacency)


def release_outcomes(
    meter: Meter,
    plan: OutcomePlan,
    responses: NDArray[np.float64],
    log_odds: NDArray[np.float64],
    constant: float,
) -> OutcomeScores:
    """Release how well probabilities do that are given as log odds.

    The meter has committed to the releases. Responses are 1 for yes, 0 for no and NaN for a record without one. The
    `constant` that predictions are compared with, in log odds, is public or was released before.
    """
    outcomes, prices = Outcomes.of(responses, log_odds), {slot.name: slot.rho for slot in plan.commitment.slots}

    def noisy(name: str, counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
        limit = change(meter.guarantee.adjacency)
        released = release_vector(meter, VECTOR_LEVELS * counts, sensitivity=limit, rho=prices[name], name=name)
        return released.values / VECTOR_LEVELS, float(released.scale[0]) / VECTOR_LEVELS

    points: NDArray[np.float64] = constant + BIN_WIDTH * np.arange(-BINS_BESIDE, BINS_BESIDE + 1, dtype=np.float64)
    edges: NDArray[np.float64] = points[:-1] + BIN_WIDTH / 2
    noisy_counts, _ = noisy(LOG_ODDS, outcomes.counts(edges))
    shares = plausible(noisy_counts)
    groups = Groups(points, shares, grouped(shares, edges, plan.most_groups))
    counts, noise = noisy(OUTCOMES, outcomes.table(edges, groups.of, groups.n).ravel())
    return scores_of(Cells(groups, counts.reshape(2, groups.n), noise), constant, len(responses))


def scores_of(cells: Cells, constant: float, n_records: int) -> OutcomeScores:
    """What the noisy counts tell."""
    points = cells.groups.log_odds
    level = np.full_like(points, constant)
    models, constants = (brier_scores(points), log_losses(points)), (brier_scores(level), log_losses(level))
    most = float(max(models[1].max(), constants[1].max()))
    return OutcomeScores(
        n_records=n_records,
        n_responses=min(cells.answered, float(n_records)),
        model=cells.mean(models[0], 0.0, 1.0),
        constant=cells.mean(constants[0], 0.0, 1.0),
        improvement=cells.mean(constants[0] - models[0], -1.0, 1.0),
        log_loss=cells.mean(models[1], 0.0, most),
        constant_log_loss=cells.mean(constants[1], 0.0, most),
        auc=cells.auc(),
        calibration=tuple(Decile(*cells.decile(place)) for place in np.unique(cells.deciles)),
    )


def plausible(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Noisy counts as shares: the nearest point at which none is below 0 and the sum is what it is.

    Examples
    --------
    >>> plausible(np.array([6.0, 4.0, -2.0]))
    array([0.625, 0.375, 0.   ])
    """
    total = max(1.0, float(counts.sum()))
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(falling > excess)[-1]
    return np.asarray(np.maximum(counts - excess[last], 0.0) / total)


def grouped(shares: NDArray[np.float64], edges: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """The group of each bin: at most `most` of about equal parts of records and angles, numbered from 0 on."""
    angles = np.arcsin(np.sqrt(expit(np.concatenate([[-np.inf], edges, [np.inf]])))) / np.arcsin(1.0)
    measure = (1 - ANGLES) * shares + ANGLES * np.diff(angles)
    places = ((np.cumsum(measure) - measure / 2) * most).astype(np.intp)
    return np.asarray(np.unique(np.minimum(places, most - 1), return_inverse=True)[1])

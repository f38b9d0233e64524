"""Brier score, log loss, AUC and calibration from noisy counts of yes and no in groups of predicted log odds.

The score of a cell, which is a group and yes or no, is the mean of the scores of the points in the group. A point
counts by its share of the records, as far as releases tell, and by the probability that the model itself gives to such
a response there: so what grouping costs is of second order in the width of a group, and nothing where the model is
right within it. The probability that a yes lies above a no of its own group follows in the same way.

Every estimate is a smooth function of the counts. Its variance is that of the noise, times the squared slopes, and that
of sampling: the sum over records of the squared slope of their cell, with the variance within a cell. An AUC is a
product of two counts, whose noises multiply: their product is part of its variance.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from dpsparse.algorithms.estimates import LEAST_RESPONSES, Estimate
from dpsparse.inference.intervals import reach

DECILES = 10
# Points where no record seems to lie share this part of them, so that every group has a mean.
LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class Groups:
    """Points of log odds, about which share of the records lies at each, and in which group each is."""

    log_odds: NDArray[np.float64]
    shares: NDArray[np.float64]
    of: NDArray[np.intp]

    @property
    def n(self) -> int:
        """The number of groups."""
        return int(self.of[-1]) + 1

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The shares of no and yes at each point, if the model is right: two rows."""
        shares = self.shares + LEAST_SHARE / len(self.shares)
        return np.array([shares * expit(-self.log_odds), shares * expit(self.log_odds)])

    def means(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean score of each cell, from those of no and yes at each point."""
        sums = [np.bincount(self.of, each, minlength=self.n) for each in (*(self.weights * scores), *self.weights)]
        return np.array([sums[0] / sums[2], sums[1] / sums[3]])

    @cached_property
    def order(self) -> NDArray[np.float64]:
        """The probability that a yes of one group (row) lies above a no of another (column); half where they tie."""
        no, yes = self.weights
        below = np.cumsum(no) - no / 2
        starts = np.concatenate([[0.0], np.cumsum(np.bincount(self.of, no, minlength=self.n))])[self.of]
        of_own = np.bincount(self.of, yes * (below - starts), minlength=self.n)
        sums = [np.bincount(self.of, each, minlength=self.n) for each in self.weights]
        return np.asarray(np.tril(np.ones((self.n, self.n)), -1) + np.diag(of_own / (sums[0] * sums[1])))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The mean predicted probability of yes in each group."""
        no, yes = (np.bincount(self.of, each, minlength=self.n) for each in self.weights)
        return np.asarray(yes / (no + yes))


def brier_scores(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """(y - p)^2 of no and of yes at some log odds: two rows."""
    return np.array([expit(log_odds) ** 2, expit(-log_odds) ** 2])


def log_losses(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minus the log of the probability of no and of yes at some log odds: two rows."""
    return np.array([-log_expit(-log_odds), -log_expit(log_odds)])


@dataclass(frozen=True)
class Cells:
    """Noisy numbers of no and yes in each group, and the standard deviation of their noise."""

    groups: Groups
    counts: NDArray[np.float64]
    noise: float

    @property
    def answered(self) -> float:
        """The noisy number of records with a response."""
        return max(1.0, float(self.counts.sum()))

    def mean(self, scores: NDArray[np.float64], least: float, most: float) -> Estimate:
        """The mean over records of scores from `least` to `most`, from those of no and yes at each point."""
        means, squares, m = self.groups.means(scores), self.groups.means(scores**2), self.answered
        value = float(np.sum(self.counts * means)) / m
        sampling = float(np.sum(self.counts * (squares - 2 * value * means + value**2))) / m**2
        by_noise = self.noise**2 * float(np.sum((means - value) ** 2)) / m**2
        return self._estimate(value, sampling + by_noise, least, most, self.counts)

    def auc(self) -> Estimate | None:
        """The probability that a yes has larger log odds than a no; None where one of them is lost in noise."""
        no, yes = self.counts
        n_no, n_yes = float(no.sum()), float(yes.sum())
        if min(n_no, n_yes) < LEAST_RESPONSES * self.noise * math.sqrt(self.groups.n):
            return None
        order = self.groups.order
        value = float(yes @ order @ no) / (n_no * n_yes)
        of_yes, of_no = (order @ no / n_no - value) / n_yes, (yes @ order / n_yes - value) / n_no
        sampling = float(yes @ of_yes**2 + no @ of_no**2)
        products = self.noise**2 * float(np.sum((order - value) ** 2)) / (n_no * n_yes) ** 2
        by_noise = self.noise**2 * (float(np.sum(of_yes**2) + np.sum(of_no**2)) + products)
        return self._estimate(value, sampling + by_noise, 0.0, 1.0, self.counts)

    @cached_property
    def deciles(self) -> NDArray[np.intp]:
        """The tenth of the records that each group lies in, from 0 on."""
        of_groups = self.counts.sum(axis=0)
        middle = np.maximum.accumulate(np.cumsum(of_groups) - of_groups / 2) / self.answered
        return np.clip(middle * DECILES, 0, DECILES - 1).astype(np.intp)

    def decile(self, place: int) -> tuple[float, Estimate, float]:
        """The mean predicted probability in a decile, the share of yes, and the share of the records that it has."""
        inside = self.deciles == place
        counts, probabilities = self.counts[:, inside], self.groups.probabilities[inside]
        no, yes = counts.sum(axis=1)
        m = max(1.0, float(no + yes))
        predicted = float(np.clip(counts.sum(axis=0) @ probabilities / m, probabilities.min(), probabilities.max()))
        value = float(np.clip(yes / m, 0.0, 1.0))
        slopes = np.array([value, 1 - value]) / m
        # Counts may be below 0 by noise, and no sampling variance is.
        sampling = float(np.maximum([no, yes], 0.0) @ slopes**2)
        by_noise = self.noise**2 * counts.shape[1] * float(slopes @ slopes)
        share = float(np.clip(m / self.answered, 0.0, 1.0))
        return predicted, self._estimate(value, sampling + by_noise, 0.0, 1.0, counts), share

    def _estimate(
        self, value: float, variance: float, least: float, most: float, counts: NDArray[np.float64]
    ) -> Estimate:
        """With an interval within some limits; all of them where the records are lost in noise."""
        error = math.sqrt(max(variance, 0.0))
        value = float(np.clip(value, least, most))
        low, high = max(least, value - reach() * error), min(most, value + reach() * error)
        if float(counts.sum()) < LEAST_RESPONSES * self.noise * math.sqrt(counts.size):
            low, high = least, most
        return Estimate(value, error, low, high, 0.0)

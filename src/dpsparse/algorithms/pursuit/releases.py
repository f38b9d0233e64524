"""Releases of a pursuit in its own units: each takes a slot and exact integer sums, and gives a noisy number."""

import numpy as np

from dpsparse.algorithms.pursuit.quantiles import Tally
from dpsparse.algorithms.pursuit.sandwich import NoisyMatrix
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS
from dpsparse.privacy import sensitivity
from dpsparse.privacy.mechanisms.gaussian import release_gram, release_vector
from dpsparse.privacy.mechanisms.quantile import prior_levels, release_point
from dpsparse.privacy.mechanisms.selection import exponential_pick, exponential_picks


class Releases:
    """The mechanisms of a pursuit on one meter.

    Parameters
    ----------
    meter : Meter
        The budget and the noise.
    n_records : int
        The public number of rows.
    """

    def __init__(self, meter, n_records):
        self._meter, self._adjacency = meter, meter.guarantee.adjacency
        # The number of records with a response, as far as it is known.
        self.n_responses = self._n_rows = n_records
        self.response_noise = 0.0

    def responses(self, slot, count):
        """The number of records with a response, of which all shares and means are from here on."""
        share, noise = self.fraction(slot, count)
        self.response_noise = noise * self._n_rows
        # Most tables lack no response: a number within noise of all records counts as all.
        self.n_responses = max(1.0, share * self._n_rows) if share < 1 - 2 * noise else self._n_rows
        return self.n_responses

    @property
    def n_pairs(self):
        """The number of pairs in which both records have a response, if those without one are anywhere."""
        return self._n_rows // 2 * (self.n_responses / self._n_rows) ** 2

    def skip(self, slot):
        """Pass over a slot; it stays paid."""
        self._meter.skip(slot.name)

    def located(self, slot, count, grid, window, nonzero=False):
        """A point near the median of the values, with many of them in its window."""
        utility = Tally.of(count, grid.points, window, nonzero).located()
        return self._point(slot, utility, grid, sensitivity.located_utility(self._adjacency))

    def quantile(self, slot, count, grid, tail=2, nonzero=False):
        """A point with about 1/tail of the values above it."""
        utility = Tally.of(count, grid.points, nonzero=nonzero).balanced(tail)
        return self._point(slot, utility, grid, sensitivity.balanced_utility(tail, self._adjacency))

    def densest(self, slot, count, grid, window):
        """A point with many of the values in its window."""
        near = Tally.of(count, grid.points, window).near
        return self._point(slot, near, grid, sensitivity.count(self._adjacency))

    def _point(self, slot, utility, grid, change):
        return release_point(
            self._meter,
            utility,
            grid.points,
            sensitivity=change,
            rho=slot.rho,
            name=slot.name,
            log_prior=grid.log_prior,
        )

    def splits(self, slot, counts, grid):
        """For every feature a point that divides its values evenly.

        `counts` are those at or below each point of the grid and, in the last place, all that are not missing.
        """
        counts, total = counts[:, :-1], counts[:, -1:]
        above = total - counts
        # A table of fewer features than were paid for makes the other picks too, without data.
        paid = int(slot.mechanism.count)
        utility = np.zeros((paid, len(grid.points)), dtype=np.int64)
        utility[: len(counts)] = np.minimum(above, counts)
        change = sensitivity.split_utility(self._adjacency)
        scores = utility + prior_levels(grid.log_prior, change, slot.rho / paid)
        chosen = exponential_picks(self._meter, scores, sensitivity=change, rho=slot.rho, name=slot.name)
        return grid.points[chosen[: len(counts)]]

    def pick(self, slot, scores, excluded):
        """A candidate by its score, a sum of levels of features times levels of residuals."""
        change = sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, self._adjacency)
        return exponential_pick(
            self._meter, scores, sensitivity=change, rho=slot.rho, name=slot.name, excluded=excluded
        )

    def mean(self, slot, sums, bound, n_records=None):
        """A mean over records, or pairs, of vectors of norm at most `bound`, and the noise's standard deviation."""
        change = sensitivity.bounded_norm_sum(VECTOR_LEVELS, self._adjacency)
        noisy = release_vector(self._meter, sums, sensitivity=change, rho=slot.rho, name=slot.name)
        unit = bound / VECTOR_LEVELS / (n_records or self.n_responses)
        return noisy.values * unit, float(noisy.scale[0] * unit)

    def fraction(self, slot, count):
        """A share of the records, and the standard deviation of its noise."""
        # In steps of 2^-20 records, so that the noise is as fine as that of the vectors.
        change = VECTOR_LEVELS * sensitivity.count(self._adjacency)
        steps = VECTOR_LEVELS * np.array([count])
        noisy = release_vector(self._meter, steps, sensitivity=change, rho=slot.rho, name=slot.name)
        unit = 1 / VECTOR_LEVELS / self.n_responses
        return float(noisy.values[0] * unit), float(noisy.scale[0] * unit)

    def gram(self, slot, sums, bound):
        """A mean over records of z z', with |z|^2 <= `bound`."""
        change = sensitivity.gram(GRAM_LEVELS, self._adjacency, len(sums))
        noisy = release_gram(self._meter, sums, sensitivity=change, rho=slot.rho, name=slot.name)
        unit = bound / GRAM_LEVELS**2 / self.n_responses
        return NoisyMatrix(noisy.values * unit, float(noisy.scale[-1, -1] * unit))

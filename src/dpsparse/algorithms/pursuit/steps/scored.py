"""Scores of the records on the kept columns at some effects, and releases about them: norms, second moments, means."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.budget import Price
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.planned import Planned
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Releases
from dpsparse.engine import scores
from dpsparse.inference.matrices import NoisyMatrix
from dpsparse.inference.tails import ANY_TAILS, Clip, Norms, Tails


def planned_of(price: Price, facts: PublicFacts, columns: int = 1) -> Planned:
    """A release about scores, planned: a histogram, or a matrix of at most so many columns."""
    numbers = max(c.MOST_BINS, columns * (columns + 1) // 2)
    return Planned(price.release, price.of(facts), of_reference=True, numbers=numbers)


@dataclass(frozen=True)
class Scores:
    """Scores of the records at some effects, on the columns at some positions, and releases about them."""

    data: Data
    releases: Releases
    center: float
    effects: NDArray[np.float64]
    positions: tuple[int, ...]
    tau: float
    row_bound: float = np.inf
    tails: Tails = ANY_TAILS

    @property
    def k(self) -> int:
        """The number of columns."""
        return len(self.positions)

    def terms(self, factor: scores.Factor, matrix: NDArray[np.float64]) -> scores.Terms:
        """The vectors of records that a matrix makes of rows."""
        return scores.Terms(factor, matrix, self.positions, self.center, self.effects, self.tau, self.row_bound)

    def norms(self, planned: Planned, terms: scores.Terms, unit: float) -> Norms:
        """The law of the vectors' norms, from a histogram in bins about `unit`."""
        edges = unit * c.NORM_BINS
        return Norms.of(edges, *self._histogram(planned, terms, edges), self.releases.n_responses, self.tails.index)

    def squared_norms(self, planned: Planned, terms: scores.Terms, unit: float) -> Norms:
        """The law of their squares, in the same way."""
        edges = unit * c.NORM_BINS
        return Norms.of(
            edges, *self._histogram(planned, terms, np.sqrt(edges)), self.releases.n_responses, self.tails.index
        )

    def _histogram(
        self, planned: Planned, terms: scores.Terms, edges: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        counts = self.data.records.evaluate(scores.norm_counts, terms, np.append(edges[1:-1], np.inf))
        return self.releases.histogram(self.releases.due(planned), np.diff(counts, prepend=0))

    def second_moments(self, planned: Planned, terms: scores.Terms, bound: float) -> NoisyMatrix:
        """The mean of v v', each vector v clipped to norm `bound`."""
        sums = self.data.records.evaluate(scores.second_moment_sums, terms, bound)
        return self.releases.gram(self.releases.due(planned), sums, bound**2)

    def mean(self, planned: Planned, terms: scores.Terms, clip: Clip) -> tuple[NDArray[np.float64], float]:
        """The mean of the vectors, their norms clipped, and the noise's standard deviation."""
        sums = self.data.records.evaluate(scores.clipped_sums, terms, clip.bound, clip.start, clip.rise)
        return self.releases.mean(self.releases.due(planned), sums, clip.most)

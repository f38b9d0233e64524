"""Scores of the records on the kept columns at some effects, and releases about them: norms, second moments, means.

The second moments also tell which features hardly a record with a response has. A feature may vary among all records
and not among those with a response, such as whether a cell is missing where the response then is missing too. Nothing
is known of its effect.
"""

import math
from collections.abc import Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.budget import Price
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases, mean_noise
from dpsparse.algorithms.pursuit.state import State
from dpsparse.engine import scores
from dpsparse.inference.inference_constants import INSURED_NOISE, MOST_NOISE, NO_VARIANCE
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
    long_rows: scores.LongRows | None = None

    @property
    def k(self) -> int:
        """The number of columns."""
        return len(self.positions)

    def terms(self, factor: scores.Factor, matrix: NDArray[np.float64]) -> scores.Terms:
        """The vectors of records that a matrix makes of rows."""
        model = self.positions, self.center, self.effects, self.tau
        return scores.Terms(factor, matrix, *model, self.row_bound, self.long_rows)

    def norms(self, planned: Planned, terms: scores.Terms, unit: float) -> Norms:
        """The law of the vectors' norms, from a histogram in bins about `unit`."""
        edges = unit * c.NORM_BINS
        return self._law(edges, *self._histogram(planned, terms, edges))

    def squared_norms(self, planned: Planned, terms: scores.Terms, unit: float) -> Norms:
        """The law of their squares, in the same way."""
        edges = unit * c.NORM_BINS
        return self._law(edges, *self._histogram(planned, terms, np.sqrt(edges)))

    def _law(self, edges: NDArray[np.float64], counts: NDArray[np.float64], noise: float) -> Norms:
        n, tails = self.releases.n_responses, self.tails
        return Norms.of(edges, counts, noise, n, tails.index, power=tails.power)

    def _histogram(
        self, planned: Planned, terms: scores.Terms, edges: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        counts = self.data.records.evaluate(scores.norm_counts, terms, np.append(edges[1:-1], np.inf))
        return self.releases.histogram(self.releases.due(planned), np.diff(counts, prepend=0))

    def best_clip(self, law: Norms, planned: Planned, terms: scores.Terms, white: bool = False) -> Clip:
        """The clip of a planned mean score; in `white` units, one record's sampling error is 1.

        A histogram that counts to less than a record hides nobody.
        """
        insured = min(law.noise, 1.0) if white and not math.isfinite(self.tau) else 0.0
        sampling = 1 / math.sqrt(law.n_records)
        return law.best_clip(
            mean_noise(self.releases, planned),
            self.tails.bias / math.sqrt(len(terms.matrix)),
            least_noise=insured * INSURED_NOISE * sampling,
            most_noise=MOST_NOISE * sampling if white else math.inf,
        )

    def second_moments(self, planned: Planned, terms: scores.Terms, bound: float) -> NoisyMatrix:
        """The mean of v v', each vector v clipped to norm `bound`."""
        sums = self.data.records.evaluate(scores.second_moment_sums, terms, bound)
        return self.releases.gram(self.releases.due(planned), sums, bound**2)

    def mean(self, planned: Planned, terms: scores.Terms, clip: Clip) -> tuple[NDArray[np.float64], float]:
        """The mean of the vectors, their norms clipped, and the noise's standard deviation."""
        sums = self.data.records.evaluate(scores.clipped_sums, terms, clip.bound, clip.start, clip.rise)
        return self.releases.mean(self.releases.due(planned), sums, clip.most)


def without_absent(
    at: Scores, state: State, rough: NoisyMatrix, seen: NDArray[np.bool_]
) -> tuple[Scores, State, NoisyMatrix]:
    """Without the unsure features that may be absent; other 0/1 features that may be have no interval.

    Other features vary, by their released units, and so do those of the features that were `seen` to by theirs.
    """
    companions, moments = at.data.companions, _moments_about_means(state, rough)
    varies = np.append(np.zeros(state.constants, dtype=bool), seen)
    may_be = ~varies & (moments <= c.UNSURE * rough.noise)
    d = at.data.records.n_features
    binary = {*companions.shares, *range(d, 2 * d)}
    stays = ~(may_be & np.isin(state.kept, _places(state, companions.unsure)))
    doubtful = state.kept[(may_be | ~varies & (moments <= c.ABSENT)) & np.isin(state.kept, _places(state, binary))]
    surely = state.kept[moments + c.UNSURE * rough.noise <= c.ABSENT]
    columns = tuple(
        replace(column, unit=column.unit.maybe_absent(surely=place in surely)) if place in doubtful else column
        for place, column in enumerate(state.columns, state.constants)
    )
    evidence = replace(state.evidence, precision=_marginal(state.evidence.precision, stays))
    state = replace(state, kept=state.kept[stays], columns=columns, evidence=evidence)
    effects = np.where(np.isin(np.arange(len(at.effects)), state.kept), at.effects, 0.0)
    at = replace(at, positions=tuple(map(int, state.kept)), effects=effects)
    return at, state, replace(rough, values=rough.values[np.ix_(stays, stays)])


def _places(state: State, features: Set[int]) -> list[int]:
    """The columns of some features."""
    return [place for place, feature in enumerate(state.features, state.constants) if feature in features]


def _moments_about_means(state: State, rough: NoisyMatrix) -> NDArray[np.float64]:
    """Second moments of the kept columns about their means."""
    means = np.zeros(len(rough.values))
    if state.constants:
        means = rough.values[0] / max(rough.values[0, 0], NO_VARIANCE)
    return np.asarray(np.diagonal(rough.values) - means * rough.values[0])


def _marginal(precision: NDArray[np.float64], stays: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The precision of those effects that stay, of the first ones, of which one is known."""
    of_known = stays[: len(precision)]
    return precision if of_known.all() else np.linalg.inv(np.linalg.inv(precision)[np.ix_(of_known, of_known)])

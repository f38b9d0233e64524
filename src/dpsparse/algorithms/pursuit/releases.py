"""Releases of a pursuit, planned and made.

A step plans a release, which becomes a slot of the commitment once all prices are known. Made in a pursuit's own units,
it takes its slot and exact integer sums, and gives a noisy number.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.grids import Counter, Grid, Tally, Window
from dpsparse.algorithms.pursuit.pursuit_constants import LEAST_NUMBERS
from dpsparse.algorithms.pursuit.shares import Fixed, Formula
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS
from dpsparse.inference.matrices import NoisyMatrix
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.release import (
    ExponentialMechanism,
    GaussianMechanism,
    Mechanism,
    RepeatedPicks,
    Slot,
)
from dpsparse.privacy.mechanisms.gaussian import release_gram, release_vector
from dpsparse.privacy.mechanisms.quantile import prior_levels, release_point
from dpsparse.privacy.mechanisms.selection import exponential_pick, exponential_picks

NOTHING = Fixed(0.0)


@dataclass(frozen=True)
class Planned:
    """A release that a step will make, or skip.

    `name`: its name in the record of a fit.
    `share`: its share of rho; 0 where it is not made.
    `mechanism`: Gaussian noise on a vector; one pick by the exponential mechanism; one for each feature.
    `is_final`: whether it is one of the releases that share what all others leave.
    `extra`: the part that it has of what is left, beside its share.
    `about_units`: whether it tells a unit, of the response or of a feature: several fits can have it in common.
    `of_reference`: whether its share is of what the step to the reference estimator may cost, beside rho.
    `of_whole`: whether its share is of both together: people read it, and it needs no more where a step follows.
    `numbers`: the most numbers that it draws, where these are more than a matrix of the selected features has.
    """

    name: str
    share: float
    mechanism: Literal["noise", "pick", "picks"] = "noise"
    is_final: bool = False
    extra: Formula = NOTHING
    about_units: bool = False
    of_reference: bool = False
    of_whole: bool = False
    numbers: int = LEAST_NUMBERS

    def slot(self, rho: float, n_picks: int, n_split: int) -> Slot:
        """The slot of this release at a price, in a fit that selects `n_picks` features and may split `n_split`."""
        return Slot(self.name, self._priced(rho, n_picks, n_split))

    def _priced(self, rho: float, n_picks: int, n_split: int) -> Mechanism:
        if self.mechanism == "picks":
            return RepeatedPicks(rho, count=n_split)
        if self.mechanism == "pick":
            return ExponentialMechanism(rho)
        # The coarsest noise and the most numbers: no released vector has fewer levels, no Gram matrix more entries, and
        # a calibration has four.
        k = n_picks + 1
        scale, size = VECTOR_LEVELS / math.sqrt(2 * rho), max(k * (k + 1) // 2, self.numbers)
        return GaussianMechanism.drawn(scale=scale, size=size, rho=rho)


def of_unit(name: str, share: float, facts: PublicFacts, mechanism: Literal["noise", "pick"] = "pick") -> Planned:
    """A release about a unit: a fit that shares units with others does not pay for it."""
    return Planned(name, 0.0 if facts.sharing else share, mechanism, about_units=True)


class Releases:
    """The mechanisms of a pursuit on one meter.

    `meter`: the budget and the noise.
    `n_records`: the public number of rows.
    `slots`: those that the fit has committed to.
    """

    def __init__(self, meter: Meter, n_records: int, slots: Iterable[Slot] = ()) -> None:
        self._meter, self.adjacency = meter, meter.guarantee.adjacency
        self._slots = {slot.name: slot for slot in slots}
        # The number of records with a response, as far as it is known.
        self.n_responses: float = n_records
        self._n_rows = n_records
        # Whether units of features are learned from all records, and not from those with a response alone.
        self.of_all_records = False

    def slot(self, planned: Planned) -> Slot | None:
        """The slot of a planned release; None where the fit does not make it."""
        return self._slots.get(planned.name)

    def due(self, planned: Planned) -> Slot:
        """The slot of a planned release that every fit makes."""
        return self._slots[planned.name]

    def responses(self, slot: Slot, count: int) -> tuple[float, float]:
        """The number of records with a response, of which all shares and means are from here on, and its noise."""
        share, noise = self.fraction(slot, count)
        # Most tables lack no response: a number within noise of all records counts as all.
        self.n_responses = max(1.0, share * self._n_rows) if share < 1 - 2 * noise else self._n_rows
        return self.n_responses, noise * self._n_rows

    @property
    def n_of_units(self) -> tuple[float, float]:
        """The numbers of records and of pairs by which units of features are learned.

        Both records of a pair have a response in the square of the share that has one, if those without are anywhere.
        """
        n = self._n_rows if self.of_all_records else self.n_responses
        return n, self._n_rows // 2 * (n / self._n_rows) ** 2

    def skip(self, slot: Slot) -> None:
        """Pass over a slot; it stays paid."""
        self._meter.skip(slot.name)

    def located(self, slot: Slot, count: Counter, grid: Grid, window: Window, nonzero: bool = False) -> float:
        """A point near the median of the values, with many of them in its window."""
        utility = Tally.of(count, grid.points, window, nonzero).located()
        return _point(self._meter, slot, utility, grid, sensitivity.located_utility(self.adjacency))

    def quantile(self, slot: Slot, count: Counter, grid: Grid, tail: int = 2, nonzero: bool = False) -> float:
        """A point with about 1/tail of the values above it."""
        utility = Tally.of(count, grid.points, nonzero=nonzero).balanced(tail)
        return _point(self._meter, slot, utility, grid, sensitivity.balanced_utility(tail, self.adjacency))

    def densest(self, slot: Slot, count: Counter, grid: Grid, window: Window) -> float:
        """A point with many of the values in its window."""
        near = Tally.of(count, grid.points, window).near
        return _point(self._meter, slot, near, grid, sensitivity.count(self.adjacency))

    def splits(self, slot: Slot, counts: NDArray[np.int64], grid: Grid) -> NDArray[np.float64]:
        """For every feature a point that divides its values evenly.

        `counts` are those at or below each point of the grid and, in the last place, all that are not missing.
        """
        counts, total = counts[:, :-1], counts[:, -1:]
        above = total - counts
        # A table of fewer features than were paid for makes the other picks too, without data.
        assert isinstance(slot.mechanism, RepeatedPicks), "splits are one pick for each feature"
        paid = int(slot.mechanism.count)
        utility = np.zeros((paid, len(grid.points)), dtype=np.int64)
        utility[: len(counts)] = np.minimum(above, counts)
        change = sensitivity.split_utility(self.adjacency)
        scores = utility + prior_levels(grid.log_prior, change, slot.rho / paid)
        chosen = exponential_picks(self._meter, scores, sensitivity=change, rho=slot.rho, name=slot.name)
        return np.asarray(grid.points[chosen[: len(counts)]])

    def pick(self, slot: Slot, scores: NDArray[np.int64], excluded: NDArray[np.int64]) -> int:
        """A candidate by its score, a sum of levels of features times levels of residuals."""
        change = sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, self.adjacency)
        return exponential_pick(
            self._meter, scores, sensitivity=change, rho=slot.rho, name=slot.name, excluded=excluded.tolist()
        )

    def mean(
        self, slot: Slot, sums: NDArray[np.int64], bound: float, n_records: float | None = None
    ) -> tuple[NDArray[np.float64], float]:
        """A mean over records, or pairs, of vectors of norm at most `bound`, and the noise's standard deviation.

        Or of numbers in an interval whose `sensitivity.half_width` that is: `interval_sum` is the same number.
        """
        change = sensitivity.bounded_norm_sum(VECTOR_LEVELS, self.adjacency)
        noisy = release_vector(self._meter, sums, sensitivity=change, rho=slot.rho, name=slot.name)
        unit = bound / VECTOR_LEVELS / (n_records or self.n_responses)
        return np.asarray(noisy.values * unit), float(noisy.scale[0] * unit)

    def fraction(self, slot: Slot, count: int, n_records: float | None = None) -> tuple[float, float]:
        """A share of the records, or of pairs of them, and the standard deviation of its noise."""
        # In steps of 2^-20 records, so that the noise is as fine as that of the vectors.
        change = VECTOR_LEVELS * sensitivity.count(self.adjacency)
        steps = VECTOR_LEVELS * np.array([count])
        noisy = release_vector(self._meter, steps, sensitivity=change, rho=slot.rho, name=slot.name)
        unit = 1 / VECTOR_LEVELS / (n_records or self.n_responses)
        return float(noisy.values[0] * unit), float(noisy.scale[0] * unit)

    def histogram(self, slot: Slot, counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
        """Counts of records in bins, of which each record is in at most one, and the noise's standard deviation."""
        change = sensitivity.histograms(1, self.adjacency)
        # In steps of 2^-20 records, so that the noise is as fine as that of the vectors.
        noisy = release_vector(
            self._meter, VECTOR_LEVELS * counts, sensitivity=VECTOR_LEVELS * change, rho=slot.rho, name=slot.name
        )
        return np.asarray(noisy.values / VECTOR_LEVELS), float(noisy.scale[0] / VECTOR_LEVELS)

    def gram(self, slot: Slot, sums: NDArray[np.int64], bound: float) -> NoisyMatrix:
        """A mean over records of z z', with |z|^2 <= `bound`."""
        change = sensitivity.gram(GRAM_LEVELS, self.adjacency, len(sums))
        noisy = release_gram(self._meter, sums, sensitivity=change, rho=slot.rho, name=slot.name)
        unit = bound / GRAM_LEVELS**2 / self.n_responses
        return NoisyMatrix(np.asarray(noisy.values * unit), float(noisy.scale[-1, -1] * unit))


def _point(meter: Meter, slot: Slot, utility: NDArray[np.int64], grid: Grid, change: int) -> float:
    return release_point(
        meter, utility, grid.points, sensitivity=change, rho=slot.rho, name=slot.name, log_prior=grid.log_prior
    )


def mean_noise(releases: Releases, planned: Planned) -> float:
    """The standard deviation of the noise that a planned mean of vectors of norm at most 1 will have."""
    change = sensitivity.bounded_norm_sum(1, releases.adjacency)
    return change / math.sqrt(2 * releases.due(planned).rho) / releases.n_responses


def gram_noise(releases: Releases, planned: Planned, dimension: int) -> float:
    """That of the diagonal of a planned mean of z z', |z| at most 1."""
    change = sensitivity.gram(1, releases.adjacency, dimension)
    return change / math.sqrt(2 * releases.due(planned).rho) / releases.n_responses


def skip_all(releases: Releases, planned: Iterable[Planned]) -> None:
    """Pass over those of some planned releases that have a slot."""
    for each in planned:
        slot = releases.slot(each)
        if slot is not None:
            releases.skip(slot)

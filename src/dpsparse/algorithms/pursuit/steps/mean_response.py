"""The mean response, the unit of everything where effects are ratios; and how large residuals are in it."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpsparse.algorithms.pursuit import counts_budget, grids
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.grids import size_window
from dpsparse.algorithms.pursuit.pursuit_data import Data, counter
from dpsparse.algorithms.pursuit.releases import Planned, Releases, mean_noise, of_unit
from dpsparse.algorithms.pursuit.state import Response, ResponseUnit, State
from dpsparse.algorithms.pursuit.steps.gradients import number_of_responses, with_number_of_responses
from dpsparse.algorithms.pursuit.updates import with_constant_moved, with_response
from dpsparse.engine import queries
from dpsparse.inference.tails import Norms


@dataclass(frozen=True)
class MeanResponseStep:
    """Learn the number of responses and their mean; another fit on the same records may have done so.

    The typical size of responses that are not 0 gives bins, a histogram in these a clip, and the mean is one of clipped
    responses, whose rise makes up for what lies beyond.
    """

    facts: PublicFacts

    @cached_property
    def count(self) -> Planned:
        """The number of records that have a response."""
        return number_of_responses(self.facts)

    @cached_property
    def size(self) -> Planned:
        """The typical size of responses that are not 0."""
        price = counts_budget.RESPONSE_SIZE
        return of_unit(price.release, price.of(self.facts), self.facts)

    @cached_property
    def sizes(self) -> Planned:
        """A histogram of sizes."""
        price = counts_budget.RESPONSE_SIZES
        return replace(of_unit(price.release, price.of(self.facts), self.facts, "noise"), numbers=c.MOST_BINS)

    @cached_property
    def mean(self) -> Planned:
        """The mean."""
        price = counts_budget.MEAN_RESPONSE
        return of_unit(price.release, price.of(self.facts), self.facts, "noise")

    @cached_property
    def exposure(self) -> tuple[Planned, Planned]:
        """The typical size of exposures and their mean, where there are any."""
        size, mean = counts_budget.EXPOSURE_SIZE, counts_budget.MEAN_EXPOSURE
        return (
            of_unit(size.release, size.of(self.facts), self.facts),
            of_unit(mean.release, mean.of(self.facts), self.facts, "noise"),
        )

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.count, self.size, self.sizes, self.mean, *self.exposure

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them."""
        released = with_number_of_responses(self.count, data, releases, state, center=1.0)
        if releases.slot(self.size):
            released = self._with_mean(data, releases, released)
        if releases.slot(self.exposure[0]):
            released = self._with_exposure(data, releases, released)
        center, scale = released.center or 1.0, released.scale or 1.0
        response = Response(state.response.given, released, center, scale, releases.n_responses)
        state = with_response(state, self.facts, response)
        # A record of the mean exposure has the mean response, before there are features.
        return state if released.exposure is None else with_constant_moved(state, -math.log(released.exposure))

    def _with_exposure(self, data: Data, releases: Releases, released: ResponseUnit) -> ResponseUnit:
        size, mean = self.exposure
        grid = grids.RESPONSE_SIZES
        count = counter(data.records, queries.exposure_counts)
        typical = releases.located(releases.due(size), count, grid, size_window(grid.points), nonzero=True)
        most = c.MOST_EXPOSURES * typical
        (average,), noise = releases.mean(releases.due(mean), data.records.evaluate(queries.exposure_sums, most), most)
        return replace(released, exposure=float(max(average, noise)))

    def _with_mean(self, data: Data, releases: Releases, released: ResponseUnit) -> ResponseUnit:
        grid = grids.RESPONSE_SIZES
        count = counter(data.records, queries.response_counts)
        size = releases.located(releases.due(self.size), count, grid, size_window(grid.points), nonzero=True)
        edges = size * c.NORM_BINS
        # Zeros, which may be most, are in no bin: a law of the others tells their tail.
        counts = data.records.evaluate(queries.response_counts, np.concatenate([[0.0], edges[1:-1], [np.inf]]))
        histogram, noise = releases.histogram(releases.due(self.sizes), np.diff(counts))
        law = Norms.of(edges, histogram, noise, releases.n_responses, self.facts.family.tails.index)
        clip = law.best_clip(mean_noise(releases, self.mean), c.COUNTS_BIAS, rising=True)
        sums = data.records.evaluate(queries.response_sums, clip.bound, clip.start, clip.rise)
        (mean,), noise = releases.mean(releases.due(self.mean), sums, clip.most)
        # A mean within its noise is taken for that: nothing smaller can be told from 0.
        least = c.UNSURE * noise
        center = float(max(mean, least))
        zeros = max(0.0, 1 - law.mean(np.ones_like(law.values)))
        scale = 2 * (zeros + law.mean(np.maximum(1 - law.values / center, 0.0)))
        scale = float(np.clip(scale, c.LEAST_DEVIATION, c.MOST_DEVIATION))
        return replace(released, center=center, scale=scale, lost=not (mean > least and math.isfinite(center)))

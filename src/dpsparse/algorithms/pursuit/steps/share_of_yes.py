"""The share of yes among responses that are yes or no, and the log odds that everything starts from."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpsparse.algorithms.pursuit import newton_budget
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases, of_unit
from dpsparse.algorithms.pursuit.state import Response, State
from dpsparse.algorithms.pursuit.steps.gradients import number_of_responses, with_number_of_responses
from dpsparse.algorithms.pursuit.updates import with_response
from dpsparse.engine import queries
from dpsparse.privacy.accounting.release import Slot


@dataclass(frozen=True)
class OutcomeStep:
    """Learn the number of responses and the share of yes; another fit on the same records may have done so."""

    facts: PublicFacts

    @cached_property
    def count(self) -> Planned:
        """The number of records that have a response."""
        return number_of_responses(self.facts)

    @cached_property
    def share(self) -> Planned:
        """The share of yes."""
        price = newton_budget.SHARE_OF_YES
        return of_unit(price.release, price.of(self.facts), self.facts, "noise")

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.count, self.share

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them. The centre is the log odds of the share, the scale a response's standard deviation."""
        released = with_number_of_responses(self.count, data, releases, state)
        if slot := releases.slot(self.share):
            share, noise = _share(slot, data, releases, state)
            # Where noise alone explains it there may be no yes at all, and log odds without end.
            lost = not c.UNSURE * noise < share < 1 - c.UNSURE * noise
            center, scale = math.log(share / (1 - share)), math.sqrt(share * (1 - share))
            released = replace(released, center=center, scale=scale, lost=lost)
        center, scale = released.center or 0.0, released.scale or 0.5
        response = Response(state.response.given, released, center, scale, releases.n_responses)
        return with_response(state, self.facts, response)


def _share(slot: Slot, data: Data, releases: Releases, state: State) -> tuple[float, float]:
    """The share of yes and its noise, as far from 0 and 1 as that: at even odds residuals are 1/2 or -1/2.

    Where noise is larger than every share it is 1/2.
    """
    sums = data.records.evaluate(queries.mean_residual_sums, 0.0, state.effects, 0.5)
    (mean,), noise = releases.mean(slot, sums, 1.0)
    least = min(noise, 1.0) / 2
    return float(np.clip((1 + mean) / 2, least, 1 - least)), noise / 2

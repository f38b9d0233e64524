"""The other categories of a selected one: all of them take part in predictions from then on.

One category stands for its variable in gradients, and says little of what the others do. Their effects follow from the
sums of residuals in each, which one vector has: a record is in one category.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpsparse.algorithms.pursuit import budget
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.category_effects import categories_of_newest, with_category, with_category_means
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases, skip_all
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.scored import Scores
from dpsparse.algorithms.pursuit.updates import left_out
from dpsparse.engine import scores


@dataclass(frozen=True)
class CategoryMeansStep:
    """Where the newest feature is a category, add the others of its variable, with the effects of their mean residuals.

    `place` counts from 1. There are at most `most` columns with a constant then: more would find no place in the step
    to the estimand's estimator.
    """

    facts: PublicFacts
    place: int
    most: int

    @cached_property
    def means(self) -> Planned:
        """The sums of the residuals in each category, over the number of all records."""
        share = budget.each(budget.CATEGORY_MEANS, self.facts)
        return Planned(f"category means {self.place}", share, numbers=self.most)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.means,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, unless there is no other category."""
        slot = releases.slot(self.means)
        if slot is None:
            return state
        before = state
        if self.place <= len(state.kept_features) and state.features[-1] not in left_out(state):
            state = self._with_categories(data, state)
        if state is before:
            skip_all(releases, self.planned())
            return state
        columns = categories_of_newest(state)
        tau = c.MEANS_REACH * state.residual_scale
        at = Scores(data, releases, state.center, state.effects, (0, *columns), tau)
        sums = data.records.evaluate(scores.clipped_sums, at.terms("score", _indicators(state, columns)), tau, tau, 0.0)
        means, noise = releases.mean(slot, sums, tau)
        shares = [data.companions.shares[state.features[column - state.constants]] for column in columns]
        return with_category_means(state, means, noise, np.array(shares))

    def _with_categories(self, data: Data, state: State) -> State:
        """Add the other categories, the most common first."""
        for feature in data.companions.categories(state.features[-1]):
            if len(state.effects) >= self.most:
                break
            unit = data.companions.unit(feature, {})
            data.add_category(feature, unit)
            state = with_category(state, feature, unit)
        return state


def _indicators(state: State, columns: list[int]) -> np.ndarray:
    """What makes of the constant and of categories in units whether a record is in each, and whether it is in none."""
    units = [state.columns[column - state.constants].unit for column in columns]
    has = np.column_stack([[unit.center for unit in units], np.diag([unit.scale for unit in units])])
    none = -has.sum(axis=0)
    none[0] += 1
    return np.vstack([has, none])

"""The other categories of a selected one: all of them take part in predictions from then on.

One category stands for its variable in gradients, and says little of what the others do. Their effects follow from the
sums of residuals in each, which one vector has: a record is in one category.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import budget
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases, skip_all
from dpsparse.algorithms.pursuit.state import Column, State
from dpsparse.algorithms.pursuit.steps.scored import Scores
from dpsparse.algorithms.pursuit.updates import left_out, with_new
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
        share = budget.share_of_each(budget.CATEGORY_MEANS, self.facts)
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


def _indicators(state: State, columns: list[int]) -> NDArray[np.float64]:
    """What makes of the constant and of categories in units whether a record is in each, and whether it is in none."""
    units = [state.columns[column - state.constants].unit for column in columns]
    has = np.column_stack([[unit.center for unit in units], np.diag([unit.scale for unit in units])])
    none = -has.sum(axis=0)
    none[0] += 1
    return np.vstack([has, none])


def with_category(state: State, feature: int, unit: FeatureUnit) -> State:
    """Add another category of the newest feature's variable, with no effect yet."""
    return with_new(state, Column(feature, unit, came_with=state.newest))


def categories_of_newest(state: State) -> list[int]:
    """The columns of the newest feature and of the other categories of its variable."""
    return [state.newest, *np.flatnonzero(state.came_with == state.newest).tolist()]


def with_category_means(state: State, sums: NDArray[np.float64], noise: float, shares: NDArray[np.float64]) -> State:
    """Move the effects of the categories of the newest feature's variable by the mean residual of each.

    `sums` are of the clipped residuals of the records of each category, and last of those of none, over the number of
    all records; each has this noise. `shares` are the categories' shares of the records. Mean residuals have a normal
    prior, of the variance that the sums tell.
    """
    columns, own = categories_of_newest(state), state.newest_pair
    units = [state.columns[column - state.constants].unit for column in columns]
    shares = np.append(shares, max(0.0, 1 - shares.sum()))
    # In units of the noise.
    sizes = sums / noise
    excess = max(0.0, float(np.sum(sizes**2 - 1)))
    variance = excess / float(np.sum(shares**2))
    means = noise * sizes * shares * variance / (shares**2 * variance + 1)
    steps, effects = means[:-1] - means[-1], state.effects.copy()
    effects[columns] += steps * [unit.scale for unit in units]
    effects[0] += means[-1] + float(steps @ [unit.center for unit in units])
    fallback = state.fallback
    if fallback.before_slopes is None:
        fallback = replace(fallback, before_slopes=state.effects)
    newest = replace(state.columns[own], beside=math.sqrt(excess))
    return replace(
        state, columns=(*state.columns[:own], newest, *state.columns[own + 1 :]), effects=effects, fallback=fallback
    )

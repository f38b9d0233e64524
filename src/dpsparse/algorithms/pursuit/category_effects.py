"""The categories of a variable in the state of a pursuit: those that come with a selected one, and their effects."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.state import Column, State
from dpsparse.algorithms.pursuit.updates import with_new


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

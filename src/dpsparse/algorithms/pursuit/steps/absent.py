"""Features that hardly a record with a response has: the second moments of the rows tell.

A feature may vary among all records and not among those with a response, such as whether a cell is missing where the
response then is missing too. Nothing is known of its effect.
"""

from collections.abc import Set
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.scored import Scores
from dpsparse.inference.inference_constants import NO_VARIANCE
from dpsparse.inference.matrices import NoisyMatrix


def without_absent(at: Scores, state: State, rough: NoisyMatrix) -> tuple[Scores, State, NoisyMatrix]:
    """Without the unsure features that may be absent; other 0/1 features that may be have no interval.

    Other features vary, by their released units.
    """
    companions, moments = at.data.companions, _moments_about_means(state, rough)
    may_be = moments <= c.UNSURE * rough.noise
    d = at.data.records.n_features
    binary = {*companions.shares, *range(d, 2 * d)}
    stays = ~(may_be & np.isin(state.kept, _places(state, companions.unsure)))
    doubtful = state.kept[(may_be | (moments <= c.ABSENT)) & np.isin(state.kept, _places(state, binary))]
    surely = state.kept[moments + c.UNSURE * rough.noise <= c.ABSENT]
    columns = tuple(
        replace(column, unit=column.unit.maybe_absent(surely=place in surely)) if place in doubtful else column
        for place, column in enumerate(state.columns, state.constants)
    )
    evidence = replace(state.evidence, precision=_marginal(state.evidence.precision, stays))
    state = replace(state, kept=state.kept[stays], columns=columns, evidence=evidence)
    at = replace(at, positions=tuple(map(int, state.kept)))
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

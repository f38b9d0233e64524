"""Moments of a pursuit's predictions, from its effects and from released moments of the features."""

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit.state import State


def moments_of_predictions(state: State) -> tuple[float, NDArray[np.float64]]:
    """The variance of predictions and their covariances with the features, from released second moments."""
    columns, gram, concluded = state.kept_features, state.moments.gram, state.concluded
    moments = gram[np.ix_(columns, columns)] / gram[0, 0] - np.outer(concluded.means, concluded.means)
    covariances = moments @ concluded.effects[columns]
    return max(0.0, float(concluded.effects[columns] @ covariances)), covariances

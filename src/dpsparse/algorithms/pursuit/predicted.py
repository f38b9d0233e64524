"""Moments of a pursuit's predictions, from its effects and from released moments of the features."""

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit.state import State


def moments_of_predictions(state: State) -> tuple[float, NDArray[np.float64]]:
    """The variance of predictions and their covariances with the features, from released second moments.

    Of categories that came with a selected one there are none in a pursuit: they are left out.
    """
    gram, concluded = state.moments.gram, state.concluded
    known = state.kept_features < len(gram)
    columns, means = state.kept_features[known], concluded.means[known]
    moments = gram[np.ix_(columns, columns)] / gram[0, 0] - np.outer(means, means)
    covariances = moments @ concluded.effects[columns]
    return max(0.0, float(concluded.effects[columns] @ covariances)), covariances

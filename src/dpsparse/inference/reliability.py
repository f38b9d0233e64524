"""Whose standard error can be relied on, and how much wider it must be, from releases alone.

`last` is the last gradient, `move` how far it moved the effects of the kept features, `errors` are their standard
errors.
"""

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference.gls import Gradient
from dpsparse.inference.inference_constants import (
    ALONG,
    COLLINEAR,
    ELSEWHERE,
    LARGEST_MOVE,
    LARGEST_NOISE,
    LEAST_CARRIERS,
    SETTLED_ERRORS,
    SETTLED_TAU,
)
from dpsparse.inference.sandwich import Jacobian


def has_arrived(move: NDArray[np.float64], errors: NDArray[np.float64], last: Gradient) -> NDArray[np.bool_]:
    """Which effects have arrived: not those that the last gradient still moved far."""
    return np.asarray(move <= np.maximum(SETTLED_TAU * last.tau, SETTLED_ERRORS * errors))


def moved_too_far(move: NDArray[np.float64], last: Gradient) -> NDArray[np.bool_]:
    """Which effects the last gradient moved so far that it saturates: what is left of the way may be anything."""
    return np.asarray(move > LARGEST_MOVE * last.tau)


def is_weak(columns: NDArray[np.int64], last: Gradient, jacobian: Jacobian | None) -> NDArray[np.bool_]:
    """Which columns the score hardly sees: their carriers mostly lie outside tau."""
    if jacobian is None:
        return np.zeros(len(columns), dtype=bool)
    return np.asarray(jacobian.weak[np.isin(last.columns, columns)])


def is_noisy(last: Gradient) -> bool:
    """Whether the noise of a gradient is so large that gradients saturate within it: then no error can be relied on."""
    return bool(last.noise_scale > LARGEST_NOISE * last.tau * last.gain[-1])


def is_rare(n_records: float, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which features have too few carriers, from shares of pairs that differ: may have, from lower bounds on them.

    Of a 0/1 feature that a small share of the records has, twice that share of the pairs differ.
    """
    return np.asarray(n_records / 2 * shares < LEAST_CARRIERS)


def with_last_move(errors: NDArray[np.float64], move: NDArray[np.float64], last: Gradient) -> NDArray[np.float64]:
    """Errors that hold the last move: where one effect has not arrived yet, none has."""
    return errors if has_arrived(move, errors, last).all() else np.maximum(errors, move)


def along_collinear(effects: NDArray[np.float64], gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of effects along directions in which their columns are nearly collinear."""
    root = np.sqrt(np.diagonal(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(root, root))
    hidden = vectors[:, values < COLLINEAR]
    return np.asarray(hidden @ (hidden.T @ (root * effects)) / root)


def with_collinearity(
    errors: NDArray[np.float64], along: NDArray[np.float64], second_moments: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Errors that hold what near collinearity leaves open, if the effects along such directions exceed the errors.

    Second moments are taken to have a least eigenvalue, which the true ones may be far below. Then gradients say next
    to nothing along its direction, and seem to confirm whatever effects they are taken at: these may be wrong by their
    own size.
    """
    along = np.abs(along)
    if not np.any(along > errors):
        return errors
    root = np.sqrt(second_moments)
    elsewhere = ELSEWHERE * ALONG * np.linalg.norm(root * along) / root
    return np.asarray(np.hypot(np.maximum(errors, ALONG * along), elsewhere))

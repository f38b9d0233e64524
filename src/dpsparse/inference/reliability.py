"""Whose standard error can be relied on, from releases alone."""

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference.constants import (
    COLLINEAR,
    LARGEST_NOISE,
    LEAST_CARRIERS,
    SETTLED_ERRORS,
    SETTLED_TAU,
)
from dpsparse.inference.gls import Gradient
from dpsparse.inference.sandwich import Jacobian


def settled(
    effects: NDArray[np.float64],
    columns: NDArray[np.int64],
    errors: NDArray[np.float64],
    last: Gradient,
    jacobian: Jacobian | None,
) -> NDArray[np.bool_]:
    """Which columns have arrived: not those that the last gradient still moved far, or hardly sees.

    `effects` are those of all columns, `errors` the standard errors of these.
    """
    move = np.abs(effects - last.origin)[columns]
    arrived = np.asarray(move <= np.maximum(SETTLED_TAU * last.tau, SETTLED_ERRORS * errors))
    if jacobian is not None:
        arrived &= ~jacobian.weak[np.isin(last.columns, columns)]
    return arrived


def is_saturated(last: Gradient) -> bool:
    """Whether the noise of a gradient is so large that gradients saturate within it: then no error can be relied on."""
    return not last.noise_scale <= LARGEST_NOISE * last.tau * last.gain[-1]


def rare(n_records: float, least_shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which features may have too few carriers, from lower bounds on the shares of pairs that differ.

    Of a 0/1 feature that a small share of the records has, twice that share of the pairs differ.
    """
    return np.asarray(n_records / 2 * least_shares < LEAST_CARRIERS)


def determined(
    effects: NDArray[np.float64], errors: NDArray[np.float64], gram: NDArray[np.float64], constants: int
) -> NDArray[np.bool_]:
    """Which features owe at most one standard error to directions of near collinearity.

    Second moments are taken to have a least eigenvalue, which the true ones may be far below. Then gradients say next
    to nothing along its direction, and seem to confirm whatever effects they are taken at.

    `effects` and `gram` are of the kept columns, the first `constants` of which are no features; `errors` are of the
    features.
    """
    root = np.sqrt(np.diagonal(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(root, root))
    hidden = vectors[:, values < COLLINEAR]
    part = hidden @ (hidden.T @ (root * effects)) / root
    return np.asarray(np.abs(part[constants:]) <= errors)

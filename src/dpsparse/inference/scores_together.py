"""Effects from several released mean scores, each at effects of its own.

For normal rows of second moments G a mean score at effects o is G (s(b) b - s(o) o), with b the effects that made the
responses and s(b) the mean slope there (Stein's identity): a logistic curve is flatter far out. Rows are not quite
normal, so that a score counts less the further its way moves log odds. All scores are of the same records, so that
their sampling error is the same, and only their noise is independent. Noise alone gives the evidence P0 and P0 b; with
a sampling precision S the evidence is (P0^-1 + S^-1)^-1. Everything here is computed from releases.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference.inference_constants import CURVATURE, RELINEARIZED

# The mean slope at some effects, with residuals of some bound.
SlopeAt: TypeAlias = Callable[[NDArray[np.float64], float], float]


@dataclass(frozen=True)
class MeanScore:
    """A released mean score.

    `origin`: the effects at which it was taken.
    `derivative`: the slope s(o) there times second moments of rows, or released slope moments, in the coordinates of
      the release.
    `mean`, `noise`: the release, and its standard deviation.
    `bound`: that of residuals.
    `local`: whether slope moments were released there: they are right near `origin`, in every direction.
    """

    origin: NDArray[np.float64]
    derivative: NDArray[np.float64]
    mean: NDArray[np.float64]
    noise: float
    bound: float
    local: bool = False


@dataclass(frozen=True)
class Together:
    """Effects, and the evidence for them without a prior: its precision, and that times the effects."""

    effects: NDArray[np.float64]
    precision: NDArray[np.float64]
    score: NDArray[np.float64]


def together(
    scores: Sequence[MeanScore],
    start: NDArray[np.float64],
    prior: NDArray[np.float64],
    sampling: NDArray[np.float64],
    moments: NDArray[np.float64],
    slope_at: SlopeAt,
) -> Together:
    """The effects that a prior precision about 0 and all scores make most likely.

    `sampling` is the precision that a fit of the same records has without noise; `moments` are second ones of rows.

    Examples
    --------
    >>> import numpy as np
    >>> scores = [MeanScore(np.zeros(1), np.eye(1), np.array([m]), 1.0, 1.0) for m in (0.4, 0.8)]
    >>> found = together(scores, np.zeros(1), np.eye(1), 2 * np.eye(1), 0 * np.eye(1), lambda effects, bound: 0.25)
    >>> found.effects, found.precision
    (array([0.3]), array([[1.]]))
    """
    effects = start
    for _ in range(RELINEARIZED):
        noise_alone, score = np.zeros_like(prior), np.zeros(len(start))
        for each in scores:
            way = effects - each.origin
            far = 1.0 if each.local else slope_at(effects, each.bound) / slope_at(each.origin, each.bound)
            derivative = far * each.derivative
            # What this does not see of the curve, in any direction.
            beside = CURVATURE**2 * float(way @ moments @ way) * float(np.mean((derivative @ way) ** 2))
            weight = 1 / (each.noise**2 + beside)
            noise_alone += weight * derivative.T @ derivative
            score += weight * derivative.T @ (each.mean + each.derivative @ each.origin)
        kept = np.linalg.solve(noise_alone + sampling, np.column_stack([noise_alone, score]))
        precision, score = sampling @ kept[:, :-1], sampling @ kept[:, -1]
        precision = (precision + precision.T) / 2
        effects = np.asarray(np.linalg.solve(precision + prior, score), dtype=np.float64)
    return Together(effects, np.asarray(precision), np.asarray(score))

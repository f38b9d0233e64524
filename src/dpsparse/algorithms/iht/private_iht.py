"""The paper's loop: private iterative hard thresholding. DP-IHT-H, DP-IHT-L and DP-SLR differ in their loss.

Symbols of the paper: beta (coef), eta (step), tau or 1 or the residual bound (loss.bound), K (clip_bound), T
(number of steps), s (sparsity), L (radius), lambda (sensitivity, here in integers).

Privacy. Step t reads part t of the rows alone. Its vector is the sum of public coefficients on an integer grid and of a
`clipped_sum`, so it has the sup-norm sensitivity of that sum; `peel` releases it. The projection and the next step's
grid are functions of releases. Each record lies in one part, so the fit costs as much as one peeling.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.progress import Progress, ProgressReporter
from dpsparse.engine.protocols import Rows
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer
from dpsparse.engine.queries import loss_sums
from dpsparse.engine.threads import one_blas_thread
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.meter import Commitment, Meter
from dpsparse.privacy.accounting.release import LaplacePeeling, Slot
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.selection import paper_peeling_scale, peel, peeling_cost, tight_peeling_scale
from dpsparse.privacy.protection import Adjacency

if TYPE_CHECKING:
    from dpsparse.algorithms.losses import Loss

PEELING_SCALES = {"tight": tight_peeling_scale, "paper": paper_peeling_scale}


@dataclass(frozen=True)
class IHTResult:
    """The final coefficients and where they are not zero."""

    coef: NDArray[np.float64]
    support: NDArray[np.intp]


def _change(adjacency: Adjacency) -> int:
    return sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, adjacency)


def iht_commitment(guarantee: Guarantee, sparsity: int, n_steps: int, calibration: str) -> Commitment:
    """The releases of a fit with `n_steps` steps, in order: one peeling of each part of the rows."""
    change = _change(guarantee.adjacency)
    cost = peeling_cost(sparsity, change, PEELING_SCALES[calibration](guarantee, sparsity, change))
    return Commitment(tuple(Slot(f"step {part + 1}", LaplacePeeling(*cost), part) for part in range(n_steps)))


@np.errstate(all="ignore")
def step_units(n_records: int, steps: Sequence[float], clip_bound: float, loss: "Loss") -> list[float]:
    """The coefficient that one integer unit of each step's vector stands for; from public numbers."""
    units = [
        step * Quantizer(clip_bound).step * (loss.bound / WEIGHT_LEVELS) / len(range(part, n_records, len(steps)))
        for part, step in enumerate(steps)
    ]
    if not all(0 < unit < np.inf for unit in units):
        raise ValueError("step, clip_bound and the loss's bound are too extreme together: bring them nearer to 1")
    return units


@one_blas_thread()
@np.errstate(all="ignore")
def private_iht(
    rows: Rows,
    meter: Meter,
    *,
    loss: "Loss",
    steps: Sequence[float],
    sparsity: int,
    clip_bound: float,
    radius: float | None,
    calibration: str,
    clip_predictions: bool = True,
    progress: Progress = None,
) -> IHTResult:
    """Run one step on each of ``len(steps)`` disjoint parts of the rows.

    Coefficients are projected onto the ball of `radius`, unless it is None. Residuals use clipped features where
    `clip_predictions` is set (Algorithm 1), raw ones otherwise (Algorithm 3). Returns the last step's release.
    """
    grid = Quantizer(clip_bound)
    commitment = iht_commitment(meter.guarantee, sparsity, len(steps), calibration)
    meter.commit(commitment)
    change = _change(meter.guarantee.adjacency)
    scale = PEELING_SCALES[calibration](meter.guarantee, sparsity, change)
    coef, support = np.zeros(rows.n_features), np.empty(0, dtype=np.int64)
    reporter = ProgressReporter(progress, len(steps))
    units = step_units(rows.n_records, steps, clip_bound, loss)
    for part, (slot, unit) in enumerate(zip(commitment.slots, units, strict=True)):
        with reporter.step():
            vector = rows.part(part, len(steps)).evaluate(loss_sums, grid, loss, coef, support, clip_predictions)
        vector[support] += _as_integers(coef[support] / unit)
        peeled = peel(meter, vector, sparsity=sparsity, sensitivity=change, scale=scale, name=slot.name, part=part)
        coef, support = np.zeros(rows.n_features), peeled.support
        coef[support] = peeled.values * unit
        coef = _project(coef, radius)
    return IHTResult(coef, support)


def _as_integers(values: NDArray[np.float64]) -> NDArray[np.int64]:
    # The values are public, so cutting them to the integers' range does no harm to privacy. A NaN must not reach the
    # cast: it would become the smallest integer, wrap round in the sum above, and void the sensitivity.
    return np.rint(np.clip(np.nan_to_num(values, nan=0.0), -(2.0**61), 2.0**61)).astype(np.int64)


def _project(coef: NDArray[np.float64], radius: float | None) -> NDArray[np.float64]:
    norm = np.linalg.norm(coef)
    return coef if radius is None or norm <= radius else coef * (radius / norm)

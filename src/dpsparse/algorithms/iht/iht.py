"""The paper's loop: private iterative hard thresholding. DP-IHT-H, DP-IHT-L and DP-SLR differ in their loss.

Symbols of the paper: beta (coef), eta (step), tau or 1 or the residual bound (loss.bound), K (clip_bound), T
(number of steps), s (sparsity), L (radius), lambda (sensitivity, here in integers).

Privacy. Step t reads part t of the rows alone. Its vector is the sum of public coefficients on an integer grid and of a
`clipped_sum`, so it has the sup-norm sensitivity of that sum; `peel` releases it. The projection and the next step's
grid are functions of releases. Each record lies in one part, so the fit costs as much as one peeling.
"""

from dataclasses import dataclass

import numpy as np

from dpsparse.algorithms.progress import ProgressReporter
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer
from dpsparse.engine.queries import loss_sums
from dpsparse.engine.threads import one_blas_thread
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.commitment import Commitment
from dpsparse.privacy.accounting.release import LaplacePeeling, Slot
from dpsparse.privacy.mechanisms.selection import paper_peeling_scale, peel, peeling_cost, tight_peeling_scale

PEELING_SCALES = {"tight": tight_peeling_scale, "paper": paper_peeling_scale}


@dataclass(frozen=True)
class IHTResult:
    """The final coefficients and where they are not zero."""

    coef: np.ndarray
    support: np.ndarray


def _change(adjacency):
    return sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, adjacency)


def iht_commitment(guarantee, sparsity, n_steps, calibration):
    """The releases of a fit with `n_steps` steps, in order: one peeling of each part of the rows."""
    change = _change(guarantee.adjacency)
    cost = peeling_cost(sparsity, change, PEELING_SCALES[calibration](guarantee, sparsity, change))
    return Commitment(tuple(Slot(f"step {part + 1}", LaplacePeeling(*cost), part) for part in range(n_steps)))


@np.errstate(all="ignore")
def step_units(n_records, steps, clip_bound, loss):
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
    rows, meter, *, loss, steps, sparsity, clip_bound, radius, calibration, clip_predictions=True, progress=None
):
    """Run one step on each of ``len(steps)`` disjoint parts of the rows.

    Parameters
    ----------
    rows : Rows
        The data.
    meter : Meter
        The budget and the noise.
    loss : Huber, Absolute or Squared
        Its psi and bound.
    steps : list of float
        The step size of each iteration.
    sparsity : int
        Coordinates kept.
    clip_bound : float
        Clip of the features.
    radius : float or None
        Coefficients are projected onto the ball of this radius; None for no projection.
    calibration : {"tight", "paper"}
        How the noise of the peeling is calibrated.
    clip_predictions : bool
        Whether residuals use clipped features (Algorithm 1) or raw ones (Algorithm 3).
    progress : callable or None
        Called with the number of steps done and the number of all steps.

    Returns
    -------
    IHTResult
        The last step's release.
    """
    grid = Quantizer(clip_bound)
    commitment = iht_commitment(meter.guarantee, sparsity, len(steps), calibration)
    meter.commit(commitment)
    change = _change(meter.guarantee.adjacency)
    scale = PEELING_SCALES[calibration](meter.guarantee, sparsity, change)
    coef, support = np.zeros(rows.n_features), np.empty(0, dtype=np.int64)
    reporter = ProgressReporter(progress, len(steps))
    units = step_units(rows.n_records, steps, clip_bound, loss)
    for slot, unit in zip(commitment.slots, units, strict=True):
        with reporter.step():
            vector = rows.part(slot.part, len(steps)).evaluate(loss_sums, grid, loss, coef, support, clip_predictions)
        vector[support] += _as_integers(coef[support] / unit)
        peeled = peel(meter, vector, sparsity=sparsity, sensitivity=change, scale=scale, name=slot.name, part=slot.part)
        coef, support = np.zeros(rows.n_features), peeled.support
        coef[support] = peeled.values * unit
        coef = _project(coef, radius)
    return IHTResult(coef, support)


def _as_integers(values):
    # The values are public, so cutting them to the integers' range does no harm to privacy. A NaN must not reach the
    # cast: it would become the smallest integer, wrap round in the sum above, and void the sensitivity.
    return np.rint(np.clip(np.nan_to_num(values, nan=0.0), -(2.0**61), 2.0**61)).astype(np.int64)


def _project(coef, radius):
    norm = np.linalg.norm(coef)
    return coef if radius is None or norm <= radius else coef * (radius / norm)

"""What a pursuit releases, as the estimator needs it; first the number of responses that are there and readable."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit.pursuit_constants import RESPONSE_DEVIATIONS, SHORT_SHARE, TEN, TOO_SHORT_SHARE


@dataclass(frozen=True)
class ResponseCount:
    """A noisy number of responses.

    `number`: how many there are; all records where it is within noise of them.
    `noise`: its standard deviation.
    `n_records`: the public number of records.
    `empty`: the released share of records whose response is an empty cell: left out on purpose, and not unreadable.

    Examples
    --------
    >>> count = ResponseCount(24_683.2, 182.0, 28_155)
    >>> str(count), count.is_short, count.is_too_short
    ('about 24,700 of 28,155', True, False)
    >>> count.margin
    ' (give or take 400)'
    """

    number: float
    noise: float
    n_records: int
    empty: float = 0.0

    def __str__(self) -> str:
        if self.number >= self.n_records:
            return f"as far as the noise lets one tell, all {self.n_records:,}"
        # No digit that the noise alone decides.
        digit = TEN ** max(0, math.floor(math.log10(max(self.noise, 1.0))))
        return f"about {digit * round(self.number / digit):,} of {self.n_records:,}"

    @property
    def margin(self) -> str:
        """How far off the number may be, two standard deviations of its noise; empty where it is all records."""
        if self.number >= self.n_records:
            return ""
        off = 2 * self.noise
        digit = TEN ** max(0, math.floor(math.log10(max(off, 1.0))))
        return f" (give or take {digit * math.ceil(off / digit):,})"

    @property
    def is_short(self) -> bool:
        """Whether some could not be read, which must be said."""
        return self._below(SHORT_SHARE)

    @property
    def is_too_short(self) -> bool:
        """Whether most could not be read."""
        return self._below(TOO_SHORT_SHARE)

    def _below(self, share: float) -> bool:
        given = (1 - self.empty) * self.n_records
        return self.number < share * given and self.number < given - RESPONSE_DEVIATIONS * self.noise


# Why a selected feature was left out: nearly all records have the same value, which the intercept stands for; or noise
# chose its size or its centre.
HARDLY_VARIES, UNIT_WRONG = "hardly varies", "unit wrong"
# Why an effect has no error that can be relied on: the last gradient still moved it far; those with the feature mostly
# have outlying responses, or are too few; gradients are too noisy, or nothing was learned or explained at all.
MOVED_FAR, OUTLYING, FEW_CARRIERS = "moved far", "outlying", "few carriers"
# Noise does not tell whether those with the feature are too few.
MAYBE_FEW = "maybe few carriers"
TOO_NOISY, NOTHING_LEARNED, NOTHING_EXPLAINED = "too noisy", "nothing learned", "nothing explained"
# An effect on the mean cannot be had at this number of records and epsilon.
NO_MEAN = "no mean"
# A typical response is that of a lump: where Huber's estimator cuts residuals depends on how far the lump lies from its
# own predictions.
ON_A_LUMP = "on a lump"
DOUBTS = (
    *(MOVED_FAR, OUTLYING, FEW_CARRIERS, MAYBE_FEW, TOO_NOISY),
    *(NOTHING_LEARNED, NOTHING_EXPLAINED, NO_MEAN, ON_A_LUMP),
)


@dataclass(frozen=True)
class EstimatingEquation:
    """The equation that the effects solve, up to noise: the mean of psi_tau(r) v(z) z is 0.

    z is the constant 1 and the selected features less `center` over `scale`; v(z) = min(1, inner / |z|)
    min(1, outer / |z|); psi clips the residual r at `tau`.
    """

    features: NDArray[np.int64]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    tau: float
    inner: float
    outer: float


@dataclass(frozen=True)
class FeatureEffects:
    """Released effects of the selected features, in order of selection.

    `support`: the features.
    `effects`, `shrunk_effects`, `standard_errors`: for a step of one `scale` of each.
    `covariance`: of the effects; both errors may be larger by `decisions.caution`.
    `center`, `scale`: the features' units: public, or released.
    `mean`: how far their means are from their centres, in scales; 0 without an intercept.
    `learned`: whether a unit was released.
    `doubts`: why a standard error cannot be relied on, one of `DOUBTS`; empty where it can.
    """

    support: NDArray[np.int64]
    effects: NDArray[np.float64]
    shrunk_effects: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    covariance: NDArray[np.float64]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    mean: NDArray[np.float64]
    learned: NDArray[np.bool_]
    doubts: NDArray[np.object_]

    @property
    def trusted(self) -> NDArray[np.bool_]:
        """Which standard errors can be relied on."""
        return np.asarray(self.doubts == "")


@dataclass(frozen=True)
class Predictions:
    """What predictions are made of, beside the shrunk effects.

    `constant`: the mean prediction, as far as releases tell.
    `alone`: the prediction without any feature: the mean prediction, or the log odds of the share of yes.
    `median_shift`: by how much a predicted median lies above the line of the shrunk effects, where this passes through
      the constant.
    `median_slope`, `calibration_slope`: predictions of a median and of a mean are this many times as far from there as
      the shrunk effects say.
    `range`: predictions beyond this are cut.
    `explains`: False where the features explain nothing; all shrunk effects are then 0.
    """

    constant: float
    alone: float
    median_shift: float
    median_slope: float
    calibration_slope: float
    range: tuple[float, float] | None
    explains: bool


@dataclass(frozen=True)
class ResponseSummary:
    """What was learned of the response.

    `scale`: the median distance of the responses from their centre: public, or released.
    `scale_known`: whether the scales of the response and of the residuals were learned.
    `spread_explained`: 1 less the residuals' scale over the response's; None where the releases do not tell.
    `cut`: where residuals are clipped, in units of the response.
    `lumped`: whether many responses lie at one point, their centre.
    `count`: the released number of responses; None where every record has one.
    `nearly_exact`: whether all that is not known of the scale is how small the residuals are: effects have errors then.
    """

    scale: float
    scale_known: bool
    spread_explained: float | None
    cut: float
    lumped: bool
    count: ResponseCount | None
    nearly_exact: bool = False


@dataclass(frozen=True)
class PursuitResult:
    """Everything that a pursuit releases.

    `features`: effects of the selected features.
    `predictions`: what predictions are made of.
    `response`: what was learned of the response.
    `selected`: whether the features were selected; otherwise all were taken.
    `reason`: why scales were not learned, or why the features explain nothing; empty otherwise.
    `equation`: what the effects estimate.
    `left_out`: the selected features that have no effect, and why: `HARDLY_VARIES` or `UNIT_WRONG`.
    """

    features: FeatureEffects
    predictions: Predictions
    response: ResponseSummary
    selected: bool
    reason: str
    equation: EstimatingEquation
    left_out: dict[int, str]

"""Private robust pursuit: select one feature at a time, make small releases, and reuse every release.

The steps are those of docs/method.md.

Privacy. Every number here that depends on the data comes out of `privacy.mechanisms`, on sums whose sensitivity
`privacy.sensitivity` proves: counts (medians, fractions), clipped sums (scores of the features), sums of norm-bounded
integer vectors (gradients, Gram rows) and of their outer products (the Gram matrix). The releases, their order and
their prices are fixed in advance (`schedule`); the loop makes one for each slot. Everything else (`state`, `gls`) is
computed from releases.
"""

from contextlib import closing
from dataclasses import dataclass

import numpy as np

from dpsparse.algorithms.progress import ProgressReporter
from dpsparse.algorithms.pursuit.gls import row_clip
from dpsparse.algorithms.pursuit.schedule import INTERCEPTS, POSITIONS, SIZES, median_is_safe
from dpsparse.algorithms.pursuit.state import PursuitState
from dpsparse.engine import queries
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer
from dpsparse.engine.threads import one_blas_thread
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS
from dpsparse.privacy import sensitivity
from dpsparse.privacy.mechanisms.gaussian import release_gram, release_vector
from dpsparse.privacy.mechanisms.quantile import release_quantile
from dpsparse.privacy.mechanisms.selection import exponential_pick

# Where residuals are clipped, in units of their scale: in scores of the features, in early and in final gradients.
SCORE_TAU, EARLY_TAU, FINAL_TAU = 0.7, 0.8, 0.7
# Where row norms are clipped, in units of their typical size: gradients, Gram rows, the Gram matrix's second factor.
GRADIENT_NORM, GRAM_ROW_NORM, GRAM_NORM = 0.6, 1.3, 1.2


@dataclass(frozen=True)
class PursuitResult:
    """Released effects in public units of the features, in order of selection.

    `centered` says which features vary more than their public centre is off: the others cannot be distinguished from
    the intercept. `scale_known` says whether the response's scale can be trusted, from public numbers and releases.
    """

    support: np.ndarray
    effects: np.ndarray
    shrunk_effects: np.ndarray
    standard_errors: np.ndarray
    centered: np.ndarray
    intercept: float
    scale_known: bool


class Pursuit:
    """One fit. The constructor reads the rows once and releases nothing; `run` makes the releases.

    With an intercept the columns start with the constant 1. Without it a feature whose public centre is off, or whose
    clipped values are not centred, would act as the intercept.

    Parameters
    ----------
    rows : Rows
        The data.
    meter : Meter
        The budget and the noise.
    schedule : Schedule
        The price of every release.
    sparsity : int
        The number of features in the result.
    center, scale : float or ndarray
        Public centres and scales of the features.
    response_center, response_scale : float or None
        Public centre and scale of the response; None to release them.
    fit_intercept : bool
        Whether to fit an intercept.
    check_finite : bool
        Whether to raise ValueError, with a constant text, if a feature is not finite.
    progress : callable or None
        Called with the number of steps done, which may be a fraction, and the number of all steps; both depend on
        public numbers alone.
    """

    def __init__(
        self,
        rows,
        meter,
        schedule,
        *,
        sparsity,
        center=0.0,
        scale=1.0,
        response_center=None,
        response_scale=None,
        fit_intercept=True,
        check_finite=True,
        progress=None,
    ):
        self.meter, self.schedule, self.sparsity = meter, schedule, sparsity
        self.n, self.adjacency = rows.n_records, meter.guarantee.adjacency
        # An estimator has committed to the same before, when it reserved; to commit again changes nothing.
        meter.commit(schedule.commitment)
        self._slots = iter(schedule.commitment.slots)
        self.state = PursuitState(self.n, len(self.schedule.picks), fit_intercept)
        # Where centre and scale are not public, the first slots release them.
        self.center, self.correction = float(response_center or 0.0), 0.0
        if response_scale is not None:
            self._set_response_scale(response_scale)
        self.quantizer = Quantizer(self.schedule.clip_bound, center, scale)
        # Opening; scores and a column for each selected feature; the rest.
        self._reporter = ProgressReporter(progress, 2 + 2 * len(self.schedule.picks))
        options = {"constant": fit_intercept, "check_finite": check_finite}
        with self._reporter.step() as on_progress:
            self.session = rows.session((self.quantizer,), **options, on_progress=on_progress)
        self.scale_safe = True

    @one_blas_thread()
    @np.errstate(all="ignore")
    def run(self):
        """Make the releases.

        Returns
        -------
        PursuitResult
            Effects, standard errors, intercept.
        """
        make = {
            "response centre": self.release_response_center,
            "response scale": self.release_response_scale,
            "pick": self.add_feature,
            "Gram row": self.release_gram_row,
            "gradient": self.estimate_new_effect,
            "Gram matrix": self.release_gram_matrix,
            "final gradient": self.refine,
            "intercept": self.correct_intercept,
        }
        with closing(self.session):
            for slot in self._slots:
                make[slot.group](slot)
        with self._reporter.step():
            return self.result()

    def release_response_center(self, slot):
        """Step 1: the centre of the response."""
        self.center = self._median(slot, 0.0, self.state.effects, POSITIONS)
        self.scale_safe = median_is_safe(self.n, slot.rho, POSITIONS)

    def release_response_scale(self, slot):
        """Step 1: the scale of the response about its centre."""
        self._set_response_scale(self._median(slot, self.center, self.state.effects, SIZES, sizes=True))
        self.scale_safe &= median_is_safe(self.n, slot.rho, SIZES)

    def _set_response_scale(self, scale):
        self.state.response_scale = self.state.residual_scale = float(scale)

    def _median(self, slot, center, effects, grid, sizes=False):
        """The median of the residuals at these effects, or of their sizes."""
        counts = self.session.evaluate(queries.residual_counts, center, effects, grid, sizes)
        return release_quantile(self.meter, counts, grid, target=self.n // 2, rho=slot.rho, name=slot.name)

    def add_feature(self, slot):
        """Step 2: select one more feature, by the exponential mechanism on the features' scores."""
        bound = SCORE_TAU * self.state.residual_scale
        with self._reporter.step() as on_progress:
            (scores,) = self.session.scores(self.center, self.state.effects, bound, on_progress)
        change = sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, self.adjacency)
        selected = exponential_pick(
            self.meter, scores, sensitivity=change, rho=slot.rho, name=slot.name, excluded=self.state.features
        )
        with self._reporter.step() as on_progress:
            self.session.add(selected, on_progress)
            self.session.rescale(*self.quantizer.center_and_scale(selected))
        self.state.add_column(selected)

    def release_gram_row(self, slot):
        """Step 3: second moments of the newest feature with itself and those before; each pair is released once."""
        columns = range(self.state.constants, len(self.state.effects))
        bound = float(GRAM_ROW_NORM * np.sqrt(len(columns)))
        sums = self.session.evaluate(queries.product_sums, columns, bound)
        self.state.add_gram_row(*self._release_mean(slot, sums, bound))

    def estimate_new_effect(self, slot):
        """Steps 4 and 5: a gradient, and the effects that follow from all gradients so far."""
        state = self.state
        self._gradient(slot, EARLY_TAU)
        state.solve()
        state.widen_scale(slice(state.constants, len(state.effects) - 1))
        state.narrow_scale()

    def _release_mean(self, slot, sums, bound):
        """A mean over records of vectors clipped to norm `bound`, and the standard deviation of its noise."""
        change = sensitivity.bounded_norm_sum(VECTOR_LEVELS, self.adjacency)
        noisy = release_vector(self.meter, sums, sensitivity=change, rho=slot.rho, name=slot.name)
        unit = bound / VECTOR_LEVELS / self.n
        return noisy.values * unit, float(noisy.scale[0] * unit)

    def _gradient(self, slot, tau_in_scales):
        """A gradient on the kept columns and, in the next slot, the fraction of residuals within tau."""
        state = self.state
        tau = tau_in_scales * state.residual_scale
        clip = row_clip(len(state.kept), GRADIENT_NORM, state.constants)
        sums, within = self.session.evaluate(
            queries.gradient_sums, self.center, state.effects, tau, state.kept, clip.bound
        )
        mean, noise = self._release_mean(slot, sums, clip.bound)
        # In steps of 2^-20 records, so that the noise is as fine as that of the vectors.
        small = VECTOR_LEVELS * np.array([within])
        slot, change = next(self._slots), VECTOR_LEVELS * sensitivity.count(self.adjacency)
        counted = release_vector(self.meter, small, sensitivity=change, rho=slot.rho, name=slot.name)
        fraction = float(np.clip(counted.values[0] / VECTOR_LEVELS / self.n, 0.1, 0.95))
        state.add_gradient(tau * mean, tau * noise, tau, fraction, clip)

    def refine(self, slot):
        """Step 6: a final gradient; after the first one the spare feature is dropped."""
        state = self.state
        self._gradient(slot, FINAL_TAU)
        state.solve()
        state.widen_scale(slice(state.constants, None))
        if len(state.kept) > state.constants + self.sparsity:
            state.keep_largest(self.sparsity)
            state.solve()

    def release_gram_matrix(self, slot):
        """Step 6: second moments of all columns, each row clipped as in the gradients."""
        k = len(self.state.kept)
        clip = row_clip(k, GRADIENT_NORM, self.state.constants)
        second = GRAM_NORM * np.sqrt(k)
        bound = np.sqrt(clip.bound * second)
        sums = self.session.evaluate(queries.gram_sums, self.state.kept, clip.bound, second)
        change = sensitivity.gram(GRAM_LEVELS, self.adjacency, k)
        noisy = release_gram(self.meter, sums, sensitivity=change, rho=slot.rho, name=slot.name)
        # Clipped second moments of a standard normal row are diagonal, with entries `gain`.
        unit = (bound / GRAM_LEVELS) ** 2 / self.n / np.sqrt(np.outer(clip.gain, clip.gain))
        self.state.set_gram(noisy.values * unit, float(noisy.scale[-1, -1] * unit[-1, -1]))
        self.state.solve()

    def correct_intercept(self, slot):
        """Step 7: the median of the residuals at the shrunk effects, by which the intercept is off."""
        grid = INTERCEPTS * self.state.response_scale
        self.correction = self._median(slot, self.center, self.state.shrunk_effects(), grid)

    def result(self):
        """The shrunk effects, their standard errors and the intercept, from releases alone."""
        state = self.state
        columns, shrunk = state.kept_features(), state.shrunk_effects()
        intercept = self.center + shrunk[0] + self.correction if state.constants else 0.0
        return PursuitResult(
            support=np.array(state.features, dtype=np.int64)[columns - state.constants],
            effects=state.estimate.effects[state.constants :],
            shrunk_effects=shrunk[columns],
            standard_errors=state.settled_errors(),
            centered=state.centered(),
            intercept=float(intercept),
            scale_known=bool(self.scale_safe and state.scale_in_range()),
        )

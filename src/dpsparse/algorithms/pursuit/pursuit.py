"""Private robust pursuit: select one feature at a time, make small releases, and reuse every release.

The steps are those of docs/method.md.

Privacy. Every number here that depends on the data comes out of `privacy.mechanisms`, on sums whose sensitivity
`privacy.sensitivity` proves: counts (medians, fractions), clipped sums (scores of the features), sums of norm-bounded
integer vectors (gradients, Gram rows) and of their outer products (the Gram matrix). Prices are fixed in advance
(`schedule`). Everything else (`state`, `gls`) is computed from releases.
"""

from contextlib import closing
from dataclasses import dataclass

import numpy as np

from dpsparse.algorithms.progress import ProgressReporter
from dpsparse.algorithms.pursuit.gls import row_clip
from dpsparse.algorithms.pursuit.schedule import FINAL_GRADIENTS, INTERCEPTS, POSITIONS, SIZES, median_is_safe
from dpsparse.algorithms.pursuit.state import PursuitState
from dpsparse.engine import queries
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer
from dpsparse.engine.threads import one_blas_thread
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS
from dpsparse.privacy import sensitivity
from dpsparse.privacy.mechanisms.gaussian import release_gram, release_quantile, release_vector
from dpsparse.privacy.mechanisms.selection import exponential_pick

# Where residuals are clipped, in units of their scale: in scores of the features, in early and in final gradients.
SCORE_TAU, EARLY_TAU, FINAL_TAU = 0.7, 0.8, 0.7
# Where row norms are clipped, in units of their typical size: gradients, Gram rows, the Gram matrix's second factor.
GRADIENT_NORM, GRAM_ROW_NORM, GRAM_NORM = 0.6, 1.3, 1.2


@dataclass(frozen=True)
class PursuitResult:
    """Released effects in public units of the features, in order of selection.

    `centered` says which features vary more than their public centre is off: the others cannot be told from the
    intercept. `scale_known` says whether the response's scale can be trusted, from public numbers and releases.
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
    look : bool
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
        look=True,
        progress=None,
    ):
        self.meter, self.schedule, self.sparsity = meter, schedule, sparsity
        self.n, self.adjacency = rows.n_records, meter.guarantee.adjacency
        meter.commit(schedule.commitment)
        self.center, self.response_scale = response_center, response_scale
        self.state = PursuitState(self.n, len(self.schedule.picks), fit_intercept)
        grid = Quantizer(self.schedule.clip_bound, center, scale)
        # Opening; scores and a column for each selected feature; the rest.
        self._reporter = ProgressReporter(progress, 2 + 2 * len(self.schedule.picks))
        with self._reporter.step() as on_progress:
            self.reading = rows.reading(grid, constant=fit_intercept, look=look, tell=on_progress)
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
        with closing(self.reading):
            self.estimate_response_scale()
            for _ in self.schedule.picks:
                self.add_feature()
            with self._reporter.step():
                self.refine()
                return self.result()

    def estimate_response_scale(self):
        """Step 1: centre and scale of the response, public or released."""
        if self.center is None and self.state.constants:
            self.center = self._median(0.0, self.state.effects, POSITIONS, self.schedule.center, "response centre")
            self.scale_safe = median_is_safe(self.n, self.schedule.center, POSITIONS)
        self.center = float(self.center or 0.0)
        if self.response_scale is None:
            at, price = self.state.effects, self.schedule.scale
            self.response_scale = self._median(self.center, at, SIZES, price, "response scale", sizes=True)
            self.scale_safe &= median_is_safe(self.n, self.schedule.scale, SIZES)
        self.state.response_scale = self.state.residual_scale = float(self.response_scale)

    def _median(self, center, effects, grid, price, name, sizes=False):
        """The median of the residuals at these effects, or of their sizes."""
        counts = self.reading.evaluate(queries.residual_counts, center, effects, grid, sizes)
        return release_quantile(self.meter, counts, grid, target=self.n // 2, rho=price, name=name)

    def add_feature(self):
        """Steps 2 to 5: select one more feature and estimate its effect."""
        state, k = self.state, len(self.state.features)
        self._select(k)
        if self.schedule.gram_row and k:
            self._gram_row(f"Gram row {k + 1}")
        self._gradient(EARLY_TAU, self.schedule.early_gradients[k], f"gradient {k + 1}")
        state.solve()
        state.widen_scale(slice(state.constants, len(state.effects) - 1))
        state.narrow_scale()

    def _select(self, k):
        """The exponential mechanism on the features' scores."""
        bound = SCORE_TAU * self.state.residual_scale
        with self._reporter.step() as on_progress:
            scores = self.reading.scores(self.center, self.state.effects, bound, on_progress)
        change = sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, self.adjacency)
        selected = exponential_pick(
            self.meter,
            scores,
            sensitivity=change,
            rho=self.schedule.picks[k],
            name=f"pick {k + 1}",
            excluded=self.state.features,
        )
        with self._reporter.step() as on_progress:
            self.reading.add(selected, on_progress)
        self.state.add_column(selected)

    def _gram_row(self, name):
        """Second moments of the newest feature with itself and those before; each pair is released once."""
        columns = range(self.state.constants, len(self.state.effects))
        bound = float(GRAM_ROW_NORM * np.sqrt(len(columns)))
        sums = self.reading.evaluate(queries.product_sums, columns, bound)
        self.state.add_gram_row(*self._release_mean(sums, bound, self.schedule.gram_row, name))

    def _release_mean(self, sums, bound, price, name):
        """A mean over records of vectors clipped to norm `bound`, and the standard deviation of its noise."""
        change = sensitivity.bounded_norm_sum(VECTOR_LEVELS, self.adjacency)
        noisy = release_vector(self.meter, sums, sensitivity=change, rho=price, name=name)
        unit = bound / VECTOR_LEVELS / self.n
        return noisy.values * unit, float(noisy.scale[0] * unit)

    def _gradient(self, tau_in_scales, price, name):
        """A gradient on the kept columns, and the fraction of residuals within tau."""
        state = self.state
        tau = tau_in_scales * state.residual_scale
        clip = row_clip(len(state.kept), GRADIENT_NORM, state.constants)
        sums, within = self.reading.evaluate(
            queries.gradient_sums, self.center, state.effects, tau, state.kept, clip.bound
        )
        mean, noise = self._release_mean(sums, clip.bound, price, name)
        # In steps of 2^-20 records, so that the noise is as fine as that of the vectors.
        small = VECTOR_LEVELS * np.array([within])
        counted = release_vector(
            self.meter,
            small,
            sensitivity=VECTOR_LEVELS * sensitivity.count(self.adjacency),
            rho=self.schedule.fraction,
            name=f"fraction at {name}",
        )
        fraction = float(np.clip(counted.values[0] / VECTOR_LEVELS / self.n, 0.1, 0.95))
        state.add_gradient(tau * mean, tau * noise, tau, fraction, clip)

    def refine(self):
        """Step 6: the joint Gram matrix and the final gradients; after the first the spare feature is dropped."""
        state = self.state
        self._joint_gram()
        state.solve()
        for i in range(FINAL_GRADIENTS):
            self._gradient(FINAL_TAU, self.schedule.final_gradient, f"final gradient {i + 1}")
            state.solve()
            state.widen_scale(slice(state.constants, None))
            if len(state.kept) > state.constants + self.sparsity:
                state.keep_largest(self.sparsity)
                state.solve()

    def _joint_gram(self):
        """Second moments of all columns, each row clipped as in the gradients."""
        k = len(self.state.kept)
        clip = row_clip(k, GRADIENT_NORM, self.state.constants)
        second = GRAM_NORM * np.sqrt(k)
        bound = np.sqrt(clip.bound * second)
        sums = self.reading.evaluate(queries.gram_sums, self.state.kept, clip.bound, second)
        change = sensitivity.gram(GRAM_LEVELS, self.adjacency, k)
        noisy = release_gram(self.meter, sums, sensitivity=change, rho=self.schedule.gram, name="Gram matrix")
        # Clipped second moments of a standard normal row are diagonal, with entries `gain`.
        unit = (bound / GRAM_LEVELS) ** 2 / self.n / np.sqrt(np.outer(clip.gain, clip.gain))
        self.state.set_gram(noisy.values * unit, float(noisy.scale[-1, -1] * unit[-1, -1]))

    def result(self):
        """Step 7: shrink the effects, and correct the intercept by the median of the residuals."""
        state = self.state
        columns, shrunk = state.kept_features(), state.shrunk_effects()
        intercept = 0.0
        if state.constants:
            grid = INTERCEPTS * state.response_scale
            correction = self._median(self.center, shrunk, grid, self.schedule.intercept, "intercept")
            intercept = self.center + shrunk[0] + correction
        return PursuitResult(
            support=np.array(state.features, dtype=np.int64)[columns - state.constants],
            effects=state.estimate.effects[state.constants :],
            shrunk_effects=shrunk[columns],
            standard_errors=state.settled_errors(),
            centered=state.centered(),
            intercept=float(intercept),
            scale_known=bool(self.scale_safe and state.scale_in_range()),
        )

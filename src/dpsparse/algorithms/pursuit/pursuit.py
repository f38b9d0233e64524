"""Private robust pursuit: grow the support one feature at a time, release small things, reuse every release.

Privacy. Every number below that depends on the data comes out of `privacy.mechanisms`, on sums whose sensitivity
`privacy.sensitivity` proves: counts (medians, fractions), clipped sums (picks), sums of norm-bounded integer vectors
(gradients, Gram rows) and of their outer products (the Gram matrix). The releases, their order and their prices are
fixed in advance (`schedule`): the loop makes one for each slot. Everything else (`gls`, scales, standard errors) is
computed from releases.
"""

from contextlib import closing
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from dpsparse.algorithms.progress import Steps
from dpsparse.algorithms.pursuit.gls import Gradient, clean_gram, combine, row_clip
from dpsparse.algorithms.pursuit.schedule import INTERCEPTS, POSITIONS, SIZES, median_is_safe
from dpsparse.engine import queries
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer
from dpsparse.engine.threads import one_blas_thread
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS
from dpsparse.privacy import sensitivity
from dpsparse.privacy.mechanisms.gaussian import release_gram, release_vector
from dpsparse.privacy.mechanisms.quantile import release_quantile
from dpsparse.privacy.mechanisms.selection import exponential_pick

# In units of the median absolute residual: where residuals are cut in picks, in early and in final gradients.
PICK_TAU, EARLY_TAU, FINAL_TAU = 0.7, 0.8, 0.7
# Row norms in units of their typical size: gradients, Gram rows, the Gram matrix's second factor.
GRADIENT_NORM, GRAM_ROW_NORM, GRAM_NORM = 0.6, 1.3, 1.2
MODEL_ERROR = 0.15
# Together the effects are thought to be of about this size, in units of the response's scale: a weak prior.
PRIOR_SCALE = 2.0
KEEP_ABOVE, TRUST_SCALE, EIGENVALUE_FLOOR = 2.5, 0.1, 0.1
# Beyond this cosine between a feature and the constant 1 its public centre is off by more than its spread.
NEARLY_CONSTANT = 0.7
# Residual scales are kept within these multiples of the response's scale.
SCALE_RANGE = (0.02, 2.0)
# An effect that a gradient still moves has residuals of about this many times the move on the rows that carry it.
STILL_MOVING = 2.5
# Beyond both of these, in tau and in standard errors, the last gradient moved an effect too far to call it settled.
SETTLED_TAU, SETTLED_ERRORS = 0.25, 5.0
# Median of |z| for a standard normal z.
NORMAL_MEDIAN = 0.6745


@dataclass(frozen=True)
class PursuitResult:
    """Released effects in public units of the features, in order of picking.

    `centred` says which features vary more than their public centre is off: the others cannot be told from the
    intercept. `scale_known` says whether the response's scale can be trusted, from public numbers and releases.
    """

    support: np.ndarray
    effects: np.ndarray
    shrunk_effects: np.ndarray
    standard_errors: np.ndarray
    centred: np.ndarray
    intercept: float
    scale_known: bool


class Pursuit:
    """One fit: opening it reads the rows once, and releases nothing; `run` makes the releases.

    With an intercept the columns start with the constant 1, so that a feature whose public centre is off, or whose
    clipped values are not centred, does not stand in for it. Positions count columns; picks follow the constant.

    Parameters
    ----------
    rows : Rows
        The data.
    meter : Meter
        The budget and the noise.
    schedule : Schedule
        The price of every release.
    sparsity : int
        Features to pick.
    center, scale : float or ndarray
        Public centres and scales of the features.
    response_center, response_scale : float or None
        Public centre and scale of the response; None to release them.
    fit_intercept : bool
        Whether to fit an intercept.
    look : bool
        Whether to raise ValueError, with a constant text, if a feature is not finite.
    progress : callable or None
        Is given how many steps are done, a fraction, and how many there are; both depend on public numbers alone.
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
        self._slots = iter(schedule.commitment.slots)
        # Where they are not public, the first slots release them.
        self.center = float(response_center or 0.0)
        self.first_scale = self.residual_scale = None if response_scale is None else float(response_scale)
        self.left = 0.0
        self.constants = int(fit_intercept)
        grid = Quantizer(self.schedule.clip_bound, center, scale)
        # Opening, a sum and a column for each pick, and the rest.
        self._steps = Steps(progress, 2 + 2 * len(self.schedule.picks))
        with self._steps.next() as tell:
            self.reading = rows.reading(grid, constant=fit_intercept, look=look, tell=tell)
        self.features = []
        self.effects, self.gradients = np.zeros(self.constants), []
        self.kept = np.arange(self.constants)
        self.gram = np.eye(self.constants + len(self.schedule.picks))
        self.gram_noise = 0.0
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
        with closing(self.reading):
            for slot in self._slots:
                make[slot.group](slot)
        with self._steps.next():
            return self.result()

    def release_response_center(self, slot):
        """The centre of the response."""
        self.center = self._median(slot, 0.0, self.effects, POSITIONS)
        self.scale_safe = median_is_safe(self.n, slot.rho, POSITIONS)

    def release_response_scale(self, slot):
        """The scale of the response about its centre."""
        scale = self._median(slot, self.center, self.effects, SIZES, sizes=True)
        self.first_scale = self.residual_scale = float(scale)
        self.scale_safe &= median_is_safe(self.n, slot.rho, SIZES)

    def _median(self, slot, center, effects, grid, sizes=False):
        """The median of the residuals at these effects, or of their sizes."""
        counts = self.reading.evaluate(queries.residual_counts, center, effects, grid, sizes)
        return release_quantile(self.meter, counts, grid, target=self.n // 2, rho=slot.rho, name=slot.name)

    def add_feature(self, slot):
        """Pick one more feature."""
        bound = PICK_TAU * self.residual_scale
        with self._steps.next() as tell:
            scores = self.reading.scores(self.center, self.effects, bound, tell)
        change = sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, self.adjacency)
        picked = exponential_pick(
            self.meter, scores, sensitivity=change, rho=slot.rho, name=slot.name, excluded=self.features
        )
        self.features.append(picked)
        with self._steps.next() as tell:
            self.reading.add(picked, tell)
        self.effects = np.append(self.effects, 0.0)
        self.kept = np.arange(len(self.effects))

    def estimate_new_effect(self, slot):
        """A gradient on all picks, from which the newest effect is learned."""
        self._gradient(slot, EARLY_TAU)
        self._solve()
        self._widen_scale(slice(self.constants, len(self.effects) - 1))
        # The newest effect explains part of the spread seen so far.
        explained = (NORMAL_MEDIAN * self.effects[-1]) ** 2
        self.residual_scale = float(np.sqrt(max(self.residual_scale**2 - explained, (0.3 * self.residual_scale) ** 2)))

    def release_gram_row(self, slot):
        """Second moments of the newest feature with those picked before, each released once."""
        positions = range(self.constants, len(self.effects))
        bound = float(GRAM_ROW_NORM * np.sqrt(len(positions)))
        sums = self.reading.evaluate(queries.product_sums, positions, bound)
        noisy, noise = self._release_mean(slot, sums, bound)
        noisy = noisy / max(noisy[-1], 0.3)
        row = np.where(np.abs(noisy) > KEEP_ABOVE * noise, noisy, 0.0)[:-1]
        newest, before = len(self.effects) - 1, slice(self.constants, len(self.effects) - 1)
        self.gram[newest, before] = self.gram[before, newest] = row
        if np.linalg.eigvalsh(self.gram[: newest + 1, : newest + 1])[0] < EIGENVALUE_FLOOR:
            self.gram[newest, before] = self.gram[before, newest] = 0.8 * row

    def _release_mean(self, slot, sums, bound):
        """A mean over records of vectors held to norm `bound`, and the standard deviation of its noise."""
        change = sensitivity.bounded_norm_sum(VECTOR_LEVELS, self.adjacency)
        noisy = release_vector(self.meter, sums, sensitivity=change, rho=slot.rho, name=slot.name)
        unit = bound / VECTOR_LEVELS / self.n
        return noisy.values * unit, float(noisy.scale[0] * unit)

    def _gradient(self, slot, tau_in_scales):
        """A gradient on the kept picks, and the fraction of residuals within tau, which gives the next scale.

        The slot after a gradient is that of its fraction.
        """
        tau = tau_in_scales * self.residual_scale
        clip = row_clip(len(self.kept), GRADIENT_NORM, self.constants)
        sums, within = self.reading.evaluate(
            queries.gradient_sums, self.center, self.effects, tau, self.kept, clip.bound
        )
        mean, noise = self._release_mean(slot, sums, clip.bound)
        # In steps of 2^-20 records, so that the noise is as fine as that of the vectors.
        small = VECTOR_LEVELS * np.array([within])
        slot, change = next(self._slots), VECTOR_LEVELS * sensitivity.count(self.adjacency)
        counted = release_vector(self.meter, small, sensitivity=change, rho=slot.rho, name=slot.name)
        fraction = float(np.clip(counted.values[0] / VECTOR_LEVELS / self.n, 0.1, 0.95))
        self.gradients.append(Gradient(self.kept, tau * mean, tau * noise, self.effects.copy(), tau, fraction, clip))
        seen = tau * NORMAL_MEDIAN / ndtri((1 + fraction) / 2)
        self.residual_scale = float(np.clip(seen, *(limit * self.first_scale for limit in SCALE_RANGE)))

    def _solve(self):
        picked = len(self.effects)
        prior = np.full(picked, PRIOR_SCALE * self.first_scale / np.sqrt(max(1, picked - self.constants)))
        prior[: self.constants] = PRIOR_SCALE * self.first_scale
        self.estimate = combine(
            self.gradients,
            self.gram[:picked, :picked],
            self.kept,
            prior_scale=prior,
            n_records=self.n,
            model_error=MODEL_ERROR,
            gram_noise=self.gram_noise,
        )
        self.effects = np.zeros(picked)
        self.effects[self.kept] = self.estimate.effects

    def _moves(self):
        """How far the last gradient moved each effect."""
        return np.abs(self.effects - self.gradients[-1].at)

    def _widen_scale(self, positions):
        """Keep tau wide while effects known before still move.

        A large effect of a rare 0/1 feature leaves most residuals small: their median would shrink, and clip the few
        that carry the effect, long before it is learned.
        """
        widest = float(STILL_MOVING * np.max(self._moves()[positions], initial=0.0))
        # In this order, min and max pass over NaN.
        self.residual_scale = max(self.residual_scale, min(widest, SCALE_RANGE[1] * self.first_scale))

    def refine(self, slot):
        """A final gradient on the kept picks; after the first one the smallest effect, a spare pick's, is dropped."""
        self._gradient(slot, FINAL_TAU)
        self._solve()
        self._widen_scale(slice(self.constants, None))
        if len(self.kept) > self.constants + self.sparsity:
            size = np.abs(self.effects)
            size[: self.constants] = np.inf
            self.kept = np.sort(np.argsort(-size, kind="stable")[: self.constants + self.sparsity])
            self._solve()

    def release_gram_matrix(self, slot):
        """The joint Gram matrix of all picks, and the effects that follow from it."""
        k = len(self.kept)
        clip = row_clip(k, GRADIENT_NORM, self.constants)
        second = GRAM_NORM * np.sqrt(k)
        bound = np.sqrt(clip.bound * second)
        sums = self.reading.evaluate(queries.gram_sums, self.kept, clip.bound, second)
        change = sensitivity.gram(GRAM_LEVELS, self.adjacency, k)
        noisy = release_gram(self.meter, sums, sensitivity=change, rho=slot.rho, name=slot.name)
        # Clipped second moments of a standard normal row are diagonal, with entries `gain`.
        unit = (bound / GRAM_LEVELS) ** 2 / self.n / np.sqrt(np.outer(clip.gain, clip.gain))
        noise = float(noisy.scale[-1, -1] * unit[-1, -1])
        self.moments = noisy.values * unit
        self.gram = clean_gram(
            self.moments, noise, keep_above=KEEP_ABOVE, trust_scale=TRUST_SCALE, floor=EIGENVALUE_FLOOR
        )
        self.gram_noise = noise / np.sqrt(2)
        self._solve()

    def correct_intercept(self, slot):
        """The median of the residuals at the shrunk effects, by which the intercept is off."""
        self.left = self._median(slot, self.center, self._shrunk_effects(), INTERCEPTS * self.first_scale)

    def _shrunk_effects(self):
        """The effects of all picks, each shrunk by its error; the intercept's is not."""
        picks = self.kept[self.constants :]
        shrunk = self.effects.copy()
        shrunk[picks] = self.estimate.shrunk()[self.constants :]
        return shrunk

    def result(self):
        """The effects, their standard errors and the intercept, from releases alone."""
        picks = self.kept[self.constants :]
        shrunk = self._shrunk_effects()
        intercept = self.center + shrunk[0] + self.left if self.constants else 0.0
        # A residual scale at the end of its range says that the response's scale was wrong.
        low, high = (limit * self.first_scale for limit in SCALE_RANGE)
        scale_known = self.scale_safe and 1.05 * low < self.residual_scale < 0.95 * high
        return PursuitResult(
            support=np.array(self.features, dtype=np.int64)[picks - self.constants],
            effects=self.estimate.effects[self.constants :],
            shrunk_effects=shrunk[picks],
            standard_errors=self._settled_errors(picks),
            centred=self._centred(picks),
            intercept=float(intercept),
            scale_known=bool(scale_known),
        )

    def _settled_errors(self, picks):
        """Standard errors; as large as the effect where the last gradient still moved it by more than noise would."""
        errors = self.estimate.standard_errors[self.constants :]
        far = np.maximum(SETTLED_TAU * self.gradients[-1].tau, SETTLED_ERRORS * errors)
        return np.where(self._moves()[picks] > far, np.maximum(errors, np.abs(self.effects[picks])), errors)

    def _centred(self, picks):
        """Which picks vary more than their centre is off, by the Gram matrix as released, before it was cleaned."""
        if not self.constants:
            return np.ones(len(picks), dtype=bool)
        squares = np.maximum(np.diagonal(self.moments), 0.05)
        return np.abs(self.moments[0, picks]) <= NEARLY_CONSTANT * np.sqrt(squares[0] * squares[picks])

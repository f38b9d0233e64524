"""The last steps of a pursuit: is the model better than a constant, where is its intercept, how far may it predict?"""

import math

import numpy as np

from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit.response import response_is_safe
from dpsparse.algorithms.pursuit.result import NOTHING_EXPLAINED, NOTHING_LEARNED, EstimatingEquation, PursuitResult
from dpsparse.algorithms.pursuit.shrinkage import any_sure, shrunk
from dpsparse.engine import queries

# Predictions are compared with responses up to this many response scales.
GAIN_WIDTH = 4.0
# One response in this many lies beyond the released distance from the centre; from a table size on fewer do.
OUTSIDE, FAR_FROM, FAR_OUTSIDE = 10, 1_000, 50
# The offset's clip and the range of predictions reach this many times as far.
REACH = 1.4
# How far the mean may be from the constant so far, in response scales, where the features explain something and where
# not: noise beyond this shrinks the offset.
OFFSET_SPREAD, CENTER_SPREAD = 0.3, 0.5
# The weight of the features in predictions, before it is looked at: where an effect is sure, where one is but the
# responses lump together, and otherwise; its standard deviation.
SURE_WEIGHT, LUMPED_WEIGHT, UNSURE_WEIGHT, WEIGHT_SPREAD = 1.0, 0.5, 0.2, 0.4
# Below this weight the features explain nothing. Sure effects keep all of it, unless the slope is below that by this
# many standard deviations: clips pull it below 1 where nothing is wrong.
NO_WEIGHT, DOUBT = 0.25, 2.5
# In tables smaller than the first, in unknown units, a sure effect is more often a wrong one: there the slope must not
# be below 1 by this many standard deviations.
TINY, TINY_DOUBT = 250, 1.5
# Responses this many response scales from the centre are at it. A lump is this share of them there: a normal law has
# .11, and a noisy share must exceed that by three standard deviations. Beyond the last share nothing is off the lump.
LUMP_WIDTH, NO_LUMP, LUMP, ALL_EQUAL = 0.2, 0.11, 0.35, 0.95
# The share of the response's spread that is explained is stated where the noise of a share of records is below this:
# its standard error is then below about 0.07.
LARGEST_FRACTION_NOISE = 0.05
# Nor where the tail of the responses begins further away than this many scales: a lump near the centre, which the
# response's scale holds and the residuals' does not, or tails beside which a median distance says little. One response
# in 50 of a lognormal law is further away than 12.
LARGEST_TAIL = 20.0
# Nor where the fit moved its constant by more than this many scales from the centre about which the responses' scale
# was taken: residuals are then smaller for a better centre, and not for the features.
LARGEST_SHIFT = 0.5
# The offset's clip is narrower where the features explain much: by this factor on the residuals' scale.
NARROWER = 1.5
# Predictions are clipped this many standard deviations from their mean where residuals are compared with them. Their
# variance is believed from this many standard deviations of its noise on.
PREDICTIONS_REACH, SURELY_VARY = 2.5, 4.0
# A slope of residuals on predictions of this many standard deviations of its noise, or less, is taken for 0: where
# features were selected, and where all were taken, whose effects stop before they are where they tend to.
SELECTED_DOUBT, TAKEN_DOUBT = 2.0, 1.25
TOO_SMALL = "there are too few records at this epsilon to learn the features' units"
NO_GAIN = "predictions from them were not clearly nearer to the responses than a constant"


class Closing:
    """The last releases of a pursuit, and its result.

    Parameters
    ----------
    pursuit : Pursuit
        With all effects estimated by the time of the first of these releases.
    """

    def __init__(self, pursuit):
        self._pursuit, self._explains = pursuit, True
        self._offset, self._slope, self._median = 0.0, 1.0, 0.0
        self.lumped = self.all_equal = False

    def release_gain(self, slot):
        """How predictions go with responses, which gives the features' weight; and how many responses are alike.

        The weight is the slope of responses on predictions, both from the centre and clipped, pulled toward what the
        effects' own errors let one expect.
        """
        pursuit, state = self._pursuit, self._pursuit.state
        self._covariance = state.covariance()
        self._errors = np.sqrt(np.diagonal(self._covariance))
        self._set_effects(self._covariance)
        if state.constants:
            # From second moments with the constant.
            self._means = state.gram[0, state.kept_features()] / state.gram[0, 0]
        else:
            self._means = np.zeros(len(state.kept_features()))
        near = LUMP_WIDTH * state.response_scale
        # Tails say little and cost much noise; half of them are looked at where a scale is small beside them, as it is
        # for responses with a lump.
        most = min(self._distance, max(GAIN_WIDTH * state.response_scale, self._distance / 2))
        sums = pursuit.session.evaluate(queries.gain_sums, pursuit.center, self._effects, most, near)
        (product, square, share), noise = pursuit.releases.mean(slot, sums, math.sqrt(1.5))
        at_center = share + 0.5
        self.lumped = bool(at_center > max(LUMP, NO_LUMP + 3 * noise))
        self.all_equal = bool(at_center > max(ALL_EQUAL, NO_LUMP + 3 * noise))
        weight = self._weight(product, max(square + 0.5, 0.0), noise)
        self._explains = not (weight < NO_WEIGHT or self.all_equal)
        self._exact = state.residual_scale <= 1.05 * grids.SCALE_RANGE[0] * state.response_scale
        self._effects[state.constants :] *= weight
        if self.lumped:
            # Few carriers with responses off the lump would stand for the distance from the lump to the mean.
            self._effects[state.kept_features()[state.rare()]] = 0.0
        if not self._explains:
            # The constant is kept where it is plausible.
            constant = np.where(np.abs(self._effects) < state.response_scale, self._effects, 0.0)[: state.constants]
            self._effects = np.zeros_like(self._effects)
            self._effects[: state.constants] = constant
            state.residual_scale = state.response_scale

    def _weight(self, product, square, noise):
        """The posterior mean of the slope product / square, within [0, 1]; 1 for sure effects without clear doubt."""
        state, size = self._pursuit.state, self._pursuit.settings.size
        if not self._pursuit.settings.features_pay:
            return 0.0
        features = slice(state.constants, None)
        sure = any_sure(state.estimate.effects[features], self._covariance[features, features])
        # Steps stop before noise has moved the effects far.
        sure = sure or state.descent is not None
        prior = (LUMPED_WEIGHT if self.lumped else SURE_WEIGHT) if sure else UNSURE_WEIGHT
        tiny = size < TINY and not self._pursuit.settings.known
        doubt = (square - product) / math.sqrt(2) / TINY_DOUBT if tiny else (NO_WEIGHT * square - product) / DOUBT
        if prior == SURE_WEIGHT and doubt < noise:
            return 1.0
        precision = (square * WEIGHT_SPREAD / noise) ** 2
        slope = (prior + product * square * (WEIGHT_SPREAD / noise) ** 2) / (1 + precision)
        return float(np.clip(slope, 0.0, 1.0))

    def _set_effects(self, covariance):
        """Shrink effects toward 0 by their errors; small ones without an error that can be relied on to 0."""
        state, features = self._pursuit.state, slice(self._pursuit.state.constants, None)
        effects, errors = state.estimate.effects[features], self._errors[features]
        self._trusted = state.trusted(errors)
        kept = state.estimate.effects.copy()
        if state.descent is None:
            kept[features] = shrunk(effects, covariance[features, features], self._trusted)
        else:
            kept = state.gradients[-1].origin[state.kept]
        self._effects = np.zeros(len(state.effects))
        self._effects[state.kept] = kept

    def _doubts(self, learned):
        """For each effect why its error cannot be relied on; empty where it can."""
        doubts = self._pursuit.state.doubts()
        if learned and self._explains:
            return doubts
        return np.full_like(doubts, NOTHING_EXPLAINED if learned else NOTHING_LEARNED)

    def _counts(self, center, effects, sizes=False):
        session = self._pursuit.session
        return lambda points: session.evaluate(queries.residual_counts, center, effects, points, sizes)

    def release_range(self, slot):
        """How far from their centre nearly all responses lie: it clips the gain, the offset and the predictions."""
        pursuit = self._pursuit
        grid = grids.REACHES.times(pursuit.state.response_scale)
        count = self._counts(pursuit.center, np.zeros_like(pursuit.state.effects), sizes=True)
        tail = OUTSIDE if pursuit.settings.size < FAR_FROM else FAR_OUTSIDE
        self._distance = pursuit.releases.quantile(slot, count, grid, tail=tail)
        self._reach = REACH * self._distance

    def release_calibration(self, slot):
        """The line of residuals on predictions: predictions of a mean follow it. In small tables its height alone.

        Least squares with wide clips. The height is what predictions are to be moved by. The slope is what those of a
        mean move by beyond the effects, which discount outliers, and with them what features explain of these.
        """
        pursuit, state = self._pursuit, self._pursuit.state
        # Where most responses are equal, small residuals say nothing of the others.
        explained = 1.0 if self.lumped else state.residual_scale / state.response_scale
        width = self._reach * min(1.0, NARROWER * explained)
        reach = PREDICTIONS_REACH * math.sqrt(self._moments_of_predictions()[0]) if pursuit.settings.calibrate else 0.0
        if reach > 0:
            level = float(self._effects[0] + self._mean_of_effects())
            line = (pursuit.center, self._effects, level, reach, width)
            sums, bound = pursuit.session.evaluate(queries.calibration_sums, *line), queries.CALIBRATION_NORM
        else:
            line = (pursuit.center, self._effects, width, [0], 1.0, 1.0)
            (sums, _), bound = pursuit.session.evaluate(queries.gradient_sums, *line), 1.0
        (height, *others), noise = pursuit.releases.mean(slot, sums, bound)
        spread = math.hypot(OFFSET_SPREAD * state.response_scale, min(self._errors[0], state.response_scale))
        if not self._explains:
            spread = math.hypot(spread, CENTER_SPREAD * state.response_scale)
        self._offset = float(width * height / (1 + (width * noise / spread) ** 2))
        if others:
            product, mean, variance = others[0], 2 * others[1], 2 * others[2] + 0.5 - (2 * others[1]) ** 2
            if variance > SURELY_VARY * noise:
                doubt = (SELECTED_DOUBT if pursuit.settings.choose else TAKEN_DOUBT) * noise / variance
                slope = (product - mean * height) / variance
                if abs(slope) > doubt:
                    self._slope = max(0.0, 1 + float(slope * (1 - (doubt / slope) ** 2)) * width / reach)
            # Second moments are of clipped rows with small residuals, whose means may differ: these follow the mean
            # prediction.
            variance, covariances = self._moments_of_predictions()
            self._means = self._means + reach * float(mean) * covariances / variance

    def _moments_of_predictions(self):
        """The variance of predictions and their covariances with the features, from released second moments."""
        state, columns = self._pursuit.state, self._pursuit.state.kept_features()
        moments = state.gram[np.ix_(columns, columns)] / state.gram[0, 0] - np.outer(self._means, self._means)
        covariances = moments @ self._effects[columns]
        return max(0.0, float(self._effects[columns] @ covariances)), covariances

    def release_median(self, slot):
        """The median of the residuals, by which predictions of a median are moved instead."""
        pursuit, state = self._pursuit, self._pursuit.state
        grid = grids.MEDIANS.times(state.residual_scale)
        self._median = pursuit.releases.quantile(slot, self._counts(pursuit.center, self._effects), grid)

    def problem(self):
        """Why the scales were not learned, as a sentence without a full stop; empty where they were."""
        pursuit, state, high = self._pursuit, self._pursuit.state, grids.SCALE_RANGE[1]
        n = pursuit.schedule.settings.n
        if not response_is_safe(pursuit.schedule, n):
            return f"{n:,} records are too few at this epsilon to learn the response's centre and scale"
        # Their number is noisy: where half of the records have a response, it says less than the public one.
        if state.n_records < n / 2 and not response_is_safe(pursuit.schedule, state.n_records):
            return (
                "too few records have a response that can be read as a number, a date, or true or false: about "
                f"{state.n_records:,.0f} of {n:,}"
            )
        if self.all_equal:
            return "nearly all responses are equal"
        if self._exact:
            end = "the residuals' scale ended at the lower end of its range, a fiftieth of the response's"
            cause = "most responses are equal" if self.lumped or not self._explains else "the fit is nearly exact"
            return f"{end}: {cause}"
        if state.residual_scale >= 0.95 * high * state.response_scale:
            return (
                "the residuals' scale ended at the upper end of its range, twice the response's: the fit went astray, "
                "for too few records at this epsilon or wrong public units"
            )
        return ""

    def _no_gain(self):
        """Why the features explain nothing; empty where they do."""
        if self._explains:
            return ""
        return NO_GAIN if self._pursuit.settings.features_pay else TOO_SMALL

    def _mean_of_effects(self):
        """By how much the mean prediction lies above the prediction at the centres."""
        return self._effects[self._pursuit.state.kept_features()] @ self._means

    def _spread_explained(self):
        """1 less the residuals' scale over the response's, or None.

        The two are not comparable where one is given, or where a lump was left out of the other.
        """
        state = self._pursuit.state
        if state.settings.scale_known or self.lumped or state.fraction_noise > LARGEST_FRACTION_NOISE:
            return None
        shift = self._effects[0] + self._mean_of_effects() if state.constants else 0.0
        far = self._distance > LARGEST_TAIL * state.response_scale
        if far or abs(shift) > LARGEST_SHIFT * state.response_scale:
            return None
        explained = 1 - float(state.residual_scale / state.response_scale)
        # A little below 0 is noise; more than that says that the two are not comparable.
        return max(0.0, explained) if explained > -0.1 else None

    def result(self):
        """Everything released, as the estimator needs it."""
        pursuit, state = self._pursuit, self._pursuit.state
        columns, units, left_out = state.kept_features(), state.kept_units(), state.left_out()
        center, scale = np.array([unit.center for unit in units]), np.array([unit.scale for unit in units])
        support = np.array(state.features, dtype=np.int64)[columns - state.constants]
        last = state.gradients[-1]
        constant = self._effects[0] + self._offset if state.constants else 0.0
        if self.all_equal:
            # All points of a grid are as far from a median that holds all values; the centre is near it.
            constant = 0.0
        problem = self.problem()
        errors = (pursuit.settings.caution if pursuit.settings.known else 1.0) * self._errors[state.constants :]
        return PursuitResult(
            support=support,
            selected=pursuit.settings.choose,
            effects=state.estimate.effects[state.constants :],
            shrunk_effects=self._effects[columns],
            standard_errors=state.widened(errors),
            narrow_errors=errors,
            covariance=self._covariance[state.constants :, state.constants :],
            center=center,
            scale=scale,
            mean=self._means,
            learned=np.array([unit.learned for unit in units], dtype=bool),
            doubts=self._doubts(learned=not problem),
            median_shift=0.0 if self.all_equal or not state.constants else float(self._median - self._offset),
            constant=float(pursuit.center + constant + self._mean_of_effects()) if state.constants else 0.0,
            calibration_slope=self._slope,
            response_scale=float(state.response_scale),
            spread_explained=None if problem else self._spread_explained(),
            range=(pursuit.center - self._reach, pursuit.center + self._reach),
            explains=bool(self._explains),
            scale_known=not problem,
            reason=problem or self._no_gain(),
            cut=float(last.tau),
            lumped=self.lumped,
            equation=EstimatingEquation(support, center, scale, last.tau, last.weight.inner, last.weight.outer),
            left_out=left_out,
            responses=pursuit.response_count,
        )

"""The state of a pursuit: effects, scales and second moments, all computed from releases.

Nothing here reads data: every method takes releases and public numbers alone.
"""

import numpy as np
from scipy.special import ndtr, ndtri

from dpsparse.algorithms.pursuit.gls import EIGENVALUE_FLOOR, KEEP_ABOVE, Gradient, clean_gram, solve_gls
from dpsparse.algorithms.pursuit.grids import NORMAL_MEDIAN, SCALE_RANGE
from dpsparse.algorithms.pursuit.result import FEW_CARRIERS, HARDLY_VARIES, MOVED_FAR, OUTLYING, TOO_NOISY, UNIT_WRONG
from dpsparse.algorithms.pursuit.sandwich import Jacobian, covariance

# A weak prior: the effects together are of about this size, in units of the response's scale.
PRIOR_SCALE = 2.0
# How far the diagonal of the second moments may be from what is expected: weighted rows of a skewed feature have a
# second moment of a third of a normal one's, whatever its unit.
TRUST = 0.5
# How far a fraction of small residuals may be from that of a normal law.
FRACTION_SPREAD = 0.1
# An effect has not settled if the last gradient moved it further than both of these, in tau and in standard errors.
SETTLED_TAU, SETTLED_ERRORS = 0.25, 4.0
# Beyond this many tau gradients saturate: the last move says nothing of what is left of the way.
LARGEST_MOVE = 2.0
# No error is reliable if a gradient's noise alone moves effects by more than this many tau, where gradients saturate:
# without any effect the estimates of 20 fits each spread by 1.0 to 1.3 errors below this, by 1.7 to 7 errors above it.
LARGEST_NOISE = 0.27
# A feature that may have fewer carriers than this has no reliable error.
LEAST_CARRIERS = 150
# Along a direction in which columns vary by less than this, in units of their own, they are nearly collinear.
COLLINEAR = 0.25
# Errors of effects along such a direction, in units of these effects; and what other effects take over of that error.
# With these, 90 % intervals of 191 such effects of five real tables held the root of their equation in 96 %, and those
# of 60 other effects of the same fits in 98 %; without, in 39 and 53 %.
ALONG, ELSEWHERE = 2.0, 0.03
# Effects that make the median residual larger by this factor are taken back, unless it stays below this share of the
# response's scale: where most responses are equal any effect makes it larger.
WORSE, SMALL = 1.6, 0.5


class PursuitState:
    """Effects of the columns, and the releases that they are computed from.

    With an intercept the first column is the constant 1; the selected features follow in the order of selection.

    Parameters
    ----------
    settings : Settings
        What the pursuit does.

    Attributes
    ----------
    features : list of int
        The selected features.
    units : list of FeatureUnit
        Their units.
    effects : ndarray
        One effect for each column.
    kept : ndarray of int
        The columns whose effects may differ from zero.
    gradients : list of Gradient
        All released gradients.
    estimate : Estimate
        The latest solution, for the kept columns.
    gram : ndarray
        Second moments of the columns.
    response_scale, residual_scale : float
        Median sizes of the response and of the residuals.
    fraction_noise : float
        The noise of the last fraction of small residuals.
    """

    def __init__(self, settings):
        self.settings, self.n_records, self.constants = settings, settings.n, int(settings.fit_intercept)
        self.features, self.units = [], []
        self.effects, self.gradients = np.zeros(self.constants), []
        self.kept = np.arange(self.constants)
        self.gram, self.gram_noise = np.eye(self.constants + settings.n_picks), 0.0
        self.jacobian = self.variance = self.descent = self._unstarted = None
        self.fraction_noise = np.inf

    def set_response_scale(self, scale):
        """Take in the scale of the response."""
        self.response_scale = self.residual_scale = float(scale)
        # A public scale may be wrong: it says nothing of the residuals.
        self._best = self.effects, np.inf if self.settings.scale_known else self.residual_scale

    def set_residual_scale(self, scale):
        """Take in the median size of the residuals; where it is clearly larger than before, take back what made it so.

        A start from slopes may be far off, and gradients from there would saturate: it is taken back. A step that
        follows from gradients goes the right way, but too far: half of it is.
        """
        effects, best = self._best
        if scale > max(WORSE * best, SMALL * self.response_scale):
            padded = np.append(effects, np.zeros(len(self.effects) - len(effects)))
            self.effects = (padded + self.effects) / 2 if self._unstarted is None else self._unstarted
            self.residual_scale = best
        else:
            self.residual_scale = scale
            self._best = self.effects.copy(), scale
        self._unstarted = None

    def add_column(self, feature, unit):
        """Add a selected feature, with no effect yet."""
        self.features.append(feature)
        self.units.append(unit)
        self.effects = np.append(self.effects, 0.0)
        self.kept = np.arange(len(self.effects))

    def start_effect(self):
        """Take in the newest feature's second moment, once its unit is known."""
        self.gram[len(self.effects) - 1, len(self.effects) - 1] = self.units[-1].second_moment

    def add_slope(self, column, slope):
        """Move an effect, and the constant so that records at the feature's median keep their predictions.

        Most records of a rare feature are at its median: a slope that is roughly right for its carriers is wrong for
        these if it turns about the mean.
        """
        if slope and self._unstarted is None:
            self._unstarted = self.effects.copy()
        self.effects[column] += slope
        if self.constants:
            self.effects[0] -= slope * self.units[column - 1].median

    def move_constant(self, level):
        """Move the constant by what a mean of clipped residuals says, at most by the clip of the scores.

        A normal residual that is clipped there moves its mean by about a third of its own shift.
        """
        step = min(abs(level) / 0.31, 0.6 * self.residual_scale)
        self.effects[0] += np.copysign(step, level)

    def add_gram_row(self, row, noise):
        """Take in the newest feature's released second moments with the features before it and itself."""
        newest, before = len(self.effects) - 1, slice(self.constants, len(self.effects) - 1)
        expected = self.gram[newest, newest]
        row = row * expected / max(row[-1], 0.3 * expected)
        row = np.where(np.abs(row) > KEEP_ABOVE * noise, row, 0.0)[:-1]
        self.gram[newest, before] = self.gram[before, newest] = row
        root = np.sqrt(np.diagonal(self.gram)[: newest + 1])
        if np.linalg.eigvalsh(self.gram[: newest + 1, : newest + 1] / np.outer(root, root))[0] < EIGENVALUE_FLOOR:
            self.gram[newest, before] = self.gram[before, newest] = 0.8 * row

    def set_gram(self, moments, noise):
        """Replace the second moments of all columns by released ones."""
        # Fewer features than picks may have been there to select.
        self.gram = clean_gram(moments, noise, np.diagonal(self.gram)[: len(moments)], TRUST)
        self.gram_noise = noise / np.sqrt(2)

    def set_jacobian(self, released):
        """Use the released Jacobian of the last gradient in place of the kept columns' second moments from here on."""
        place, last = np.ix_(self.kept, self.kept), self.gradients[-1]
        self.jacobian = Jacobian.of(released, self.gram[place], last.fraction, last.weight)
        self.gram[place], self.gram_noise = self.jacobian.gram, self.jacobian.noise

    def add_gradient(self, value, noise, tau, weight, fraction, fraction_noise):
        """Take in a released gradient on the kept columns and the fraction of residuals within tau, with their noise.

        A noisy fraction is pulled toward what the residual scale so far lets one expect; it then gives that scale.
        """
        self.fraction_noise = fraction_noise
        expected = 2 * ndtr(NORMAL_MEDIAN * tau / self.residual_scale) - 1
        fraction = expected + (fraction - expected) / (1 + (fraction_noise / FRACTION_SPREAD) ** 2)
        fraction = float(np.clip(fraction, 0.1, 0.95))
        self.gradients.append(Gradient(self.kept, value, noise, self.effects.copy(), tau, fraction, weight))
        if_normal = tau * NORMAL_MEDIAN / ndtri((1 + fraction) / 2)
        self.residual_scale = float(np.clip(if_normal, *(limit * self.response_scale for limit in SCALE_RANGE)))

    def descend(self, gradient, noise, tau):
        """Take in a released gradient on all columns, and follow it by a short step."""
        fraction = 2 * ndtr(NORMAL_MEDIAN * tau / self.residual_scale) - 1
        self.effects = self.descent.step(self.effects, gradient, noise, fraction, self.residual_scale)

    def solve(self):
        """Effects by least squares over all gradients so far."""
        size = len(self.effects)
        prior = np.full(size, PRIOR_SCALE * self.response_scale / np.sqrt(max(1, size - self.constants)))
        prior[: self.constants] = PRIOR_SCALE * self.response_scale
        # An effect that is known to be far from 0 is not pulled back; a wider prior would let collinear ones swing.
        prior = np.maximum(prior, np.abs(self.effects))
        gram = self.gram[:size, :size]
        self.estimate = solve_gls(
            self.gradients, gram, self.kept, prior_scale=prior, n_records=self.n_records, gram_noise=self.gram_noise
        )
        self.effects = np.zeros(size)
        self.effects[self.kept] = self.estimate.effects

    def covariance(self):
        """The covariance of the kept columns' effects."""
        last = self.gradients[-1].columns
        gram = self.gram[np.ix_(last, last)]
        return covariance(self.estimate, self.gradients, self.kept, gram, self.n_records, self.jacobian, self.variance)

    def standard_errors(self):
        """Standard errors of the kept columns."""
        return np.sqrt(np.diagonal(self.covariance()))

    def drop_spare(self):
        """Keep the constant and as many features as asked for: those most standard errors from 0."""
        self.solve()
        size = np.zeros(len(self.effects))
        size[self.kept] = np.abs(self.estimate.effects) / self.standard_errors()
        size[: self.constants] = np.inf
        out = np.zeros(len(size), dtype=bool)
        if self.constants:
            # Without an intercept something must be left to estimate.
            out[self.constants :] = np.isin(self.features, list(self.left_out()))
        size[out] = -1
        kept = np.argsort(-size, kind="stable")[: self.constants + self.settings.sparsity]
        self.kept = np.sort(kept[~out[kept]])
        self.solve()

    def left_out(self):
        """The selected features that get no effect, and why; a constant one says what the intercept says, if any."""
        whys = {}
        for feature, unit in zip(self.features, self.units, strict=True):
            if unit.constant and self.constants:
                whys[feature] = HARDLY_VARIES
            elif unit.astray:
                whys[feature] = UNIT_WRONG
        return whys

    def kept_features(self):
        """The kept columns without the constant."""
        return self.kept[self.constants :]

    def kept_units(self):
        """Their units."""
        return [self.units[column - self.constants] for column in self.kept_features()]

    def settled(self, errors):
        """Which kept features have arrived: not those that the last gradient still moved far, or hardly sees."""
        return self._arrived(errors) & ~self._weak()

    def _arrived(self, errors):
        return self._last_move() <= np.maximum(SETTLED_TAU * self.gradients[-1].tau, SETTLED_ERRORS * errors)

    def _last_move(self):
        """How far the last gradient moved the effects of the kept features."""
        return np.abs(self.effects - self.gradients[-1].origin)[self.kept_features()]

    def _weak(self):
        """Which kept features have carriers that mostly lie outside tau."""
        columns = self.kept_features()
        if self.jacobian is None:
            return np.zeros(len(columns), dtype=bool)
        return self.jacobian.weak[np.isin(self.gradients[-1].columns, columns)]

    def _noisy(self):
        """Whether the noise of a gradient is so large that gradients saturate within it."""
        last = self.gradients[-1]
        return last.noise_scale > LARGEST_NOISE * last.tau * last.gain[-1]

    def trusted(self, errors):
        """Which kept features have an error that can be relied on as it is.

        Not those that have not settled or may have too few carriers; none where the noise of a gradient is so large
        that gradients saturate within it.
        """
        return self.settled(errors) & ~self.rare() & ~self._noisy()

    def doubts(self):
        """For each kept feature why even a wider error cannot be relied on; empty where it can."""
        columns, left_out = self.kept_features(), self.left_out()
        doubts = np.full(len(columns), TOO_NOISY if self._noisy() else "", dtype=object)
        doubts[self._last_move() > LARGEST_MOVE * self.gradients[-1].tau] = MOVED_FAR
        doubts[self._weak()] = OUTLYING
        doubts[self.rare()] = FEW_CARRIERS
        for place, column in enumerate(columns):
            doubts[place] = left_out.get(self.features[column - self.constants], doubts[place])
        return doubts

    def widened(self, errors):
        """The kept features' errors, wider by what the last move and near collinearity leave open.

        Where one effect has not arrived yet, none has: the last move of each is what may be left of its way.

        Second moments are taken to have a least eigenvalue, which the true ones may be far below. Then gradients say
        next to nothing along its direction, and seem to confirm whatever effects they are taken at: these may be
        wrong by their own size. Where all features are taken, errors cover such directions.
        """
        if not self._arrived(errors).all():
            errors = np.maximum(errors, self._last_move())
        along = np.abs(self._along_collinear())
        if self.descent is None and np.any(along > errors):
            root = np.sqrt(np.diagonal(self.gram)[self.kept_features()])
            elsewhere = ELSEWHERE * ALONG * np.linalg.norm(root * along) / root
            errors = np.hypot(np.maximum(errors, ALONG * along), elsewhere)
        return errors

    def _along_collinear(self):
        """The part of the kept features' effects along directions of near collinearity."""
        gram = self.gram[np.ix_(self.kept, self.kept)]
        root = np.sqrt(np.diagonal(gram))
        values, vectors = np.linalg.eigh(gram / np.outer(root, root))
        hidden = vectors[:, values < COLLINEAR]
        return (hidden @ (hidden.T @ (root * self.effects[self.kept])) / root)[self.constants :]

    def rare(self):
        """Which kept features may have too few carriers for a reliable error."""
        carriers = self.n_records / 2 * np.array([unit.least_share for unit in self.kept_units()])
        return (carriers < LEAST_CARRIERS) & self.settings.learn

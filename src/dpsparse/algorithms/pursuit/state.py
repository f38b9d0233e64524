"""The state of a pursuit: effects, scales and second moments, all computed from releases.

Nothing here reads data: every method takes releases and public numbers alone.
"""

import numpy as np
from scipy.special import ndtri

from dpsparse.algorithms.pursuit.gls import Gradient, clean_gram, solve_gls

# Relative error of a linearised gradient.
MODEL_ERROR = 0.15
# A weak prior: the effects together are of about this size, in units of the response's scale.
PRIOR_SCALE = 2.0
# Cleaning of the second moments; see `clean_gram`.
KEEP_ABOVE, SCALE_ERROR, EIGENVALUE_FLOOR = 2.5, 0.1, 0.1
# Beyond this cosine between a feature and the constant 1, the error of its public centre exceeds its spread.
NEARLY_CONSTANT = 0.7
# Residual scales are kept within these multiples of the response's scale.
SCALE_RANGE = (0.02, 2.0)
# While a gradient still moves an effect, residuals of the rows that carry it are about this many times the move.
STILL_MOVING = 2.5
# An effect has not settled if the last gradient moved it further than both of these, in tau and in standard errors.
SETTLED_TAU, SETTLED_ERRORS = 0.25, 5.0
# Median of |z| for a standard normal z.
NORMAL_MEDIAN = 0.6745


class PursuitState:
    """Effects of the columns, and the releases that they are computed from.

    With an intercept the first column is the constant 1; the selected features follow in the order of selection.

    Parameters
    ----------
    n_records : int
        The public number of rows.
    n_features : int
        The number of features that will be selected.
    fit_intercept : bool
        Whether the columns start with the constant 1.

    Attributes
    ----------
    features : list of int
        The selected features.
    effects : ndarray
        One effect for each column.
    kept : ndarray of int
        The columns whose effects may differ from zero.
    gradients : list of Gradient
        All released gradients.
    estimate : Estimate
        The latest solution, for the kept columns.
    moments, gram : ndarray
        Second moments of the columns: as released, and cleaned.
    response_scale, residual_scale : float
        Median sizes of the response and of the residuals.
    """

    def __init__(self, n_records, n_features, fit_intercept):
        self.n_records, self.constants = n_records, int(fit_intercept)
        self.features = []
        self.effects, self.gradients = np.zeros(self.constants), []
        self.kept = np.arange(self.constants)
        self.gram, self.gram_noise = np.eye(self.constants + n_features), 0.0

    def add_column(self, feature):
        """Add a selected feature, with no effect yet."""
        self.features.append(feature)
        self.effects = np.append(self.effects, 0.0)
        self.kept = np.arange(len(self.effects))

    def add_gram_row(self, row, noise):
        """Take in the newest feature's released second moments with the features before it and itself."""
        row = row / max(row[-1], 0.3)
        row = np.where(np.abs(row) > KEEP_ABOVE * noise, row, 0.0)[:-1]
        newest, before = len(self.effects) - 1, slice(self.constants, len(self.effects) - 1)
        self.gram[newest, before] = self.gram[before, newest] = row
        if np.linalg.eigvalsh(self.gram[: newest + 1, : newest + 1])[0] < EIGENVALUE_FLOOR:
            self.gram[newest, before] = self.gram[before, newest] = 0.8 * row

    def set_gram(self, moments, noise):
        """Replace the second moments of all columns by released ones."""
        self.moments = moments
        self.gram = clean_gram(moments, noise, keep_above=KEEP_ABOVE, scale_error=SCALE_ERROR, floor=EIGENVALUE_FLOOR)
        self.gram_noise = noise / np.sqrt(2)

    def add_gradient(self, value, noise, tau, fraction, clip):
        """Take in a released gradient on the kept columns; the fraction of residuals within tau gives their scale."""
        self.gradients.append(Gradient(self.kept, value, noise, self.effects.copy(), tau, fraction, clip))
        if_normal = tau * NORMAL_MEDIAN / ndtri((1 + fraction) / 2)
        self.residual_scale = float(np.clip(if_normal, *self._scale_limits()))

    def solve(self):
        """Effects by least squares over all gradients so far."""
        size = len(self.effects)
        prior = np.full(size, PRIOR_SCALE * self.response_scale / np.sqrt(max(1, size - self.constants)))
        prior[: self.constants] = PRIOR_SCALE * self.response_scale
        self.estimate = solve_gls(
            self.gradients,
            self.gram[:size, :size],
            self.kept,
            prior_scale=prior,
            n_records=self.n_records,
            model_error=MODEL_ERROR,
            gram_noise=self.gram_noise,
        )
        self.effects = np.zeros(size)
        self.effects[self.kept] = self.estimate.effects

    def keep_largest(self, sparsity):
        """Keep the constant and the features with the largest effects."""
        size = np.abs(self.effects)
        size[: self.constants] = np.inf
        self.kept = np.sort(np.argsort(-size, kind="stable")[: self.constants + sparsity])

    def widen_scale(self, columns):
        """Keep the residual scale, and with it tau, wide while the effects of `columns` still move.

        A large effect of a rare 0/1 feature leaves most residuals small. Their median would shrink long before the
        effect is learned, and clip the few residuals that carry it.
        """
        widest = float(STILL_MOVING * np.max(self._moves()[columns], initial=0.0))
        # In this order, min and max pass over NaN.
        self.residual_scale = max(self.residual_scale, min(widest, SCALE_RANGE[1] * self.response_scale))

    def narrow_scale(self):
        """Reduce the residual scale by the part of the spread that the newest effect explains."""
        explained = (NORMAL_MEDIAN * self.effects[-1]) ** 2
        self.residual_scale = float(np.sqrt(max(self.residual_scale**2 - explained, (0.3 * self.residual_scale) ** 2)))

    def shrunk_effects(self):
        """The effects of all columns, each shrunk by its error except that of the constant."""
        shrunk = self.effects.copy()
        shrunk[self.kept_features()] = self.estimate.shrunk()[self.constants :]
        return shrunk

    def kept_features(self):
        """The kept columns without the constant."""
        return self.kept[self.constants :]

    def settled_errors(self):
        """Standard errors of the kept features; at least the effect itself where the last gradient still moved it."""
        columns = self.kept_features()
        errors = self.estimate.standard_errors[self.constants :]
        far = np.maximum(SETTLED_TAU * self.gradients[-1].tau, SETTLED_ERRORS * errors)
        return np.where(self._moves()[columns] > far, np.maximum(errors, np.abs(self.effects[columns])), errors)

    def centered(self):
        """Which kept features vary more than their public centre is off, by the second moments as released."""
        columns = self.kept_features()
        if not self.constants:
            return np.ones(len(columns), dtype=bool)
        squares = np.maximum(np.diagonal(self.moments), 0.05)
        return np.abs(self.moments[0, columns]) <= NEARLY_CONSTANT * np.sqrt(squares[0] * squares[columns])

    def scale_in_range(self):
        """Whether the residual scale lies inside its range; at an end of it the response's scale was wrong."""
        low, high = self._scale_limits()
        return 1.05 * low < self.residual_scale < 0.95 * high

    def _moves(self):
        """How far the last gradient moved each effect."""
        return np.abs(self.effects - self.gradients[-1].origin)

    def _scale_limits(self):
        return tuple(limit * self.response_scale for limit in SCALE_RANGE)

"""Candidates of a selection, and their scores.

A candidate is a feature seen in one way. All ways have the same sensitivity, so another one costs a factor in the
number of candidates, and no noise:

- in public units, clipped: the best where they are right;
- by whether it is above a threshold that divides the records evenly, or above 0 where none was released;
- by the signs of the differences of pairs of records, against the differences of their residuals: free of centre and
  scale for any distribution, at half the signal.
"""

import math

import numpy as np

from dpsparse.engine import queries
from dpsparse.engine.quantize import Quantizer

# Where residuals are clipped in scores, in units of their scale; where public units are given, and otherwise.
TAU_GIVEN, TAU_UNKNOWN = 0.7, 0.6
# A clip so small that levels are signs.
SIGN = 1e-30


class Selection:
    """The candidates of one pursuit.

    Parameters
    ----------
    rows : Rows
        The data.
    settings : Settings
        What the pursuit does.
    units : PublicUnits
        Public centres and scales of the features, where they are given.
    """

    def __init__(self, rows, settings, units):
        self._rows, self._settings = rows, settings
        center, scale = (np.broadcast_to(each, settings.d) for each in (units.center, units.scale))
        self._given = ~(np.isnan(center) | np.isnan(scale))
        self._clip = Quantizer(settings.clip_bound, *units.filled())
        self._splits = 0.0

    def count_splits(self, points, check_finite):
        """How many records are at or below each of some points, for each feature; nothing is released."""
        if check_finite:
            self._rows.require_finite()
        return self._rows.evaluate(queries.feature_counts, points)

    def set_splits(self, splits):
        """Use these thresholds, one for each feature."""
        self._splits = splits

    def open(self, check_finite, on_progress=None):
        """Open a session on the records and one on the differences of pairs."""
        settings, families = self._settings, []
        if settings.choose and settings.units_known != "none":
            families.append(self._clip)
        if settings.thresholds:
            families.append(Quantizer(SIGN, self._splits + np.maximum(SIGN, 2.0**-20 * np.abs(self._splits))))
        options = {"constant": settings.fit_intercept, "check_finite": check_finite, "on_progress": on_progress}
        self._session = self._rows.session(tuple(families), **options)
        by_pairs = (Quantizer(SIGN),) if settings.pairs else ()
        self._pairs = self._rows.differences().session(by_pairs, check_finite=False)
        n_families = len(families) + len(by_pairs)
        possible = np.ones((n_families, settings.d), dtype=bool)
        if settings.choose and settings.units_known == "some":
            possible[0] = self._given
        self._possible = possible
        return self._session, self._pairs

    def tau(self, state):
        """Where residuals are clipped."""
        return (TAU_GIVEN if self._settings.known else TAU_UNKNOWN) * state.residual_scale

    def scores(self, center, state, level=0.0, on_progress=None):
        """The scores of all candidates, and which features they are: the selected ones are left out.

        Residuals enter less their released mean, `level` in units of tau, so that a feature which hardly varies has no
        score, whatever the intercept and however the responses lump together. Differences of pairs have no level.
        """
        tau = self.tau(state)
        scores = []
        if len(self._possible) > self._settings.pairs:
            scores.append(self._session.scores(center, state.effects, tau, level, on_progress))
        if self._settings.pairs:
            scores.append(self._pairs.scores(0.0, state.effects[state.constants :], math.sqrt(2) * tau))
        self._possible[:, state.features] = False
        return np.concatenate(scores)[self._possible], np.nonzero(self._possible)[1]

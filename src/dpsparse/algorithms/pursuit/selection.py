"""Candidates of a selection, and their scores.

A candidate is a feature seen in one way. All ways have the same sensitivity, so another one costs a factor in the
number of candidates, and no noise:

- in public units, clipped: the best where they are right;
- by whether it is above a threshold that divides the records evenly, or above 0 where none was released;
- by the signs of the differences of pairs of records, against the differences of their residuals: free of centre and
  scale for any distribution, at half the signal.

Where cells may be missing, "feature j is missing" is a feature of its own, d + j of `Rows` with d features, seen in one
way. A cell that is missing has level 0 in the other ways.
"""

import math
from functools import cached_property

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
    binary : ndarray of bool or None
        Which features are 0/1 by construction, and never missing; None for no such feature.
    may_be_missing : ndarray of bool or None
        Of which features "it is missing" is a candidate, where cells may be missing; None for all.
    among : ndarray of int or None
        The features that may be selected, where these are not all.
    """

    def __init__(self, rows, settings, units, binary=None, may_be_missing=None, among=None):
        self._rows, self._settings, self._d = rows, settings, rows.n_features
        center, scale = (np.broadcast_to(each, self._d) for each in (units.center, units.scale))
        self._given = ~(np.isnan(center) | np.isnan(scale))
        self._clip = Quantizer(settings.clip_bound, *units.filled())
        self._binary = np.zeros(self._d, dtype=bool) if binary is None else binary
        self._may_be_missing = ~self._binary if may_be_missing is None else may_be_missing
        self._splits, self._among = 0.0, among

    @cached_property
    def features(self):
        """All features that may be selected, in order."""
        gaps = self._d + np.flatnonzero(self._may_be_missing) if self._settings.missing else ()
        everything = np.append(np.arange(self._d), gaps).astype(np.int64)
        return everything if self._among is None else np.intersect1d(everything, self._among)

    def count_splits(self, points, check_finite):
        """Of each feature that is not 0/1: how many values are at or below each of some points, and how many there are.

        Nothing is released.
        """
        if check_finite:
            self._rows.require_finite()
        # No finite value is larger than the last threshold.
        thresholds = np.append(points, np.finfo(np.float64).max)
        return self._rows.evaluate(queries.feature_counts, thresholds)[~self._binary]

    def set_splits(self, splits):
        """Use these thresholds, one for each feature that is not 0/1."""
        self._splits = np.full(self._d, 0.5)
        self._splits[~self._binary] = splits

    def open(self, check_finite, on_progress=None):
        """Open a session on the records and one on the differences of pairs."""
        settings, families, possible = self._settings, [], []
        if settings.choose and settings.units_known != "none":
            families.append(self._clip)
            possible.append(self._given)
        if settings.thresholds:
            families.append(Quantizer(SIGN, self._splits + np.maximum(SIGN, 2.0**-20 * np.abs(self._splits))))
            possible.append(np.ones(self._d, dtype=bool))
        if settings.gaps:
            families.append(Quantizer(SIGN, 0.5, of_gaps=True))
            possible.append(self._may_be_missing)
        options = {"constant": settings.fit_intercept, "check_finite": check_finite, "on_progress": on_progress}
        self._session = self._rows.session(tuple(families), **options)
        by_pairs = (Quantizer(SIGN),) if settings.pairs else ()
        self._pairs = self._rows.differences().session(by_pairs, check_finite=False)
        self._features = np.tile(np.arange(self._d), (len(families) + len(by_pairs), 1))
        if settings.gaps:
            self._features[len(families) - 1] += self._d
        possible += [np.ones(self._d, dtype=bool) for _ in by_pairs]
        # Where all features are taken there are no candidates.
        possible = np.array(possible, dtype=bool).reshape(self._features.shape)
        if self._among is not None:
            possible &= np.isin(self._features, self._among)
        self._n_families = len(possible)
        # With many features a copy of their scores takes as long as a pick among them.
        self._some = None if possible.all() else possible
        self._features, self._places = self._of_candidates(self._features), {}
        return self._session, self._pairs

    def _of_candidates(self, table):
        """The numbers of all candidates, from a table with a row for each family."""
        return table.ravel() if self._some is None else table[self._some]

    def _places_of(self, feature):
        """The places of a feature among the candidates; each is looked for once."""
        if feature not in self._places:
            self._places[feature] = np.flatnonzero(self._features == feature)
        return self._places[feature]

    def tau(self, state):
        """Where residuals are clipped."""
        return (TAU_GIVEN if self._settings.known else TAU_UNKNOWN) * state.residual_scale

    def scores(self, center, state, level=0.0, on_progress=None):
        """The scores of all candidates, which features they are, and the places of those that are selected already.

        Residuals enter less their released mean, `level` in units of tau, so that a feature which hardly varies has no
        score, whatever the intercept and however the responses lump together. Differences of pairs have no level.
        """
        tau = self.tau(state)
        scores = []
        if self._n_families > self._settings.pairs:
            scores.append(self._session.scores(center, state.effects, tau, level, on_progress))
        if self._settings.pairs:
            scores.append(self._pairs.scores(0.0, state.effects[state.constants :], math.sqrt(2) * tau))
        scores = scores[0] if len(scores) == 1 else np.concatenate(scores)
        selected = np.concatenate([self._places_of(feature) for feature in state.features] or [[]])
        return self._of_candidates(scores), self._features, selected.astype(np.int64)

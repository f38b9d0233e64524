"""The coefficients of a released model in the order of all its features, also under scikit-learn's names."""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

from dpsparse.inference.inference_constants import SHOWN_LEVEL
from dpsparse.inference.intervals import reach
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect
from dpsparse.model.numeric_columns import NumericColumns


class Coefficients:
    """Arrays over all features, from the effects of a `LinearModel`: what its predictions are made of, and errors."""

    features: Sequence[Feature]
    effects: tuple[Effect, ...]
    intercept: float
    prediction_range: tuple[float, float] | None

    @cached_property
    def feature_names(self) -> list[str]:
        """The names of all features, in order."""
        return [feature.name for feature in self.features]

    @cached_property
    def coef(self) -> NDArray[np.float64]:
        """The coefficients of all features, in order."""
        coef = np.zeros(len(self.features))
        coef[self._places] = [effect.coef for effect in self.effects]
        return coef

    @cached_property
    def _places(self) -> list[int]:
        """Where the features with an effect are among all."""
        return self.places_of(effect.feature for effect in self.effects)

    @property
    def _selected(self) -> list[tuple[Effect, Feature]]:
        """The effects, each with its feature."""
        return [(effect, self.features[place]) for effect, place in zip(self.effects, self._places, strict=True)]

    def places_of(self, names: Iterable[str]) -> list[int]:
        """Where the features of some names are among all."""
        if isinstance(self.features, NumericColumns):
            return [self.features.place_of(name) for name in names]
        places = {name: place for place, name in enumerate(self.feature_names)}
        return [places[name] for name in names]

    def conf_int(self, level: float = SHOWN_LEVEL) -> NDArray[np.float64]:
        """Confidence intervals of the effects, centred at the unshrunk estimates.

        They hold for features selected because they matter; a feature selected by chance is biased away from zero.

        Parameters
        ----------
        level : float, default=0.95
            Coverage.

        Returns
        -------
        ndarray of shape (n_features, 2)
            Lower and upper ends, in the order of `features`; NaN where there is no effect, or no error that can be
            trusted.
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} must lie strictly between 0 and 1; {SHOWN_LEVEL} is common")
        estimates, errors = np.full((2, len(self.features)), np.nan)
        estimates[self._places] = [effect.estimate for effect in self.effects]
        errors[self._places] = [effect.standard_error if effect.trusted else None for effect in self.effects]
        half = reach(level) * errors
        return np.column_stack([estimates - half, estimates + half])

    @property
    def pvalues(self) -> NDArray[np.float64]:
        """Two-sided p-values of single effects, over all features: `Effect.p_value`, and NaN where there is none.

        They are not adjusted for the number of features. The verdicts are: Bonferroni over all of them.
        """
        values = np.full(len(self.features), np.nan)
        values[self._places] = [np.nan if effect.p_value is None else effect.p_value for effect in self.effects]
        return values

    # scikit-learn's names, by which it checks the input of `predict`.

    @cached_property
    def n_features_in_(self) -> int:
        """The number of features without those at the end that say whether another is missing."""
        if isinstance(self.features, NumericColumns):
            return self.features.n_columns
        return len(self.features) - sum(feature.missing for feature in self.features)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The names of the features, where they have any."""
        names = self.feature_names[: self.n_features_in_]
        if names == [str(place) for place in range(len(names))]:
            raise AttributeError("the features of this model have no names")
        return np.array(names, dtype=object)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The coefficients of the features themselves."""
        return self.coef[: self.n_features_in_]

    @property
    def missing_coef_(self) -> NDArray[np.float64] | None:
        """The coefficients of a feature being missing; None where the model knows of no missing ones."""
        gaps = self.coef[self.n_features_in_ :]
        if not len(gaps) or isinstance(self.features, NumericColumns):
            return gaps if len(gaps) else None
        # The categories of a column are 0/1 and never missing, and share one feature that says whether its text is.
        of_column = {each.column: gap for each, gap in zip(self.features[self.n_features_in_ :], gaps, strict=True)}
        own = self.features[: self.n_features_in_]
        is_zero_one = [each.category is not None or each.within is not None for each in own]
        gap_of = (of_column.get(each.column, 0.0) for each in own)
        return np.where(is_zero_one, 0.0, np.fromiter(gap_of, np.float64, len(own)))

    @property
    def center_(self) -> NDArray[np.float64]:
        """Where each feature is put that is missing."""
        return self.all_centers[: self.n_features_in_]

    @cached_property
    def all_centers(self) -> NDArray[np.float64]:
        """Where each feature is put that is missing: its learned or public centre; 0 for those without an effect."""
        centers = np.zeros(len(self.features))
        for place, effect in zip(self._places, self.effects, strict=True):
            public = self.features[place].center
            centers[place] = effect.center if effect.center is not None else public or 0.0
        return centers

    @property
    def intercept_(self) -> float:
        """The same as `intercept`."""
        return self.intercept

    @property
    def prediction_range_(self) -> tuple[float, float] | None:
        """The same as `prediction_range`."""
        return self.prediction_range

    def __sklearn_tags__(self) -> Tags:
        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(sparse=True),
        )

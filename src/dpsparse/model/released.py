"""A released linear model: the effects, the public numbers they rest on, the privacy record."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsparse.data.units import public_units
from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor
from dpsparse.io.features import Feature, read_features
from dpsparse.model.effect import Effect, effects_of, finite_or_none
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.schema import FileError


@dataclass(frozen=True)
class LinearModel:
    """A released linear model: everything in it is public.

    Parameters
    ----------
    estimator : str
        The name of the method.
    target : str
        The response.
    features : tuple of Feature
        All features that could be picked.
    effects : tuple of Effect
        Those that were, in order of picking.
    intercept : float
        The prediction where all features are 0.
    noise_floor : float or None
        The height at which effects stand clear, in units of the response per scaled feature.
    response_scale_known : bool
        False where the response's scale could not be learned.
    privacy : PrivacyRecord
        Every release, its cost, the promise kept.
    """

    estimator: str
    target: str
    features: tuple[Feature, ...]
    effects: tuple[Effect, ...]
    intercept: float
    noise_floor: float | None
    response_scale_known: bool
    privacy: PrivacyRecord

    @cached_property
    def feature_names(self):
        """The names of all features, in order."""
        return [feature.name for feature in self.features]

    @cached_property
    def coef(self):
        """The coefficients of all features, in order."""
        effects = {effect.feature: effect.coef for effect in self.effects}
        return np.array([effects.get(name, 0.0) for name in self.feature_names])

    def predict(self, X):
        """Predict responses.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features in the order of `feature_names`, categories as 0/1; by name if X has names.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        names = self.feature_names
        return _fitted(self.coef, self.intercept, None if names == _numbered(len(names)) else names).predict(X)

    def predict_table(self, table):
        """Predict the responses of a table's records; of the columns only those with an effect are read."""
        table.require(feature.column for feature in self.features)
        picked = {effect.feature for effect in self.effects} or {self.feature_names[0]}
        columns = {feature.column for feature in self.features if feature.name in picked}
        used = [place for place, feature in enumerate(self.features) if feature.column in columns]
        X, _ = read_features(table, [self.features[place] for place in used])
        predictions = _fitted(self.coef[used], self.intercept).predict(X)
        if not np.isfinite(predictions).all():
            raise FileError(f"{table.path}: predictions overflow; its columns are not in the units of the model")
        return predictions


def _fitted(coef, intercept, names=None):
    """An estimator with these releases, for its checks of the input and its predictions."""
    released = PrivateSparseRegressor()
    released.coef_, released.intercept_, released.n_features_in_ = coef, intercept, len(coef)
    if names is not None:
        released.feature_names_in_ = np.array(names, dtype=object)
    return released


def _numbered(count):
    return [str(place) for place in range(count)]


def linear_model(estimator, features=None, target="y"):
    """The released model of a fitted private estimator.

    Parameters
    ----------
    estimator : estimator
        Any private estimator of the package, fitted.
    features : sequence of Feature or None
        The features it was fitted on; None for the names, centres and scales the estimator knows.
    target : str
        The name of the response.
    """
    check_is_fitted(estimator, "privacy_", msg="only a fitted private estimator can become a model file")
    if features is None:
        features = _features_of(estimator)
    return LinearModel(
        estimator=type(estimator).__name__,
        target=target,
        features=tuple(features),
        effects=effects_of(estimator, [feature.name for feature in features]),
        intercept=float(estimator.intercept_),
        noise_floor=finite_or_none(getattr(estimator, "noise_floor_", np.nan)),
        response_scale_known=bool(getattr(estimator, "_scale_known", True)),
        privacy=estimator.privacy_,
    )


def in_raw_units(model):
    """A model whose effects are for a step of 1 in public units, as one for a step of 1 of the columns themselves.

    Parameters
    ----------
    model : LinearModel
        Fitted on (x - center) / scale of its features.
    """
    units = {feature.name: feature for feature in model.features}
    effects = tuple(effect.per(units[effect.feature].scale) for effect in model.effects)
    shift = sum(effect.coef * units[effect.feature].center for effect in effects)
    return replace(model, effects=effects, intercept=model.intercept - shift)


def _features_of(estimator):
    d = estimator.n_features_in_
    columns = getattr(estimator, "feature_names_in_", range(d))
    given = (getattr(estimator, name, public) for name, public in (("feature_center", 0.0), ("feature_scale", 1.0)))
    center, scale = (np.broadcast_to(values, d) for values in public_units(*given, columns))
    names = getattr(estimator, "feature_names_in_", _numbered(d))
    return [Feature(str(name), *map(float, known)) for name, *known in zip(names, center, scale, strict=True)]

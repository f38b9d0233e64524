"""The released model: everything a fit publishes, and the one input of files, reports, notebooks and commands.

Every private estimator makes one in `fit`, as `released_`. It holds releases and public numbers only.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

from dpsparse.data.as_table import as_table
from dpsparse.data.validation import require_finite
from dpsparse.html import Html, tag
from dpsparse.io.features import Feature, read_features
from dpsparse.model.effect import Effect, Verdict, effects_table
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.schema import FileError


@dataclass(frozen=True, eq=False)
class NumericColumns(Sequence[Feature]):
    """Features that are columns of numbers, each made when it is asked for: a fit may have a million.

    Parameters
    ----------
    n_features : int
        How many there are.
    names : array of str or None
        Their names; None where they have none, and are numbered.
    center, scale : float or array
        Public numbers, one for all or one for each.
    """

    n_features: int
    names: Any
    center: Any
    scale: Any

    def __len__(self) -> int:
        return self.n_features

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(self.n_features)))
        place = range(self.n_features)[place]
        center, scale = (float(unit if np.ndim(unit) == 0 else unit[place]) for unit in (self.center, self.scale))
        return Feature(str(place if self.names is None else self.names[place]), center, scale)

    def place_of(self, name: str) -> int:
        """The place of the feature of a name; the others are not made for it."""
        return int(name) if self.names is None else int(np.flatnonzero(self.names == name)[0])

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True, repr=False)
class LinearModel:
    """A released linear model: everything in it is public.

    `load_model` returns it, and every fitted private estimator has it as `released_`.

    Parameters
    ----------
    estimator : str
        The name of the method.
    target : str
        The response.
    features : sequence of Feature
        All features that could be selected, with their public centres and scales.
    effects : tuple of Effect
        Those that were, in order of selection.
    intercept : float
        The prediction where all features are 0.
    noise_floor : float or None
        The smallest significant effect of a feature of typical error, in units of the response per scaled feature.
    response_scale_known : bool
        False where the response's scale could not be learned, or does not suit the public scales of the features.
    privacy : PrivacyRecord
        The guarantee, every release and its cost.
    any_center_off : bool
        Whether the public centre of a selected feature, kept or not, is off by more than the feature's spread.
    """

    estimator: str
    target: str
    features: Sequence[Feature]
    effects: tuple[Effect, ...]
    intercept: float
    noise_floor: float | None
    response_scale_known: bool
    privacy: PrivacyRecord
    # A model file does not list the features that were selected and not kept.
    any_center_off: bool = field(default=False, compare=False)

    def __repr__(self) -> str:
        guarantee = (
            f"({self.privacy.epsilon:.4g}, {self.privacy.delta:.3g})-DP" if self.privacy.private else "NOT PRIVATE"
        )
        effects = f"{len(self.effects)} of {len(self.features):,} features"
        return f"<LinearModel of {self.target} by {self.estimator}: {effects}, {guarantee}>"

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
        if isinstance(self.features, NumericColumns):
            return [self.features.place_of(effect.feature) for effect in self.effects]
        places = {name: place for place, name in enumerate(self.feature_names)}
        return [places[effect.feature] for effect in self.effects]

    def conf_int(self, level: float = 0.9) -> NDArray[np.float64]:
        """Confidence intervals of the effects, centred at the unshrunk estimates.

        They hold for features selected because they matter; a feature selected by chance is biased away from zero.

        Parameters
        ----------
        level : float, default=0.9
            Coverage.

        Returns
        -------
        ndarray of shape (n_features, 2)
            Lower and upper ends; NaN where there is no effect, or the method gives no errors.
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} must lie strictly between 0 and 1; 0.9 is common")
        estimates, errors = np.full((2, len(self.features)), np.nan)
        estimates[self._places] = [effect.estimate for effect in self.effects]
        errors[self._places] = [effect.standard_error for effect in self.effects]
        reach = stats.norm.ppf((1 + level) / 2) * errors
        return np.column_stack([estimates - reach, estimates + reach])

    def summary(self) -> str:
        """The guarantee and the effects as text."""
        lines = [
            textwrap.fill(self.privacy.statement(), 100),
            "",
            f"{'feature':<24} {'effect':>12} {'std. error':>12}   90 % interval",
            *map(_summary_line, self.effects),
            f"{'(intercept)':<24} {self.intercept:>12.5g}",
        ]
        verdicts = {effect.verdict for effect in self.effects}
        if not self.effects:
            lines.append("No effect is significant.")
        elif Verdict.NOT_SIGNIFICANT in verdicts:
            count = f"{len(self.features):,}"
            lines.append(f"* not significant: among {count} features without effect one this large is common.")
        if self.any_center_off or Verdict.CENTER_OFF in verdicts:
            lines.append("** public centre off by more than the feature's spread: give a better feature_center.")
        if not self.response_scale_known:
            lines.append("The response's scale could not be learned, or does not suit the scales of the features:")
            lines.append("check feature_center and feature_scale, or give response_center and response_scale.")
        return "\n".join(lines)

    def as_html(self) -> Html:
        """The effects and the guarantee, for notebooks."""
        heading = tag("p", tag("strong", self.estimator))
        return tag("div", [heading, effects_table(self.effects, self.intercept), self.privacy.as_html()])

    _repr_html_ = as_html

    def predict(self, X: Any) -> Any:
        """Predict responses.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features in the order of `feature_names`, categories as 0/1. Names that X has must be these.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return as_table(X).predict(self)

    def predict_table(self, table: Any) -> NDArray[np.float64]:
        """Predict the responses of a table's records; of the columns only those with an effect are read."""
        table.require(feature.column for feature in self.features)
        selected = {self.features[place].column for place in self._places or [0]}
        used = [place for place, feature in enumerate(self.features) if feature.column in selected]
        X, _ = read_features(table, [self.features[place] for place in used])
        if not len(X):
            raise FileError(f"{table.path}: it holds no records")
        require_finite(X)
        with np.errstate(all="ignore"):
            predictions: NDArray[np.float64] = X @ self.coef[used] + self.intercept
        if not np.isfinite(predictions).all():
            raise FileError(f"{table.path}: predictions overflow; its columns are not in the units of the model")
        return predictions

    def on_columns(self, features: Sequence[Feature], target: str) -> "LinearModel":
        """The same model with the features and the target of the file that its table was read from."""
        effects = tuple(
            replace(effect, feature=features[place].name)
            for place, effect in zip(self._places, self.effects, strict=True)
        )
        return replace(self, features=tuple(features), target=target, effects=effects)

    def in_raw_units(self) -> "LinearModel":
        """The same model for a step of 1 of the columns themselves, where it was fitted on (x - center) / scale."""
        units = [self.features[place] for place in self._places]
        effects = tuple(effect.per(unit.scale) for effect, unit in zip(self.effects, units, strict=True))
        shift = sum(effect.coef * unit.center for effect, unit in zip(effects, units, strict=True))
        return replace(self, effects=effects, intercept=self.intercept - shift)

    # scikit-learn's names, by which it checks the input of `predict`.

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return len(self.features)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The names of the features, where they have any."""
        if self.feature_names == [str(place) for place in range(len(self.features))]:
            raise AttributeError("the features of this model have no names")
        return np.array(self.feature_names, dtype=object)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The same as `coef`."""
        return self.coef

    @property
    def intercept_(self) -> float:
        """The same as `intercept`."""
        return self.intercept

    def __sklearn_tags__(self) -> Tags:
        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(sparse=True),
        )


def _summary_line(effect: Effect) -> str:
    text = f"{effect.feature:<24} {effect.coef + 0.0:>12.5g}"
    if effect.interval is None:
        return f"{text} {'-':>12}   -"
    low, high = effect.interval
    mark = {Verdict.SIGNIFICANT: "", Verdict.CENTER_OFF: " **"}.get(effect.verdict, " *")
    return f"{text} {effect.standard_error:>12.3g}   [{low:.5g}, {high:.5g}]{mark}"

"""The released model: everything a fit publishes, and the one input of files, reports, notebooks and commands.

Every private estimator makes one in `fit`, as `released_`. It holds releases and public numbers only.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from dpsparse.algorithms.evaluation_outcomes import OutcomeScores
from dpsparse.algorithms.evaluation_sums import Scores
from dpsparse.algorithms.pursuit.reference_budget import MEAN_RESIDUAL
from dpsparse.algorithms.pursuit.result import ResponseCount
from dpsparse.data.as_table import as_table
from dpsparse.data.validation import frame_names
from dpsparse.families.estimands import ALL_ESTIMANDS, TYPICAL
from dpsparse.html import Html, tag
from dpsparse.inference.inference_constants import SHOWN_LEVEL
from dpsparse.io.cells.formulas import Formula
from dpsparse.io.table_features import Feature
from dpsparse.model.coefficients import Coefficients
from dpsparse.model.context import FitContext
from dpsparse.model.effect import Effect
from dpsparse.model.evaluation_result import Evaluation
from dpsparse.model.exposures import exposure_column, exposure_name, is_log_mean, where_positive
from dpsparse.model.model_summary import summary_html, summary_text
from dpsparse.model.numeric_columns import NumericColumns, n_selectable
from dpsparse.model.plots import effects_figure
from dpsparse.model.ratios import odds_ratio, probability, share_release
from dpsparse.model.table_predictions import ModelTable, predict_frame
from dpsparse.model.tidy_frames import ModelFrames
from dpsparse.model.two_parts import TwoParts
from dpsparse.model.variables import Variable
from dpsparse.privacy.accounting.record import PrivacyRecord


@dataclass(frozen=True, repr=False)
class LinearModel(Coefficients, ModelFrames):
    """A released linear model: everything in it is public.

    `load_model` returns it, and every fitted private estimator has it as `released_`.

    Parameters
    ----------
    estimator : str
        The name of the method.
    target : str
        The response.
    features : sequence of Feature
        All features that could be selected, with their public centres and scales, if any are known.
    effects : tuple of Effect
        Those that were, in order of selection, with the units that the fit learned.
    intercept : float
        The prediction where all features are 0.
    noise_floor : float or None
        The smallest significant effect of a feature of typical error, in units of the response per scaled feature.
    response_scale_known : bool
        False where the response's scale could not be learned; `reason` says why.
    privacy : PrivacyRecord
        The guarantee, every release and its cost.
    prediction_range : pair of float or None
        Predictions are clipped to this released range of the response; None for no limits.
    explains : bool
        False where the private estimates show no predictive value: all coefficients are 0 then.
    reason : str
        Why nothing was learned or explained; empty where something was.
    cut : float or None
        Where the residuals are cut in the equation that the effects solve, in units of the response; None where the
        method does not say.
    lumped : bool
        Whether the response has a lump, many equal values: its scale was learned from the others then.
    target_kind : str or None
        How the cells of the response are read, as `Feature.kind` says.
    baselines : mapping of str to str
        Of columns of text the category to which effects are relative, where its name is known.
    context : FitContext or None
        When the fit was made and what it left of its budget; None where that is not known. Models are equal whatever it
        is.
    constant : float or None
        The prediction without any feature, from the same releases, for a yes/no response as log odds; None where the
        method has none.
    response_scale : float or None
        The median distance of the responses from their centre, public or released; None where the method needs none.
    spread_explained : float or None
        The share of the response's spread that the features explain: 1 less the residuals' scale over the response's,
        both released. It is 0 where nothing is explained, and None where the releases do not tell.
    scores : Scores, OutcomeScores or None
        How well it predicts records that were held out from its fit; None where none were.
    median_shift : float or None
        By how much a predicted median lies above the line of the effects and the intercept, where this passes through
        the constant; None where no median was released.
    median_slope, calibration_slope : float
        Predictions of a median and of a mean are this many times as far from there as that line.
    left_out : mapping of str to str
        Selected features that have no effect, and why: "hardly varies" where nearly all records have the same value,
        "unit wrong" where the releases suggest that noise determined the centre or the scale.
    responses : ResponseCount or None
        The released number of records whose response is there and could be read; None where none may be missing.
    nearly_exact : bool
        Whether all that could not be learned of the response's scale is how small the residuals are: effects have
        intervals and verdicts then.
    text_unused : mapping of str to str
        The columns of text of which no text was used, and why: "many values" where by their released number too many
        differ, as in an identifier, "none common" where no value is common enough to be used at this epsilon.
    estimand : str or None
        What effects are of: "mean", as least squares gives them, or "typical", as Huber's M-estimator does; None where
        the method names none.
    variables : tuple of Variable
        The columns with several effects, such as categories, each tested as a whole.
    classes : pair of str or None
        The labels of no and yes, where the response is yes or no: effects are of log odds, and predictions are
        probabilities of yes. None where it is a number.
    correlations : tuple of tuple of float or None
        Of the errors of the effects that have an interval, from releases: for each those with the ones before it. None
        where that is not known.
    exposure : str or None
        The column to which means are in proportion, where effects are on the log of a mean and there is one.
    parts : TwoParts or None
        Whether the response is above 0, and how much it is where it is, where these are modelled apart: effects are
        average marginal effects on the overall mean then, and predictions are made by both parts. None elsewhere.
    formula : Formula or None
        What the columns of features are made of, where a formula said it: `predict` makes them of new records.
    within : bool
        Whether effects are within people: rows were taken less their person's own mean, and predictions are of such
        differences.
    """

    estimator: str
    target: str
    features: Sequence[Feature]
    effects: tuple[Effect, ...]
    intercept: float
    noise_floor: float | None
    response_scale_known: bool
    privacy: PrivacyRecord
    prediction_range: tuple[float, float] | None = None
    explains: bool = True
    reason: str = ""
    cut: float | None = None
    lumped: bool = False
    target_kind: str | None = None
    baselines: Mapping[str, str] = field(default_factory=dict)
    context: FitContext | None = field(default=None, compare=False)
    constant: float | None = None
    response_scale: float | None = None
    spread_explained: float | None = None
    scores: Scores | OutcomeScores | None = None
    median_shift: float | None = None
    median_slope: float = 1.0
    calibration_slope: float = 1.0
    left_out: Mapping[str, str] = field(default_factory=dict)
    responses: ResponseCount | None = None
    nearly_exact: bool = False
    text_unused: Mapping[str, str] = field(default_factory=dict)
    estimand: str | None = None
    variables: tuple[Variable, ...] = ()
    classes: tuple[str, str] | None = None
    correlations: tuple[tuple[float, ...], ...] | None = None
    exposure: str | None = None
    parts: TwoParts | None = None
    formula: Formula | None = None
    within: bool = False

    def __repr__(self) -> str:
        guarantee = (
            f"({self.privacy.epsilon:.4g}, {self.privacy.delta:.3g})-DP" if self.privacy.private else "NOT PRIVATE"
        )
        effects = f"{len(self.effects)} of {self.n_features:,} features"
        return f"<LinearModel of {self.target} by {self.estimator}: {effects}, {guarantee}>"

    def _released(self) -> "LinearModel":
        return self

    @property
    def ratio(self) -> str | None:
        """What an effect is as a factor, such as "odds ratio", where it is a logarithm; None where it is a difference.

        Examples
        --------
        >>> from dpsparse.families.estimands import ALL_ESTIMANDS
        >>> {name: estimand.ratio for name, estimand in ALL_ESTIMANDS.items()}
        {'mean': None, 'typical': None, 'log odds': 'odds ratio', 'log mean': 'rate ratio'}
        """
        return None if self.estimand is None else ALL_ESTIMANDS[self.estimand].ratio

    @property
    def constant_prediction(self) -> float:
        """The prediction without any feature, `constant`.

        Where the method releases none, it is the prediction at the public centres of the features.
        """
        if self.constant is not None:
            return self.constant
        return self.intercept + sum(effect.coef * (feature.center or 0.0) for effect, feature in self._selected)

    @property
    def share_of_yes(self) -> float | None:
        """The released share of yes among the responses; None where they are numbers, or none was released."""
        if self.classes is None or self.constant is None or share_release(self) is None:
            return None
        return probability(self.constant)

    @property
    def constant_name(self) -> str:
        """What `constant_prediction` is: the released "mean" or "share of yes" of the fit, or another "constant"."""
        if self.classes is not None:
            return "share of yes"
        if is_log_mean(self):
            return "mean"
        is_mean = any(release.name.endswith(MEAN_RESIDUAL.release) for release in self.privacy.releases)
        return "mean" if is_mean or self.parts is not None else "constant"

    @property
    def evaluation(self) -> Evaluation | None:
        """How well it predicts records that were held out from its fit; None where none were."""
        return None if self.scores is None else self.evaluation_of(self.scores, self.privacy)

    def evaluation_of(self, scores: Scores | OutcomeScores, privacy: PrivacyRecord) -> Evaluation:
        """Scores of its predictions, with what they are compared with."""
        constant = self.constant_prediction if self.classes is None else float(expit(self.constant_prediction))
        if is_log_mean(self):
            constant = math.exp(constant)
        return Evaluation(self.target, constant, scores, privacy, self.constant_name)

    def summary(self) -> str:
        """The guarantee and the effects as text."""
        return summary_text(self)

    def as_html(self) -> Html:
        """The effects and the guarantee, for notebooks."""
        return summary_html(self)

    def _repr_html_(self) -> Html:
        """The same with a picture of the effects."""
        picture = effects_figure(self)
        return self.as_html() if picture is None else tag("div", [picture, self.as_html()])

    def predict(self, X: Any, statistic: Literal["mean", "median"] | None = None) -> Any:
        """Predict responses; where they are yes or no, the probability of yes.

        Where effects are on the log of a mean, it is the mean, for the record's own exposure where that is a column.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix
            A data frame of pandas, polars, pyarrow or dask needs the columns of the selected features only, in any
            order, and may have others. A column of text with public categories may be there as text or as 0/1 columns
            such as ``region=south``; text that is no category counts as the baseline, which is the first category of
            the bounds. Anything without names has all features in the order of `feature_names`, categories as 0/1.
        statistic : {"mean", "median"} or None, default=None
            What to predict of the responses of such records. None: what the effects are of, by `estimand`: the mean, or
            the typical response. "mean" is right on average, and only models of the mean have it. "median" has half of
            them below it, and is nearer to most where they are skewed.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions, clipped to `prediction_range`; a dask array, not computed yet, where X is dask's.

        Examples
        --------
        >>> import pandas as pd
        >>> from dpsparse import PrivateSparseRegressor
        >>> from dpsparse.datasets import make_heavy_tailed
        >>> X, y, _ = make_heavy_tailed(5000, 3, 1, random_state=0)
        >>> people = pd.DataFrame(X, columns=["age", "size", "steps"])
        >>> model = PrivateSparseRegressor(sparsity=1, feature_center=0, feature_scale=1).fit(people, y).released_
        >>> new = people[model.columns_needed].assign(note="not read")
        >>> bool((model.predict(new) == model.predict(people)).all())
        True
        """
        if is_log_mean(self):
            line = self.for_statistic(statistic)
            # A warning would tell something of a record.
            with np.errstate(all="ignore"):
                return np.exp(line._predicted(X)) * line.exposures(X)
        predictions = self.predicted(lambda line: line._predicted(X), statistic)
        return predictions if self.classes is None else expit(predictions)

    def predicted(self, predict: Callable[["LinearModel"], Any], statistic: str | None = None) -> Any:
        """Predictions, those of a yes/no response as log odds, from what `predict` makes of a line: its predictor."""
        if self.parts is None:
            return predict(self.for_statistic(statistic))
        if statistic not in (None, "mean"):
            raise ValueError(f"statistic={statistic!r}: a model in two parts predicts the mean; leave it out")
        return self.parts.predicted(predict)

    def exposures(self, X: Any) -> Any:
        """The exposures of records: 1 where none is a column of theirs, and NaN where one is not above 0.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix
            The caller's own records.

        Returns
        -------
        ndarray of shape (n_samples,) or float
            Exposures; a dask array, not computed yet, where X is dask's.
        """
        if self.reads_cells:
            return ModelTable(self, X).exposures()
        column = exposure_column(self)
        if column is None:
            return 1.0
        values = column._predicted(X)
        return where_positive(values)

    def log_odds(self, X: Any) -> Any:
        """The log odds of yes, where the response is yes or no; see `predict`.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix
            The caller's own records.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log odds; a dask array, not computed yet, where X is dask's.
        """
        if self.classes is None:
            raise ValueError(f"the response {self.target} is a number, which has no odds: use predict")
        return self._predicted(X)

    def odds_ratios(self, level: float = SHOWN_LEVEL) -> dict[str, tuple[float, float, float]]:
        """Odds ratios for a step of 1 of each selected feature, with confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Coverage.

        Returns
        -------
        dict of str to (float, float, float)
            The ratio and the ends of its interval by feature; NaN for ends where an error cannot be trusted.
        """
        if self.classes is None:
            raise ValueError(f"the response {self.target} is a number, which has no odds")
        return self._ratios(level)

    def rate_ratios(self, level: float = SHOWN_LEVEL) -> dict[str, tuple[float, float, float]]:
        """Rate ratios for a step of 1 of each selected feature, with confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Coverage.

        Returns
        -------
        dict of str to (float, float, float)
            The ratio and the ends of its interval by feature; NaN for ends where an error cannot be trusted.
        """
        if not is_log_mean(self):
            raise ValueError(f"effects on {self.target} are no ratios: PrivateSparsePoissonRegressor has rate ratios")
        return self._ratios(level)

    def _ratios(self, level: float) -> dict[str, tuple[float, float, float]]:
        ends = np.exp(self.conf_int(level)[self._places]).tolist()
        return {
            effect.feature: (odds_ratio(effect.value), low, high)
            for effect, (low, high) in zip(self.effects, ends, strict=True)
        }

    def _predicted(self, X: Any) -> Any:
        """The linear predictor."""
        if self.reads_cells:
            return ModelTable(self, X).linear_predictors()
        names = frame_names(X)
        if names is None or not hasattr(self, "feature_names_in_") or names == self.feature_names_in_.tolist():
            return as_table(X).predict(self)
        return predict_frame(self, X, names)

    def for_statistic(self, statistic: str | None = None) -> "LinearModel":
        """The model whose effects and intercept are the line that predicts this statistic; see `predict`."""
        if statistic == "mean" and self.estimand == TYPICAL.name:
            raise ValueError(
                "statistic='mean' needs a model of the mean, and this one is of the typical response: leave it out, or "
                "fit with estimand='mean'"
            )
        if statistic is None or statistic == "mean":
            return self._calibrated()
        if is_log_mean(self):
            raise ValueError(f"statistic={statistic!r} is for PrivateSparseRegressor; this is a model of the mean")
        if self.classes is not None:
            raise ValueError(
                f"statistic={statistic!r} is for numbers; a yes/no response has a probability: leave it out"
            )
        if statistic != "median":
            raise ValueError(f"statistic={statistic!r} must be 'mean', 'median' or None")
        if self.median_shift is None:
            raise ValueError(
                "statistic='median' needs a released median, which this model has not: leave it out, or fit "
                "PrivateSparseRegressor again, with an intercept"
            )
        turned = self._turned(self.median_slope)
        return replace(turned, intercept=turned.intercept + self.median_shift, median_shift=0.0)

    def _calibrated(self) -> "LinearModel":
        return self if self.calibration_slope == 1 else self._turned(self.calibration_slope)

    def _turned(self, slope: float) -> "LinearModel":
        """The line of which predictions are this many times as far from the constant, and no other."""
        effects, intercept, constant = self.effects, self.intercept, self.constant_prediction
        if slope != 1:
            effects = tuple(replace(effect, coef=slope * effect.coef) for effect in effects)
            intercept = constant + slope * (intercept - constant)
        line = replace(self, effects=effects, intercept=intercept)
        return replace(line, median_shift=None, median_slope=1.0, calibration_slope=1.0)

    @cached_property
    def reads_cells(self) -> bool:
        """Whether the model was fitted on a raw table: it reads cells then, not numbers."""
        return not isinstance(self.features, NumericColumns) and any(each.kind for each in self.features)

    @cached_property
    def n_features(self) -> int:
        """The number of features that could be selected; verdicts are over all of them. The exposure is none."""
        return n_selectable(self.features, self.exposure)

    @cached_property
    def n_columns(self) -> int:
        """The number of columns that the features are made of."""
        if isinstance(self.features, NumericColumns):
            return self.features.n_columns
        return len({feature.column for feature in self.features})

    @property
    def columns_selected(self) -> list[str]:
        """The columns of the selected features."""
        return list(dict.fromkeys(name for _, feature in self._selected for name in feature.columns))

    @property
    def columns_needed(self) -> list[str]:
        """The columns that `predict` needs of a data frame or a file: those selected, and the exposure."""
        exposure, columns = exposure_name(self), self.columns_selected
        if self.formula is not None:
            columns = list(dict.fromkeys(name for column in columns for name in self.formula.sources(column)))
        return columns if exposure is None else [*columns, exposure]

    def on_columns(self, features: Sequence[Feature], target: str) -> "LinearModel":
        """The same model with the features and the target of the file that its table was read from."""
        given = features
        if len(self.features) > len(features):
            # Whether a column is missing is a feature too.
            features = [*features, *(Feature(each.column, kind=each.kind, missing=True) for each in features)]
        effects = tuple(
            replace(effect, feature=features[place].name)
            for place, effect in zip(self._places, self.effects, strict=True)
        )
        left_out = {
            features[place].name: why
            for place, why in zip(self.places_of(self.left_out), self.left_out.values(), strict=True)
        }
        baselines = {feature.column: feature.baseline for feature in features if feature.baseline is not None}
        named: dict[str, Any] = {
            "features": tuple(dict.fromkeys(features)),
            "target": target,
            "effects": effects,
            "left_out": left_out,
        }
        named["parts"] = self.parts and self.parts.changed(lambda part: part.on_columns(given, target))
        return replace(self, baselines={**self.baselines, **baselines}, **named)

    def in_raw_units(self) -> "LinearModel":
        """The same model per unit of the columns themselves, where it was fitted on (x - center) / scale.

        Columns whose public centre or scale is not known were not shifted or not scaled.
        """
        units = [(feature.center or 0.0, feature.scale or 1.0) for _, feature in self._selected]
        effects = tuple(effect.in_raw_units(*unit) for effect, unit in zip(self.effects, units, strict=True))
        shift = sum(effect.coef * center for effect, (center, _) in zip(effects, units, strict=True))
        if self.parts is None:
            return replace(self, effects=effects, intercept=self.intercept - shift)
        parts = self.parts.changed(LinearModel.in_raw_units)
        return replace(self, effects=effects, intercept=parts.at_zero(), parts=parts)

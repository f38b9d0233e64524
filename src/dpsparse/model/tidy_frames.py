"""A released model as data frames and as tables for papers: the same methods on models and on fitted estimators.

Everything but `augment` is a function of the released model. `augment` reads the caller's own records.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.validation import frame_names
from dpsparse.model.doubts import doubt_of
from dpsparse.model.effect import Effect, Verdict
from dpsparse.model.effect_tables import compare_models
from dpsparse.model.plots import plot_effects

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dpsparse.model.released import LinearModel
    from dpsparse.model.two_parts import TwoParts

NO_ERRORS = "the method gives no standard errors"


class ModelFrames:
    """Frames and tables of one released model."""

    def _released(self) -> "LinearModel":
        """The released model."""
        raise NotImplementedError

    @property
    def effects_(self) -> "pd.DataFrame":
        """The effects as a tidy frame, one row each; those of log odds are log odds.

        Its columns are ``term``, ``variable`` and ``level`` (None for a number), ``estimate``, ``std_error``,
        ``statistic``, ``p_value`` (of one effect, not adjusted), ``conf_low`` and ``conf_high`` (of 95 %), ``reliable``
        and ``reason``. An effect that is not reliable has its ``estimate`` alone, the one that predictions use.
        """
        model = self._released()
        features = [feature for _, feature in model._selected]
        texts = {
            "term": [effect.feature for effect in model.effects],
            "variable": [feature.variable for feature in features],
            "level": [feature.level for feature in features],
        }
        # Of no effect there are the names of columns.
        said = model.privacy.guarantee.protects.said
        rows = [_numbers(effect, model.within, said) for effect in model.effects or [Effect("", 0.0)]]
        numbers = {name: np.array([row[name] for row in rows])[: len(model.effects)] for name in rows[0]}
        pandas = _pandas()
        reasons = numbers.pop("reason").tolist()
        columns = {name: pandas.Series(values, dtype=object) for name, values in texts.items()}
        return pandas.DataFrame(columns | numbers | {"reason": pandas.Series(reasons, dtype=object)})

    def glance(self) -> "pd.DataFrame":
        """The model in one row: its guarantee, its size and how much it explains.

        Returns
        -------
        pandas.DataFrame of one row
            ``target``, ``estimator``, ``estimand``, ``nobs``, ``people`` (at least), ``epsilon``, ``delta``,
            ``adjacency``, ``private``, ``n_features``, ``n_selected``, ``n_significant``, ``intercept``, ``constant``
            (the prediction without features), ``spread_explained`` and ``share_of_yes`` (NaN where not released).
        """
        model = self._released()
        privacy = model.privacy
        facts = {
            "target": model.target,
            "estimator": model.estimator,
            "estimand": model.estimand,
            "nobs": privacy.guarantee.rows or privacy.n_records,
            "people": privacy.n_records // privacy.guarantee.records_per_person,
            "epsilon": privacy.epsilon,
            "delta": privacy.delta,
            "adjacency": privacy.guarantee.adjacency,
            "private": privacy.private,
            "n_features": model.n_features,
            "n_selected": len(model.effects),
            "n_significant": sum(effect.verdict is Verdict.SIGNIFICANT for effect in model.effects),
            "intercept": model.intercept,
            "constant": model.constant_prediction,
            "spread_explained": _or_nan(model.spread_explained),
            "share_of_yes": _or_nan(model.share_of_yes),
        }
        return _pandas().DataFrame([facts])

    def augment(self, X: Any, name: str = "prediction") -> Any:
        """The caller's own records with predictions beside them. The records do not become private by this.

        Parameters
        ----------
        X : data frame or array-like
            As `predict` of the released model takes it.
        name : str, default="prediction"
            The new column: what the effects are of, or the probability of yes.

        Returns
        -------
        data frame
            X and one more column, in the library of X; arrays become a frame of pandas.
        """
        model = self._released()
        names = frame_names(X)
        if name in (names or model.feature_names):
            raise ValueError(f"X has a column {name!r} already: give another name")
        predictions = model.predict(X)
        if names is None:
            return (
                _pandas()
                .DataFrame(np.asarray(X), columns=model.feature_names[: model.n_features_in_])
                .assign(**{name: predictions})
            )
        if hasattr(X, "append_column"):
            return X.append_column(name, [predictions])
        if hasattr(X, "with_columns"):
            return X.with_columns(type(X.to_series(0))(name, predictions))
        return X.assign(**{name: predictions})

    def vcov(self) -> "pd.DataFrame":
        """The covariance of the effects' errors, from releases: its diagonal is that of `effects_`, squared.

        Returns
        -------
        pandas.DataFrame
            Terms by terms; NaN for those that are not reliable.
        """
        model = self._released()
        terms = [effect.feature for effect in model.effects]
        return _pandas().DataFrame(covariance(model), index=terms, columns=terms)

    def plot_effects(self, axes: "Axes | None" = None, *, per: Literal["scale", "unit"] = "scale") -> "Axes":
        """Draw the effects with their intervals as a forest plot.

        Parameters
        ----------
        axes : matplotlib Axes or None, default=None
            Where; None makes a figure that is high enough for all names.
        per : {"scale", "unit"}, default="scale"
            What an effect is for: a step of its feature's scale, which its label names, so that effects can be
            compared, and from 0 to 1 for categories and yes/no; or one unit, as in tables.

        Returns
        -------
        matplotlib Axes
            Full dots are significant, hollow ones are not, crosses have no interval. Effects on log odds are odds
            ratios, on a logarithmic axis.
        """
        return plot_effects(self._released(), axes, per)

    def to_markdown(self) -> str:
        """The effects as a table in Markdown, with reference rows of categories and a note on the guarantee.

        Returns
        -------
        str
            `compare_models` sets several models side by side.
        """
        return compare_models([self]).to_markdown()

    def to_latex(self) -> str:
        """The effects as a table in LaTeX, with reference rows of categories and a note on the guarantee.

        Returns
        -------
        str
            A ``table`` that needs the package booktabs. `compare_models` sets several models side by side.
        """
        return compare_models([self]).to_latex()

    def to_word(self, path: str | os.PathLike[str]) -> None:
        """Write the effects as a table in a Word file, with a note on the guarantee.

        Parameters
        ----------
        path : str or path
            Where, such as ``table.docx``. It needs python-docx: ``pip install 'dpsparse[word]'``.
        """
        compare_models([self]).to_word(path)


def _numbers(effect: Effect, within: bool, said: Callable[[str], str]) -> dict[str, Any]:
    """What the tidy frame has of an effect beside its name."""
    low, high = effect.interval or (np.nan, np.nan)
    error = np.nan if effect.interval is None else _or_nan(effect.standard_error)
    doubt = doubt_of(effect, within, said)
    with np.errstate(all="ignore"):
        statistic = float(np.float64(effect.value) / error)
    return {
        "estimate": effect.value,
        "std_error": error,
        "statistic": statistic,
        "p_value": _or_nan(effect.p_value),
        "conf_low": low,
        "conf_high": high,
        "reliable": effect.interval is not None,
        "reason": NO_ERRORS if effect.verdict is Verdict.NOT_AVAILABLE else "" if doubt is None else doubt.reason,
    }


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("data frames need pandas: pip install 'dpsparse[data]'") from None
    return pandas


_NO_COVARIANCE = "vcov needs the correlations of a fit's effects, which {why}: fit PrivateSparseRegressor again"


def covariance(model: "LinearModel") -> NDArray[np.float64]:
    """Effects by effects; NaN for those that are not reliable."""
    if all(effect.standard_error is None for effect in model.effects):
        raise ValueError(_NO_COVARIANCE.format(why="this model has not (see effects_)"))
    return _own(model) if model.parts is None else _of_parts(model.parts, [each.feature for each in model.effects])


def _own(model: "LinearModel") -> NDArray[np.float64]:
    if model.correlations is None:
        raise ValueError(_NO_COVARIANCE.format(why="the file of this model does not have"))
    whole = np.full((len(model.effects), len(model.effects)), np.nan)
    known = [k for k, effect in enumerate(model.effects) if effect.interval is not None]
    errors = np.array([model.effects[k].standard_error for k in known])
    lower = np.zeros((len(known), len(known)))
    for k, row in enumerate(model.correlations):
        lower[k, :k] = row
    whole[np.ix_(known, known)] = (lower + lower.T + np.eye(len(known))) * np.outer(errors, errors)
    return whole


def _of_parts(parts: "TwoParts", names: list[str]) -> NDArray[np.float64]:
    """Of average marginal effects, by the delta method, as their standard errors are.

    An effect is the mean slope times that on the odds, and the share times that on the amount; the parts have noise of
    their own.
    """
    level = parts.level
    total = np.zeros((len(names), len(names)))
    for part, weight, weight_error in (
        (parts.whether, level.mean_slope, parts.slope_error),
        (parts.how_much, level.share, parts.share_error),
    ):
        # A feature that a part has not selected has no effect in it, and no error.
        places = [names.index(effect.feature) for effect in part.effects]
        own, effects = np.zeros_like(total), np.zeros(len(names))
        if places:
            own[np.ix_(places, places)] = _own(part)
            effects[places] = [np.nan if each.interval is None else each.value for each in part.effects]
        # What is not reliable is not known beside any other either.
        unknown = np.isnan(effects)
        own[unknown] = own[:, unknown] = np.nan
        total += weight**2 * own + weight_error**2 * np.outer(effects, effects)
    return total

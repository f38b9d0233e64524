"""What effects compare, in words: a 0/1 feature with its baseline, a variable of several effects as a whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsparse.io.cells.grammar import Kind
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect, p_words
from dpsparse.model.unnamed_values import shown_effects
from dpsparse.schema import listed, quoted

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


@dataclass(frozen=True)
class Variable:
    """A selected column with several effects.

    Parameters
    ----------
    name : str
        The column.
    features : tuple of str
        The names of its effects.
    p_value : float
        Of the hypothesis that all of them are 0, by a Wald test on their released covariance.
    clear : bool
        Whether that is significant at the 5 % family-wise level (Bonferroni over all columns).
    without : tuple of str, default=()
        The names of its effects that are not reliable: the test is of the others alone.
    """

    name: str
    features: tuple[str, ...]
    p_value: float
    clear: bool
    without: tuple[str, ...] = ()


def in_words(variable: Variable, baseline: str | None) -> str:
    """What a variable says as a whole, without a full stop.

    Examples
    --------
    >>> print(in_words(Variable("region", ("region=north", "region=west"), 0.00002, True), "south"))
    'region': 2 effects against 'south', together significant (p = 2.0e-05)
    """
    against = "" if baseline is None else f" against {listed([baseline])}"
    verdict = "significant" if variable.clear else "not significant"
    said = f"{len(variable.features)} effects{against}, together {verdict} ({p_words(variable.p_value)})"
    if variable.without:
        are = "is" if len(variable.without) == 1 else "are"
        said += f", without {listed(variable.without)}, which {are} not reliable"
    return f"{listed([variable.name])}: {said}"


def n_variables(features: Sequence[Feature], effects: Sequence[Effect]) -> int:
    """How many columns of the table some effects are of."""
    columns = {feature.name: feature.column for feature in features}
    return len({columns[effect.feature] for effect in effects})


def baseline_of(feature: Feature, baselines: Mapping[str, str]) -> str:
    """The baseline of a column of text, by its name where that is known."""
    name = baselines.get(feature.column)
    return "the baseline" if name is None else f"the baseline {quoted(name)}"


def compared_with(feature: Feature, baselines: Mapping[str, str]) -> str | None:
    """What 1 is compared with; None where the feature is no 0/1 property of one cell.

    Examples
    --------
    >>> compared_with(Feature("smoker", kind="boolean"), {}), compared_with(Feature("age"), {})
    ('no', None)
    >>> compared_with(Feature("region", category="north"), {"region": "south"})
    "the baseline 'south' and categories not selected"
    """
    if feature.within is not None:
        return None
    is_category = feature.category is not None or feature.buckets is not None
    if feature.kind == Kind.text if feature.missing else is_category:
        return f"{baseline_of(feature, baselines)} and categories not selected"
    if feature.missing:
        return "a typical value"
    return "no" if feature.kind == Kind.boolean else None


def _one_of(feature: Feature) -> str:
    """What 1 stands for, where the name does not say it; the feature is a 0/1 property of one cell."""
    if feature.missing:
        return "a missing cell"
    return "yes" if feature.kind == Kind.boolean else ""


def step_of(feature: Feature, baselines: Mapping[str, str]) -> str:
    """What a one-unit increase of a feature is."""
    if feature.within is not None:
        other = baseline_of(feature.within, baselines)
        return f"a one-unit increase of {quoted(feature.column)}, compared with the same increase in {other},"
    against = compared_with(feature, baselines)
    if against is not None:
        one = _one_of(feature)
        return f"{one}, compared with {against}," if one else f"compared with {against}, it"
    return "a day later" if _is_date(feature) else "a one-unit increase"


def dates_in_words(model: "LinearModel") -> str:
    """Which selected columns are dates, and what their numbers mean, without a full stop."""
    names = [feature.name for _, feature in model._selected if _is_date(feature)]
    if not names:
        return ""
    if len(names) == 1:
        return f"{listed(names)} is the number of days since 1970-01-01: its effect is that of a day later"
    return f"{listed(names)} are numbers of days since 1970-01-01: their effects are those of a day later"


def _is_date(feature: Feature) -> bool:
    """Whether a feature is a date itself, and not whether one is missing; its kind is known where a fit learned it."""
    return feature.kind is not None and feature.kind.startswith("date") and not feature.missing


def baselines_in_words(model: "LinearModel") -> str:
    """What each 0/1 effect compares, without a full stop; of a variable of several effects its own remark says it."""
    features = {effect.feature: feature for effect, feature in model._selected}
    told = {name for variable in model.variables for name in (*variable.features, *variable.without)}
    alike: dict[tuple[str, str], list[str]] = {}
    for feature in (features[each.feature] for each in shown_effects(model) if each.feature not in told):
        against = compared_with(feature, model.baselines)
        if against is not None:
            alike.setdefault((_one_of(feature), against), []).append(feature.name)
    return "; ".join(_comparison(names, one, against) for (one, against), names in alike.items())


def _comparison(names: list[str], one: str, against: str) -> str:
    several = len(names) > 1
    if one:
        return f"{listed(names)} compare{'' if several else 's'} {one} with {against}"
    return f"{listed(names)} {'are' if several else 'is'} compared with {against}"

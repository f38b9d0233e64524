"""What a 0/1 feature is compared with, in words: an effect of one is the difference from it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpsparse.io.cells.grammar import Kind
from dpsparse.io.table_features import Feature
from dpsparse.model.unnamed_values import shown_effects
from dpsparse.schema import listed, quoted

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


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
    return "a day later" if feature.kind is not None and feature.kind.startswith("date") else "a one-unit increase"


def baselines_in_words(model: "LinearModel") -> str:
    """What each 0/1 effect compares, without a full stop; of a variable of several effects its own remark says it."""
    features = {feature.name: feature for feature in model.features}
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

"""Effects of text without a name, of which a paper has nothing to show."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from dpsparse.model.effect import Effect

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


def not_shown(models: Sequence["LinearModel"]) -> set[str]:
    """The effects of unnamed values that no model has anything to say of: papers leave them out, and count them.

    Noise can suggest a value that no record holds. An effect that a method gives without errors is shown.
    """
    unnamed = [
        (effect.feature, effect.interval is None and (not effect.trusted or effect.coef == 0))
        for model in models
        for effect, feature in model._selected
        if feature.is_unnamed
    ]
    return {name for name, is_empty in unnamed if is_empty} - {name for name, is_empty in unnamed if not is_empty}


def shown_effects(model: "LinearModel") -> tuple[Effect, ...]:
    """The effects that a summary lists: all but those of unnamed values that predictions do not use, either."""
    empty = not_shown([model])
    return tuple(each for each in model.effects if each.feature not in empty or each.coef)


def hidden(model: "LinearModel") -> str:
    """How many effects a summary does not list, without a full stop; empty where it lists all."""
    count = len(model.effects) - len(shown_effects(model))
    return _counted(count) if count else ""


def not_shown_words(names: Collection[str]) -> str:
    """How many effects are not shown, without a full stop.

    Examples
    --------
    >>> print(not_shown_words({"sex (unnamed value 2)"}))
    not shown: 1 effect of an unnamed value, which has no interval
    """
    return f"not shown: {_counted(len(names))}"


def _counted(count: int) -> str:
    if count == 1:
        return "1 effect of an unnamed value, which has no interval"
    return f"{count:,} effects of unnamed values, which have no intervals"

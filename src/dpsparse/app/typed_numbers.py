"""Numbers as people type them into forms; what is wrong with one is said with its remedy."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpsparse.schema import FileError

if TYPE_CHECKING:
    from dpsparse.families.estimands import EstimandName

# A form, a query, or the choices of a draft.
Typed = Mapping[str, Any]


def typed_number(typed: Typed, name: str, default: float | None) -> float | None:
    """A number, or a default where nothing was typed."""
    text = str(typed.get(name, "")).strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FileError(f"{name}: write a number, such as 0.5")
    return value


def typed_count(typed: Typed, name: str, words: str, default: int | None = None) -> int:
    """A whole number of at least 1."""
    value = typed_number(typed, name, default)
    if value is None or value != int(value) or not 1 <= value < 2**53:
        raise FileError(f"{words}: write a whole number of at least 1")
    return int(value)


def typed_positive(typed: Typed, name: str, words: str) -> float | None:
    """A number above 0, or None."""
    value = typed_number(typed, name, None)
    if value is not None and not value > 0:
        raise FileError(f"{words} must be above 0, or empty")
    return value


def typed_epsilon(typed: Typed) -> float:
    """An epsilon."""
    from dpsparse.privacy.guarantee import check_epsilon

    value: Any = typed_number(typed, "epsilon", None)
    check_epsilon(value)
    return float(value)


def typed_delta(typed: Typed) -> float | None:
    """A delta, or None."""
    from dpsparse.privacy.guarantee import check_delta

    value = typed_number(typed, "delta", None)
    if value is not None:
        check_delta(value)
    return value


def typed_estimand(typed: Typed) -> "EstimandName":
    """What effects are on; the mean where nothing was chosen."""
    from dpsparse.families.estimands import ESTIMANDS, MEAN

    chosen = ESTIMANDS.get(str(typed.get("estimand") or MEAN.name))
    if chosen is None:
        raise FileError("effects are on the mean or on the typical response: choose one of the two")
    return chosen.name


def typed_share(typed: Typed) -> float | None:
    """A guess of the share of yes, or None."""
    value = typed_number(typed, "share_of_yes", None)
    if value is not None and not 0 < value < 1:
        raise FileError("the share of yes lies between 0 and 1, such as 0.1, or leave it empty")
    return value


def typed_holdout(typed: Typed) -> float | None:
    """A share of the records to hold out, or None."""
    value = typed_number(typed, "holdout", None)
    if value is not None and not 0 < value <= 0.5:
        raise FileError("hold out a share above 0 and at most 0.5, such as 0.2, or leave it empty")
    return value

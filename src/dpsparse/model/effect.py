"""One effect of a released model, and its verdict."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from dpsparse.html import Html, number, table

_REACH = 1.6448536269514722  # of a 90 % interval, in standard errors


class Verdict(Enum):
    """The verdict of a fit on an effect; the value is the word for people."""

    SIGNIFICANT = "significant"
    """Significant at the 5 % family-wise level (Bonferroni over all features)."""
    NOT_SIGNIFICANT = "not significant"
    """Among features without effect one this large is common."""
    CENTER_OFF = "centre off"
    """The feature's public centre is off by more than its spread, so there is no verdict."""
    NOT_AVAILABLE = "not available"
    """The method gives no errors."""


@dataclass(frozen=True)
class Effect:
    """The effect of one selected feature.

    Parameters
    ----------
    feature : str
        Its name.
    coef : float
        The effect used for predictions, shrunk by its own error.
    estimate, standard_error : float or None
        The unshrunk effect and its error; None where the method gives none.
    clear : bool
        Whether it is significant, as `PrivateSparseRegressor.clear_` says; False where the method gives no errors.
    centered : bool
        False where the feature's public centre is off by more than its spread.
    """

    feature: str
    coef: float
    estimate: float | None = None
    standard_error: float | None = None
    clear: bool = False
    centered: bool = True

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 90 % interval, or None."""
        if self.estimate is None or self.standard_error is None:
            return None
        return self.estimate - _REACH * self.standard_error, self.estimate + _REACH * self.standard_error

    @property
    def verdict(self) -> Verdict:
        """The verdict of the fit on it."""
        if self.interval is None:
            return Verdict.NOT_AVAILABLE
        if self.clear:
            return Verdict.SIGNIFICANT
        return Verdict.NOT_SIGNIFICANT if self.centered else Verdict.CENTER_OFF

    def per(self, scale: float) -> "Effect":
        """The effect for a step that is smaller by a scale."""
        numbers = {name: getattr(self, name) for name in ("coef", "estimate", "standard_error")}
        return replace(self, **{name: value and value / scale for name, value in numbers.items()})

    def row(self) -> tuple[str, str, str, str]:
        """Name, effect, interval and verdict, as text."""
        return self.feature, number(self.coef), interval_text(self.interval), self.verdict.value


EFFECT_HEADINGS = ("feature", "effect", "90 % interval", "verdict")


def interval_text(interval: tuple[float, float] | None) -> str:
    """An interval as text; a dash for none."""
    return "-" if interval is None else "[{}, {}]".format(*map(number, interval))


def effect_rows(effects: Iterable[Effect], intercept: float) -> list[tuple[str, str, str, str]]:
    """The rows of a table of effects, the intercept last."""
    return [*(effect.row() for effect in effects), ("(intercept)", number(intercept), "", "")]


def effects_table(effects: Iterable[Effect], intercept: float) -> Html:
    """The effects as an HTML table."""
    caption = "Effects, for a step of 1 of each feature"
    return table(caption, EFFECT_HEADINGS, effect_rows(effects, intercept), numbers=(1, 2))

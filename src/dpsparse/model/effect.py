"""One effect of a released model, and its verdict."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from dpsparse.html import Html, number, table
from dpsparse.inference.intervals import SHOWN_PERCENT, p_value, reach
from dpsparse.model.ratios import ratio_interval_text, ratio_text

if TYPE_CHECKING:
    from dpsparse.model.ratios import RatioWords

# Normal tails are not known further out than this.
_LEAST_P_VALUE = 1e-16
# Smaller ones are shown in powers of ten.
_SMALL_P_VALUE = 0.001


class Verdict(Enum):
    """The verdict of a fit on an effect; the value is the word for people."""

    SIGNIFICANT = "significant"
    """Significant at the 5 % family-wise level (Bonferroni over all features)."""
    NOT_SIGNIFICANT = "not significant"
    """Among features without effect, one this large is common."""
    NOT_TRUSTED = "not reliable"
    """Its standard error cannot be trusted, so there is no interval and no verdict."""
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
        What predictions use: shrunk by its error and, among selected features, by what others say of it.
    estimate, standard_error : float or None
        The unshrunk effect, which the interval is of, and its error; None where the method gives none, or none that can
        be trusted.
    clear : bool
        Whether it is significant, as `PrivateSparseRegressor.clear_` says; False where the method gives no errors.
    trusted : bool
        False where its standard error cannot be trusted: it has no interval then and is not significant.
    center, scale : float or None
        The feature's unit as the fit learned it, which is a release; None where public numbers were used.
    doubt : str or None
        Where it is not trusted: why, one of `dpsparse.algorithms.pursuit.result.DOUBTS`; None where that is not known.
    """

    feature: str
    coef: float
    estimate: float | None = None
    standard_error: float | None = None
    clear: bool = False
    trusted: bool = True
    center: float | None = None
    scale: float | None = None
    doubt: str | None = None

    @property
    def value(self) -> float:
        """The effect as it is shown: the estimate that the interval is of; what predictions use where there is none."""
        return self.coef if self.interval is None or self.estimate is None else self.estimate

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval that is shown, of 95 %; None where there is none that holds."""
        if self.estimate is None or self.standard_error is None or not self.trusted:
            return None
        half = reach() * self.standard_error
        return self.estimate - half, self.estimate + half

    @property
    def p_value(self) -> float | None:
        """The two-sided p-value of this effect alone, not adjusted for the number of features; None without interval.

        The verdict is adjusted: it is significant where this is below 5 % over the number of all features.
        """
        if self.interval is None or self.estimate is None or self.standard_error is None:
            return None
        return p_value(self.estimate, self.standard_error)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the fit on it."""
        if not self.trusted:
            return Verdict.NOT_TRUSTED
        if self.interval is None:
            return Verdict.NOT_AVAILABLE
        return Verdict.SIGNIFICANT if self.clear else Verdict.NOT_SIGNIFICANT

    def in_raw_units(self, center: float, scale: float) -> "Effect":
        """The effect of x, where this is the effect of (x - center) / scale."""
        numbers = {name: getattr(self, name) for name in ("coef", "estimate", "standard_error")}
        numbers = {name: value and value / scale for name, value in numbers.items()}
        if self.center is not None and self.scale is not None:
            numbers |= {"center": center + scale * self.center, "scale": scale * self.scale}
        return replace(self, **numbers)

    def row(self, ratios: bool = False) -> tuple[str, str, str, str, str, str]:
        """Name, effect, interval, p-value, verdict and what predictions use, as text.

        Where effects are ratios, effect and interval are shown as these, and predictions use their logs.
        """
        shown = ratio_text(self.value) if ratios else number(self.value)
        interval = ratio_interval_text(self.interval) if ratios else interval_text(self.interval)
        return self.feature, shown, interval, p_text(self.p_value), self.verdict.value, number(self.coef)


INTERVAL_HEADING = f"{SHOWN_PERCENT} interval"
EFFECT_HEADINGS = ("feature", "effect", INTERVAL_HEADING, "p-value", "verdict", "used for prediction")
UNIT_HEADINGS = ("feature", "centre", "scale")


def effect_headings(words: "RatioWords | None") -> tuple[str, ...]:
    """The headings of a table of effects; `words` where they are ratios."""
    if words is None:
        return EFFECT_HEADINGS
    return ("feature", words.ratio, INTERVAL_HEADING, "p-value", "verdict", f"{words.log} for prediction")


def interval_text(interval: tuple[float, float] | None) -> str:
    """An interval as text; a dash for none."""
    return "-" if interval is None else "[{}, {}]".format(*map(number, interval))


def p_text(p_value: float | None) -> str:
    """A p-value as text; a dash for none.

    Examples
    --------
    >>> p_text(0.0312), p_text(0.00004), p_text(1e-30), p_text(None)
    ('0.031', '4.0e-05', '<1e-16', '-')
    """
    if p_value is None:
        return "-"
    if p_value < _LEAST_P_VALUE:
        return f"<{_LEAST_P_VALUE:.0e}"
    return f"{p_value:.3f}" if p_value >= _SMALL_P_VALUE else f"{p_value:.1e}"


def p_words(p_value: float | None) -> str:
    """A p-value in a sentence.

    Examples
    --------
    >>> p_words(0.0456), p_words(1e-30)
    ('p = 0.046', 'p < 1e-16')
    """
    text = p_text(p_value)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def effect_rows(
    effects: Iterable[Effect], intercept: float, ratios: bool = False
) -> list[tuple[str, str, str, str, str, str]]:
    """The rows of a table of effects, the intercept last; `ratios` where effects are shown as these."""
    return [*(effect.row(ratios) for effect in effects), ("(intercept)", "", "", "", "", number(intercept))]


def effects_table(effects: Iterable[Effect], intercept: float, words: "RatioWords | None" = None, of: str = "") -> Html:
    """The effects as an HTML table; `words` where they are ratios, `of` what they are of."""
    what = "Effects" if words is None else words.heading
    caption = f"{f'{of}: {what.lower()}' if of else what}, per one-unit increase of each feature"
    rows = effect_rows(effects, intercept, words is not None)
    return table(caption, effect_headings(words), rows, numbers=(1, 2, 3, 5))


def unit_rows(effects: Iterable[Effect]) -> list[tuple[str, str, str]]:
    """The features whose units the fit learned, with their released centres and scales."""
    return [
        (effect.feature, number(effect.center), number(effect.scale))
        for effect in effects
        if effect.center is not None and effect.scale is not None
    ]


def units_table(effects: Iterable[Effect]) -> Html | None:
    """The learned units as an HTML table; None where none was learned."""
    rows = unit_rows(effects)
    return table("Learned units, released within the guarantee", UNIT_HEADINGS, rows, numbers=(1, 2)) if rows else None

"""What a model in two parts says, in words and tables."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpsparse.html import Html, number
from dpsparse.model.effect import effects_table
from dpsparse.model.ratios import RatioWords, ratio_words

if TYPE_CHECKING:
    from dpsparse.model.effect import Effect
    from dpsparse.model.released import LinearModel

ESTIMAND = (
    "average marginal effects on the mean of {target}, those at 0 included, as a logistic regression of whether it is "
    "above 0 and least squares among those above 0 give them for these features without privacy: averages over the "
    "{rows} of the slope of the mean, also of 0/1 features"
)
WHAT_COUNTS = (
    "Effects are on the mean of {target} over all {rows}: a one-unit increase changes how many have any, and how much "
    "those have. Every {row} counts in full, extreme ones too. The level of predictions is released by itself, so "
    "that they are right on average."
)
BESIDE_PARTS = (
    "Beside them: odds ratios of {target} being above 0, as logistic regression gives them, and effects on the mean of "
    "{target} among those above 0, as least squares gives them."
)


def level_words(model: "LinearModel") -> str:
    """The share above 0 and the overall mean, without a full stop; empty where a model has no parts."""
    if model.parts is None:
        return ""
    level = model.parts.level
    share, rows = number(float(f"{100 * level.share:.2g}")), model.privacy.guarantee.protects.singles
    return (
        f"about {share} % of the {rows} have {model.target} above 0, and its mean over all of them is about "
        f"{number(level.mean)} (standard error {number(float(f'{level.mean_error:.2g}'))}, "
        "noise and sampling). The amounts have such an intercept that predictions have that mean"
        f"{_growth_words(level.growth)}"
    )


def _growth_words(growth: float) -> str:
    """What is said of effects on amounts that have grown; nothing where they have not."""
    shown = f"{growth:.2f}"
    if shown == f"{1:.2f}":
        return ""
    return (
        f", and their effects are multiplied by {shown}: a clip leaves out the ends of long tails, which makes effects "
        "too small"
    )


def titles(model: "LinearModel") -> tuple[str, str]:
    """What the tables of the two parts are of."""
    return f"Whether {model.target} is above 0", f"How much {model.target} is where it is above 0"


def part_rows(model: "LinearModel") -> "Iterator[tuple[str, tuple[Effect, ...], float, RatioWords | None]]":
    """The title, the effects, the intercept and the words of ratios, of each part."""
    if model.parts is not None:
        for title, part in zip(titles(model), (model.parts.whether, model.parts.how_much), strict=True):
            yield title, part.effects, part.intercept, ratio_words(part)


def part_tables(model: "LinearModel") -> Iterator[Html]:
    """The tables of the parts."""
    for title, effects, intercept, words in part_rows(model):
        yield effects_table(effects, intercept, words, title)

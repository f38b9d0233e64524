"""What the effects of a model are of, in words: the estimand, where its own estimator was reached."""

from typing import TYPE_CHECKING

from dpsparse.algorithms.pursuit.reference_budget import MEAN_SCORE
from dpsparse.algorithms.pursuit.result import NO_MEAN, NOTHING_LEARNED
from dpsparse.families.estimands import ALL_ESTIMANDS, MEAN
from dpsparse.html import number
from dpsparse.model.exposures import is_log_mean
from dpsparse.model.ratios import label_of_yes, mean_of, odds_of_yes, ratio_words
from dpsparse.model.two_part_words import ESTIMAND, WHAT_COUNTS

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


def reaches_estimand(model: "LinearModel") -> bool:
    """Whether effects are those of the estimand's estimator, by a step to it; others are the pursuit's own.

    The record of `tune` has the releases of all candidates: a step may have been another one's.
    """
    if any(effect.doubt == NO_MEAN for effect in model.effects):
        return False
    # With records held out, and of candidates, the names of a fit's releases begin with its own.
    names = {release.name.rsplit(": ", 1)[-1] for release in model.privacy.releases}
    return model.estimand is not None and MEAN_SCORE.release in names


def estimand_of(model: "LinearModel") -> str:
    """What effects are of, without a full stop; empty where a model does not say, or where none could be had."""
    if model.estimand is None or _nothing_learned(model):
        return ""
    words = ratio_words(model)
    if words is not None:
        return (
            f"on {of_target(model)}, as {words.model}{_inserted(model)} gives them for these features without privacy"
        )
    if model.parts is not None:
        return ESTIMAND.format(target=model.target, rows=f"{_row(model)}s")
    if reaches_estimand(model):
        sentence = ALL_ESTIMANDS[model.estimand].words.replace(" gives them", f"{_inserted(model)} gives them")
        return sentence.format(target=model.target)
    if model.estimand == MEAN.name:
        return ""
    # Rows are weighted too, and residuals are clipped further in.
    return f"on the typical {model.target}, near those of Huber's robust regression for these features"


def _nothing_learned(model: "LinearModel") -> bool:
    return bool(model.effects) and all(effect.doubt == NOTHING_LEARNED for effect in model.effects)


def _row(model: "LinearModel") -> str:
    """What a row of the table is called."""
    return "record" if model.privacy.guarantee.rows is None else "row"


def _clustered(model: "LinearModel") -> str:
    """What a fit without privacy would be made from, and its errors, where people have several rows."""
    if model.privacy.guarantee.rows is None:
        return ""
    less = " less their person's own mean (fixed effects of people)" if model.within else ""
    return f" on all rows{less}, with errors clustered by person"


def _inserted(model: "LinearModel") -> str:
    """The same in the middle of a sentence."""
    return f"{clustered}," if (clustered := _clustered(model)) else ""


def what_counts(model: "LinearModel") -> str:
    """How much a response far from its prediction counts for the effects: a sentence."""
    if model.parts is not None:
        return WHAT_COUNTS.format(target=model.target, row=_row(model), rows=f"{_row(model)}s")
    if reaches_estimand(model) and model.estimand == MEAN.name:
        return (
            f"Effects are on the mean of {model.target}: every {_row(model)} counts in full, extreme ones too, as in a "
            f"least squares regression{_clustered(model)}. What privacy leaves out of the most extreme ones is part of "
            "the intervals."
        )
    if model.classes is not None:
        return (
            "Odds are the probability of yes over that of no: 3 to 1 is 75 %. Effects are those of a logistic "
            f"regression: a one-unit increase multiplies {odds_of_yes(model)} by the odds ratio. Every {_row(model)} "
            "counts, and no response can be extreme."
        )
    if is_log_mean(model):
        return (
            f"Effects are those of a Poisson regression: a one-unit increase multiplies {mean_of(model)} by the rate "
            f"ratio. Every {_row(model)} counts in full, extreme ones too, and variances need not be those of a "
            "Poisson law. What privacy leaves out of the most extreme ones is part of the intervals."
        )
    cut = "" if model.cut is None else f" (further than {number(model.cut)})"
    return (
        f"Effects hold for typical {_row(model)}s: a response far from its prediction{cut} counts as if it were no "
        "further, so that a few extreme ones hardly move the result."
    )


def of_target(model: "LinearModel") -> str:
    """The response as effects have it: "the mean of cost", "the typical cost", or "cost"."""
    if model.classes is not None:
        return f"the log odds that {model.target} is {label_of_yes(model)}"
    if is_log_mean(model):
        return f"the log of {mean_of(model)}"
    if model.parts is not None:
        return f"the overall mean of {model.target}"
    if not reaches_estimand(model):
        return model.target
    return f"the mean of {model.target}" if model.estimand == MEAN.name else f"the typical {model.target}"

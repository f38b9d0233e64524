"""What a released model says of its deployment, in words that registries and reviewers ask for.

It reads releases and public facts only. What only people know is marked, never invented.
"""

from typing import TYPE_CHECKING

from dpsparse import __version__
from dpsparse.model.exposures import is_log_mean
from dpsparse.model.ratios import label_of_yes
from dpsparse.schema import FileError, listed

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

TO_FILL = "TO FILL"


def to_fill(what: str) -> str:
    """The mark of an entry that only people can fill in.

    Examples
    --------
    >>> to_fill("who publishes the model")
    'TO FILL: who publishes the model'
    """
    return f"{TO_FILL}: {what}"


def require_private(model: "LinearModel") -> None:
    """Raise FileError where a model guarantees nothing: a simulation is no deployment."""
    if not model.privacy.private:
        raise FileError(
            "this model was fitted with seeded noise and guarantees nothing: there is no deployment to describe"
        )


def description(model: "LinearModel") -> str:
    """What the model is."""
    selected = listed(model.columns_selected) or "none"
    what = f"linear model of {model.target}"
    if model.classes is not None:
        what = f"logistic model of whether {model.target} is {label_of_yes(model)}"
    elif is_log_mean(model):
        what = f"Poisson model of {model.target}"
    return (
        f"A sparse {what} from {len(model.columns_selected)} of "
        f"{len({feature.column for feature in model.features}):,} columns ({selected}), fitted by {model.estimator} on "
        f"{model.privacy.size}."
    )


def unit(model: "LinearModel") -> str:
    """Who is protected."""
    return f"Person ({model.privacy.guarantee.protects.at_most} each)"


def neighbors(model: "LinearModel") -> str:
    """Which tables are adjacent."""
    person = model.privacy.guarantee.protects
    group = "" if person.most == 1 else f", for {person.up_to} of a person"
    return (
        f"Tables of the same public number of {person.units} are adjacent where {person.where_they_differ} "
        f"({person.adjacency}){group}."
    )


def parameters(model: "LinearModel") -> str:
    """The parameters and what they mean to a person."""
    record = model.privacy
    return f"{record.statement()} {record.plain_words()}"


def domain(model: "LinearModel") -> str:
    """Which tables are protected."""
    return (
        f"All tables of {model.privacy.size} with these columns, whatever their cells hold, missing and "
        "unreadable ones included."
    )


def unprotected(model: "LinearModel") -> str:
    """What the guarantee does not cover."""
    given = sorted({feature.column for feature in model.features if feature.scale is not None})
    public = f"; public centres and scales given for {listed(given)}" if given else ""
    label = "" if model.classes is None else f", the label of yes ({label_of_yes(model)})"
    if model.exposure is not None:
        label += f", which column is the exposure ({model.exposure})"
    if model.formula is not None:
        label += f", the formula ({model.formula.text})"
    counts = model.privacy.guarantee.protects.not_hidden.capitalize()
    facts = f"{counts}, the names of the columns{label}, the date of the fit{public}."
    return f"{facts} Running time is not protected."


def composition(model: "LinearModel") -> str:
    """How the releases add up, and what other fits were charged to the same budget."""
    record = model.privacy
    text = (
        f"{len(record.releases)} releases within one fit, committed to before the data were read, composed by a "
        f"certified account of Gaussian noise and exponential mechanisms or by zero-concentrated DP (rho "
        f"{record.rho:.4g} for a {record.guarantee.protects.one}), whichever is tighter."
    )
    return f"{text} {budget(model)}"


def budget(model: "LinearModel") -> str:
    """The budget that the fit was charged to."""
    if model.context is None or model.context.budget is None:
        return "The fit was charged to no ledger; " + to_fill("other releases from the same people, and their total.")
    return f"The fit was charged to a ledger, which composes all fits through it: {model.context.budget.sentence()}."


def preparation(model: "LinearModel") -> str:
    """What was done to the data before, and whether it was paid for."""
    learned = sorted(model.privacy.grouped().keys() & {"kinds", "distinct values", "categories", "names"})
    within = f" ({', '.join(learned)})" if learned else ""
    return (
        f"Everything that the fit learned of the columns beside its effects is a release within the guarantee{within}. "
        + to_fill("any look at the data before the fit; how epsilon and the number of features were chosen.")
    )


def mechanisms(model: "LinearModel") -> list[str]:
    """The mechanisms by kind, with the number of their releases."""
    counts: dict[str, int] = {}
    for release in model.privacy.releases:
        words = release.mechanism.words
        counts[words] = counts.get(words, 0) + 1
    return [f"{words}: {count} release{'s' * (count > 1)}" for words, count in counts.items()]


def implementation(model: "LinearModel") -> list[str]:
    """Library, version, and safety of floating point and timing."""
    return [
        f"Library: dpsparse {__version__}; noise: {model.privacy.noise}.",
        "Floating point: every protected sum is a sum of integers after clipping and rounding, and noise is drawn "
        "exactly on integers.",
        "Timing: the fit is not interactive; its running time depends on the data and is not to be published.",
        "Audit: `dpsparse audit` replays releases on neighbouring tables, plays distinguishing games and plants bugs.",
    ]


def post_processing(model: "LinearModel") -> str:
    """What is computed from the releases."""
    limits = "" if model.prediction_range is None else " Predictions are clipped to a released range."
    if model.classes is not None:
        limits = " Predictions are probabilities; odds ratios are exponentials of effects, which are log odds."
    elif is_log_mean(model):
        limits += " Predictions are means; rate ratios are exponentials of effects."
    follows = "Effects, their standard errors and intervals follow from the noisy releases"
    return f"{follows}; predictions use effects that are shrunk by their errors.{limits}"

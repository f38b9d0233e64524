"""The words of an evaluation of probabilities, where responses are yes or no."""

from typing import TYPE_CHECKING

from dpsparse.algorithms.estimates import Estimate
from dpsparse.algorithms.evaluation_outcomes import Decile, OutcomeScores
from dpsparse.html import number
from dpsparse.schema import Fields, FileError

if TYPE_CHECKING:
    from dpsparse.algorithms.evaluation_sums import Scores
    from dpsparse.model.evaluation_result import Evaluation


def calibration_headings(evaluation: "Evaluation") -> tuple[str, ...]:
    """The headings of a table of calibration."""
    return "predicted probability", "share of yes", "interval", evaluation.privacy.guarantee.protects.many


def outcome_rows(evaluation: "Evaluation", scores: OutcomeScores) -> list[tuple[str, str, str]]:
    """The rows of a table of estimates: name, estimate and interval, as text."""
    constant = f"{evaluation.constant_name} {number(evaluation.constant_prediction)}"
    named = {
        "Brier score, model": scores.model,
        f"Brier score, {constant}": scores.constant,
        "improvement of the Brier score": scores.improvement,
        "log loss, model": scores.log_loss,
        f"log loss, {constant}": scores.constant_log_loss,
        "AUC": scores.auc,
    }
    return [(name, number(each.value), _interval(each)) for name, each in named.items() if each is not None]


def calibration_rows(scores: OutcomeScores) -> list[tuple[str, str, str, str]]:
    """The rows of a table of calibration, one for each decile."""
    return [
        (f"{each.predicted:.3f}", f"{each.observed.value:.3f}", _interval(each.observed), f"{each.share:.0%}")
        for each in scores.calibration
    ]


def _interval(estimate: Estimate) -> str:
    return f"[{number(estimate.low)}, {number(estimate.high)}]"


def outcome_verdict(evaluation: "Evaluation") -> str:
    """Whether probabilities are better than a constant one."""
    better, name = evaluation.improvement, evaluation.constant_name
    low, high = number(better.low), number(better.high)
    if better.low > 0:
        return f"Probabilities are better than the {name}: the Brier score is lower by {low} to {high}."
    if better.high < 0:
        return f"Probabilities are worse than the {name}: the Brier score is higher."
    many = evaluation.privacy.guarantee.protects.many
    return f"These {many} do not show whether probabilities are better than the {name}."


def outcome_words(evaluation: "Evaluation", scores: OutcomeScores) -> str:
    """Whether the model predicts better than a constant, and what the numbers mean."""
    auc = (
        "There are too few of yes or no for an AUC."
        if scores.auc is None
        else "AUC is the probability that a yes has a higher predicted probability than a no."
    )
    many = evaluation.privacy.guarantee.protects.many
    return (
        f"{outcome_verdict(evaluation)} The Brier score is the mean squared distance of the probability from 1 for yes "
        f"and 0 for no. {auc} All follow from noisy counts of yes and no by predicted probability, and intervals "
        f"include sampling and privacy noise. {responses_in_words(scores, many)}"
    )


def responses_in_words(scores: "Scores | OutcomeScores", many: str) -> str:
    """How many records were held out, how many of them have a response, and a remedy where most have none."""
    told = f"{scores.n_records:,} {many} were held out, about {scores.n_responses:,.0f} of them with a response."
    if scores.n_responses < scores.n_records / 2:
        told += " The others counted as missing: if they are not, write responses as in the table of the fit."
    return told


def outcome_sentences(evaluation: "Evaluation", scores: OutcomeScores) -> str:
    """The same, for people who read the summary of a report."""
    level = f"with {scores.level:.0%} confidence".replace("%", " %")
    auc = (
        ""
        if scores.auc is None
        else f" A yes has a higher probability than a no in {scores.auc.value:.0%} of pairs (AUC, between "
        f"{number(scores.auc.low)} and {number(scores.auc.high)}, {level}).".replace("%", " %", 1)
    )
    many = evaluation.privacy.guarantee.protects.many
    return (
        f"On {scores.n_records:,} {many} that were held out, probabilities have a Brier score of "
        f"{number(scores.model.value)}, and the {evaluation.constant_name} {number(evaluation.constant_prediction)} of "
        f"{number(scores.constant.value)}. {outcome_verdict(evaluation)}{auc}"
    )


def read_estimate(fields: Fields) -> Estimate:
    """An estimate that `dataclasses.asdict` wrote in a model file."""
    numbers = {name: fields.number(name) for name in ("value", "low", "high")}
    more = {name: fields.number(name, least=0) for name in ("standard_error", "cut")}
    fields.finish()
    estimate = Estimate(**numbers, **more)
    if not estimate.low <= estimate.value <= estimate.high or estimate.cut > 1:
        raise FileError(f"{fields.where}: 'value' must lie from 'low' to 'high', and 'cut' be a share")
    return estimate


def read_outcome_scores(fields: Fields) -> OutcomeScores:
    """The scores of probabilities, likewise."""
    names = ("model", "constant", "improvement", "log_loss", "constant_log_loss")
    scores = OutcomeScores(
        n_records=fields.count("n_records"),
        n_responses=fields.number("n_responses", least=0),
        **{name: read_estimate(fields.table(name)) for name in names},
        auc=None if (auc := fields.table("auc")) is None else read_estimate(auc),
        calibration=tuple(map(_read_decile, fields.tables("calibration"))),
        level=fields.number("level", above=0),
    )
    fields.finish()
    return scores


def _read_decile(fields: Fields) -> Decile:
    shares = {name: fields.number(name, least=0) for name in ("predicted", "share")}
    observed = read_estimate(fields.table("observed"))
    fields.finish()
    if max(shares.values()) > 1 or not 0 <= observed.low <= observed.high <= 1:
        raise FileError(f"{fields.where}: 'predicted', 'observed' and 'share' must be shares")
    return Decile(observed=observed, **shares)

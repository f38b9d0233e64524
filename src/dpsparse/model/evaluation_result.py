"""How well a released model predicts records that were held out: what `evaluate` publishes, and its words."""

import textwrap
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpsparse.algorithms.estimates import Estimate
from dpsparse.algorithms.evaluation_means import MeanScores
from dpsparse.algorithms.evaluation_outcomes import Decile, OutcomeScores
from dpsparse.algorithms.evaluation_sums import Scores
from dpsparse.html import Html, escaped, number, table, tag
from dpsparse.model.outcome_words import (
    calibration_headings,
    calibration_rows,
    outcome_rows,
    outcome_sentences,
    outcome_verdict,
    outcome_words,
    read_estimate,
    read_outcome_scores,
    responses_in_words,
)
from dpsparse.model.plots import plot_calibration
from dpsparse.model.privacy_html import record_html
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.schema import Fields, FileError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Of skewed costs whose largest errors are those of the largest responses: 0.46 with errors cut, and 0.33 without.
_IN_FULL = "with errors in full it may be far lower"


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How well a model predicts records that were held out: releases, and what follows from them.

    Parameters
    ----------
    target : str
        The response.
    constant_prediction : float
        What the model predicts without any feature, from its own releases; of a model of the mean, the training mean,
        and of a yes/no response the share of yes.
    scores : Scores or OutcomeScores
        The estimates.
    privacy : PrivacyRecord
        The guarantee, every release and its cost.
    constant_name : {"mean", "share of yes", "constant"}
        What that prediction is: the released mean or share of yes of the training records, or another constant.
    """

    target: str
    constant_prediction: float
    scores: Scores | OutcomeScores
    privacy: PrivacyRecord
    constant_name: str = "constant"

    def __repr__(self) -> str:
        improvement = self.improvement
        return (
            f"<Evaluation of {self.target} on {self.scores.n_records:,} "
            f"{self.privacy.guarantee.protects.many}: improvement "
            f"{number(improvement.value)} [{number(improvement.low)}, {number(improvement.high)}]>"
        )

    @property
    def model(self) -> Estimate:
        """The mean of ``min(|error|, cut)`` of the model's predictions; of a yes/no response the Brier score."""
        return self.scores.model

    @property
    def constant(self) -> Estimate:
        """The same of `constant_prediction`."""
        return self.scores.constant

    @property
    def improvement(self) -> Estimate:
        """The mean of how much nearer the model is than the constant, each record's clipped at +-`bound`.

        Of a yes/no response, the Brier score of the constant less that of the model.
        """
        return self.scores.improvement

    @property
    def squared_error(self) -> Estimate | None:
        """The mean of ``min(|error|, cut) ** 2`` of the model's predictions; None if not known, or of probabilities."""
        return self.scores.squared_error if isinstance(self.scores, Scores) else None

    @property
    def r2(self) -> Estimate | None:
        """1 less the mean of ``min(|error|, cut) ** 2`` of the model over that of the constant; None if not known."""
        return self.scores.r2 if isinstance(self.scores, Scores) else None

    @property
    def d2(self) -> Estimate | None:
        """The share of the Poisson deviance that is explained, where effects are on the log of a mean; else None."""
        return self.scores.d2 if isinstance(self.scores, MeanScores) else None

    @property
    def log_loss(self) -> Estimate | None:
        """The mean log loss of probabilities; None where the response is a number."""
        return self.scores.log_loss if isinstance(self.scores, OutcomeScores) else None

    @property
    def auc(self) -> Estimate | None:
        """The probability that a yes has a higher predicted probability than a no; None where it is not known."""
        return self.scores.auc if isinstance(self.scores, OutcomeScores) else None

    @property
    def calibration(self) -> tuple[Decile, ...]:
        """Predicted probabilities and shares of yes in deciles; empty where the response is a number."""
        return self.scores.calibration if isinstance(self.scores, OutcomeScores) else ()

    @property
    def cut(self) -> float:
        """Errors count up to this, a release; those of probabilities are at most 1."""
        return self.scores.cut if isinstance(self.scores, Scores) else 1.0

    @property
    def bound(self) -> float:
        """Improvements count up to this, either way; a release, and 1 for probabilities."""
        return self.scores.bound if isinstance(self.scores, Scores) else 1.0

    @property
    def n_responses(self) -> float:
        """The noisy number of records with a response."""
        return self.scores.n_responses

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain numbers and strings."""
        return {
            "target": self.target,
            "constant_prediction": self.constant_prediction,
            "constant_name": self.constant_name,
            "scores": asdict(self.scores),
            "privacy": self.privacy.to_dict(),
        }

    def summary(self) -> str:
        """The guarantee and the estimates as text."""
        lines, words = score_lines(self), textwrap.fill(in_words(self), 100)
        return "\n".join([textwrap.fill(self.privacy.statement(), 100), "", *lines, "", words])

    def as_html(self) -> Html:
        """The estimates and the guarantee, for notebooks."""
        return tag("div", [scores_table(self), tag("p", in_words(self)), record_html(self.privacy)])

    _repr_html_ = as_html

    def plot_calibration(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the share of yes against the predicted probability, in tenths of the records held out.

        Parameters
        ----------
        axes : matplotlib Axes or None, default=None
            Where; None makes a figure.

        Returns
        -------
        matplotlib Axes
            Dots on the line are right on average; vertical lines are intervals.
        """
        if not self.calibration:
            raise ValueError(f"calibration is of probabilities, and the response {self.target} is a number")
        return plot_calibration(self.calibration, self.target, axes)


def headings(evaluation: Evaluation) -> tuple[str, ...]:
    """The headings of a table of estimates."""
    level = f"{evaluation.scores.level:.0%}".replace("%", " %")
    named = f"on {evaluation.privacy.guarantee.protects.many} held out", "estimate", f"{level} interval"
    return (*named, "cut") if isinstance(evaluation.scores, Scores) else named


def score_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """The rows of a table of estimates: name, estimate, interval and, where errors are cut, the share, as text."""
    scores, name = evaluation.scores, evaluation.constant_name
    if isinstance(scores, OutcomeScores):
        return list(outcome_rows(evaluation, scores))
    cut = number(scores.cut)
    named = {
        f"min(|error|, {cut}), model": scores.model,
        f"min(|error|, {cut}), {name} {number(evaluation.constant_prediction)}": scores.constant,
        f"improvement, within ±{number(scores.bound)}": scores.improvement,
        f"squared error, errors up to {cut}, model": scores.squared_error,
        f"R², errors up to {cut}": scores.r2,
    }
    if isinstance(scores, MeanScores):
        named[f"D², deviance residuals up to {number(scores.deviance_cut)}"] = scores.d2
    return [
        (name, number(each.value), f"[{number(each.low)}, {number(each.high)}]", f"{each.cut:.1%}")
        for name, each in named.items()
        if each is not None
    ]


def score_lines(evaluation: Evaluation) -> list[str]:
    """The table of estimates as lines of text."""
    lines = [_line((-44, 11, 24, 7), row) for row in (headings(evaluation), *score_rows(evaluation))]
    if isinstance(evaluation.scores, OutcomeScores):
        rows = [calibration_headings(evaluation), *calibration_rows(evaluation.scores)]
        lines += ["", *(_line((-24, 14, 24, 9), row) for row in rows)]
    return lines


def _line(widths: tuple[int, ...], cells: tuple[str, ...]) -> str:
    """Cells side by side; those of a negative width begin at the left."""
    pairs = zip(widths, cells, strict=False)
    return " ".join(cell.ljust(-width) if width < 0 else cell.rjust(width) for width, cell in pairs)


def scores_table(evaluation: Evaluation) -> Html:
    """The estimates as an HTML table, and calibration as another."""
    caption = f"How well it predicts {evaluation.privacy.guarantee.protects.many} held out"
    if isinstance(evaluation.scores, Scores):
        return table(caption, headings(evaluation), score_rows(evaluation), numbers=(1, 3))
    rows = calibration_rows(evaluation.scores)
    return escaped(
        [
            table(caption, headings(evaluation), score_rows(evaluation), numbers=(1,)),
            table(
                "Predicted probabilities and what came of them",
                calibration_headings(evaluation),
                rows,
                numbers=(0, 1, 3),
            ),
        ]
    )


def verdict(evaluation: Evaluation) -> str:
    """Whether the model predicts better than a constant."""
    if isinstance(evaluation.scores, OutcomeScores):
        return outcome_verdict(evaluation)
    better, name, target = evaluation.improvement, evaluation.constant_name, evaluation.target
    low, high = number(better.low), number(better.high)
    if better.low > 0:
        return f"Predictions are better than the {name}: nearer to {target} by {low} to {high} on average."
    if better.high < 0:
        return f"Predictions are worse than the {name}: further from {target} on average."
    many = evaluation.privacy.guarantee.protects.many
    return f"These {many} do not show whether predictions are better than the {name}."


def in_words(evaluation: Evaluation) -> str:
    """Whether the model predicts better than a constant, and what the numbers mean."""
    scores = evaluation.scores
    if isinstance(scores, OutcomeScores):
        return outcome_words(evaluation, scores)
    limits = f"Errors count up to {number(scores.cut)} and improvements up to ±{number(scores.bound)}"
    return (
        f"{verdict(evaluation)} {limits}, both released; the last column is the noisy share that was cut. "
        f"{_what_r2_is(evaluation)}{_what_d2_is(scores)} Intervals include sampling and privacy noise. "
        f"{responses_in_words(scores, evaluation.privacy.guarantee.protects.many)}"
    )


def in_sentences(evaluation: Evaluation) -> str:
    """How well the model predicts, for people who read the summary of a report."""
    scores = evaluation.scores
    if isinstance(scores, OutcomeScores):
        return outcome_sentences(evaluation, scores)
    name = "training mean" if evaluation.constant_name == "mean" else evaluation.constant_name
    constant = f"the {name} {number(evaluation.constant_prediction)} by {number(scores.constant.value)}"
    explained = ""
    if scores.r2 is not None:
        between = f"between {number(scores.r2.low)} and {number(scores.r2.high)}"
        explained = (
            f" With errors up to {number(scores.cut)}, R² against the {name} is {number(scores.r2.value)} ({between}, "
            f"with {100 * scores.level:.0f} % confidence); {_IN_FULL}."
        )
    many = evaluation.privacy.guarantee.protects.many
    return (
        f"On {scores.n_records:,} {many} that were held out, predictions are off by {number(scores.model.value)} on "
        f"average, and {constant}; errors count up to {number(scores.cut)}. {verdict(evaluation)}{explained}"
        f"{_deviance(scores)}"
    )


def _deviance(scores: Scores) -> str:
    if not isinstance(scores, MeanScores) or scores.d2 is None:
        return ""
    d2 = scores.d2
    if d2.low <= 0:
        between = f"between {number(d2.low)} and {number(d2.high)}"
        return f" They do not show that the features explain any of the deviance (D², {between})."
    return (
        f" The features explain {100 * max(d2.value, 0.0):.0f} % of the deviance (D², between {number(d2.low)} and "
        f"{number(d2.high)})."
    )


def _what_r2_is(evaluation: Evaluation) -> str:
    name = "training mean" if evaluation.constant_name == "mean" else evaluation.constant_name
    if evaluation.r2 is None:
        return "Squared errors are too noisy for an R²."
    return f"R² is 1 less the squared errors of predictions over those of the {name}, both cut in this way; {_IN_FULL}."


def _what_d2_is(scores: Scores) -> str:
    if not isinstance(scores, MeanScores):
        return ""
    if scores.d2 is None:
        return " Deviances are too noisy for a D²."
    return " D² is the share of the Poisson deviance that predictions explain."


def read_scores(fields: Fields) -> Scores | OutcomeScores:
    """The scores that `dataclasses.asdict` wrote in a model file."""
    scores = read_outcome_scores(fields) if "calibration" in fields else _read_sums(fields)
    if scores.level >= 1:
        raise FileError(f"{fields.where}: 'level' must lie between 0 and 1")
    return scores


def _read_sums(fields: Fields) -> Scores:
    facts: dict[str, Any] = dict(
        n_records=fields.count("n_records"),
        n_responses=fields.number("n_responses", least=0),
        cut=fields.number("cut", above=0),
        bound=fields.number("bound", above=0),
        **{name: read_estimate(fields.table(name)) for name in ("model", "constant", "improvement")},
        **{name: _read_if_told(fields, name) for name in ("r2", "squared_error")},
        level=fields.number("level", above=0),
    )
    if "deviance_cut" in fields:
        d2, cut = _read_if_told(fields, "d2"), fields.number("deviance_cut", above=0)
        scores: Scores = MeanScores(**facts, d2=d2, deviance_cut=cut)
    else:
        scores = Scores(**facts)
    fields.finish()
    return scores


def _read_if_told(fields: Fields, name: str) -> Estimate | None:
    told = fields.table(name, None)
    return None if told is None else read_estimate(told)

"""How well a released model predicts records that were held out: what `evaluate` publishes, and its words."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpsparse.algorithms.evaluation import Estimate, Scores
from dpsparse.html import Html, number, table, tag
from dpsparse.model.privacy_html import record_html
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.schema import Fields, FileError

HEADINGS = ("mean on records held out", "estimate", "90 % interval", "cut")


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How well a model predicts records that were held out: releases, and what follows from them.

    Parameters
    ----------
    target : str
        The response.
    constant_prediction : float
        What the model predicts without any feature, from its own releases.
    scores : Scores
        The estimates.
    privacy : PrivacyRecord
        The guarantee, every release and its cost.
    """

    target: str
    constant_prediction: float
    scores: Scores
    privacy: PrivacyRecord

    def __repr__(self) -> str:
        improvement = self.improvement
        return (
            f"<Evaluation of {self.target} on {self.scores.n_records:,} records: improvement "
            f"{number(improvement.value)} [{number(improvement.low)}, {number(improvement.high)}]>"
        )

    @property
    def model(self) -> Estimate:
        """The mean of ``min(|error|, cut)`` of the model's predictions."""
        return self.scores.model

    @property
    def constant(self) -> Estimate:
        """The same of `constant_prediction`."""
        return self.scores.constant

    @property
    def improvement(self) -> Estimate:
        """The mean of how much nearer the model is than the constant, each record's clipped at +-`bound`."""
        return self.scores.improvement

    @property
    def cut(self) -> float:
        """Errors count up to this, a release."""
        return self.scores.cut

    @property
    def bound(self) -> float:
        """Improvements count up to this, either way; a release."""
        return self.scores.bound

    @property
    def n_responses(self) -> float:
        """The noisy number of records with a response."""
        return self.scores.n_responses

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain numbers and strings."""
        return {
            "target": self.target,
            "constant_prediction": self.constant_prediction,
            "scores": asdict(self.scores),
            "privacy": self.privacy.to_dict(),
        }

    def summary(self) -> str:
        """The guarantee and the estimates as text."""
        lines = text_rows([HEADINGS, *score_rows(self.scores, self.constant_prediction)])
        words = textwrap.fill(in_words(self.scores, self.target), 100)
        return "\n".join([textwrap.fill(self.privacy.statement(), 100), "", *lines, "", words])

    def as_html(self) -> Html:
        """The estimates and the guarantee, for notebooks."""
        shown = scores_table(self.scores, self.constant_prediction)
        return tag("div", [shown, tag("p", in_words(self.scores, self.target)), record_html(self.privacy)])

    _repr_html_ = as_html


def score_rows(scores: Scores, constant: float) -> list[tuple[str, str, str, str]]:
    """The rows of a table of estimates: name, estimate, interval and share cut, as text."""
    named = {
        f"min(|error|, {number(scores.cut)}), model": scores.model,
        f"min(|error|, {number(scores.cut)}), constant {number(constant)}": scores.constant,
        f"improvement, within ±{number(scores.bound)}": scores.improvement,
    }
    return [
        (name, number(each.value), f"[{number(each.low)}, {number(each.high)}]", f"{each.cut:.1%}")
        for name, each in named.items()
    ]


def text_rows(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows of a table of estimates as lines of text."""
    return [f"{row[0]:<44} {row[1]:>11} {row[2]:>24} {row[3]:>7}" for row in rows]


def scores_table(scores: Scores, constant: float) -> Html:
    """The estimates as an HTML table."""
    return table("How well it predicts records held out", HEADINGS, score_rows(scores, constant), numbers=(1, 3))


def verdict(scores: Scores, target: str) -> str:
    """Whether the model predicts better than a constant."""
    better = scores.improvement
    low, high = number(better.low), number(better.high)
    if better.low > 0:
        return f"Predictions are better than the constant: nearer to {target} by {low} to {high} on average."
    if better.high < 0:
        return f"Predictions are worse than the constant: further from {target} on average."
    return "These records do not show whether predictions are better than the constant."


def in_words(scores: Scores, target: str) -> str:
    """Whether the model predicts better than a constant, and what the numbers mean."""
    limits = f"Errors count up to {number(scores.cut)} and improvements up to ±{number(scores.bound)}"
    return (
        f"{verdict(scores, target)} {limits}, both released; the last column is the noisy share that was cut. "
        "Intervals include sampling and privacy noise. "
        f"{scores.n_records:,} records were held out, about {scores.n_responses:,.0f} of them with a response."
    )


def read_scores(fields: Fields) -> Scores:
    """The scores that `dataclasses.asdict` wrote in a model file."""
    scores = Scores(
        n_records=fields.count("n_records"),
        n_responses=fields.number("n_responses", least=0),
        cut=fields.number("cut", above=0),
        bound=fields.number("bound", above=0),
        **{name: _read_estimate(fields.table(name)) for name in ("model", "constant", "improvement")},
    )
    fields.finish()
    return scores


def _read_estimate(fields: Fields) -> Estimate:
    numbers = {name: fields.number(name) for name in ("value", "low", "high")}
    more = {name: fields.number(name, least=0) for name in ("standard_error", "cut")}
    fields.finish()
    estimate = Estimate(**numbers, **more)
    if not estimate.low <= estimate.value <= estimate.high or estimate.cut > 1:
        raise FileError(f"{fields.where}: 'value' must lie from 'low' to 'high', and 'cut' be a share")
    return estimate

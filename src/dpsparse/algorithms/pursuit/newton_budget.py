"""What the releases of a pursuit cost whose residuals are bounded by their link: a row of Newton steps.

Shares are of the pursuit's rho, as in `budget`. The mean scores of all steps share what the other releases leave.
"""

import math
from dataclasses import dataclass

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.budget import Case, Price
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.price_cases import always, takes_all, with_intercept
from dpsparse.algorithms.pursuit.shares import Fixed, Formula

# The share of rho that the pursuit has, before the step to the estimand's estimator: where features are selected, where
# all are taken, and where these are too many for second moments that are not noise: no step follows then, for it would
# tell no effect of one feature, and predict worse than more steps of the pursuit do. Set by `classifiers.py`.
SELECTS, TAKES_ALL, TAKES_MANY = 0.5, 0.35, 1.0
# Above this N a selection is easy, and its share falls with the root of N, to no less than the second number.
EASY_FROM, SELECTS_LEAST = 5_000, 0.25
# Above this N of the pursuit what prepares the last step is easy, too: its shares fall with N, to no less than this
# part of them, and the last step has the rest. Set by `classifiers.py`: skewed and rare features need it.
PREPARED_FROM, PREPARED_LEAST = 2_000, 0.4


def pursuit_share(facts: PublicFacts) -> float:
    """The share of a whole rho, that of `facts`, which the pursuit has."""
    if facts.n_candidates > facts.sparsity:
        return max(SELECTS_LEAST, SELECTS * min(1.0, math.sqrt(EASY_FROM / facts.size)))
    return TAKES_ALL if facts.sparsity < decisions.reliable_columns(facts, 0.0) else TAKES_MANY


SHARE_OF_YES = Price(
    "share of yes",
    "once",
    (Case("with an intercept", with_intercept, Fixed(0.03)),),
    "Where the log odds start, and how large scores are.",
    "classifiers.py",
)
PICKS = Price(
    "pick",
    "all together",
    (Case("features selected", decisions.selects, Fixed(0.65)),),
    "Nothing is gained after a wrong selection.",
    "classifiers.py",
)
SLOPE_MOMENTS = Price(
    "slope moments",
    "all together",
    (
        Case("features selected", decisions.selects, Fixed(0.06)),
        Case("all features taken, for counts and costs", takes_all, Fixed(0.3)),
    ),
    "The derivative of the mean score, which a step goes by.",
    "classifiers.py",
)
ROW_MOMENTS = Price(
    "row moments",
    "once",
    (Case("all features taken", takes_all, Fixed(0.1)),),
    "Directions in which features vary together, and how far each varies in its unit.",
    "classifiers.py",
)
ODDS_LINE = Price(
    "line of log odds",
    "once",
    (Case("many features taken", takes_all, Fixed(0.06)),),
    "Probabilities that are right on average: many effects together are too small, or too large.",
    "classifiers.py",
)
MEAN_SCORES = Price(
    "mean score",
    "all together",
    (Case("what the others leave", always, Fixed(0.0)),),
    "Good enough for the next selection; the step to the reference is better.",
    "classifiers.py",
)


@dataclass(frozen=True)
class Preparing:
    """A share of what the pursuit leaves that falls with N where it is large."""

    share: float

    def of(self, facts: PublicFacts) -> float:
        """The share."""
        return self.share * decisions.clip(PREPARED_FROM / facts.size, PREPARED_LEAST, 1.0)

    def __str__(self) -> str:
        return f"{self.share:g}; above N = {PREPARED_FROM:,} in proportion to 1 / N, to {PREPARED_LEAST:g} of it"


@dataclass(frozen=True)
class Rest:
    """What other releases leave."""

    others: tuple[Price, ...]

    def of(self, facts: PublicFacts) -> float:
        """The share."""
        return 1 - math.fsum(other.of(facts) for other in self.others)

    def __str__(self) -> str:
        return "what the others leave"


def _final(release: str, formula: Formula, reason: str) -> Price:
    """The share of a release of what the pursuit leaves."""
    return Price(release, "once", (Case("always", always, formula),), reason, "classifiers.py")


ROUGH_MOMENTS = _final("rough slope moments", Preparing(0.04), "They make rows white, so that one norm serves all.")
ROW_NORMS = _final("row norms", Preparing(0.03), "From which norm on rows are weighted down.")
FINAL_MOMENTS = _final("slope moments", Preparing(0.1), "The derivative of the mean score.")
FIRST_SCORE = _final("first mean score", Preparing(0.06), "A first step, after which slope moments need not be exact.")
SCORE_MOMENTS = _final("score moments", Preparing(0.03), "Errors where the model is not right; otherwise slopes tell.")
PREPARATIONS = ROUGH_MOMENTS, ROW_NORMS, FINAL_MOMENTS, FIRST_SCORE, SCORE_MOMENTS
FINAL_SCORE = _final("mean score", Rest(PREPARATIONS), "The last step: all precision comes from here.")
PRICES = (SHARE_OF_YES, PICKS, SLOPE_MOMENTS, ROW_MOMENTS, MEAN_SCORES, ODDS_LINE)
FINAL_PRICES = (*PREPARATIONS, FINAL_SCORE)

"""What the releases of the step to the estimand's estimator cost: shares of what the pursuit leaves, with reasons.

Coverage and width hardly change with any of them: half as much or twice as much of one moves the median width by less
than a twentieth, on the tables on which they were set (`benchmarks/answers.py --set development`).
"""

import math

from dpsparse.algorithms.pursuit import counts_budget, decisions, newton_budget
from dpsparse.algorithms.pursuit.budget import Case, Price
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.price_cases import always
from dpsparse.algorithms.pursuit.shares import Fixed


def _clips_residuals(facts: PublicFacts) -> bool:
    return facts.family.estimand is not None and math.isfinite(facts.family.estimand.tuning)


def _are_ratios(facts: PublicFacts) -> bool:
    return facts.family.scaled is None


def _are_amounts(facts: PublicFacts) -> bool:
    return facts.amounts


def _are_selected(facts: PublicFacts) -> bool:
    return not _are_ratios(facts) and facts.fit_intercept and facts.n_candidates > facts.sparsity


# The share of rho that a pursuit has where a step follows it: where features are selected, and where all are taken. A
# selection needs more, and so do typical effects, which the pursuit estimates too. Pairs of people select on less
# signal: they have as much as typical effects. Set by `answers.py`, `accuracy.py` and `people.py`.
PURSUIT_SELECTS, PURSUIT_TAKES_ALL = 0.35, 0.14
TYPICAL_PURSUIT_SELECTS, TYPICAL_PURSUIT_TAKES_ALL = 0.6, 0.3
# Below this N a selection is hard, and effects on the mean have the larger share, too; above it theirs falls with the
# root of N. With .35 from the start 2,800 records of three kinds of features had errors 1.5 to 1.7 times as large, and
# 5,000 and 8,000 records about the same. Set by `honesty.py`. Where all features are taken, effects on the mean have
# the larger share where the step begins, and it falls with the root of N from there: predictions have a part of the
# pursuit's effects. Set by `peers`, on splits from 1,000 on.
EASY_FROM = 700


def pursuit_share(facts: PublicFacts) -> float:
    """The share of a whole rho, that of `facts`, which the pursuit has."""
    if facts.family.scaled is None:
        if facts.family.bounded:
            return newton_budget.pursuit_share(facts)
        return counts_budget.pursuit_share(facts)
    if not decisions.reaches_reference(facts):
        return 1.0
    if facts.n_candidates > facts.sparsity:
        if _clips_residuals(facts) or facts.rows.many:
            return TYPICAL_PURSUIT_SELECTS
        return max(PURSUIT_SELECTS, TYPICAL_PURSUIT_SELECTS * min(1.0, math.sqrt(EASY_FROM / facts.size)))
    if _clips_residuals(facts):
        return TYPICAL_PURSUIT_TAKES_ALL
    # Just above the N from which on there is a step, it is noisy.
    noisy = math.sqrt(decisions.reference_size(facts.sparsity) / facts.size)
    return max(PURSUIT_TAKES_ALL, TYPICAL_PURSUIT_TAKES_ALL * min(1.0, noisy))


def of_reference(release: str, share: float, reason: str, where: str = "always") -> Price:
    """The share of a release of what the pursuit leaves."""
    return Price(release, "once", (Case(where, always, Fixed(share)),), reason, "answers.py")


ROUGH_ROW_MOMENTS = of_reference("rough row moments", 0.02, "They make rows white, so that one clip serves all.")
FAR_ROW_MOMENTS = of_reference(
    "far row moments", 0.02, "Codes such as 99 and other values far out make a column longer than its bulk tells."
)
ROW_NORMS = of_reference("row norms", 0.03, "Where to clip rows.")
ROW_MOMENTS = of_reference("row moments", 0.08, "The derivative of the mean score; a first step makes its error small.")
SCORE_NORMS = of_reference("score norms", 0.03, "Where to clip scores at first.")
SCORE_MOMENTS = of_reference("score moments", 0.05, "They make scores white.")
FIRST_MEAN_SCORE = of_reference("first mean score", 0.04, "A first step, after which second moments need not be exact.")


def _of_typical(release: str, share: float, reason: str) -> Price:
    return Price(release, "once", (Case("typical effects", _clips_residuals, Fixed(share)),), reason, "answers.py")


FIRST_SCALE = _of_typical("first residual scale", 0.03, "Where the second step clips residuals.")
SECOND_MEAN_SCORE = _of_typical(
    "second mean score", 0.04, "A second step: with a scale of their own, Huber's effects are reached by iteration."
)
REFERENCE_SCALE = _of_typical("final residual scale", 0.03, "Where Huber's estimator clips residuals.")
WHITE_SCORE_NORMS = of_reference("white score norms", 0.07, "Where to clip scores, and how much that leaves out.")
MEAN_SCORE = Price(
    "mean score",
    "once",
    (
        Case("typical effects", _clips_residuals, Fixed(0.56)),
        Case("amounts, whose level is released apart", _are_amounts, Fixed(0.66)),
        Case("ratios of means", _are_ratios, Fixed(0.48)),
        Case("effects on the mean of selected features, with an intercept", _are_selected, Fixed(0.44)),
        Case("effects on the mean", always, Fixed(0.50)),
    ),
    "The step itself: all precision comes from here.",
    "answers.py",
)
RESIDUAL_SIZES = Price(
    "residual sizes",
    "once",
    (
        Case("ratios of means", _are_ratios, Fixed(0.06)),
        Case("effects on the mean of selected features, with an intercept", _are_selected, Fixed(0.06)),
        Case("effects on the mean, with an intercept", always, Fixed(0.04)),
    ),
    "Where to clip residuals for their mean, and how much to make up for.",
    "answers.py",
)
# A selection leaves half as much as a fit that takes all. With .04 and .12 of that the level of costs was off by more
# than a tenth in two or three of four fits on 4,500 records at epsilon 1; with .06 and .16 in one of five, and
# intervals are a thirtieth wider. Set by `two_part.py`.
MEAN_RESIDUAL = Price(
    "mean residual",
    "once",
    (
        Case("effects on the mean of selected features, with an intercept", _are_selected, Fixed(0.16)),
        Case("effects on the mean, with an intercept", always, Fixed(0.12)),
    ),
    "Predictions that are right on average.",
    "answers.py",
)
# In order of time.
PRICES = (
    ROUGH_ROW_MOMENTS,
    FAR_ROW_MOMENTS,
    ROW_NORMS,
    ROW_MOMENTS,
    SCORE_NORMS,
    SCORE_MOMENTS,
    FIRST_MEAN_SCORE,
    FIRST_SCALE,
    SECOND_MEAN_SCORE,
    REFERENCE_SCALE,
    WHITE_SCORE_NORMS,
    MEAN_SCORE,
    RESIDUAL_SIZES,
    MEAN_RESIDUAL,
)

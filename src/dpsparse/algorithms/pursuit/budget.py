"""What every release costs: one table of shares of rho, with reasons, from public facts alone.

A share is a formula of N = n sqrt(rho), the size of a table as privacy sees it. A quantile on a grid or a mean needs a
share in proportion to 1 / N^2 for a fixed error, so most shares are ``clip(a / N^2, least, most)``: the least keeps a
release useful where it is cheap, the most keeps it from starving the others in small tables. `docs/method.md` prints
this table. Scripts are in `benchmarks/`.

What the releases of the table leave goes to the final gradients, or to the steps where all features are taken, which
have at least `FINAL_LEAST` together.

What holds in tiny tables alone (`decisions.tiny`), or where no feature is looked at, was set by `small_tables.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.price_cases import (
    always,
    amounts_of_unknown_center,
    amounts_of_unknown_scale,
    calibrates_all,
    center_is_most,
    center_unknown,
    checks_units,
    constant_alone,
    draws_median_line,
    has_categories,
    means_of_people,
    missing,
    missing_in_tiny,
    scale_is_most,
    scale_unknown,
    selects_and_gram_rows,
    selects_and_sandwich,
    several_rows,
    some_means,
    takes_all,
    takes_all_by_units,
    tiny_with_intercept,
    unknown_units,
    with_intercept,
)
from dpsparse.algorithms.pursuit.shares import Abundant, Fixed, Formula, PartOf, Picks, Scarce, Share, Splits

# The least share of rho that the final gradients, or the steps, have together; in tiny tables, where others ask for
# more than there is, a selected feature says little without a good effect. Set by `small_tables.py`.
FINAL_LEAST, FINAL_LEAST_OF_TINY = 0.1, 0.25
# Kept back, so that prices add up to no more than rho after rounding.
ROUNDING = 1e-9
# Where a release may fail, zCDP is converted at a delta that is a little smaller.
MAY_FAIL = 0.999
# Price of the last pick against the first: features come out largest first, and the later, smaller ones need more. In
# tiny tables the first few are all there are. Set by `small_tables.py`.
PICK_RISE, PICK_RISE_OF_TINY = 8, 3
# Early gradients rise with this power of the number of columns so far.
EARLY_RISE = 1.5
# With many features their releases cost less each: by the power of FEW over their number, and so that MOST of them
# together cost no more.
FEW_FEATURES, FEATURES_POWER, MOST_FEATURES = 6, 0.75, 7


@dataclass(frozen=True)
class Case:
    """A formula, where it holds; `words` say where."""

    words: str
    holds: Callable[[PublicFacts], bool]
    formula: Formula


@dataclass(frozen=True)
class Price:
    """The share of one release, or of all of its kind together.

    `release`: its name in the record of a fit, without a number.
    `counts`: for what it is the share: "once", "each feature", or "all together".
    `cases`: the first that holds gives the share; where none does, the release is not made.
    `reason`: what it buys.
    `benchmark`: the script that set the numbers; where that is not on record, the one whose limits hold with them.
    """

    release: str
    counts: str
    cases: tuple[Case, ...]
    reason: str
    benchmark: str

    def of(self, facts: PublicFacts) -> float:
        """The share of rho; 0 where the release is not made."""
        formula = next((case.formula for case in self.cases if case.holds(facts)), None)
        return 0.0 if formula is None else formula.of(facts)


def share_of_each(price: Price, facts: PublicFacts) -> float:
    """The share of a release that is made for each feature: less with many of them."""
    picks = max(1, decisions.n_picks(facts))
    shrink: float = min(1.0, (FEW_FEATURES / picks) ** FEATURES_POWER, MOST_FEATURES / picks)
    return price.of(facts) * shrink


def final_least(facts: PublicFacts) -> float:
    """The least share of rho that the final gradients, or the steps, have together."""
    return FINAL_LEAST_OF_TINY if decisions.tiny(facts) and decisions.looks_at_features(facts) else FINAL_LEAST


def pick_shares(share: float, facts: PublicFacts) -> NDArray[np.float64]:
    """The share of each pick of what all have together."""
    rise = PICK_RISE_OF_TINY if decisions.tiny(facts) else PICK_RISE
    rises = np.linspace(1, rise, decisions.n_picks(facts))
    return np.asarray(share * rises / rises.sum())


# What the size and the centre of amounts cost, times N^2: an eighth of the records is then enough to tell them
# (`outcome.response_is_safe`). With the price of other responses it took two fifths. Set by `two_part.py`.
OF_AMOUNTS = 5_000

# The table. Counts, quantiles and means over people have shares by N = n sqrt(rho), whatever rows people have. Cases
# of people with several rows were set by `people.py`. First the releases that are made once, about the response.
RESPONSES = Price(
    "responses",
    "once",
    (
        Case("cells may be missing, tiny tables", missing_in_tiny, Share(50, 0.003, 0.02)),
        Case("cells may be missing", missing, Share(50, 0.0005, 0.003)),
    ),
    "All means and shares are of this number: an error of a hundredth does no harm.",
    "honesty.py",
)
RESPONSE_SIZE = Price(
    "response size",
    "once",
    (
        Case("no feature looked at", scale_is_most, Share(800, 0.004, 0.45)),
        Case("amounts", amounts_of_unknown_scale, Share(OF_AMOUNTS, 0.004, 0.3)),
        Case("the response's scale is not public", scale_unknown, Share(800, 0.004, 0.3, unknown_per_N2=1600)),
    ),
    "All that follows is in this unit: a wrong one spoils the fit. Of amounts an eighth of the records may have one.",
    "honesty.py",
)
RESPONSE_CENTER = Price(
    "response centre",
    "once",
    (
        Case("no feature looked at", center_is_most, Share(300, 0.003, 0.25)),
        Case("amounts", amounts_of_unknown_center, Share(OF_AMOUNTS, 0.003, 0.15)),
        Case("the response's centre is not public", center_unknown, Share(360, 0.003, 0.15)),
    ),
    "A wrong centre spoils the fit, too; in scales it is found more easily.",
    "honesty.py",
)
RESPONSE_SCALE = Price(
    "response scale",
    "once",
    (Case("the response's scale is not public", scale_unknown, Share(150, 0.002, 0.07)),),
    "It refines the size: a short grid needs little.",
    "honesty.py",
)
SPLITS = Price(
    "splits",
    "once",
    (Case("units unknown, features selected", decisions.selects_without_units, Splits()),),
    "An even threshold for every feature leaves a selection more signal than pairs.",
    "honesty.py",
)
# For each selected feature.
LEVEL = Price(
    "level",
    "each feature",
    (Case("thresholds or gaps are candidates", decisions.releases_level, Share(2000, 0.003, 0.01)),),
    "Without it features that hardly vary are selected.",
    "honesty.py",
)
PICKS = Price(
    "pick",
    "all together",
    (
        Case(
            "by pairs of people", decisions.compares_pairs_alone, Picks(0.54, 0.108, 0.02, 0.36, 0.72, 0.6, 0.42, 0.036)
        ),
        Case("features selected", decisions.selects, Picks(0.45, 0.09, 0.02, 0.3, 0.6, 0.5, 0.35, 0.03)),
    ),
    "Nothing is gained after a wrong selection; the noisier it is, the more it gets. Pairs alone have less signal, and "
    "need neither splits nor levels: they have a fifth more.",
    "accuracy.py",
)
UNIT_SHARE = Price(
    "unit share",
    "each feature",
    (Case("units unknown", unknown_units, Share(150, 0.0015, 0.0025, together=0.025)),),
    "A 0/1 feature differs in at most half of the pairs, other numbers in nearly all: it tells where a size is likely.",
    "peers",
)
UNIT_SIZE = Price(
    "unit size",
    "each feature",
    (
        Case("given units are checked", checks_units, Share(650, 0.004, 0.02)),
        Case("units unknown, all taken, mean or typical", takes_all_by_units, Share(4000, 0.012, 0.03, together=0.2)),
        Case("units unknown", decisions.learns_units, Share(650, 0.012, 0.02, together=0.2)),
    ),
    "A size that noise chose spoils the feature's effect; near given units grids are short. Where a step to the mean "
    "follows a pursuit that takes all features, this one has little of the budget, and a size far too small sends "
    "predictions astray: with 650 / N² it was wrong in half of 16 fits on 4,040 records for debts that 18 % have.",
    "honesty.py",
)
UNIT_SPREAD = Price(
    "unit spread",
    "each feature",
    (
        Case("given units are checked", checks_units, Share(300, 0.0015, 0.005)),
        Case("units unknown", decisions.learns_units, Share(300, 0.003, 0.005, together=0.05)),
    ),
    "It tells rare and constant features.",
    "honesty.py",
)
UNIT_TAIL = Price(
    "unit tail",
    "each feature",
    (Case("N allows a look at tails", decisions.learns_tails, Share(3000, 0.0025, 0.006)),),
    "Skewed features need wider units.",
    "honesty.py",
)
UNIT_CENTER = Price(
    "unit centre",
    "each feature",
    (Case("units learned, with an intercept", decisions.learns_centers, Share(250, 0.002, 0.007, together=0.07)),),
    "A median in scales.",
    "honesty.py",
)
UNIT_MEAN = Price(
    "unit mean",
    "each feature",
    (
        Case("units learned, people with several rows", means_of_people, Share(900, 0.006, 0.012)),
        Case(f"units learned, N at least {c.GOOD_MEANS_FROM}", some_means, Share(900, 0.003, 0.005)),
        Case("units learned, smaller N", decisions.learns_means, Share(60, 0.002, 0.002, together=0.03)),
    ),
    "One wrong centre would spoil all effects, and a wrong second moment has steps of precise sums overshoot.",
    "honesty.py",
)
GRAM_ROWS = Price(
    "Gram row",
    "all together",
    (Case("they would not be noise", selects_and_gram_rows, Abundant(0.03, -0.015)),),
    "Early effects of correlated features need their second moments.",
    "accuracy.py",
)
SLOPE = Price(
    "slope",
    "each feature",
    (Case("N allows a start from slopes", decisions.starts_from_slopes, Abundant(0.004, 0.001)),),
    "Effects of many noise units arrive this way alone.",
    "honesty.py",
)
CATEGORY_MEANS = Price(
    "category means",
    "each feature",
    (Case("columns may be categories, and a step to the estimand follows", has_categories, Fixed(0.005)),),
    "Until all categories of a variable take part, residuals hold what one of them leaves.",
    "answers.py",
)
RESIDUAL_SCALE = Price(
    "residual scale",
    "each feature",
    (
        Case("people with several rows", several_rows, Share(200, 0.001, 0.03)),
        Case("otherwise", always, Share(100, 0.001, 0.003)),
    ),
    "Where residuals are clipped; fractions refine it, unless it is far off. Where a count says less than a sum of "
    "rows it is worth more: 200 = (4 (log 47 + 6))^2 / 8 keeps it from the ends of its grid of 47 points.",
    "accuracy.py",
)
EARLY_GRADIENTS = Price(
    "gradient",
    "all together",
    (Case("features selected", decisions.selects, Abundant(0.09, -0.055)),),
    "Good enough for the next selection; the final gradients are better.",
    "accuracy.py",
)
FRACTION = Price(
    "fraction",
    "each feature",
    (Case("always", always, Fixed(0.0012)),),
    "A count is cheap.",
    "accuracy.py",
)
# For all effects together.
GRAM_MATRIX = Price(
    "Gram matrix",
    "once",
    (
        Case("features selected, with Gram rows", selects_and_gram_rows, Scarce(0.02, 0.02, 400)),
        Case("features selected, without", decisions.selects, Scarce(0.03, 0.02, 400)),
        Case("all features taken", takes_all, Fixed(0.06)),
    ),
    "Second moments of all columns; steps of a fit that takes all features go by their inverse.",
    "accuracy.py",
)
RESIDUAL_SCALE_OF_STEPS = Price(
    "residual scale",
    "once",
    (Case("all features taken, N allows it", decisions.rescales_steps, Share(800, 0.004, 0.01)),),
    "Where steps clip residuals.",
    "accuracy.py",
)
JACOBIAN = Price(
    "Jacobian",
    "once",
    (
        Case("features selected, and it is not noise", selects_and_sandwich, Fixed(0.02)),
        Case("all features taken, and it is not noise", decisions.releases_sandwich, Fixed(0.08)),
    ),
    "Standard errors rest on it, and the last estimate.",
    "intervals.py",
)
SCORE_VARIANCE = Price(
    "score variance",
    "once",
    (
        Case("features selected, and it is not noise", selects_and_sandwich, Fixed(0.01)),
        Case("all features taken, and it is not noise", decisions.releases_sandwich, Fixed(0.04)),
    ),
    "Standard errors rest on it.",
    "intervals.py",
)
# The last steps.
RESPONSE_RANGE = Price(
    "response range",
    "once",
    (Case("always", always, Share(250, 0.002, 0.06, unknown_per_N2=600)),),
    "It clips the gain, the offset and the predictions.",
    "honesty.py",
)
GAIN = Price(
    "gain",
    "once",
    (Case("always", always, Share(0, 0.004, 0.03, unknown_per_N2=1200)),),
    "Whether the features explain anything: in small tables with unknown units effects are more often wrong.",
    "honesty.py",
)
CALIBRATION = Price(
    "calibration",
    "once",
    (
        Case("no feature looked at", constant_alone, Fixed(0.3)),
        Case("tiny tables, with an intercept", tiny_with_intercept, Share(2500, 0.09, 0.25)),
        Case("all features taken, with an intercept", calibrates_all, Share(3000, 0.04, 0.09, unknown_per_N2=5000)),
        Case("with an intercept", with_intercept, Share(1000, 0.01, 0.09, unknown_per_N2=5000)),
    ),
    "In a small table a constant that is off by .14 standard deviations costs 2 % of the mean's error. With all "
    "features taken more is left for predictions.",
    "honesty.py",
)
RESIDUAL_MEDIAN = Price(
    "residual median",
    "once",
    (
        Case("no feature looked at", constant_alone, Fixed(0.08)),
        Case("with an intercept", with_intercept, Share(1000, 0.002, 0.03)),
    ),
    "Predictions of a median.",
    "honesty.py",
)
MEDIAN_LINE = Price(
    "median line",
    "once",
    (Case("typical effects, with an intercept", draws_median_line, PartOf(0.25, CALIBRATION, "calibration")),),
    "The calibration has the rest: where effects are typical, predictions of a median are worth as much as those of a "
    "mean.",
    "peers",
)

PRICES = (
    *(RESPONSES, RESPONSE_SIZE, RESPONSE_CENTER, RESPONSE_SCALE, SPLITS, LEVEL, PICKS),
    *(UNIT_SHARE, UNIT_SIZE, UNIT_SPREAD, UNIT_TAIL, UNIT_CENTER, UNIT_MEAN),
    *(CATEGORY_MEANS, GRAM_ROWS, SLOPE, RESIDUAL_SCALE, EARLY_GRADIENTS, FRACTION),
    *(GRAM_MATRIX, RESIDUAL_SCALE_OF_STEPS, JACOBIAN, SCORE_VARIANCE),
    *(RESPONSE_RANGE, GAIN, CALIBRATION, RESIDUAL_MEDIAN, MEDIAN_LINE),
)


def unit_shares(facts: PublicFacts) -> dict[str, float]:
    """The shares of the releases about one feature's unit, by name."""
    prices = UNIT_SHARE, UNIT_SIZE, UNIT_SPREAD, UNIT_TAIL, UNIT_CENTER, UNIT_MEAN
    return {price.release: share_of_each(price, facts) for price in prices}


# Of what is left for the final gradients, second moments have these parts too, where features in unknown units are
# selected: what is plentiful is worth more there.
EXTRA_GRAM_MATRIX, EXTRA_JACOBIAN, EXTRA_SCORE_VARIANCE = Abundant(0.12, -0.06), Fixed(0.06), Fixed(0.03)

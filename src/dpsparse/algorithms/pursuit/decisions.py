"""Which steps and releases a fit of some public facts has: one function a decision, with its reason.

N = n sqrt(rho) is the size of a table as privacy sees it: at a share s of rho a count is known to n / (N sqrt(2 s)),
and a quantile on a grid needs a share in proportion to 1 / N^2. N decides most of what follows. Where people have
several rows, n is their number: scores, in which rows add up, have the noise of a larger table (`PublicFacts.size`),
and counts, quantiles and means over people do not (`PublicFacts.counted_size`). The thresholds are in
`pursuit_constants`, each with what set it.
"""

import math

from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.families import Family
from dpsparse.families.estimands import MEAN, TYPICAL
from dpsparse.families.robust_linear import ROBUST_LINEAR


def clip(value: float, low: float, high: float) -> float:
    """A number within limits."""
    return float(min(max(value, low), high))


# --- which features are in the result


def predicts_with_all(n: int, n_candidates: int, rho: float, known: bool, family: Family = ROBUST_LINEAR) -> bool:
    """Whether all features are likely to predict better than some of them selected, if nobody knows how many matter.

    Examples
    --------
    >>> from dpsparse.algorithms.pursuit.decisions import predicts_with_all
    >>> predicts_with_all(10_000, 30, 0.02, known=False), predicts_with_all(10_000, 300, 0.02, known=False)
    (True, False)
    """
    size = n * math.sqrt(rho)
    if family.scaled is None:
        return n_candidates <= size / c.RECORDS_A_LOG_ODDS
    return n_candidates <= (c.MOST_TAKEN if known else size / c.RECORDS_A_FEATURE)


def takes_all(n: int, n_candidates: int, rho: float, known: bool, family: Family = ROBUST_LINEAR) -> bool:
    """Whether "auto" takes all features: where they predict better, and intervals are not lost by it.

    They are where effects on the mean of a selection could be had, and of all of them could not.
    """
    few, all_of_them = reference_size(c.FEW_SELECTED), reference_size(n_candidates)
    if family.estimand == MEAN and few <= n * math.sqrt(rho) < all_of_them:
        return False
    return predicts_with_all(n, n_candidates, rho, known, family)


def n_selected(n: int, rho: float, family: Family = ROBUST_LINEAR, columns_each: int = 1) -> int:
    """How many features are selected if nobody knows how many matter, and not all are taken.

    Where effects on a mean can be had, no more than the step to them carries, if each brings so many columns.

    Examples
    --------
    >>> from dpsparse.algorithms.pursuit.decisions import n_selected
    >>> from dpsparse.families.estimands import MEAN
    >>> from dpsparse.families.robust_linear import RobustLinear
    >>> mean = RobustLinear(estimand=MEAN)
    >>> n_selected(4_500, 0.02, mean), n_selected(4_500, 0.02, mean, columns_each=3), n_selected(50_000, 0.02, mean, 3)
    (9, 5, 10)
    """
    if family.scaled is None:
        return c.MOST_LOG_ODDS
    columns = _reference_columns(n * math.sqrt(rho))
    if family.estimand != MEAN or columns < c.REFERENCE_COLUMNS:
        return c.MOST_SELECTED
    return int(clip((columns - 1) // columns_each, c.FEW_SELECTED, c.MOST_SELECTED))


def n_picks(facts: PublicFacts) -> int:
    """How many features are selected; a spare one where there are enough and the budget allows it."""
    if facts.releases_for_others:
        return n_picks(facts.of_units)
    affordable = facts.known or facts.size >= c.SPARE_FROM
    spare = c.SPARE_PICKS if affordable and facts.family.scaled is not None else 0
    return min(facts.sparsity + spare, facts.n_candidates, most_features(facts))


def tiny(facts: PublicFacts) -> bool:
    """Whether units are unknown and the table is so small that a few features are all that it can tell of.

    Even sure effects must show in the gain there: they are more often wrong.
    """
    return facts.size < c.TINY and not facts.known and facts.family.scaled is not None


def most_features(facts: PublicFacts) -> int:
    """The most features whose units can be learned beside all else; without an intercept something must be left to fit.

    All of them where units are public, and where this fit does not pay for them.

    Examples
    --------
    >>> from dpsparse.algorithms.pursuit.decisions import most_features
    >>> from dpsparse.algorithms.pursuit.facts import PublicFacts
    >>> [most_features(PublicFacts(n, 20, 8, 0.0025, units_known="none")) for n in (1_000, 1_400, 2_800, 5_000)]
    [0, 1, 5, 20]
    """
    if not tiny(facts) or facts.sharing is not None:
        return facts.n_candidates
    affordable = (facts.size / c.LEAST_SIZE) ** 2
    if facts.n_candidates <= min(facts.sparsity, c.TAKEN_FOR_ONE * affordable):
        return facts.n_candidates
    return max(int(affordable), 0 if facts.fit_intercept else 1)


def selects(facts: PublicFacts) -> bool:
    """Whether features are selected; otherwise all are taken in order. Of none there is nothing to take."""
    return facts.n_candidates > n_picks(facts) or not looks_at_features(facts)


def features_pay(facts: PublicFacts) -> bool:
    """Whether features can say more than a constant: units that are not known need a table of some size."""
    return facts.known or facts.size >= c.LEAST_SIZE


def n_for_features(facts: PublicFacts) -> int:
    """From how many records on they can, about: a multiple of ten."""
    return c.TEN * math.ceil(facts.n * c.LEAST_SIZE / facts.size / c.TEN)


def looks_at_features(facts: PublicFacts) -> bool:
    """Whether anything is released about features; otherwise all of the budget is for the response's level."""
    return n_picks(facts) > 0


# --- how candidates are seen


def noise_to_signal(facts: PublicFacts) -> float:
    """How much noise a pick sees against its signal: log d sqrt(s) / (n sqrt(rho))."""
    return max(1.0, math.log(max(1, facts.width))) * math.sqrt(facts.sparsity) / facts.size


def clip_bound(facts: PublicFacts) -> float:
    """Clip of the features in the picks, in public units."""
    base = c.CLIP_BASE if facts.family.scaled else c.BOUNDED_CLIP_BASE
    return clip(base * math.sqrt(c.CLIP_AT / noise_to_signal(facts)), c.LEAST_CLIP, c.MOST_CLIP)


def selects_without_units(facts: PublicFacts) -> bool:
    """Whether features are selected whose units are not known yet."""
    return selects(facts) and looks_at_features(facts) and not (facts.known or facts.takes_over_units)


def compares_pairs_alone(facts: PublicFacts) -> bool:
    """Whether features of people with several rows are selected in unknown units by their pairs and by nothing else.

    All rows of two people meet in a pair, and add up. Splits count people; and sums by thresholds would take a level of
    the residuals that is known as well as sums over rows are, where its mean over people is not: features far from
    their threshold were selected by its noise. Set by `people.py`. Yes/no responses and counts keep their splits.
    """
    return facts.rows.many and selects_without_units(facts) and facts.family.scaled is not None


def compares_own_rows(facts: PublicFacts) -> bool:
    """Whether signs of differences of rows of one person are candidates beside those of pairs of people.

    Who has several rows is public. All of a person's rows add up to a term of their own, where a pair of people is one,
    so that scores of what varies within people are about twice as large; other features are left to the pairs. Set by
    `people.py`.
    """
    return compares_pairs_alone(facts)


def split_nats(facts: PublicFacts) -> float:
    """By how many nats an even split of a feature leads a useless one; where all are 0/1, none needs one."""
    scaled = facts.family.scaled is not None
    cheap, most = (c.SPLITS_CHEAP, c.MOST_NATS) if scaled else (c.BOUNDED_SPLITS_CHEAP, c.BOUNDED_MOST_NATS)
    return clip(facts.counted_size * math.sqrt(cheap / (2 * max(1, facts.n_split))), c.LEAST_NATS, most)


def splits_share(facts: PublicFacts) -> float:
    """The share of rho of one balanced split for every feature; 0 where it is too much."""
    possible = selects_without_units(facts) and 0 < facts.n_split <= c.WIDE
    if not possible or compares_pairs_alone(facts):
        return 0.0
    share = 2 * split_nats(facts) ** 2 * facts.n_split / facts.counted_size**2
    most = c.BOUNDED_SPLITS_SHARE if facts.family.scaled is None else c.SPLITS_SHARE
    return share if share <= most else 0.0


def compares_clipped(facts: PublicFacts) -> bool:
    """Whether features in public or released units are candidates, clipped."""
    return selects(facts) and (facts.units_known != "none" or facts.takes_over_units)


def compares_pairs(facts: PublicFacts) -> bool:
    """Whether signs of pairs are candidates: where units are unknown, and where given ones are checked."""
    checked = selects(facts) and facts.known and learns_units(facts) and facts.d <= c.WIDE
    return selects_without_units(facts) or checked


def compares_thresholds(facts: PublicFacts) -> bool:
    """Whether "x is above its split" is a candidate: beside the pairs, or at the median of a released unit."""
    worthwhile = facts.counted_size >= c.THRESHOLDS_FROM or splits_share(facts) > 0
    beside_pairs = selects_without_units(facts) and not compares_pairs_alone(facts) and worthwhile
    return beside_pairs or (facts.takes_over_units and selects(facts))


def compares_gaps(facts: PublicFacts) -> bool:
    """Whether "x is missing" is a candidate for every feature."""
    return facts.missing and selects(facts)


def releases_level(facts: PublicFacts) -> bool:
    """Whether the residuals' level is released before each pick: thresholds need it, and the constant to move."""
    return (compares_thresholds(facts) or compares_gaps(facts)) and facts.fit_intercept


# --- what is learned of a selected feature


def learns_units(facts: PublicFacts) -> bool:
    """Whether units are released, here or once for several fits: where some are unknown, and where a check is cheap.

    Of a feature that says whether another is missing nothing is known.
    """
    shared = facts.of_units
    many = max(1.0, n_picks(shared) / c.CHECKED_AT_ONCE)
    first = c.CHECK_UNITS_OF_ODDS_FROM if facts.family.scaled is None else c.CHECK_UNITS_FROM
    return not facts.known or facts.missing or shared.counted_size >= many * first


def tail_of_units(facts: PublicFacts) -> int | None:
    """A feature's scale looks at where one in this many of its differences lies beyond; None where at no tail."""
    if not learns_units(facts) or facts.counted_size < c.TAIL_FROM:
        return None
    return c.TAIL if facts.counted_size < c.FAR_TAIL_FROM else c.FAR_TAIL


def learns_tails(facts: PublicFacts) -> bool:
    """Whether a feature's scale looks at its upper tail."""
    return tail_of_units(facts) is not None


def learns_centers(facts: PublicFacts) -> bool:
    """Whether a selected feature's centre is released: without an intercept features are not centred."""
    return learns_units(facts) and facts.fit_intercept


def learns_means(facts: PublicFacts) -> bool:
    """Whether a selected feature's mean and square are released: one wrong centre would spoil all effects."""
    enough = facts.counted_size >= c.MEANS_FROM or (tiny(facts) and features_pay(facts))
    return learns_units(facts) and enough and facts.fit_intercept


def starts_from_slopes(facts: PublicFacts) -> bool:
    """Whether an effect starts from the slopes of pairs: effects of many noise units arrive this way alone."""
    return facts.counted_size >= (c.SLOPES_FROM_KNOWN if facts.known else c.SLOPES_FROM_UNKNOWN)


def starts_from_slopes_again(facts: PublicFacts) -> bool:
    """Whether it starts so a second time, once all features are selected."""
    return facts.counted_size >= c.SECOND_SLOPES_FROM and not facts.known


def releases_gram_rows(facts: PublicFacts) -> bool:
    """Whether the newest feature's second moments are released at once, where the budget allows useful ones."""
    share = math.sqrt(c.GRAM_ROW_SHARE / (facts.sparsity + 1))
    noise = c.GRAM_ROW_RISE * math.sqrt(facts.sparsity) / (facts.counted_size * share)
    return noise <= c.MOST_GRAM_ROW_NOISE and n_picks(facts) > 1


# --- second moments and errors


def abundance(facts: PublicFacts) -> float:
    """0 where privacy noise dominates, 1 where sampling noise does."""
    return clip((facts.size - c.SCARCE_UNTIL) / c.ABUNDANT_WITHIN, 0, 1)


def moment_noise(facts: PublicFacts) -> float:
    """The noise of a released second moment, about."""
    return math.sqrt(2) * c.MOMENT_NORM * (n_picks(facts) + 1) / (c.MOMENT_SHARE * facts.size)


def releases_sandwich(facts: PublicFacts) -> bool:
    """Whether the Jacobian and the variance of the score are released: below some N they would be noise."""
    return moment_noise(facts) <= c.MOST_MOMENT_NOISE


def caution(facts: PublicFacts) -> float:
    """What standard errors of selected features are multiplied by if their units are given.

    Where second moments are noisy, nothing tells skewed features and correlated ones from others.
    """
    if not selects(facts):
        return 1.0
    return clip(1 + c.CAUTION_RATE * (moment_noise(facts) - c.CAUTION_FROM), 1.0, c.MOST_CAUTION)


def inner_bound(facts: PublicFacts) -> float:
    """Where row norms are clipped, in units of the square root of their length."""
    return c.INNER if facts.known or not selects(facts) else c.INNER + c.INNER_ABUNDANT * abundance(facts)


def outer_bound(facts: PublicFacts) -> float:
    """Where the weight of a row begins to fall with its square, in the same units."""
    if facts.known or not selects(facts):
        return c.OUTER_KNOWN
    return inner_bound(facts) + c.OUTER_BEYOND + c.OUTER_ABUNDANT * abundance(facts)


# --- all features taken, and the last steps


def rescales_steps(facts: PublicFacts) -> bool:
    """Whether the residual scale is released again between steps, where all features are taken."""
    return facts.counted_size >= c.RESCALES_FROM


def starts_steps_from_slopes(facts: PublicFacts) -> bool:
    """Whether effects start from slopes again between steps, where all features are taken."""
    return starts_from_slopes(facts) and n_picks(facts) <= c.MOST_STARTS


def calibrates(facts: PublicFacts) -> bool:
    """Whether the slope of residuals on predictions is released with their mean: in small tables it is noise."""
    return facts.counted_size >= c.CALIBRATE_FROM


def expects_normal_tails(facts: PublicFacts) -> bool:
    """Whether the range of responses is looked for near a normal law's: in small tables noise would choose it."""
    return tiny(facts) and facts.size < c.NORMAL_UNTIL


def tail_of_responses(facts: PublicFacts) -> int:
    """One response in this many lies beyond the range of predictions: fewer in larger tables."""
    return int(clip(facts.counted_size / c.A_RESPONSE_OUTSIDE, c.OUTSIDE, c.FAR_OUTSIDE))


def reaches_reference(facts: PublicFacts) -> bool:
    """Whether effects of the estimand's estimator can be had, by a step from those of the pursuit.

    In small tables second moments and histograms would be noise; the more columns, the larger a table must be.
    """
    if facts.family.scaled is None:
        # The pursuit estimates nothing else.
        return True
    if facts.family.estimand is None:
        return False
    selected = facts.n_candidates > facts.sparsity and facts.family.estimand == TYPICAL and not facts.rows.many
    return facts.size >= reference_size(facts.sparsity) * (c.TYPICAL_SELECTION_LATER if selected else 1.0)


def scores_about_means(facts: PublicFacts) -> bool:
    """Whether scores are of features about their means, where a few people have most of the rows.

    Where residuals of a person are alike they add up along the constant. A clip of all directions together would leave
    little of what the many rows of these people tell of features.
    """
    return facts.fit_intercept and facts.family.scaled is not None and facts.rows.spread > c.UNEVEN_ROWS


def releases_mean_residual(facts: PublicFacts) -> bool:
    """Whether a step to the mean ends with its level; that of amounts is released with that of records without one."""
    return facts.fit_intercept and facts.family.estimand == MEAN and not facts.amounts


def last_bound(facts: PublicFacts) -> float:
    """The bound of yes/no residuals in the last steps: 1, which is none, where sampling noise dominates."""
    return clip(facts.size / c.FULL_RESIDUALS_FROM, c.LEAST_LAST_BOUND, 1.0)


def most_columns(facts: PublicFacts, reference_rho: float) -> int:
    """How many columns such a step may have, the constant included, if it costs that much beside the pursuit."""
    return max(facts.sparsity + 1, min(reliable_columns(facts, reference_rho), c.MOST_COLUMNS))


def reliable_columns(facts: PublicFacts, reference_rho: float) -> int:
    """Of how many columns, the constant included, second moments are not mostly noise, with such a step."""
    return _reference_columns(facts.rows.root * facts.n * math.sqrt(facts.rho + reference_rho))


def _reference_columns(size: float) -> int:
    """Of how many columns effects of the estimand's estimator can be had from a table of this N."""
    return int((size / c.REFERENCE_FROM) ** (1 / c.REFERENCE_POWER))


def reference_size(n_effects: int) -> float:
    """The N from which on that many effects of the estimand's estimator can be had."""
    return float(c.REFERENCE_FROM * max(n_effects + 1, c.REFERENCE_COLUMNS) ** c.REFERENCE_POWER)

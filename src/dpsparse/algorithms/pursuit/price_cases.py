"""Where a price holds: cases of public facts, for the tables of prices."""

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.families.estimands import TYPICAL


def always(facts: PublicFacts) -> bool:
    """In every fit."""
    return True


def takes_all(facts: PublicFacts) -> bool:
    """Where all features are taken."""
    return not decisions.selects(facts)


def takes_all_by_units(facts: PublicFacts) -> bool:
    """Where all features are taken in units that are learned, for effects on the mean or typical ones."""
    return takes_all(facts) and unknown_units(facts) and facts.family.estimand is not None


def scale_unknown(facts: PublicFacts) -> bool:
    """Where the response's scale is not public."""
    return not facts.scale_known


def center_unknown(facts: PublicFacts) -> bool:
    """Where its centre is not, and an intercept needs one."""
    return facts.fit_intercept and not facts.center_known


def amounts_of_unknown_scale(facts: PublicFacts) -> bool:
    """Where that of amounts is not."""
    return facts.amounts and scale_unknown(facts)


def amounts_of_unknown_center(facts: PublicFacts) -> bool:
    """Where that of amounts is not."""
    return facts.amounts and center_unknown(facts)


def checks_units(facts: PublicFacts) -> bool:
    """Where given units are checked."""
    return facts.known and decisions.learns_units(facts)


def unknown_units(facts: PublicFacts) -> bool:
    """Where units are learned of features of which nothing is known."""
    return not facts.known and decisions.learns_units(facts)


def some_means(facts: PublicFacts) -> bool:
    """Where features' means are learned from enough records."""
    return decisions.learns_means(facts) and facts.counted_size >= c.GOOD_MEANS_FROM


def several_rows(facts: PublicFacts) -> bool:
    """Where people have several rows."""
    return facts.rows.many


def has_categories(facts: PublicFacts) -> bool:
    """Where columns may be categories, of which a person has one, and an intercept those that have no column."""
    return facts.categories and facts.fit_intercept and not facts.rows.many


def means_of_people(facts: PublicFacts) -> bool:
    """Where the means of such people's features are learned."""
    return several_rows(facts) and decisions.learns_means(facts)


def selects_and_sandwich(facts: PublicFacts) -> bool:
    """Where features are selected, and second moments of scores are released."""
    return decisions.selects(facts) and decisions.releases_sandwich(facts)


def selects_and_gram_rows(facts: PublicFacts) -> bool:
    """Where features are selected, and their second moments are released one by one."""
    return decisions.selects(facts) and decisions.releases_gram_rows(facts)


def with_intercept(facts: PublicFacts) -> bool:
    """Where the fit has an intercept."""
    return facts.fit_intercept


def missing(facts: PublicFacts) -> bool:
    """Where responses may be missing; most records may have no amount."""
    return facts.missing or facts.amounts


def missing_in_tiny(facts: PublicFacts) -> bool:
    """The same in tiny tables."""
    return missing(facts) and decisions.tiny(facts)


def calibrates_all(facts: PublicFacts) -> bool:
    """Where all features are taken, and predictions are calibrated."""
    return facts.fit_intercept and decisions.calibrates(facts) and not decisions.selects(facts)


def draws_median_line(facts: PublicFacts) -> bool:
    """Where effects are typical, and medians of residuals are released along predictions."""
    typical = facts.family.estimand == TYPICAL
    return typical and facts.fit_intercept and decisions.looks_at_features(facts)


def constant_alone(facts: PublicFacts) -> bool:
    """Where no feature is looked at."""
    return facts.fit_intercept and not decisions.looks_at_features(facts)


def tiny_with_intercept(facts: PublicFacts) -> bool:
    """In tiny tables."""
    return facts.fit_intercept and decisions.tiny(facts)


def scale_is_most(facts: PublicFacts) -> bool:
    """Where the response's scale is not public, and no feature is looked at."""
    return constant_alone(facts) and not facts.scale_known


def center_is_most(facts: PublicFacts) -> bool:
    """Where its centre is not public, and no feature is looked at."""
    return constant_alone(facts) and not facts.center_known

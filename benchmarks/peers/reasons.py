"""Why a setting is lost, in one sentence each: the first whose pattern matches the design, epsilon and metric."""

import fnmatch
import math

_DENSE = "a dense signal: all features together explain much more than the 8 that ours keeps"
_FEW = "few records: selecting features and learning units costs more than noise on all of them"
_SKEWED = "a skewed response: our predictions aim at its mean, those of the first at its median"

# (pattern of the design, largest epsilon to which it applies, metric or None for any, reason)
REASONS = (
    ("bike", math.inf, None, _DENSE),
    ("ames", math.inf, None, _DENSE),
    ("Chicago", math.inf, None, "near-copies: dense methods spread an effect over all of them, ours pays to pick one"),
    (
        "diamonds on carat",
        math.inf,
        "squared",
        "price is curved in carats: a robust line is not the least-squares line",
    ),
    ("diamonds*", math.inf, "absolute", _SKEWED),
    ("CPS1988", math.inf, "absolute", _SKEWED),
    ("randhie", math.inf, "absolute", _SKEWED),
    ("MedExp", math.inf, "absolute", _SKEWED),
    ("401ksubs", math.inf, "absolute", _SKEWED),
    ("401ksubs", math.inf, "squared", "what is explained is in the outliers, which a robust fit discounts"),
    *((name, math.inf, None, _FEW) for name in ("airfoil", "wine", "crime", "parkinsons", "diabetes")),
)


def reason_for(design, epsilon, metric):
    """The reason of a loss; a loss without one says so."""
    for pattern, largest, which, text in REASONS:
        if fnmatch.fnmatch(design, pattern) and epsilon <= largest and which in (None, metric):
            return text
    return "not explained yet"

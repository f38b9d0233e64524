"""Why a setting is lost, in one sentence each: the first whose pattern matches the design, the units and the metric."""

import fnmatch

KNOWN, UNKNOWN = "units known", "nothing known"

_GIFTS = (
    "the first is given the exact units of all features and of the response; to learn them takes a good part of what "
    "these records and this epsilon can tell"
)
_EIGENVALUE = (
    "the first is also given the largest eigenvalue of the covariance, and releases no scale, no range and nothing for "
    "intervals: ours pays for these, a tenth to a fifth of the budget"
)
_SQUARED = (
    "what is explained is in the outliers, which a robust fit discounts; the slope that makes up for it in predictions "
    "of a mean is noisy here, and the first minimises squared errors"
)

# (pattern of the design, units or None for both, metric or None for any, reason)
REASONS = (
    ("diamonds on carat", None, "squared", _SQUARED),
    ("401ksubs", None, "squared", _SQUARED),
    ("MedExp", None, "squared", "an outlying fifth of a percent rules squared errors: a constant is hard to beat"),
    ("*", UNKNOWN, None, _GIFTS),
    ("*", KNOWN, None, _EIGENVALUE),
)


def reason_for(design, units, metric):
    """The reason of a loss."""
    for pattern, which, by, text in REASONS:
        if fnmatch.fnmatch(design, pattern) and which in (None, units) and by in (None, metric):
            return text
    raise ValueError(f"no reason is given for {design}, {units}, {metric}: add one to REASONS")

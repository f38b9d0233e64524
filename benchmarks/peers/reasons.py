"""Why a setting is lost, in one sentence each: the first whose design, units, metric and least epsilon match."""

import fnmatch

KNOWN, UNKNOWN = "units known", "nothing known"

_GIFTS = (
    "the first is given the exact units of all features and of the response; to learn them takes a good part of what "
    "these records and this epsilon can tell"
)
_EIGENVALUE = (
    "the first releases no scale, no range and nothing for intervals (and DP-SGD is also given the largest eigenvalue "
    "of the covariance): ours pays for these, a tenth to a fifth of the budget"
)
_SQUARED = (
    "what is explained is in the outliers, which a robust fit discounts; the slope that makes up for it in predictions "
    "of a mean is noisy here, and the first minimises squared errors"
)

_SELECTED = (
    "many features matter a little; of eight of them ours has intervals for a mean, of all it would have none, so that "
    'it selects, as `sparsity="auto"` does, and predicts less'
)

# (pattern of the design, units or None for both, metric or None for any, least epsilon, reason)
REASONS = (
    ("bike", None, "squared", 1.0, _SELECTED),
    ("ames", KNOWN, "squared", 3.0, _SELECTED),
    ("crime", UNKNOWN, "squared", 3.0, _SELECTED),
    ("diamonds on carat", None, "squared", 0.0, _SQUARED),
    ("401ksubs", None, "squared", 0.0, _SQUARED),
    ("MedExp", None, "squared", 0.0, "an outlying fifth of a percent rules squared errors: a constant is hard to beat"),
    ("*", UNKNOWN, None, 0.0, _GIFTS),
    ("*", KNOWN, None, 0.0, _EIGENVALUE),
)


def reason_for(design, units, metric, epsilon):
    """The reason of a loss."""
    for pattern, which, by, least, text in REASONS:
        if fnmatch.fnmatch(design, pattern) and which in (None, units) and by in (None, metric) and epsilon >= least:
            return text
    raise ValueError(f"no reason is given for {design}, {units}, {metric}: add one to REASONS")

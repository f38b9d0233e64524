"""Why a setting is lost, in one sentence each: the first whose pattern matches the design, epsilon and metric."""

import fnmatch

# (pattern of the design, largest epsilon to which it applies, metric or None for any, reason)
REASONS = ()


def reason_for(design, epsilon, metric):
    """The reason of a loss; a loss without one says so."""
    for pattern, largest, which, text in REASONS:
        if fnmatch.fnmatch(design, pattern) and epsilon <= largest and which in (None, metric):
            return text
    return "not explained yet"

"""The audit: every check, and every planted bug against the checks."""

import warnings
from dataclasses import dataclass

from dpsparse.audit.accounts import check_accounts
from dpsparse.audit.floating import check_floating
from dpsparse.audit.games import check_fits, check_mechanisms, check_secure
from dpsparse.audit.mutations import MUTATIONS
from dpsparse.audit.replay import check_replay
from dpsparse.audit.sources import check_sources
from dpsparse.audit.terms import check_terms
from dpsparse.privacy.noise import NotPrivateWarning

# Each yields findings; the quick ones first.
CHECKS = {
    "accounts": check_accounts,
    "terms": check_terms,
    "sources": check_sources,
    "floating": check_floating,
    "replay": check_replay,
    "mechanism games": check_mechanisms,
    "secure games": check_secure,
    "fit games": check_fits,
}
# The last check takes longest and finds nothing the others miss.
AGAINST_BUGS = tuple(name for name in CHECKS if name != "fit games")
# With `--long`, games are played this many times longer.
LONG = {"mechanism games": 60_000, "secure games": 15_000, "fit games": 8_000}


@dataclass(frozen=True)
class Catch:
    """Which check noticed a planted bug, and what it saw; None where it went unnoticed."""

    bug: str
    check: str | None
    seen: str


def run_check(name, *, long=False):
    """Yield the findings of one check."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        yield from CHECKS[name](LONG[name]) if long and name in LONG else CHECKS[name]()


def hunt(mutation):
    """Plant a bug and run the checks, the likeliest first, until one notices."""
    with mutation.planted():
        for name in sorted(AGAINST_BUGS, key=lambda name: name != mutation.check):
            for finding in run_check(name):
                if not finding.good:
                    return Catch(mutation.name, name, f"{finding.mechanism}: {finding.found}")
    return Catch(mutation.name, None, "no check noticed")


def hunt_all():
    """Hunt every planted bug."""
    return map(hunt, MUTATIONS)

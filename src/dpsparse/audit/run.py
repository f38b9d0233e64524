"""The audit: every check, and every planted bug against the checks."""

import warnings
from dataclasses import asdict, dataclass, field

from joblib import Parallel, cpu_count, delayed

from dpsparse.audit.bugs.all import MUTATIONS
from dpsparse.audit.checks.accounts import check_accounts
from dpsparse.audit.checks.configurations import check_configurations, check_parts, check_real_sizes
from dpsparse.audit.checks.floating import check_floating
from dpsparse.audit.checks.forgeries import check_forgeries
from dpsparse.audit.checks.games import check_fits, check_mechanisms, check_secure
from dpsparse.audit.checks.gaps import check_gaps
from dpsparse.audit.checks.inequalities import check_inequalities
from dpsparse.audit.checks.ledger import check_ledger
from dpsparse.audit.checks.local_page import check_local_page
from dpsparse.audit.checks.noise import check_noise
from dpsparse.audit.checks.program import check_program
from dpsparse.audit.checks.raw_outputs import check_raw_outputs
from dpsparse.audit.checks.raw_parts import check_raw_parts
from dpsparse.audit.checks.raw_tables import check_raw_tables, check_stores
from dpsparse.audit.checks.reading import check_reading
from dpsparse.audit.checks.replay import (
    check_all_features,
    check_evaluations,
    check_loops,
    check_pursuits,
    check_tuning,
)
from dpsparse.audit.checks.sources import check_sources
from dpsparse.audit.checks.terms import check_terms
from dpsparse.audit.harness.patching import StaleEdit
from dpsparse.privacy.noise import NotPrivateWarning

# Each gives findings one by one; the quick ones come first.
CHECKS = {
    "accounts": check_accounts,
    "inequalities": check_inequalities,
    "forged histories": check_forgeries,
    "ledger": check_ledger,
    "terms": check_terms,
    "gaps": check_gaps,
    "reading": check_reading,
    "sources": check_sources,
    "noise": check_noise,
    "local page": check_local_page,
    "whole program": check_program,
    "floating point": check_floating,
    "replay of stores": check_stores,
    "rows out of reach": check_raw_parts,
    "outputs of raw tables": check_raw_outputs,
    "replay of raw tables": check_raw_tables,
    "replay of loops": check_loops,
    "replay of all features": check_all_features,
    "replay of pursuits": check_pursuits,
    "replay of tuning": check_tuning,
    "replay of evaluations": check_evaluations,
    "replay of real sizes": check_real_sizes,
    "replay of parts": check_parts,
    "replay of configurations": check_configurations,
    "mechanism games": check_mechanisms,
    "secure games": check_secure,
    "fit games": check_fits,
}
BUGS = "planted bugs"
# The games on whole fits take longest, and any bug they notice changes the transcripts that replay compares.
AGAINST_BUGS = tuple(name for name in CHECKS if name != "fit games")
# In a long audit: pairs of each configuration, trials of the games.
LONG = {"replay of configurations": 20, "mechanism games": 60_000, "secure games": 15_000, "fit games": 6_000}


@dataclass(frozen=True)
class Catch:
    """Which check noticed a planted bug, and what it saw; None where it went unnoticed."""

    bug: str
    check: str | None
    seen: str


@dataclass
class Audit:
    """The result of an audit: findings by check, and which check caught each planted bug."""

    findings: dict = field(default_factory=dict)
    catches: list = field(default_factory=list)

    @property
    def good(self):
        """Whether every verdict is good and every planted bug was caught."""
        every = [finding for findings in self.findings.values() for finding in findings]
        return all(finding.good for finding in every) and all(catch.check for catch in self.catches)

    def to_dict(self):
        """The audit as plain strings and truth values."""
        return {
            "good": self.good,
            "findings": [
                {"check": check, **asdict(finding)} for check, findings in self.findings.items() for finding in findings
            ],
            "planted_bugs": [asdict(catch) for catch in self.catches],
        }


def run_check(name, *, long=False):
    """Give the findings of one check, one by one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        yield from CHECKS[name](LONG[name]) if long and name in LONG else CHECKS[name]()


def hunt(mutation):
    """Plant a bug and run the checks, the likeliest first, until one notices."""
    try:
        with mutation.planted():
            for name in sorted(AGAINST_BUGS, key=lambda name: name != mutation.check):
                for finding in run_check(name):
                    if not finding.good:
                        return Catch(mutation.name, name, f"{finding.mechanism}: {finding.found}")
    except StaleEdit as stale:
        return Catch(mutation.name, None, str(stale))
    return Catch(mutation.name, None, "no check noticed")


def run_audit(only=None, *, long=False, progress=lambda name: None):
    """Run every check and hunt every planted bug, on all cores.

    Parameters
    ----------
    only : str or None
        A name in `CHECKS`, or "planted bugs"; None for all.
    long : bool
        Play the games at least ten times longer, and replay every configuration on ten times as many pairs.
    progress : callable
        Called with the name of a check or bug once it is done.

    Returns
    -------
    Audit
        All findings.

    Examples
    --------
    >>> from dpsparse.audit.run import run_audit
    >>> run_audit("accounts").good
    True
    """
    audit = Audit()
    if only in CHECKS:
        audit.findings[only] = list(run_check(only, long=long))
        progress(only)
        return audit
    # The longest first, so that no core is left with one of them at the end.
    checks = [] if only == BUGS else list(CHECKS)[::-1]
    tasks = [delayed(_findings)(name, long) for name in checks]
    tasks += [delayed(_catch)(place) for place in range(len(MUTATIONS))]
    results = Parallel(n_jobs=cpu_count(), return_as="generator")(tasks)
    for name, result in zip((*checks, *(mutation.name for mutation in MUTATIONS)), results, strict=True):
        progress(name)
        if isinstance(result, Catch):
            audit.catches.append(result)
        else:
            audit.findings[name] = result
    audit.findings = {name: audit.findings[name] for name in CHECKS if name in audit.findings}
    return audit


def _findings(name, long):
    return list(run_check(name, long=long))


def _catch(place):
    """By its place: a property cannot be sent to another process."""
    return hunt(MUTATIONS[place])


def steps(only=None):
    """How many times `run_audit` reports progress."""
    return (len(CHECKS) if only is None else only != BUGS) + (len(MUTATIONS) if only in (None, BUGS) else 0)

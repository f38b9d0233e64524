"""The audit: every check that a user can run on the installed package, and its results as a web page."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from joblib import Parallel, cpu_count, delayed

from dpsparse import __version__
from dpsparse.audit.checks.check_accounts import check_accounts
from dpsparse.audit.checks.check_configurations import check_configurations, check_parts, check_real_sizes
from dpsparse.audit.checks.check_floating import check_floating
from dpsparse.audit.checks.check_forgeries import check_forgeries
from dpsparse.audit.checks.check_games import check_fits, check_mechanisms, check_secure
from dpsparse.audit.checks.check_gaps import check_gaps
from dpsparse.audit.checks.check_inequalities import check_inequalities
from dpsparse.audit.checks.check_ledger import check_ledger
from dpsparse.audit.checks.check_local_page import check_local_page
from dpsparse.audit.checks.check_noise import check_noise
from dpsparse.audit.checks.check_partitions import check_partitions
from dpsparse.audit.checks.check_program import check_program
from dpsparse.audit.checks.check_raw_outputs import check_raw_outputs
from dpsparse.audit.checks.check_raw_parts import check_raw_parts
from dpsparse.audit.checks.check_raw_tables import check_raw_tables, check_stores
from dpsparse.audit.checks.check_reading import check_reading
from dpsparse.audit.checks.check_replay import check_estimators
from dpsparse.audit.checks.check_sources import check_sources
from dpsparse.audit.checks.check_terms import check_terms
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness import attacked
from dpsparse.html import Html, Page, table, tag
from dpsparse.privacy.noise import NotPrivateWarning

# Each gives findings one by one; the quick ones come first.
CHECKS: dict[str, Callable[..., Iterator[Finding]]] = {
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
    "replay of loops": partial(check_estimators, attacked.LOOPS),
    "replay of all features": partial(check_estimators, attacked.ALL_FEATURES),
    "replay of reference steps": partial(check_estimators, attacked.REFERENCES),
    "replay of classifiers": partial(check_estimators, attacked.CLASSIFIERS),
    "replay of people": partial(check_estimators, attacked.PEOPLE),
    "people in partitions": check_partitions,
    "replay of counts": partial(check_estimators, attacked.COUNTS),
    "replay of two parts": partial(check_estimators, attacked.TWO_PARTS),
    "replay of pursuits": partial(check_estimators, attacked.PURSUITS),
    "replay of tuning": partial(check_estimators, attacked.TUNED),
    "replay of evaluations": partial(check_estimators, attacked.EVALUATIONS),
    "replay of real sizes": check_real_sizes,
    "replay of parts": check_parts,
    "replay of configurations": check_configurations,
    "mechanism games": check_mechanisms,
    "secure games": check_secure,
    "fit games": check_fits,
}
# One line about each check, for those who read the page alone.
ABOUT = {
    "accounts": "Conversions, roots and the Gaussian account against oracles that share no code with them; slots.",
    "inequalities": "Each step of the accounts against the formula that proves it, written anew.",
    "forged histories": "Events that break a rule of the ledger each, with right digests; totals in every account.",
    "ledger": "Real fits on a real ledger: charged before the first draw, after a crash, when edited, when full.",
    "terms": "The term of a record, alone and among others, to the last bit; sums against unbounded integers.",
    "gaps": "Missing cells and blank records: nothing is filled in from the data, and no record is left out.",
    "reading": "One line of a file changed: no cell of another record changes, and no kind, separator or parser.",
    "sources": "Which noise a fit takes, whether it repeats, and whether it is as large as declared.",
    "noise": "Draws of OpenDP and of the operating system, extremes and tails included, and the edges of picks.",
    "local page": "Fits of dpsparse app: charged as chosen before they draw, once, and cancelled only before.",
    "whole program": "Commands on neighbouring files: output, logs, exit codes, files, modes, ledger, progress.",
    "floating point": "The attack that distinguishes tables by the low bits of an output; the order of summation.",
    "replay of loops": "The paper's methods on worst-case neighbouring tables, with the same noise replayed.",
    "replay of pursuits": "The same for PrivateSparseRegressor.",
    "replay of all features": "The same where it takes all features.",
    "replay of reference steps": "The same where a step leads to least squares, or to Huber's estimator.",
    "replay of classifiers": "The same for PrivateSparseClassifier: one label, or the row of one, is another.",
    "replay of people": "The same for fits by person: all rows of one person are others, wherever they lie.",
    "people in partitions": "Rows of people in several partitions of dask, on neighbours: bits of the fit in memory.",
    "replay of counts": "The same for PrivateSparsePoissonRegressor: one count, exposure or row is another.",
    "replay of two parts": "The same for PrivateSparseTwoPartRegressor: a cost becomes none, or none a cost.",
    "replay of tuning": "The same for tune: units released once, candidates on some rows, the choice on the others.",
    "replay of raw tables": "The same for a fit on a raw table: kinds, categories, names, then the pursuit.",
    "rows out of reach": "Rows of the other part, and columns not to be read, made absurd: they change nothing.",
    "outputs of raw tables": "Fits, commands and pages on tables that share what is public: the same bytes leave.",
    "replay of stores": "What is learned of a raw table, from a store of its cells.",
    "replay of evaluations": "The same for evaluate.",
    "replay of real sizes": "The same on tables and files of more records than the engines read at a time.",
    "replay of parts": "The same for a record in every part of the rows, and for every number of rows.",
    "replay of configurations": "The same for all combinations of what may be known or asked for.",
    "mechanism games": "Lower bounds on epsilon from outputs of single mechanisms, by likelihood ratio.",
    "secure games": "The same on secure noise, at a confidence that excludes false alarms.",
    "fit games": "The same on whole fits: the likelihood ratio of everything a fit releases.",
}
# Those that take longest.
LONGEST = ("outputs of raw tables", "replay of pursuits", "replay of configurations", "mechanism games", "fit games")
# In a long audit: pairs of each configuration, trials of the games.
LONG = {"replay of configurations": 20, "mechanism games": 60_000, "secure games": 15_000, "fit games": 6_000}


@dataclass
class Audit:
    """The result of an audit: findings by check."""

    findings: dict[str, list[Finding]] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Whether every verdict is good."""
        return all(finding.good for findings in self.findings.values() for finding in findings)

    def to_dict(self) -> dict[str, Any]:
        """The audit as plain strings and truth values."""
        return {
            "good": self.good,
            "findings": [
                {"check": check, **asdict(finding)} for check, findings in self.findings.items() for finding in findings
            ],
        }


def run_check(name: str, *, long: bool = False) -> Iterator[Finding]:
    """Give the findings of one check, one by one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        warnings.filterwarnings("ignore", "With n=", UserWarning)  # Its tables are small on purpose.
        yield from CHECKS[name](LONG[name]) if long and name in LONG else CHECKS[name]()


def run_audit(
    only: str | None = None, *, long: bool = False, progress: Callable[[str], object] = lambda name: None
) -> Audit:
    """Run every check, on all cores, or `only` one of them.

    `long` plays the games at least ten times longer, and replays every configuration on ten times as many pairs.
    `progress` is called with the name of each of all checks once it is done.

    Examples
    --------
    >>> run_audit("accounts").good
    True
    """
    if only is not None:
        return Audit({only: list(run_check(only, long=long))})
    # The longest first, so that no core is left with one of them at the end.
    checks = sorted(CHECKS, key=lambda name: name not in LONGEST)
    results = Parallel(n_jobs=cpu_count(), return_as="generator_unordered")(
        delayed(_findings)(name, long) for name in checks
    )
    by_name = {}
    for name, findings in results:
        by_name[name] = findings
        progress(name)
    return Audit({name: by_name[name] for name in CHECKS})


def _findings(name: str, long: bool) -> tuple[str, list[Finding]]:
    return name, list(run_check(name, long=long))


def audit_page(audit: Audit) -> str:
    """The page of an audit, as text."""
    verdict = "every verdict is good" if audit.good else "something is wrong"
    page = Page("Audit of dpsparse", f"Version {__version__}: {verdict}. Re-run it with: dpsparse audit")
    for check, findings in audit.findings.items():
        rows = [[f.mechanism, f.claimed, f.found, _verdict(f.good)] for f in findings]
        page.section(
            check.capitalize(),
            ABOUT[check],
            table(check.capitalize(), ["mechanism", "claimed", "found", "verdict"], rows),
        )
    return page.html()


def _verdict(good: bool) -> Html:
    return tag("span", "good", class_="good") if good else tag("span", "BAD", class_="bad")

"""The audit as a web page."""

from typing import TYPE_CHECKING

from dpsparse import __version__
from dpsparse.html import Page, table, tag

if TYPE_CHECKING:
    from dpsparse.audit.run import Audit

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


def audit_page(audit: "Audit") -> str:
    """The page of an audit, as text."""
    verdict = "every verdict is good" if audit.good else "something is wrong"
    page = Page("Audit of dpsparse", f"Version {__version__}: {verdict}. Re-run it with: dpsparse audit")
    for check, findings in audit.findings.items():
        rows = [[f.mechanism, f.claimed, f.found, _verdict(f.good, "good", "BAD")] for f in findings]
        page.section(
            check.capitalize(),
            ABOUT[check],
            table(check.capitalize(), ["mechanism", "claimed", "found", "verdict"], rows),
        )
    return page.html()


def _verdict(good: bool, word: str, otherwise: str) -> str:
    return tag("span", word, class_="good") if good else tag("span", otherwise, class_="bad")

"""Bugs to plant in the accounts of a fit and in the ledger."""

import os

from dpsparse import permissions
from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.privacy.accounting import commitment, compose, filter, gdp, meter, release
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.ledger import events, ledger, sqlite_file

ACCOUNTS = (
    Mutation(
        "accounting in the wrong order",
        "accounts",
        {compose.compose_gdp: [("in reversed(mechanisms)", "in mechanisms")]},
    ),
    Mutation(
        "the unsafe end of a root",
        "accounts",
        {gdp.largest_mu: [("low, _ = bracket", "_, low = bracket")]},
    ),
    Mutation(
        "the unsafe end of a root, epsilon",
        "accounts",
        {gdp.epsilon_from_mu: [("_, high = bracket", "high, _ = bracket")]},
    ),
    Mutation(
        "releases on all rows composed as if on parts",
        "accounts",
        {compose.compose_parallel: [("math.fsum(common)", "max(common, default=0.0)")]},
    ),
    Mutation(
        "a sequence committed to that the guarantee does not cover",
        "accounts",
        {meter.Meter.commit: [("if not commitment.is_within(self.guarantee):", "if False:")]},
    ),
    Mutation(
        "other releases than those committed to",
        "accounts",
        {release.Mechanism.covers: [("made.rho == self.rho", "True")]},
    ),
    Mutation(
        "coarse noise on the Gaussian account",
        "accounts",
        {gdp.discreteness_slack: [("math.inf if scale < 4 else count / (20 * scale**2)", "0.0")]},
    ),
    Mutation(
        "the cheapest of disjoint parts charged",
        "accounts",
        {compose.Composition.__dict__["mu"]: [("max(compose_gdp(", "min(compose_gdp(")]},
    ),
    Mutation(
        "a slot used twice",
        "accounts",
        {meter.Meter._is_committed: [("[len(self._releases) :]", "[max(0, len(self._releases) - 1) :]")]},
    ),
    Mutation(
        "slots used in any order",
        "accounts",
        {
            meter.Meter._is_committed: [
                (
                    "slot.pays_for(release) for slot, release in zip(slots, releases, strict=False)",
                    "any(slot.pays_for(release) for slot in commitment.slots) for release in releases",
                )
            ]
        },
    ),
    Mutation(
        "a skipped slot refunded",
        "accounts",
        {release.Slot.skipped: [('nothing released")', 'nothing released", rho=0.0)')]},
    ),
    Mutation(
        "a skipped slot left open",
        "accounts",
        {meter.Meter.skip: [("self._pay((*self._releases, slots[0].skipped()))", "self._pay(self._releases)")]},
    ),
    Mutation(
        "failures left out of delta, zCDP",
        "accounts",
        {Guarantee.epsilon_spent: [("self.delta - failure_probability", "self.delta")]},
    ),
    Mutation(
        "failures left out of delta, Gaussian account",
        "accounts",
        {compose.Composition.__dict__["tv_slack"]: [(" + self.failure_probability", "")]},
    ),
    Mutation(
        "a pure epsilon in spite of failures",
        "accounts",
        {compose.Composition.__dict__["pure_epsilon"]: [(" if not self.failure_probability else math.inf", "")]},
    ),
    Mutation(
        "group privacy linear in rho",
        "accounts",
        {Guarantee.__dict__["rho_per_record"]: [("self.records_per_person**2", "self.records_per_person")]},
    ),
)

LEDGER = (
    Mutation(
        "the ledger charged after the release",
        "ledger",
        {
            meter.Meter._pay: [("self._reservation.charge()", "pass")],
            meter.Meter.record: [
                ("return PrivacyRecord(", "self._reservation and self._reservation.charge()\n    return PrivacyRecord(")
            ],
        },
    ),
    Mutation(
        "a charge refunded when a fit dies",
        "ledger",
        {
            ledger.Reservation.charge: [
                ("self._charged = True", "pass"),
                ('"charge", "charged"', '"refund", "refunded"'),
            ],
        },
    ),
    Mutation(
        "an event's digest unchecked",
        "ledger",
        {events.LedgerState._read: [("event.digest == event.expected_digest()", "True")]},
    ),
    Mutation(
        "a chain's links unchecked",
        "ledger",
        {
            events.LedgerState._read: [
                ("event.previous == self.head", "True"),
                ("event.number != number", "False"),
            ]
        },
    ),
    Mutation(
        "the Gaussian account adds mu to the power of three",
        "ledger",
        {filter.GaussianAccount.share: [("cost.mu**2 for", "cost.mu**3 for")]},
    ),
    Mutation(
        "the tv slack of discrete noise not added up",
        "ledger",
        {filter.GaussianAccount.share: [("math.fsum(cost.tv_slack for", "max(cost.tv_slack for")]},
    ),
    Mutation(
        "a person's records ignored by the ledger",
        "ledger",
        {commitment.Commitment.cost: [("m**2 * composed.rho", "composed.rho"), ("m * composed.mu", "composed.mu")]},
    ),
    Mutation(
        "any account admits",
        "ledger",
        {
            filter.PrivacyFilter.admits: [
                (
                    "ACCOUNTS[self.account_with(cost)].share(self.grant, (*self.costs, cost)) <= 1",
                    "any(account.share(self.grant, (cost,)) <= 1 for account in ACCOUNTS.values())",
                )
            ]
        },
    ),
)

# Elsewhere these are not checked.
if os.name == "posix":
    LEDGER += (
        Mutation(
            "a ledger under a second name",
            "ledger",
            {sqlite_file.check_file: [("file.st_nlink > 1", "file.st_nlink > 2")]},
        ),
        Mutation(
            "a ledger in a folder of everybody's",
            "ledger",
            {permissions._others_may_write: [("stat.S_IWOTH", "stat.S_ISVTX")]},
        ),
        Mutation(
            "charges taken back by an old journal",
            "ledger",
            {sqlite_file._may_roll_back: [("commits % 2**32 <= 1", "commits % 2**32 <= 2")]},
        ),
        Mutation(
            "charges replaced by another ledger's journal",
            "ledger",
            {sqlite_file._may_roll_back: [("head[_APPLICATION] == before[_APPLICATION] and ", "")]},
        ),
        Mutation(
            "a ledger cut by an empty journal",
            "ledger",
            {sqlite_file._may_roll_back: [("bool(size == pages * page_size)", "True")]},
        ),
        Mutation(
            "a journal that came from elsewhere",
            "ledger",
            {sqlite_file._check_journal: [("found.st_nlink > 1", "found.st_nlink > 2")]},
        ),
    )

"""Bugs to plant in the accounts of a fit and in the ledger."""

import os

from planting import Bug

ACCOUNTS = (
    Bug(
        "accounting in the wrong order",
        "accounts",
        {"privacy.accounting.compose:compose_gdp": [("in reversed(mechanisms)", "in mechanisms")]},
    ),
    Bug(
        "the unsafe end of a root",
        "accounts",
        {"privacy.accounting.gdp:largest_mu": [("low, _ = bracket", "_, low = bracket")]},
    ),
    Bug(
        "the unsafe end of a root, epsilon",
        "accounts",
        {"privacy.accounting.gdp:epsilon_from_mu": [("_, high = bracket", "high, _ = bracket")]},
    ),
    Bug(
        "releases on all rows composed as if on parts",
        "accounts",
        {"privacy.accounting.compose:compose_parallel": [("math.fsum(common)", "max(common, default=0.0)")]},
    ),
    Bug(
        "a sequence committed to that the guarantee does not cover",
        "accounts",
        {"privacy.accounting.meter:Meter.commit": [("if not commitment.is_within(self.guarantee):", "if False:")]},
    ),
    Bug(
        "other releases than those committed to",
        "accounts",
        {"privacy.accounting.release:Mechanism.covers": [("made.rho == self.rho", "True")]},
    ),
    Bug(
        "coarse noise on the Gaussian account",
        "accounts",
        {
            "privacy.accounting.gdp:discreteness_slack": [
                ("math.inf if scale < 4 else math.sqrt(count) / (24 * scale**2)", "0.0")
            ]
        },
    ),
    Bug(
        "the cheapest of disjoint parts charged",
        "accounts",
        {"privacy.accounting.compose:Composition.mu": [("max(compose_gdp(", "min(compose_gdp(")]},
    ),
    Bug(
        "a slot used twice",
        "accounts",
        {
            "privacy.accounting.meter:Meter._is_committed": [
                ("[len(self._releases) :]", "[max(0, len(self._releases) - 1) :]")
            ]
        },
    ),
    Bug(
        "slots used in any order",
        "accounts",
        {
            "privacy.accounting.meter:Meter._is_committed": [
                (
                    "slot.pays_for(release) for slot, release in zip(slots, releases, strict=False)",
                    "any(slot.pays_for(release) for slot in commitment.slots) for release in releases",
                )
            ]
        },
    ),
    Bug(
        "a skipped slot refunded",
        "accounts",
        {"privacy.accounting.release:Slot.skipped": [('nothing released")', 'nothing released", rho=0.0)')]},
    ),
    Bug(
        "a skipped slot left open",
        "accounts",
        {
            "privacy.accounting.meter:Meter.skip": [
                ("self._pay((*self._releases, slots[0].skipped()))", "self._pay(self._releases)")
            ]
        },
    ),
    Bug(
        "failures left out of delta, zCDP",
        "accounts",
        {"privacy.guarantee:Guarantee.epsilon_spent": [("self.delta - failure_probability", "self.delta")]},
    ),
    Bug(
        "failures left out of delta, Gaussian account",
        "accounts",
        {"privacy.accounting.compose:Composition.tv_slack": [(" + self.failure_probability", "")]},
    ),
    Bug(
        "a pure epsilon in spite of failures",
        "accounts",
        {
            "privacy.accounting.compose:Composition.pure_epsilon": [
                (" if not self.failure_probability else math.inf", "")
            ]
        },
    ),
    Bug(
        "group privacy linear in rho",
        "accounts",
        {"privacy.protection:RecordsOfAPerson.rho_of_a_record": [("self.most**2", "self.most")]},
    ),
)

LEDGER = (
    Bug(
        "a history of the budget that has fits which were refunded",
        "ledger",
        {"model.context:spending": [('if fit.state == "refunded":', "if False:")]},
    ),
    Bug(
        "the ledger charged after the release",
        "ledger",
        {
            "privacy.accounting.meter:Meter._pay": [("self._reservation.charge()", "pass")],
            "privacy.accounting.meter:Meter.record": [
                ("return PrivacyRecord(", "self._reservation and self._reservation.charge()\n    return PrivacyRecord(")
            ],
        },
    ),
    Bug(
        "a charge refunded when a fit dies",
        "ledger",
        {
            "privacy.ledger.ledger:Reservation.charge": [
                ("self._charged = True", "pass"),
                ('"charge", "charged"', '"refund", "refunded"'),
            ],
        },
    ),
    Bug(
        "an event's digest unchecked",
        "ledger",
        {"privacy.ledger.events:LedgerState.read": [("event.digest == event.expected_digest()", "True")]},
    ),
    Bug(
        "a chain's links unchecked",
        "ledger",
        {
            "privacy.ledger.events:LedgerState.read": [
                ("event.previous == self.head", "True"),
                ("event.number != number", "False"),
            ]
        },
    ),
    Bug(
        "the Gaussian account adds mu to the power of three",
        "ledger",
        {"privacy.accounting.filter:GaussianAccount.share": [("cost.mu**2 for", "cost.mu**3 for")]},
    ),
    Bug(
        "the tv slack of discrete noise not added up",
        "ledger",
        {"privacy.accounting.filter:GaussianAccount.share": [("math.fsum(cost.tv_slack for", "max(cost.tv_slack for")]},
    ),
    Bug(
        "a person's records ignored by the ledger",
        "ledger",
        {
            "privacy.accounting.meter:Commitment.cost": [
                ("person.rho(composed.rho)", "composed.rho"),
                ("person.mu(composed.mu)", "composed.mu"),
            ]
        },
    ),
    Bug(
        "any account admits",
        "ledger",
        {
            "privacy.accounting.filter:PrivacyFilter.admits": [
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
        Bug(
            "a ledger under a second name",
            "ledger",
            {"privacy.ledger.sqlite_file:check_file": [("file.st_nlink > 1", "file.st_nlink > 2")]},
        ),
        Bug(
            "a ledger in a folder of everybody's",
            "ledger",
            {"permissions:_others_may_write": [("stat.S_IWOTH", "stat.S_ISVTX")]},
        ),
        Bug(
            "charges taken back by an old journal",
            "ledger",
            {"privacy.ledger.sqlite_file:_may_roll_back": [("commits % 2**32 <= 1", "commits % 2**32 <= 2")]},
        ),
        Bug(
            "charges replaced by another ledger's journal",
            "ledger",
            {"privacy.ledger.sqlite_file:_may_roll_back": [("head[_APPLICATION] == before[_APPLICATION] and ", "")]},
        ),
        Bug(
            "a ledger cut by an empty journal",
            "ledger",
            {"privacy.ledger.sqlite_file:_may_roll_back": [("bool(size == pages * page_size)", "True")]},
        ),
        Bug(
            "a journal that came from elsewhere",
            "ledger",
            {"privacy.ledger.sqlite_file:_check_journal": [("found.st_nlink > 1", "found.st_nlink > 2")]},
        ),
    )

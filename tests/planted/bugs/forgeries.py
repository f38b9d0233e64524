"""Bugs to plant in the rules of the ledger: each lets a forged history pass, or fits beyond a grant."""

from planting import Bug

FORGED = "forged histories"


def _lost(name, function, old, new):
    return Bug(name, FORGED, {function: [(old, new)]})


FORGERIES = (
    _lost("a second grant", "privacy.ledger.events:LedgerState.apply_grant", "event.dataset in self.filters or ", ""),
    _lost("a fit's grant", "privacy.ledger.events:LedgerState.apply_grant", " or event.fit is not None", ""),
    _lost("a second reservation", "privacy.ledger.events:LedgerState.apply_reserve", " or event.fit in self.fits", ""),
    _lost(
        "a reservation of nobody's",
        "privacy.ledger.events:LedgerState.apply_reserve",
        "event.fit is None or event.fit in",
        "event.fit in",
    ),
    _lost(
        "a reservation for fewer records a person",
        "privacy.ledger.events:LedgerState.apply_reserve",
        'event.details["records_per_person"] < self.records_per_person[event.dataset]',
        "False",
    ),
    _lost(
        "a reservation in any account",
        "privacy.ledger.events:LedgerState.apply_reserve",
        'event.details["account"] != current.account_with(cost) or not current.admits(cost)',
        'not replace(current, account=event.details["account"]).admits(cost)',
    ),
    _lost(
        "a reservation beyond the grant",
        "privacy.ledger.events:LedgerState.apply_reserve",
        " or not current.admits(cost)",
        "",
    ),
    _lost(
        "a cost that is not remembered",
        "privacy.ledger.events:LedgerState.apply_reserve",
        "(*current.costs, cost)",
        "(cost,)",
    ),
    _lost("a fit settled twice", "privacy.ledger.events:LedgerState._settle", 'fit.state != "reserved" or ', ""),
    _lost(
        "a fit settled for other people",
        "privacy.ledger.events:LedgerState._settle",
        " or fit.dataset != event.dataset",
        "",
    ),
    _lost("a refund of everything", "privacy.ledger.events:LedgerState.apply_refund", "costs=tuple(costs)", "costs=()"),
    _lost("events of any kind", "privacy.ledger.events:_unknown", 'return "is of an unknown kind"', "return None"),
    _lost("costs below 0", "privacy.accounting.filter:Cost.__post_init__", "x >= 0 for x in", "x == x for x in"),
    _lost(
        "failures that are not read",
        "privacy.ledger.events:_cost_of",
        'number(details.get("failure_probability", 0.0))',
        "0.0",
    ),
    _lost(
        "the largest mu for all fits",
        "privacy.accounting.filter:GaussianAccount.share",
        "math.fsum(cost.mu**2",
        "max(cost.mu**2",
    ),
    _lost(
        "slack on one side of a pair of histories",
        "privacy.accounting.filter:GaussianAccount.share",
        "(1 + math.exp(min(grant.epsilon, 700.0))) * ",
        "",
    ),
    _lost(
        "a whole delta for the slack",
        "privacy.accounting.filter:GaussianAccount.share",
        "(TV_SLACK_SHARE * grant.delta)",
        "grant.delta",
    ),
    _lost("the largest rho for all fits", "privacy.accounting.filter:ZCDPAccount.share", "math.fsum(", "max("),
    _lost("the likeliest failure for all fits", "privacy.accounting.filter:ZCDPAccount._limits", "math.fsum(", "max("),
    _lost(
        "failures beside delta", "privacy.accounting.filter:ZCDPAccount._limits", "grant.delta - failure", "grant.delta"
    ),
    _lost(
        "the largest epsilon for all fits",
        "privacy.accounting.filter:BasicAccount.share",
        "epsilon = sum(",
        "epsilon = max(",
    ),
    _lost(
        "the largest delta for all fits", "privacy.accounting.filter:BasicAccount.share", "delta = sum(", "delta = max("
    ),
    _lost(
        "deltas that nobody adds",
        "privacy.accounting.filter:BasicAccount.share",
        "delta / Fraction(repr(grant.delta))",
        "0",
    ),
    _lost(
        "an account chosen anew for each fit",
        "privacy.accounting.filter:PrivacyFilter.account_with",
        "self.account is None or not self.costs",
        "True",
    ),
    _lost("the last fit alone", "privacy.accounting.filter:PrivacyFilter.admits", "(*self.costs, cost)", "(cost,)"),
)

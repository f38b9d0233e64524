"""The rules that `LedgerState` repeats: histories with a valid chain that break one of them."""

from dataclasses import replace

import pytest

from dpsparse import LedgerError
from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.ledger.events import LedgerState, cost_details

GRANT = {"epsilon": 1.0, "delta": 1e-6, "adjacency": "replace-one", "records_per_person": 2}
RESERVE = {**cost_details(Cost(0.4, 0.0)), "account": "basic", "records_per_person": 2}


@pytest.fixture
def state():
    """Two datasets; of the first a fit is reserved, one charged and one refunded, of the second one is reserved."""
    state = LedgerState([])
    for dataset in ("d", "other"):
        state.write(dataset, None, "grant", GRANT)
    for fit in ("charged", "refunded", "reserved"):
        state.write("d", fit, "reserve", RESERVE)
        if fit != "reserved":
            state.write("d", fit, {"charged": "charge", "refunded": "refund"}[fit], {})
    state.write("other", "elsewhere", "reserve", RESERVE)
    return state


BROKEN = {
    "a second grant": ("d", None, "grant", GRANT),
    "a larger grant later": ("d", None, "grant", {**GRANT, "epsilon": 9.0}),
    "a grant to a fit": ("new", "fit", "grant", GRANT),
    "a reservation of no fit": ("d", None, "reserve", RESERVE),
    "a fit reserved twice": ("d", "reserved", "reserve", {**RESERVE, "epsilon": 0.1}),
    "a fit reserved again once refunded": ("d", "refunded", "reserve", {**RESERVE, "epsilon": 0.1}),
    "people with fewer records": ("d", "new", "reserve", {**RESERVE, "epsilon": 0.1, "records_per_person": 1}),
    "more than was left": ("d", "new", "reserve", RESERVE),
    "another account": ("d", "new", "reserve", {**RESERVE, "epsilon": 0.1, "account": "zcdp"}),
    "a reservation without a grant": ("new", "new", "reserve", RESERVE),
    "a charge of an unknown fit": ("d", "new", "charge", {}),
    "a charge of a refunded fit": ("d", "refunded", "charge", {}),
    "a second charge": ("d", "charged", "charge", {}),
    "a charge under another name": ("d", "elsewhere", "charge", {}),
    "a refund of a charged fit": ("d", "charged", "refund", {}),
    "a second refund": ("d", "refunded", "refund", {}),
    "a refund under another name": ("d", "elsewhere", "refund", {}),
    "an unknown kind": ("d", "reserved", "gift", {}),
}


@pytest.mark.parametrize("event", BROKEN.values(), ids=BROKEN)
def test_no_history_breaks_a_rule(state, event):
    before = len(state.events), state.head, dict(state.filters)
    with pytest.raises(LedgerError, match="the ledger was not written by dpsparse alone"):
        state.write(*event)
    assert (len(state.events), state.head, dict(state.filters)) == before


def test_what_the_rules_allow_is_read_again(state):
    state.write("d", "reserved", "refund", {})
    state.write("d", "new", "reserve", {**RESERVE, "epsilon": 0.6})
    state.write("d", "new", "charge", {})
    again = LedgerState(state.events)
    assert again.filters == state.filters
    assert again.filters["d"].epsilon_spent == 1.0
    assert {name: fit.state for name, fit in again.fits.items()} == {
        "charged": "charged",
        "refunded": "refunded",
        "reserved": "refunded",
        "elsewhere": "reserved",
        "new": "charged",
    }


@pytest.mark.parametrize("failure", [0.0, 2.0**-40])
def test_a_cost_comes_back_whole(failure):
    cost = Cost(0.4, 1e-7, rho=0.01, mu=0.2, tv_slack=1e-12, failure_probability=failure)
    state = LedgerState([])
    state.write("d", None, "grant", GRANT)
    state.write("d", "fit", "reserve", {**RESERVE, **cost_details(cost)})
    state.write("d", "fit", "charge", {})
    assert LedgerState(state.events).filters["d"].costs == state.filters["d"].costs == (cost,)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_no_event_has_another_number_than_its_place(number):
    """With a digest that fits it, and the digest of the one before."""
    state = LedgerState([])
    first = state.write("d", None, "grant", GRANT)
    event = replace(first, number=number, dataset="e", previous=first.digest)
    event = replace(event, digest=event.expected_digest())
    with pytest.raises(LedgerError, match="event 2 is missing or out of order"):
        LedgerState([first, event])
    event = replace(event, number=2)
    assert len(LedgerState([first, replace(event, digest=event.expected_digest())]).events) == 2

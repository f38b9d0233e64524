"""The budgets in a ledger for people: what was granted, spent and is left, and what happened, event by event."""

from typing import TYPE_CHECKING, Any

from dpsparse.privacy.accounting.filter import round_down

if TYPE_CHECKING:
    from dpsparse.privacy.ledger.events import Event, LedgerState

MEANING = (
    "Granted, spent and left are epsilons, each at the grant's delta. Spent: of all fits together. Left: the largest "
    "epsilon of one more fit.",
    "'Spent' and 'left' do not add up to the grant: composed fits cost less than the sum of their epsilons. Rely on "
    "the share left for what is spent of the whole.",
)
EVENTS_MEANING = (
    "A fit counts from its 'reserve' on. 'charge' makes it final and costs nothing more; 'refund' gives back a fit "
    "that released nothing."
)
EVENT_HEADINGS = ("number", "when", "dataset", "event", "epsilon", "delta", "fit", "estimator")


def balance_facts(state: "LedgerState", dataset: str) -> dict[str, Any]:
    """A dataset's grant and what is left of it.

    Returns plain numbers and strings.

    Examples
    --------
    >>> from dpsparse.privacy.ledger.events import LedgerState
    >>> from dpsparse.report.budget_facts import balance_facts
    >>> state = LedgerState([])
    >>> granted = state.write("trial-7", None, "grant", {"epsilon": 1.0, "delta": 1e-6, "adjacency": "replace-one",
    ...     "records_per_person": 1})
    >>> balance_facts(state, "trial-7")["epsilon_left"]
    1.0
    """
    balance = state.filters[dataset]
    return {
        "dataset": dataset,
        "epsilon": balance.grant.epsilon,
        "delta": balance.grant.delta,
        "adjacency": balance.grant.adjacency,
        "records_per_person": state.records_per_person[dataset],
        "account": balance.account,
        "fits": len(balance.costs),
        "share_spent": balance.share,
        "epsilon_spent": balance.epsilon_spent,
        "epsilon_left": round_down(balance.epsilon_left),
    }


def event_cells(event: "Event") -> list[str]:
    """An event as the cells of a table, below `EVENT_HEADINGS`."""
    details = event.details
    guarantee = [f"{details[name]:.4g}" if name in details else "" for name in ("epsilon", "delta")]
    row = [str(event.number), details["at"], event.dataset, event.kind, *guarantee]
    return [*row, (event.fit or "")[:8], details.get("estimator", "")]

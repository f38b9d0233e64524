"""What a dataset's fits have spent over time, from the events of a ledger."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpsparse.privacy.ledger.events import LedgerState


def spending(state: "LedgerState", dataset: str, *, by_day: bool = False) -> list[tuple[str, float]]:
    """When the spending of a dataset changed, and the epsilon spent from then on, at the grant's delta.

    By day there is the last change of each, and the day alone.

    Examples
    --------
    >>> from dpsparse.privacy.ledger.events import LedgerState
    >>> from dpsparse.model.spending import spending
    >>> state = LedgerState([])
    >>> granted = state.write("trial-7", None, "grant", {"epsilon": 1.0, "delta": 1e-6, "adjacency": "replace-one",
    ...     "records_per_person": 1, "at": "2026-01-31T12:00:00+00:00"})
    >>> spending(state, "trial-7"), spending(state, "trial-7", by_day=True)
    ([('2026-01-31T12:00:00+00:00', 0.0)], [('2026-01-31', 0.0)])
    """
    changing = [event for event in state.events if event.dataset == dataset and event.kind != "charge"]
    # A later event of the same day takes the place of an earlier one.
    last = {event.details["at"][: len("2026-01-31")] if by_day else event.number: event for event in changing}
    shown = {event.number: when if by_day else event.details["at"] for when, event in last.items()}
    growing, changes = type(state)([]), []
    for event in state.events:
        growing.read(event)
        if event.number in shown:
            changes.append((str(shown[event.number]), growing.filters[dataset].epsilon_spent))
    return changes

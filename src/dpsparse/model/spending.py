"""What a dataset's fits have spent over time, from the events of a ledger."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsparse.privacy.ledger.events import LedgerState


def spending(state: "LedgerState", dataset: str, *, by_day: bool = False) -> list[tuple[str, float]]:
    """When the spending of a dataset changed, and the epsilon spent from then on, at the grant's delta.

    By day there is the last change of each, and the day alone. A fit that was refunded is left out: its data were
    refused, and what published models show of a budget does not tell that.

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
    whole = state.filters[dataset]
    growing, changes = replace(whole, costs=()), dict[Any, tuple[str, float]]()
    for event in state.events:
        if event.dataset != dataset or event.kind not in ("grant", "reserve"):
            continue
        if event.kind == "reserve":
            fit = state.fits[str(event.fit)]
            if fit.state == "refunded":
                continue
            growing = replace(growing, costs=(*growing.costs, fit.cost))
        when = event.details["at"]
        when = when[: len("2026-01-31")] if by_day else when
        # A later event of the same day takes the place of an earlier one.
        changes[when if by_day else event.number] = str(when), growing.epsilon_spent
    return list(changes.values())

"""When a fit was made, and what it and others spent of the budget: public facts beside the releases."""

import math
import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from dpsparse.privacy.accounting.filter import round_down
from dpsparse.schema import Fields, FileError

if TYPE_CHECKING:
    from dpsparse.privacy.ledger.events import LedgerState


@dataclass(frozen=True)
class Budget:
    """A dataset's budget in a ledger, as a fit left it."""

    ledger: str  # of its file without the folder, or of its database
    dataset: str
    # granted
    epsilon: float
    delta: float
    epsilon_spent: float  # of all fits together, at the grant's delta
    epsilon_left: float  # the largest of one more fit, at the grant's delta
    fits: int  # those that count
    # The days on which that changed, and the epsilon spent from each on.
    history: tuple[tuple[str, float], ...] = ()

    def sentence(self) -> str:
        """What is left, in words.

        Examples
        --------
        >>> print(Budget("budget.db", "a", 3.0, 1e-6, 1.0, 2.5, 1).sentence())
        a in budget.db: 1 fit has spent epsilon 1 of 3 granted (delta 1e-06); one more fit may cost up to epsilon 2.5
        """
        fits = "1 fit has" if self.fits == 1 else f"{self.fits:,} fits together have"
        left = (
            f"one more fit may cost up to epsilon {self.epsilon_left:.4g}"
            if self.epsilon_left > 0
            else "nothing is left at that delta"
        )
        return (
            f"{self.dataset} in {self.ledger}: {fits} spent epsilon {self.epsilon_spent:.4g} of {self.epsilon:g} "
            f"granted (delta {self.delta:g}); {left}"
        )


@dataclass(frozen=True)
class FitContext:
    """When a fit was made and what it left of its budget."""

    date: str  # by the clock of the machine in UTC, such as 2026-01-31
    budget: Budget | None = None  # None where the fit was charged to no ledger

    def to_dict(self) -> dict[str, Any]:
        """The context as plain numbers and strings."""
        return asdict(self)


def fit_context(ledger: Any = None, dataset: str | None = None) -> FitContext:
    """The context of a fit that was made just now."""
    return FitContext(datetime.now(UTC).date().isoformat(), None if ledger is None else _budget(ledger, dataset))


def _budget(ledger: Any, dataset: str | None) -> Budget | None:
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

    try:
        ledger = PrivacyLedger(ledger)
        state = ledger.state()
        name = state.name_of(dataset)
        balance, history = state.filters[name], tuple(spending(state, name, by_day=True))
    except Exception:
        # The fit is paid for: a ledger that cannot be read now must not cost its result.
        return None
    grant = balance.grant
    numbers = {"epsilon_spent": balance.epsilon_spent, "epsilon_left": round_down(balance.epsilon_left)}
    return Budget(
        _name_of(ledger), name, grant.epsilon, grant.delta, fits=len(balance.costs), history=history, **numbers
    )


def _name_of(ledger: Any) -> str:
    """The name to publish: no folder, no user and no password."""
    from sqlalchemy import make_url

    url = make_url(ledger.url)
    if url.get_backend_name() == "sqlite":
        return os.path.basename(url.database or "")
    return f"{url.database} on {url.host or 'this machine'}"


def read_context(fields: Fields | None) -> FitContext | None:
    """The context that `FitContext.to_dict` wrote in a model file, every entry checked.

    `fields` is None where the file has no such table.
    """
    if fields is None:
        return None
    day = fields.text("date")
    if not _is_day(day):
        raise FileError(f"{fields.where}: 'date' must be a day, such as 2026-01-31")
    budget = fields.table("budget", None)
    fields.finish()
    return FitContext(day, None if budget is None else _read_budget(budget))


def _is_day(text: object) -> bool:
    try:
        return isinstance(text, str) and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _read_history(fields: Fields) -> tuple[tuple[str, float], ...]:
    rows = fields.take("history")
    is_good = isinstance(rows, list) and all(map(_is_change, rows))
    days = [day for day, _ in rows] if is_good else []
    if not is_good or days != sorted({*days}):
        raise FileError(f"{fields.where}: 'history' must be days, the first one first, each with the epsilon spent")
    return tuple((day, float(spent)) for day, spent in rows)


def _is_change(row: object) -> bool:
    return isinstance(row, list) and len(row) == len(("day", "spent")) and _is_day(row[0]) and _is_amount(row[1])


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def _read_budget(fields: Fields) -> Budget:
    budget = Budget(
        ledger=fields.text("ledger"),
        dataset=fields.text("dataset"),
        epsilon=fields.number("epsilon", above=0),
        delta=fields.number("delta", above=0),
        epsilon_spent=fields.number("epsilon_spent", least=0),
        epsilon_left=fields.number("epsilon_left", least=0),
        fits=fields.count("fits", least=0),
        history=_read_history(fields),
    )
    fields.finish()
    return budget


def spending(state: "LedgerState", dataset: str, *, by_day: bool = False) -> list[tuple[str, float]]:
    """When the spending of a dataset changed, and the epsilon spent from then on, at the grant's delta.

    By day there is the last change of each, and the day alone. A fit that was refunded is left out: its data were
    refused, and what published models show of a budget does not tell that.

    Examples
    --------
    >>> from dpsparse.privacy.ledger.events import LedgerState
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

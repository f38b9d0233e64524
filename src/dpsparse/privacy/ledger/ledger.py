"""A durable record of the budget spent on a dataset, across fits, processes and machines.

Guarantee. If every fit on a dataset goes through its ledger, everything released from that dataset is together
(E, D)-DP to a person, where (E, D) is the grant made before the first fit.

Proof. (1) Composition: `filter` proves that fits admitted by its rule keep (E, D), however later ones are chosen,
also when they run at the same time. It composes the Gaussian account by sqrt(sum mu^2) (Smith and Thakurta 2022), zCDP
by sum rho (Feldman and Zrnic 2021) and (epsilon, delta) by their sums (Rogers, Roth, Ullman and Vadhan 2016), with one
account for a dataset, fixed before anything is released. (2) Every admission is decided by that rule on *all* events
and appended in the same transaction, one at a time (`ledger_store`). (3) A fit's cost is that of its `Commitment`,
known before the data are read. The `Meter` charges nothing else, and charges the reservation, durably, before the first
release, in the process that opened both: on the other side of a fork nothing is released. (4) A reservation counts
until it is refunded, and only one that was never charged can be refunded. So everything that was released was admitted,
wherever a process died: a crash can waste budget, never leak it. QED.

Assumptions: fits given another ledger, or none, are not counted; a person's records under two dataset names are
two datasets; the database keeps what it has committed (for SQLite `sqlite_file` says under which checks). SQLite needs
a local disk: over a network use PostgreSQL.
"""

import os
import uuid
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.engine import URL

from dpsparse.privacy.accounting.filter import Cost, PrivacyFilter, round_down
from dpsparse.privacy.accounting.meter import BudgetExceeded, OpenedHere
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.ledger.events import Event, LedgerError, LedgerState, cost_details
from dpsparse.privacy.ledger.ledger_store import LedgerStore
from dpsparse.privacy.ledger.location import check_name, check_new_name, check_unlike, granted_name, url_of
from dpsparse.privacy.protection import Adjacency

# A thousandth of it, the share kept for `tv_slack`, is still a normal float.
_LEAST_DELTA = 1e-100
_FORKED = "a reservation is settled only by the process that made it; reserve again in the other one"


class PrivacyLedger:
    """Budgets of datasets in a SQLite file or a database, which fits reserve from and charge.

    Parameters
    ----------
    location : str, path or PrivacyLedger
        A file, made by the first `grant` in a folder that others may not write to, or an SQLAlchemy URL such as
        ``postgresql://user@host/database``. A
        password is never shown and never pickled; PostgreSQL also finds it in ``~/.pgpass`` or ``PGPASSWORD``.

    Examples
    --------
    >>> import os, tempfile
    >>> from dpsparse import DPIHTH, PrivacyLedger
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, _ = make_heavy_tailed(500, 20, 2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(os.path.join(folder, "budget.db"))
    ...     _ = ledger.grant("trial-7", epsilon=3, delta=1e-6)
    ...     _ = DPIHTH(sparsity=2, epsilon=1.0, delta=1e-6, ledger=ledger, dataset="trial-7").fit(X, y)
    ...     round(ledger.balance("trial-7").epsilon_spent, 2), len(ledger.history("trial-7"))
    (1.0, 3)
    """

    def __init__(self, location: "str | os.PathLike[str] | PrivacyLedger") -> None:
        self._url: URL = location._url if isinstance(location, PrivacyLedger) else url_of(location)
        self._store = LedgerStore(self._url)

    @property
    def url(self) -> str:
        """The URL without its password, which PostgreSQL also finds elsewhere."""
        return URL.create(**{**self._url._asdict(), "password": None}).render_as_string(hide_password=False)

    def grant(
        self,
        dataset: str,
        *,
        epsilon: float,
        delta: float,
        adjacency: Adjacency = "replace-one",
        records_per_person: int = 1,
    ) -> PrivacyFilter:
        """Grant a dataset its budget, once.

        The same grant again does nothing. Another is refused: a budget that is raised after results were
        seen is no guarantee.

        Parameters
        ----------
        dataset : str
            A name for the records; never a hash of them, which would reveal something about them. Names that look
            alike are one name or refused: see `dpsparse.privacy.ledger.location`.
        epsilon, delta : float
            The guarantee to a person over all fits.
        adjacency : {"replace-one", "zero-out-one"}
            The neighbouring relation of the guarantee; fits must ask for the same.
        records_per_person : int, default=1
            The most records one person has; fits must ask for at least that number.

        Returns
        -------
        PrivacyFilter
            The dataset's balance.
        """
        granted = self._granted()
        name = granted_name(dataset, granted)
        if name not in granted:
            check_new_name(name)
        if not delta >= _LEAST_DELTA:
            raise ValueError(f"delta={delta!r} must be at least {_LEAST_DELTA:g}; 1e-6 is common")
        asked, people = Guarantee(float(epsilon), float(delta), adjacency), int(records_per_person)
        if people < 1:
            raise ValueError(f"records_per_person={records_per_person!r} must be a whole number of at least 1")

        def decide(events: list[Event]) -> Event | None:
            state = LedgerState(events)
            if name not in state.filters:
                check_unlike(name, state.filters)
                details = {"epsilon": asked.epsilon, "delta": asked.delta, "adjacency": adjacency}
                return state.write(name, None, "grant", {**details, "records_per_person": people, "at": _now()})
            given, given_people = state.filters[name].grant, state.records_per_person[name]
            if (given, given_people) != (asked, people):
                raise ValueError(
                    f"dataset {name!r} was granted epsilon={given.epsilon:g}, delta={given.delta:g}, "
                    f"{given.adjacency}, {given_people} record{'s' * (given_people > 1)} per person; "
                    "a budget changed later is no guarantee: use a new name for new records"
                )
            return None

        self._store.append(decide, create=True)
        return self.balance(name)

    def balance(self, dataset: str) -> PrivacyFilter:
        """The grant of a dataset, and the fits that count against it."""
        return self._filter(self.state(), dataset)

    def state(self) -> LedgerState:
        """All events, checked; LedgerError where the ledger was changed by hand."""
        return LedgerState(self._store.read())

    def history(self, dataset: str | None = None) -> list[Event]:
        """The events of a dataset, or of all."""
        state = self.state()
        if dataset is None:
            return list(state.events)
        self._filter(state, dataset)
        return [event for event in state.events if event.dataset == state.name_of(dataset)]

    def verify(self, head: str | None = None) -> str:
        """Check the chain and repeat every decision.

        Parameters
        ----------
        head : str or None
            A digest noted earlier: the ledger must still contain it.

        Returns
        -------
        str
            The digest of the newest event. LedgerError where something was edited, deleted or reordered.
        """
        state = self.state()
        if head is not None and head not in {event.digest for event in state.events}:
            raise LedgerError("the ledger does not contain this head: events were removed or rewritten")
        return state.head

    def reserve(
        self, dataset: str, cost: Cost, *, adjacency: str, records_per_person: int | None = 1, **about: Any
    ) -> "Reservation":
        """Hold room for one fit, durably, before it reads the data.

        Parameters
        ----------
        dataset : str
            Its name.
        cost : Cost
            The cost of the fit to a person.
        adjacency : str
            The neighbouring relation of that cost.
        records_per_person : int or None, default=1
            The most records of a person for which that cost holds; None where it holds for any number.
        **about
            Public facts for the history.

        Returns
        -------
        Reservation
            To be charged before the first release, or refunded. BudgetExceeded where there is no room.
        """
        check_name(dataset)
        name, fit = str(dataset), str(uuid.uuid4())

        def decide(events: list[Event]) -> Event | None:
            nonlocal name
            state = LedgerState(events)
            name = state.name_of(dataset)
            current = self._filter(state, dataset)
            if fit in state.fits:
                return None
            if adjacency != current.grant.adjacency:
                raise ValueError(
                    f"dataset {dataset!r} was granted for adjacency={current.grant.adjacency!r}, not {adjacency!r}"
                )
            most = state.records_per_person[name]
            people = most if records_per_person is None else int(records_per_person)
            if people < most:
                raise ValueError(
                    f"dataset {dataset!r} was granted for people with up to {most} records; "
                    f"records_per_person={records_per_person} guarantees them less"
                )
            if not current.admits(cost):
                raise BudgetExceeded(
                    f"dataset {dataset!r} has epsilon {round_down(current.epsilon_left):g} of "
                    f"{current.grant.epsilon:g} left at delta={current.grant.delta:g} "
                    f"({current.account_with(cost)} account); this fit of epsilon={cost.epsilon:g} at "
                    f"delta={cost.delta:.3g} needs more"
                )
            details = {**about, **cost_details(cost), "records_per_person": people, "at": _now()}
            details["account"] = current.account_with(cost)
            return state.write(name, fit, "reserve", details)

        self._store.append(decide)
        return Reservation(self._store, name, fit)

    def _filter(self, state: LedgerState, dataset: str) -> PrivacyFilter:
        if state.name_of(dataset) not in state.filters:
            known = ", ".join(map(repr, sorted(state.filters))) or "none"
            raise ValueError(f"dataset={dataset!r} has no budget in {self._store.shown}; grant it one (known: {known})")
        return state.filters[state.name_of(dataset)]

    def _granted(self) -> set[str]:
        """The names in the ledger; none where it is not made yet, and whatever else is wrong shows at the next step."""
        try:
            return set(self.state().filters)
        except LedgerError:
            return set()

    def __repr__(self) -> str:
        return f"PrivacyLedger({self._store.shown!r})"

    def __str__(self) -> str:
        return str(self._store.shown)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrivacyLedger) and self._url == other._url

    def __hash__(self) -> int:
        return hash(self._url)

    def __deepcopy__(self, memo: Any) -> "PrivacyLedger":
        return self  # immutable, and a copy by pickling would lose the password

    def __reduce__(self) -> tuple[Any, ...]:
        return PrivacyLedger, (self.url,)


class Reservation:
    """Room held for one fit. It is charged once, or refunded once and never after a charge."""

    def __init__(self, store: LedgerStore, dataset: str, fit: str) -> None:
        self.fit = fit
        self._store, self._dataset = store, dataset
        self._opened = OpenedHere(LedgerError, _FORKED)
        self._charged = False

    def charge(self) -> None:
        """Make the cost final; on return the charge is on disk, and was made by this process."""
        # Each time: a copy forked after the charge would find it made, and release once more on the same charge.
        self._opened.require()
        if not self._charged:
            self._settle("charge", "charged")
            self._charged = True

    def refund(self) -> None:
        """Give the room back: for a fit that failed before the data were used."""
        self._settle("refund", "refunded")

    def _settle(self, kind: str, state: str) -> None:
        # A reservation that is settled already is taken for this process's own commit whose reply was lost: a forked
        # copy must not get there.
        self._opened.require()

        def decide(events: list[Event]) -> Event | None:
            ledger = LedgerState(events)
            if self.fit in ledger.fits and ledger.fits[self.fit].state == state:
                return None
            return ledger.write(self._dataset, self.fit, kind, {"at": _now()})

        self._store.append(decide)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

"""The ledger: real fits on a real file, watched where the noise is drawn."""

import contextlib
import math
import os
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpsparse import DPIHTH, BudgetExceeded, PrivacyLedger, PrivateSparseRegressor
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.patching import replaced
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.model.context import spending
from dpsparse.privacy.accounting.filter import Cost, PrivacyFilter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.ledger.events import LedgerError, LedgerState
from dpsparse.privacy.noise import SecureSource

GRANT = Guarantee(1.0, 1e-5)
EDITS = {
    "an edited event": "UPDATE dpsparse_events SET payload = replace(payload, '0.4', '0.1') WHERE kind = 'reserve'",
    "a deleted event": "DELETE FROM dpsparse_events WHERE kind = 'charge' AND number = 3",
}
MODELS: dict[str, Callable[..., Any]] = {
    "DPIHTH": lambda **options: DPIHTH(sparsity=2, n_iter=2, **options),
    "PrivateSparseRegressor": lambda **options: PrivateSparseRegressor(sparsity=2, **STANDARDIZED, **options),
}


def check_ledger() -> Iterator[Finding]:
    """Charges before releases, crashes that keep their charge, totals within the grant, edits that are detected."""
    yield from map(_charged_first, MODELS)
    yield from map(_crash, MODELS)
    yield from (_file(what, statement) for what, statement in EDITS.items())
    if os.name == "posix":
        yield from map(_place, PLACES)
    yield _totals("Gaussian account", Cost(0.3, 1e-5, mu=0.05, rho=math.inf))
    yield _totals("coarse noise", Cost(0.3, 1e-5, mu=1e-9, tv_slack=1e-10))
    yield _person()
    yield _published()


@contextlib.contextmanager
def _ledger() -> Iterator[tuple[PrivacyLedger, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        ledger = PrivacyLedger(path)
        ledger.grant("people", epsilon=GRANT.epsilon, delta=GRANT.delta)
        yield ledger, path


def _fit(name: str, ledger: PrivacyLedger) -> None:
    X, y, _ = make_heavy_tailed(300, 6, 2, random_state=0)
    MODELS[name](epsilon=0.4, delta=GRANT.delta, ledger=ledger, dataset="people").fit(X, y)


def _kinds(ledger: PrivacyLedger) -> list[str]:
    return [event.kind for event in ledger.history("people")]


class _Stop(Exception):
    """Ends a fit at a draw."""


def _watched(observe: Callable[..., Any]) -> Any:
    """The secure source, with `observe` called before every draw."""

    def before(draw: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: NDArray[np.int64] | SecureSource | float) -> Any:
            observe()
            return draw(*arguments)

        return watched

    return replaced(
        SecureSource, **{name: before(getattr(SecureSource, name)) for name in ("laplace", "gaussian", "bits")}
    )


def _charged_first(name: str) -> Finding:
    seen: list[Any] = []
    with _ledger() as (ledger, _), _watched(lambda: seen.append("charge" in _kinds(ledger)) if len(seen) < 3 else None):
        _fit(name, ledger)
    good = bool(seen) and all(seen)
    return Finding(f"{name}, ledger", "charged before the first draw", "charged" if good else "not charged", good)


def _crash(name: str) -> Finding:
    """A fit that dies at its second draw keeps its charge, and the next one finds less left."""
    draws = []

    def stop() -> None:
        draws.append(0)
        if len(draws) == 2:
            raise _Stop

    with _ledger() as (ledger, _):
        with _watched(stop), contextlib.suppress(_Stop, LedgerError):
            _fit(name, ledger)
        kinds, left = _kinds(ledger), ledger.balance("people").epsilon_left
    good = kinds == ["grant", "reserve", "charge"] and left < GRANT.epsilon
    return Finding(f"{name}, ledger, after a crash", "the charge stays", f"{', '.join(kinds)}; {left:.3g} left", good)


def _file(what: str, statement: str) -> Finding:
    with _ledger() as (ledger, path):
        _fit("DPIHTH", ledger)
        ledger.grant("others", epsilon=1.0, delta=1e-5)
        with contextlib.closing(sqlite3.connect(path)) as raw:
            raw.execute(statement)
            raw.commit()
        try:
            ledger.verify()
        except LedgerError:
            refused = True
        else:
            refused = False
    return Finding(f"ledger, {what}", "refused", "refused" if refused else "not noticed", refused)


def journal_of(content: bytes) -> bytes:
    """A rollback journal of SQLite that brings a file back to this content."""
    size = 4096
    pages = [content[at : at + size] for at in range(0, len(content), size)]
    header = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", len(pages), 0, len(pages), 512, size)
    records = [
        struct.pack(">I", number) + page + struct.pack(">I", sum(page[size - 200 : 0 : -200]))
        for number, page in enumerate(pages, 1)
    ]
    return header.ljust(512, b"\0") + b"".join(records)


def _old_journal(path: Path, before: bytes) -> None:
    path.with_name("budget.db-journal").write_bytes(journal_of(before))


def _foreign_journal(path: Path, before: bytes) -> None:
    """Of another ledger with the same number of commits."""
    with _ledger() as (ledger, other):
        _fit("DPIHTH", ledger)
        path.with_name("budget.db-journal").write_bytes(journal_of(other.read_bytes()))


def _cutting_journal(path: Path, before: bytes) -> None:
    empty = struct.pack(">5I", 0, 0, 1, 512, 4096)
    path.with_name("budget.db-journal").write_bytes(journal_of(before)[:8] + empty + bytes(484))


def _linked_journal(path: Path, before: bytes) -> None:
    path.with_name("spare").write_bytes(journal_of(path.read_bytes()))
    os.link(path.with_name("spare"), path.with_name("budget.db-journal"))


PLACES = {
    "a second name": lambda path, _: os.link(path, path.with_name("second.db")),
    "a folder open to others": lambda path, _: path.parent.chmod(0o707),
    "an old journal": _old_journal,
    "another ledger's journal": _foreign_journal,
    "a journal that cuts the file": _cutting_journal,
    "a journal under two names": _linked_journal,
}


def _place(what: str) -> Finding:
    """A ledger that a crash, or somebody else, could take back to before a charge is refused and left alone."""
    with _ledger() as (ledger, path):
        before = path.read_bytes()
        _fit("DPIHTH", ledger)
        after = path.read_bytes()
        PLACES[what](path, before)
        try:
            ledger.reserve("people", Cost(0.1, 0.0), adjacency=GRANT.adjacency)
        except LedgerError:
            seen = "refused" if path.read_bytes() == after else "the file was changed"
        else:
            seen = "not noticed"
    return Finding(f"ledger, {what}", "refused", seen, seen == "refused")


def _totals(what: str, cost: Cost) -> Finding:
    """Admit equal fits while there is room, and add them up without the filter."""
    current = PrivacyFilter(GRANT)
    while current.admits(cost) and len(current.costs) < 5_000:
        current = replace(current, costs=(*current.costs, cost), account=current.account_with(cost))
    count, epsilon = len(current.costs), GRANT.epsilon
    mu = math.sqrt(count) * cost.mu
    delta = stats.norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * stats.norm.cdf(-epsilon / mu - mu / 2)
    delta += (1 + math.exp(epsilon)) * count * cost.tv_slack
    good = 1 < count < 5_000 and delta <= GRANT.delta
    return Finding(f"ledger, {what}", f"delta {GRANT.delta:g} in all", f"{count} fits: {delta:.3g}", bool(good))


def _person() -> Finding:
    """Three records a person: after a fit of most of the grant there is no room for another."""
    with _ledger() as (ledger, _):
        X, y, _ = make_heavy_tailed(300, 6, 2, random_state=0)
        model = DPIHTH(
            sparsity=2, n_iter=2, epsilon=0.7, delta=GRANT.delta, records_per_person=3, ledger=ledger, dataset="people"
        )
        model.fit(X, y)
        try:
            model.fit(X, y)
        except BudgetExceeded:
            refused = True
        else:
            refused = False
    evidence = "refused" if refused else "admitted"
    return Finding("ledger, three records a person", "twice epsilon 0.7 is refused", evidence, refused)


def _published() -> Finding:
    """What a model says of its budget is the same where another fit, on an earlier day, refused its data."""
    later = {"at": "2999-01-31T12:00:00+00:00"}
    with _ledger() as (ledger, _):
        _fit("DPIHTH", ledger)
        plain, refunded = (LedgerState(ledger.state().events) for _ in range(2))
    reserved = next(event for event in plain.events if event.kind == "reserve")
    refunded.write("people", "refused", "reserve", reserved.details | later)
    refunded.write("people", "refused", "refund", later)
    shown = [spending(state, "people", by_day=True) for state in (plain, refunded)]
    evidence = "the same" if shown[0] == shown[1] else "another history"
    return Finding("ledger, a fit that was refunded", "no model tells of it", evidence, shown[0] == shown[1])

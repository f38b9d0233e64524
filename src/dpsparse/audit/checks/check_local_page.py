"""The fits of `dpsparse app`: what was chosen reaches the estimator, and nothing is released that is not charged.

A fit runs from its confirmation to its model, and whoever draws noise looks at the ledger first. Then the two orders of
a cancellation and a charge: either the reservation is given back and the fit ends, or it is charged and cannot be
cancelled.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.patching import replaced
from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.ledger.ledger import PrivacyLedger
from dpsparse.privacy.noise import SecureSource

if TYPE_CHECKING:
    from dpsparse.app.gate import Gate
    from dpsparse.app.jobs import Job
    from dpsparse.app.watched_ledger import _Watched
    from dpsparse.app.workspace import Workspace

DATASET = "people"
WANTED = Guarantee(1.5, 1e-3, records_per_person=2)
LINES = "age,cost\n" + "31,400\n47,900\n" * 100


def check_local_page() -> Iterator[Finding]:
    """A whole fit, then a cancelled one and one that comes too late."""
    with tempfile.TemporaryDirectory() as folder:
        yield _check_fit(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield _check_cancelled(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield _check_too_late(Path(folder))


def _check_fit(folder: Path) -> Finding:
    (folder / "people.csv").write_text(LINES)
    # By name, for the audit lies below the page.
    work = resolve_name("dpsparse.app.workspace:Workspace")(folder / "page", folder)
    try:
        fault = _fault_of_fit(work, folder / "people.csv")
    finally:
        work.close()
    return Finding("a fit of the page", "charged before it draws, once", fault or "charged as it was chosen", not fault)


def _fault_of_fit(work: "Workspace", table: Path) -> str | None:
    work.ledger.grant(DATASET, epsilon=9.0, delta=0.01, records_per_person=2)
    chosen = resolve_name("dpsparse.app.settings:Settings")(
        target="cost", dataset=DATASET, records_per_person=2, sparsity=1, epsilon=WANTED.epsilon, delta=WANTED.delta
    )
    work.choose_table(table, chosen)
    ticket, seen = work.ticket, work.confirmation
    unpaid: list[str] = []
    with replaced(
        SecureSource, **{name: _looking(name, work.ledger, unpaid) for name in ("gaussian", "laplace", "bits")}
    ):
        job = work.spend(ticket, seen)
        _wait_for(work)
        if job.state != "done":
            return f"the fit is {job.state}: {job.message}"
        again = _again(work, ticket)
    kinds = [event.kind for event in work.ledger.history(DATASET)]
    if unpaid:
        return "noise is drawn before the charge"
    if again is not job or kinds != ["grant", "reserve", "charge"]:
        return f"one confirmation, and the ledger says: {', '.join(kinds)}"
    if job.model.privacy.guarantee != WANTED:
        return "another guarantee than was chosen"
    return None


def _wait_for(work: "Workspace") -> None:
    thread = work.jobs._thread
    assert thread is not None
    thread.join()


def _again(work: "Workspace", ticket: str) -> "Job | None":
    """The same confirmation once more; the fit that it leads to, or None."""
    try:
        job = work.spend(ticket, work.confirmation)
    except Exception:
        return None
    _wait_for(work)
    return job


def _looking(name: str, ledger: PrivacyLedger, unpaid: list[Any]) -> Callable[..., Any]:
    """A method of the source that looks at the ledger before its first draw."""
    draw = getattr(SecureSource, name)
    seen: list[str] = []

    def looking(*arguments: NDArray[np.int64] | SecureSource | float) -> Any:
        if not seen:
            seen.append(ledger.history()[-1].kind)
            unpaid.extend(kind for kind in seen if kind != "charge")
        return draw(*arguments)

    return looking


def _reserved(folder: Path) -> "tuple[Gate, PrivacyLedger, _Watched]":
    """A gate, and a reservation that has to pass it, of a ledger."""
    gate, ledger = resolve_name("dpsparse.app.gate:Gate")(), PrivacyLedger(folder / "budget.db")
    ledger.grant(DATASET, epsilon=1.0, delta=1e-6)
    watched = resolve_name("dpsparse.app.watched_ledger:WatchedLedger")(ledger, gate, "0" * 32)
    return gate, ledger, watched.reserve(DATASET, Cost(0.5, 0.0), adjacency="replace-one")


def _check_cancelled(folder: Path) -> Finding:
    gate, ledger, reservation = _reserved(folder)
    closed, charged = gate.close(), True
    try:
        reservation.charge()
    except Exception as stopped:
        charged = type(stopped).__name__ != "Cancelled"
    kinds = [event.kind for event in ledger.history()]
    good = closed and not charged and kinds == ["grant", "reserve", "refund"]
    return Finding("a cancelled fit", "given back, and no release", "goes on" if charged else ", ".join(kinds), good)


def _check_too_late(folder: Path) -> Finding:
    gate, ledger, reservation = _reserved(folder)
    reservation.charge()
    closed, kinds = gate.close(), [event.kind for event in ledger.history()]
    good = not closed and kinds == ["grant", "reserve", "charge"]
    evidence = "the cancellation is accepted" if closed else ", ".join(kinds)
    return Finding("a cancellation after the charge", "refused", evidence, good)

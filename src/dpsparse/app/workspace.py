"""What the page remembers: the folder that was opened, the draft with its choices, the ledger, the fits.

There is one draft, whatever the number of tabs. It is kept on disk, so that a reload forgets no choice, nor a restart
in a folder that was named. In the folder of the account, which many may share, a start forgets the table and the
choices of the one before: only the budget and the fits, which were paid for, are kept there.
"""

import json
import os
import secrets
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dpsparse.app.draft_table import PublicFacts, public_facts, within
from dpsparse.app.jobs import Job, Jobs
from dpsparse.app.settings import Settings, digest, settings_of
from dpsparse.app.uploads import Uploads
from dpsparse.io.atomic import write_file
from dpsparse.schema import Fields, FileError, read_json

if TYPE_CHECKING:
    from dpsparse.privacy.ledger.events import LedgerState
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

# The file by which a browser is opened; it holds the token, and goes with the program.
OPENER = "open.html"
# The table and the choices of the fit that is being prepared.
DRAFT = "draft.json"
STALE = "the choices or the table changed meanwhile, maybe in another tab; look at them again, then confirm"


@dataclass(frozen=True)
class Draft:
    """The fit that is being prepared."""

    path: str | None = None  # None before a table is chosen
    settings: Settings = field(default_factory=Settings)
    planned: bool = False  # Whether epsilon was chosen, with its forecast in view.

    @property
    def digest(self) -> str:
        """A fingerprint of all choices."""
        return digest(self.path, self.settings.to_json(), self.planned)


class Workspace:
    """Everything behind the page.

    `folder` is where the page keeps its files; only one program at a time does. Tables in `opened` may be opened by
    path; where that is a file, those in its folder, and step 1 names it. Without a ledger the budget is kept in a file
    in `folder`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        opened: str | os.PathLike[str] = ".",
        ledger: str | os.PathLike[str] | None = None,
        *,
        resume: bool = True,
    ) -> None:
        self.folder, self.opened, self.named = Path(folder), Path(os.path.realpath(opened)), ""
        if self.opened.is_file():
            self.opened, self.named = self.opened.parent, self.opened.name
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._ledger = str(self.folder / "budget.db" if ledger is None else ledger)
        if "://" in self._ledger:
            # What is wrong with a URL is said at the start.
            _ = self.ledger
        self._held = _lock(self.folder / "lock")
        self.uploads = Uploads(self.folder / "uploads")
        self.jobs = Jobs(self.folder / "fits", lambda: self.ledger)
        self.lock = threading.RLock()
        self.ticket = secrets.token_hex(16)
        self._resume = resume
        self._forget()
        self.draft = self._read_draft()

    @cached_property
    def ledger(self) -> "PrivacyLedger":
        """Where the budget is kept. Imported when it is needed, so that the first page comes at once."""
        from dpsparse.privacy.ledger.ledger import PrivacyLedger

        return PrivacyLedger(self._ledger)

    def _forget(self) -> None:
        if not self._resume:
            (self.folder / DRAFT).unlink(missing_ok=True)

    def _read_draft(self) -> Draft:
        path = self.folder / DRAFT
        if not path.exists():
            return Draft()
        try:
            fields = read_json(path)
            table, planned = fields.text("path", None), fields.flag("planned")
            settings = settings_of(Fields(fields.take("settings"), str(path)))
        except FileError:
            return Draft()
        # An upload went with the program, and a table may lie in another folder than the one that is opened now.
        return Draft(table if table and self._is_opened(table) else None, settings, planned)

    def _is_opened(self, table: str) -> bool:
        try:
            place = within(table, self.opened)
            return place.exists() and self.named in ("", place.name)
        except FileError:
            return False

    def change(self, **changes: Any) -> Draft:
        """Change the draft, on disk first."""
        with self.lock:
            draft = replace(self.draft, **changes)
            content = {"path": draft.path, "planned": draft.planned, "settings": json.loads(draft.settings.to_json())}
            write_file(self.folder / DRAFT, json.dumps(content, indent=1) + "\n", private=True)
            self.draft = draft
            return draft

    @property
    def facts(self) -> PublicFacts | None:
        """The public facts of the table, or None before one is chosen."""
        if self.draft.path is None:
            return None
        chosen = self.draft.settings
        return public_facts(self.draft.path, chosen.separator, chosen.encoding, chosen.person)

    def choose_table(self, path: Path, settings: Settings) -> list[str]:
        """Take another table; gives the names in the settings that it lacks."""
        facts = public_facts(path, settings.separator, settings.encoding)
        settings, forgotten = settings.for_columns(facts.names)
        with self.lock:
            before = self.draft.path
            self.change(path=str(path), settings=settings, planned=self.draft.planned and str(path) == before)
            if before != str(path) and self.jobs.running is None:
                self.uploads.forget(before)
        return forgotten

    def ledger_state(self) -> "LedgerState | None":
        """The ledger; None where it is a file that is not made yet, which the first grant does."""
        if "://" not in self._ledger and not os.path.exists(self._ledger):
            return None
        return self.ledger.state()

    def balance(self) -> dict[str, Any] | None:
        """The budget of the draft's people, as `balance_facts` tells it; None where none was granted."""
        state, dataset = self.ledger_state(), self.draft.settings.dataset
        if not dataset or state is None or state.name_of(dataset) not in state.filters:
            return None
        from dpsparse.report.budget_facts import balance_facts

        return balance_facts(state, state.name_of(dataset))

    def granted_beside(self, dataset: str | None = None) -> list[str]:
        """The names that have a budget in the ledger, where this one, or that of the draft's people, has none yet."""
        state, dataset = self.ledger_state(), dataset or self.draft.settings.dataset
        if not dataset or state is None or state.name_of(dataset) in state.filters:
            return []
        return sorted(state.filters)

    def delta(self) -> float | None:
        """The delta of the draft's fit: what was typed, or the usual one."""
        typed = self.draft.settings.delta
        return self.usual_delta() if typed is None else typed

    def usual_delta(self) -> float | None:
        """The delta of a fit for which none was typed: the default, and never above the grant's."""
        facts = self.facts
        if facts is None:
            return None
        from dpsparse.privacy.guarantee import default_delta

        balance = self.balance()
        return default_delta(max(2, facts.n_people), None if balance is None else balance["delta"])

    @property
    def confirmation(self) -> str:
        """A fingerprint of what a confirmation shows: the choices, the table's public facts, and delta."""
        facts = self.facts
        return digest(self.draft.digest, facts and (facts.names, facts.n_records, facts.n_people), self.delta())

    def spend(self, ticket: str, seen: str) -> Job:
        """Begin the fit of the draft, once for each ticket.

        The ticket is the one that the confirmation showed: the same again gives the same fit. `seen` is the fingerprint
        of the choices that were shown.
        """
        with self.lock:
            known = self.jobs.get(ticket)
            if known is not None:
                return known
            if ticket != self.ticket or seen != self.confirmation:
                raise FileError(STALE)
            assert self.draft.path is not None  # a confirmation shows a table
            job = self.jobs.start(ticket, self.draft.path, replace(self.draft.settings, delta=self.delta()))
            self.ticket = secrets.token_hex(16)
            return job

    def close(self) -> None:
        """End the fit or wait for it, and remove the uploads; the draft as well, where no restart goes on with it."""
        self.jobs.close()
        self.uploads.remove()
        self._forget()
        (self.folder / OPENER).unlink(missing_ok=True)
        self._held.close()


def _lock(path: Path) -> IO[str]:
    """An open file that one program at a time holds."""
    file = open(path, "a")  # noqa: SIM115
    try:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # of Windows alone
    except OSError:
        file.close()
        raise FileError(
            f"a page that keeps its files in {path.parent} is running already; use that one, end it, or give another "
            "--folder"
        ) from None
    return file

"""The fits of the page: one at a time, each known by a name that is spent once, on disk before the page hears of it.

A fit's folder has ``job.json``, written before the fit begins; ``bounds.toml``; and ``model.json``, written whole and
synced before the fit is said to be done. A job that began and has no model when the program starts is lost: the ledger
tells what it cost.
"""

import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dpsparse.app.gate import Cancelled, Gate
from dpsparse.app.settings import Settings, settings_of
from dpsparse.io.atomic import atomic_file, write_file
from dpsparse.messages import one_line
from dpsparse.schema import Fields, FileError, read_json

if TYPE_CHECKING:
    from dpsparse.data.inputs import Given
    from dpsparse.fitting import FileFit
    from dpsparse.model.released import LinearModel
    from dpsparse.privacy.ledger.ledger import PrivacyLedger

STARTED, DONE, CANCELLED, FAILED, LOST = "started", "done", "cancelled", "failed", "lost"
NAME = re.compile("[0-9a-f]{32}")
BUSY = "a fit is running, and one runs at a time; wait until it has ended"


@dataclass
class Job:
    """A fit of the page."""

    name: str  # its ticket: 32 hexadecimal digits
    folder: Path
    file: str  # the name of the table
    settings: Settings
    began: str  # in UTC
    state: str = STARTED  # one of the names above
    message: str = ""  # what went wrong
    notes: list[str] = field(default_factory=list)  # What the user should know before relying on the model.
    gate: Gate = field(default_factory=Gate)
    share: float = 0.0
    unsaved: "LinearModel | None" = None

    @property
    def path(self) -> Path:
        """Where the model is."""
        return self.folder / "model.json"

    @cached_property
    def model(self) -> "LinearModel":
        """The released model."""
        from dpsparse.model.json_file import load_model

        return self.unsaved if self.unsaved is not None else load_model(self.path)

    def asked(self, data: str | os.PathLike[str] | None = None, ledger: "PrivacyLedger | None" = None) -> "FileFit":
        """The fit as the command line would ask for it."""
        from dpsparse.fitting import FileFit

        chosen = self.settings
        return FileFit(
            self.file if data is None else data,
            chosen.target,
            chosen.epsilon,
            sparsity=chosen.sparsity,
            estimand=chosen.chosen_estimand,
            family=chosen.family,
            exposure=chosen.exposure,
            positive=chosen.positive,
            delta=chosen.delta,
            bounds=str(self.folder / "bounds.toml"),
            separator=chosen.separator,
            encoding=chosen.encoding,
            person=chosen.person,
            records_per_person=chosen.most_records,
            ledger=ledger,
            dataset=chosen.dataset,
            holdout=chosen.holdout,
        )

    def save(self) -> None:
        """Write what is known of the job."""
        facts = {name: getattr(self, name) for name in ("name", "file", "began", "state", "message", "notes")}
        facts["settings"] = json.loads(self.settings.to_json())
        write_file(self.folder / "job.json", json.dumps(facts, indent=1) + "\n", private=True)

    def progress(self, done: float, total: int) -> None:
        """Note how far the fit is."""
        self.share = 0.0 if not total else min(1.0, done / total)


class Jobs:
    """All fits of the page."""

    def __init__(self, folder: str | os.PathLike[str], ledger: "Callable[[], PrivacyLedger]") -> None:
        self._folder, self._ledger = Path(folder), ledger
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Held by the one computation at a time: a fit, or a preview.
        self.working = threading.Lock()
        self._jobs = {job.name: job for job in self._load()}
        self._thread: threading.Thread | None = None

    def _load(self) -> Iterator[Job]:
        for path in self._folder.glob("*/job.json"):
            try:
                job = _read(path)
            except FileError:
                continue
            if job.state == STARTED:
                # No fit outlives its program.
                job.state = DONE if job.path.exists() else LOST
                job.save()
            yield job

    def all(self) -> list[Job]:
        """The jobs, newest first."""
        return sorted(self._jobs.values(), key=lambda job: job.began, reverse=True)

    def get(self, name: str) -> Job | None:
        """A job by its name, or None."""
        return self._jobs.get(name)

    @property
    def running(self) -> Job | None:
        """The job that is running, or None."""
        return next((job for job in self._jobs.values() if job.state == STARTED), None)

    @property
    def lost(self) -> Job | None:
        """The newest job, if it was lost: said on every page until another is begun."""
        newest = next(iter(self.all()), None)
        return newest if newest is not None and newest.state == LOST else None

    def start(self, name: str, data: str | os.PathLike[str], settings: Settings) -> Job:
        """Begin a fit; the caller sees to it that a name is used once, by calling with a lock held."""
        from dpsparse.app.watched_ledger import WatchedLedger

        # A preview may be at work, for some seconds.
        if self.running is not None or not self.working.acquire(timeout=30):
            raise FileError(BUSY)
        try:
            folder = self._folder / name
            folder.mkdir(mode=0o700)
            job = Job(name, folder, Path(data).name, settings, datetime.now(UTC).isoformat(timespec="seconds"))
            write_file(folder / "bounds.toml", settings.bounds_text(), private=True)
            asked = job.asked(data, WatchedLedger(self._ledger(), job.gate, name))
            # Names and bounds are checked here, so that what is wrong with them is said before anything is reserved.
            given = asked.open()
            job.save()
        except BaseException:
            shutil.rmtree(self._folder / name, ignore_errors=True)
            self.working.release()
            raise
        self._jobs[name] = job
        self._thread = threading.Thread(target=self._run, args=(job, asked, given), name="fit")
        self._thread.start()
        return job

    def _run(self, job: Job, asked: "FileFit", given: "Given") -> None:
        try:
            state, message = self._fitted(job, asked, given)
        except Cancelled:
            state, message = CANCELLED, ""
        except BaseException as error:
            state, message = FAILED, one_line(error)
        # The state last: whoever reads it finds the rest.
        job.message = message
        ended = replace(job, state=state)
        try:
            ended.save()
        except Exception as error:
            job.message = job.message or f"the job's file could not be written: {one_line(error)}"
        finally:
            job.state = state
            self.working.release()

    @staticmethod
    def _fitted(job: Job, asked: "FileFit", given: "Given") -> tuple[str, str]:
        from dpsparse.model.json_file import write_model

        model = None
        try:
            with atomic_file(job.path, replace=False) as stream:
                model, job.notes = asked.fit(given, job.progress)
                write_model(model, stream)
        except OSError as error:
            if model is None:
                raise
            # Paid for: it is shown and can be downloaded as long as the program runs.
            job.unsaved = model
            return DONE, f"the model could not be saved here ({one_line(error)}); download it before you end the page"
        return DONE, ""

    def charge_of(self, job: Job) -> str | None:
        """What the ledger says of a job; see `watched_ledger.charge_of`."""
        from dpsparse.app.watched_ledger import charge_of

        return charge_of(self._ledger().state(), job.name)

    def close(self) -> None:
        """Cancel a fit that has released nothing, and wait for one that is paid for."""
        job = self.running
        if job is not None:
            job.gate.close()
        if self._thread is not None:
            self._thread.join()


def _read(path: Path) -> Job:
    fields = read_json(path)
    name = fields.text("name")
    if not NAME.fullmatch(name) or path.parent.name != name:
        raise FileError(f"{path} is not a job of the page")
    job = Job(
        name,
        path.parent,
        fields.text("file"),
        settings_of(Fields(fields.take("settings"), str(path))),
        fields.text("began"),
        fields.text("state"),
        fields.take("message"),
        fields.take("notes"),
    )
    fields.finish()
    return job

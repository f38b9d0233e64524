"""`dpsparse app` without a browser: a table is chosen, fitted on and looked at, on every page there is."""

import asyncio
import re
import secrets
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np

from dpsparse.audit.harness.patching import replaced
from dpsparse.audit.harness.raw_shapes import as_lines
from dpsparse.audit.harness.run_program import DATASET, NewYear
from dpsparse.audit.harness.tape import Run, Script, Tape
from dpsparse.audit.harness.watching import files_in, watched
from dpsparse.model import context

# By name, for the audit lies below the page.
_WORKSPACE, _SETTINGS = "dpsparse.app.workspace:Workspace", "dpsparse.app.settings:Settings"
_APP, _DOWNLOADS = "dpsparse.app.server:create_app", "dpsparse.app.spending_pages:DOWNLOADS"
# What a page shows of chance and of the time of day.
_CHANCE = re.compile(rb"[0-9a-f]{32,}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?")
# A preview is a report on made-up records, with noise of its own.
_MADE_UP = ("/preview/report",)


def run_page(
    folder: Path,
    table: list[list[bytes]],
    guarantee: dict[str, float],
    script: Script | None = None,
    holdout: float | None = None,
) -> Run:
    """Fit on a table by way of the page; its `fitted` is every page before and after, and every file.

    `folder`: made anew.
    `table`: of `raw_shapes`.
    `guarantee`: epsilon and delta.
    `script`: outputs to replay.
    `holdout`: the share of the records to hold out.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    (folder / "table.csv").write_bytes(as_lines(table))
    tape = Tape(script)
    # A ledger is charged for private fits alone.
    tape.private = True
    with _steady_chance():
        work = resolve_name(_WORKSPACE)(folder / "page", folder)
    try:
        with watched(folder) as seen, tape.running(), _steady_chance():
            work.ledger.grant(DATASET, epsilon=500.0, delta=0.1)
            chosen = resolve_name(_SETTINGS)(target="y", dataset=DATASET, sparsity=3, holdout=holdout, **guarantee)
            work.choose_table(folder / "table.csv", chosen)
            work.change(planned=True)
            pages = _pages(work, "before")
            job = work.spend(work.ticket, work.confirmation)
            work.jobs._thread.join()
            pages |= _pages(work, "after", job.name)
    finally:
        work.close()
    shown = seen.shown() | {"notes": job.notes, "message": job.message} | pages
    error = None if job.state == "done" else f"the fit is {job.state}: {job.message}"
    kept = files_in(folder / "page", held=("budget.db", "budget.db-wal", "budget.db-shm"))
    shown["files"] = {_steady(name.encode()): _steady(content) for name, content in kept["files"].items()}
    record = {"privacy_": job.model.privacy, "support_": np.array([], dtype=int)} if error is None else {}
    return Run(tape, error, seen.warnings, shown | record)


def _pages(work: Any, when: str, job: Any = None) -> dict[str, bytes]:
    """What every page answers that is asked for by GET."""
    app, shown = resolve_name(_APP)(work), {}
    for route in app.routes:
        if "GET" in (getattr(route, "methods", None) or ()) and route.path not in _MADE_UP:
            files = list(resolve_name(_DOWNLOADS)) if "{file}" in route.path else [""]
            for path in (route.path.replace("{file}", file) for file in files):
                if job is not None or "{name}" not in path:
                    shown[f"page {path} {when} the fit"] = _steady(
                        asyncio.run(_get(app, path.replace("{name}", job or "")))
                    )
    return shown


async def _get(app: Any, path: str) -> bytes:
    """The status, the headers and the content of an answer."""
    parts: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        parts.append(repr([message.get("status"), message.get("headers")]).encode() + message.get("body", b""))

    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
    }
    scope |= {"headers": [], "state": {"csrf": "0" * 32}, "root_path": "", "scheme": "http", "http_version": "1.1"}
    await app(scope | {"server": ("127.0.0.1", 80), "client": ("127.0.0.1", 9)}, receive, send)
    return b"".join(parts)


@contextmanager
def _steady_chance() -> Iterator[Any]:
    fit = uuid.UUID(int=7)
    with replaced(context, datetime=NewYear), replaced(secrets, token_hex=_ticket), replaced(uuid, uuid4=lambda: fit):
        yield


def _ticket(size: int) -> str:
    """The same name for every fit."""
    return "07" * size


def _steady(text: bytes) -> bytes:
    return _CHANCE.sub(b"...", text)

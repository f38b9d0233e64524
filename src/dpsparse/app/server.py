"""The server of the page: its routes, its start and its end."""

import asyncio
import contextlib
import os
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dpsparse.app import accuracy_page, budget_page, file_pages, spending_pages
from dpsparse.app.render import EXPECTED, Missing, NotYet, action, page, redirect
from dpsparse.app.security import ENTER, Guard
from dpsparse.app.workspace import OPENER, Workspace
from dpsparse.io.atomic import write_file
from dpsparse.messages import one_line
from dpsparse.schema import FileError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_STATIC = Path(__file__).parent / "static"


def create_app(work: Workspace) -> Starlette:
    """The page, without its guard."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        if work.jobs.running is not None:
            print("Waiting for the fit: one that is paid for runs to its end.", file=sys.stderr, flush=True)
        await asyncio.to_thread(work.close)

    def get(path: str, endpoint: Callable[[Request], Any]) -> Route:
        return Route(path, endpoint, methods=["GET"])

    def post(path: str, change: Callable[[Request, FormData], Response], shown: Callable[..., Response]) -> Route:
        return Route(path, action(change, shown), methods=["POST"])

    routes = [
        get("/", file_pages.start),
        get("/file", file_pages.file_page),
        post("/file", file_pages.choose_file, file_pages.file_page),
        post("/upload/forget", file_pages.forget_upload, file_pages.file_page),
        get("/columns", file_pages.columns_page),
        post("/columns", file_pages.choose_columns, file_pages.columns_page),
        get("/accuracy", accuracy_page.accuracy_page),
        post("/accuracy", accuracy_page.choose_accuracy, accuracy_page.accuracy_page),
        get("/forecast", accuracy_page.forecast_fragment),
        get("/preview", file_pages.preview_shell),
        get("/preview/report", file_pages.preview_report),
        get("/spend", spending_pages.spend_page),
        post("/spend", spending_pages.spend, spending_pages.spend_page),
        get("/results", spending_pages.results_page),
        get("/fits/{name}", spending_pages.job_page),
        get("/fits/{name}/state", spending_pages.job_state),
        post("/fits/{name}/cancel", spending_pages.cancel, spending_pages.job_page),
        get("/fits/{name}/report", spending_pages.report),
        get("/fits/{name}/{file}", spending_pages.download),
        get("/budget", budget_page.budget_page),
        post("/budget/grant", budget_page.grant, budget_page.budget_page),
        post("/accuracy/grant", budget_page.grant, accuracy_page.accuracy_page),
        post("/spend/grant", budget_page.grant, spending_pages.spend_page),
        get("/budget/head", budget_page.witness),
        get("/settings", file_pages.save_settings),
        post("/settings", file_pages.load_settings, file_pages.file_page),
        get("/glossary", lambda request: page(request, "glossary")),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]
    handlers = {NotYet: _not_yet, Missing: _missing, HTTPException: _missing, Exception: _failed}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers | dict.fromkeys(EXPECTED, _refused))
    app.state.work = work
    return app


async def _not_yet(request: Request, error: Exception) -> RedirectResponse:
    assert isinstance(error, NotYet)  # as it is registered
    return redirect(f"/{error.step}")


async def _missing(request: Request, error: Exception) -> HTMLResponse:
    status = getattr(error, "status_code", 404)
    words = "There is no such page here; go on with one of the steps above."
    return page(request, "message", status=status, headline="Not here", words=words)


async def _refused(request: Request, error: Exception) -> HTMLResponse:
    return page(request, "message", status=422, headline="This did not work", words=one_line(error))


async def _failed(request: Request, error: Exception) -> Response:
    words = (
        "The program made a mistake, which its terminal describes. What was charged stays charged and what was saved "
        "stays saved: step 7 shows the budget, step 6 the fits. Please report the mistake without any data."
    )
    return page(request, "message", status=500, headline="Something went wrong", words=words)


def serve(
    folder: str | os.PathLike[str],
    *,
    resume: bool = True,
    opened: str | os.PathLike[str] = ".",
    ledger: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    expose: bool = False,
    on_ready: Callable[[str], object] = print,
    browser: bool = True,
) -> None:
    """Serve the page until it is interrupted.

    `folder` is where the page keeps its files; tables in `opened` may be opened by path, and where that is a file, step
    1 names it. Port 0 is any that is free; `expose` allows a host other than loopback. `on_ready` is called with the
    address, once the page answers.
    """
    with _listening(host, port, expose) as listening:
        _serve(Workspace(folder, opened, ledger, resume=resume), listening, host, on_ready, browser)


def _serve(
    work: Workspace, listening: socket.socket, host: str, on_ready: Callable[[str], object], browser: bool
) -> None:
    port = listening.getsockname()[1]
    names = LOOPBACK if host in LOOPBACK else (host,)
    app = create_app(work)
    guard = Guard(app, [f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names])
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{port}{ENTER}?token={guard.token}"
    # What an upload is parsed into is a copy of records too.
    tempfile.tempdir = str(work.uploads.folder)
    config = uvicorn.Config(
        guard, log_level="warning", access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=3
    )
    try:
        _Server(config, lambda: _ready(url, work, on_ready, browser)).run(sockets=[listening])
    finally:
        tempfile.tempdir = None


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()


def _ready(url: str, work: Workspace, on_ready: Callable[[str], object], browser: bool) -> None:
    on_ready(url)
    if browser:
        # Through a file: other users of this machine see the words of a command, and would see the token.
        opener = work.folder / OPENER
        write_file(
            opener,
            f'<!doctype html><meta http-equiv="refresh" content="0;url={url}"><a href="{url}">dpsparse</a>',
            True,
        )
        threading.Thread(target=webbrowser.open, args=(opener.resolve().as_uri(),), daemon=True).start()
    threading.Thread(target=_warm_up, daemon=True).start()


def _warm_up() -> None:
    """Import what the later steps need while somebody reads the first.

    An interpreter that is about to end refuses imports, in the words of whatever was being imported; of any other
    failure the step tells that needs the import.
    """
    with contextlib.suppress(Exception):
        from dpsparse import fitting
        from dpsparse.report import fit_page

        del fitting, fit_page


def _listening(host: str, port: int, expose: bool) -> socket.socket:
    if host not in LOOPBACK:
        if not expose:
            raise FileError(
                f"--host {host} would let other machines in, unencrypted; add --expose if that is meant, or reach this "
                "machine's page through ssh -L"
            )
        if host in ("0.0.0.0", "::", ""):
            raise FileError("--host must be one address or name of this machine, by which browsers will call it")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise FileError(f"cannot listen at {host}, port {port}: {error.strerror}; give another --port") from None
    return listening

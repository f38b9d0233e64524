"""The server of the page: its routes, its start and its end."""

import asyncio
import os
import socket
import sys
import tempfile
import threading
import webbrowser
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dpsparse.app import accuracy, budget, spending, steps
from dpsparse.app.render import EXPECTED, Missing, NotYet, action, one_line, page, redirect
from dpsparse.app.security import ENTER, Guard
from dpsparse.app.workspace import OPENER, Workspace
from dpsparse.io.atomic import write_file
from dpsparse.schema import FileError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_STATIC = Path(__file__).parent / "static"


def create_app(work):
    """The page, without its guard.

    Parameters
    ----------
    work : Workspace
        What is behind it.
    """

    @asynccontextmanager
    async def lifespan(app):
        yield
        if work.jobs.running is not None:
            print("Waiting for the fit: one that is paid for runs to its end.", file=sys.stderr, flush=True)
        await asyncio.to_thread(work.close)

    def get(path, endpoint):
        return Route(path, endpoint, methods=["GET"])

    def post(path, change, shown):
        return Route(path, action(change, shown), methods=["POST"])

    routes = [
        get("/", steps.start),
        get("/file", steps.file_page),
        post("/file", steps.choose_file, steps.file_page),
        post("/upload/forget", steps.forget_upload, steps.file_page),
        get("/columns", steps.columns_page),
        post("/columns", steps.choose_columns, steps.columns_page),
        get("/accuracy", accuracy.accuracy_page),
        post("/accuracy", accuracy.choose_accuracy, accuracy.accuracy_page),
        get("/forecast", accuracy.forecast_fragment),
        get("/preview", steps.preview_shell),
        get("/preview/report", steps.preview_report),
        get("/spend", spending.spend_page),
        post("/spend", spending.spend, spending.spend_page),
        get("/results", spending.results_page),
        get("/fits/{name}", spending.job_page),
        get("/fits/{name}/state", spending.job_state),
        post("/fits/{name}/cancel", spending.cancel, spending.job_page),
        get("/fits/{name}/report", spending.report),
        get("/fits/{name}/{file}", spending.download),
        get("/budget", budget.budget_page),
        post("/budget/grant", budget.grant, budget.budget_page),
        post("/accuracy/grant", budget.grant, accuracy.accuracy_page),
        post("/spend/grant", budget.grant, spending.spend_page),
        get("/budget/head", budget.witness),
        get("/settings", steps.save_settings),
        post("/settings", steps.load_settings, steps.file_page),
        get("/glossary", lambda request: page(request, "glossary")),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]
    handlers = {NotYet: _not_yet, Missing: _missing, HTTPException: _missing, Exception: _failed}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers | dict.fromkeys(EXPECTED, _refused))
    app.state.work = work
    return app


async def _not_yet(request, error):
    return redirect(f"/{error.step}")


async def _missing(request, error):
    status = getattr(error, "status_code", 404)
    words = "There is no such page here; go on with one of the steps above."
    return page(request, "message", status=status, headline="Not here", words=words)


async def _refused(request, error):
    return page(request, "message", status=422, headline="This did not work", words=one_line(error))


async def _failed(request, error):
    words = (
        "The program made a mistake, which its terminal describes. What was charged stays charged and what was saved "
        "stays saved: step 7 shows the budget, step 6 the fits. Please report the mistake without any data."
    )
    return page(request, "message", status=500, headline="Something went wrong", words=words)


def serve(
    folder,
    *,
    resume=True,
    opened=".",
    ledger=None,
    host="127.0.0.1",
    port=0,
    expose=False,
    on_ready=print,
    browser=True,
):
    """Serve the page until it is interrupted.

    Parameters
    ----------
    folder : path
        Where the page keeps its files.
    resume : bool
        Whether to go on with the table and the choices that an earlier start left there.
    opened : path
        The folder whose tables may be opened by path.
    ledger : str, path or None
        Where the budget is kept.
    host, port : str and int
        Where to listen; port 0 for any that is free.
    expose : bool
        Whether a host other than loopback is meant.
    on_ready : callable
        Called with the address, once the page answers.
    browser : bool
        Whether to open it in a browser.
    """
    with _listening(host, port, expose) as listening:
        _serve(Workspace(folder, opened, ledger, resume=resume), listening, host, on_ready, browser)


def _serve(work, listening, host, on_ready, browser):
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
    def __init__(self, config, on_ready):
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets=None):
        await super().startup(sockets)
        self._on_ready()


def _ready(url, work, on_ready, browser):
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


def _warm_up():
    """Import what the later steps need while somebody reads the first."""
    from dpsparse import fitting
    from dpsparse.report import fit

    return fitting, fit


def _listening(host, port, expose):
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

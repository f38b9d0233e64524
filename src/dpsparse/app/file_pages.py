"""The steps before anything is spent: the file, the columns, the preview. The accuracy has its own module."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dpsparse.app.accuracy_page import planned_forecast
from dpsparse.app.column_form import (
    KNOWN,
    apply_pattern,
    chosen,
    declares,
    response_of,
    rows_of,
    typed_response,
    typed_rows,
)
from dpsparse.app.draft_forecast import shape_of
from dpsparse.app.draft_table import tables_in, within
from dpsparse.app.preview import preview_page
from dpsparse.app.render import fragment, page, redirect, require
from dpsparse.app.security import REPORT_POLICY
from dpsparse.app.settings import digest, settings_of
from dpsparse.app.typed_numbers import typed_count
from dpsparse.schema import Fields, FileError

if TYPE_CHECKING:
    from dpsparse.app.workspace import Workspace

SEPARATORS = {"": "taken from the first line", ",": "comma", ";": "semicolon", "tab": "tab", "|": "bar"}
ENCODINGS = {"utf-8": "UTF-8 (usual)", "cp1252": "Windows (cp1252)", "latin-1": "Latin-1 (older files)"}


def start(request: Request) -> Response:
    """Where somebody left off."""
    draft = request.app.state.work.draft
    done = (draft.path is not None, draft.settings.target is not None, draft.planned)
    return redirect("/" + ("file", "columns", "accuracy", "spend")[len(done) if all(done) else done.index(False)])


def file_page(request: Request, error: str | None = None, form: FormData | None = None) -> HTMLResponse:
    """Step 1: the file, and whose records they are."""
    work = request.app.state.work
    draft = work.draft
    lists: dict[str, Any] = {"separators": SEPARATORS, "encodings": ENCODINGS}
    typed = {
        "path": _path_of(work),
        "dataset": draft.settings.dataset or "",
        "records_per_person": str(draft.settings.records_per_person),
        "separator": "tab" if draft.settings.separator == "\t" else draft.settings.separator or "",
        "encoding": draft.settings.encoding,
    }
    typed |= {name: str(form[name]) for name in typed if form and name in form}
    state = work.ledger_state() if error is None else None
    granted = [] if state is None else sorted(state.filters)
    lists |= {"tables": tables_in(work.opened), "opened": str(work.opened), "granted": granted}
    forgotten = request.query_params.get("forgotten", "")
    notice = f"This table has no {forgotten}, so what was chosen for it is forgotten." if forgotten else None
    return page(request, "file", step="file", error=error, typed=typed, notice=notice, **lists)


def _path_of(work: "Workspace") -> str:
    """What the field of the path holds: the table of the draft, or the one that the command named."""
    path = work.draft.path
    if path is None:
        return str(work.named)
    return "" if work.uploads.holds(path) else _shown(path, work)


def _shown(path: str, work: "Workspace") -> str:
    place = Path(path)
    return str(place.relative_to(work.opened)) if work.opened in place.parents else str(place)


def choose_file(request: Request, form: FormData) -> RedirectResponse:
    """Take a table, by path or as an upload."""
    work = request.app.state.work
    separator = str(form.get("separator", ""))
    settings = replace(
        work.draft.settings,
        dataset=_dataset(str(form.get("dataset", ""))),
        records_per_person=typed_count(form, "records_per_person", "records per person"),
        separator={"": None, "tab": "\t"}.get(separator, separator),
        encoding=str(form.get("encoding", "utf-8")),
    )
    upload, typed = form.get("upload"), str(form.get("path", "")).strip()
    has_upload = isinstance(upload, UploadFile) and bool(upload.filename)
    if has_upload and typed and not work.uploads.holds(work.draft.path):
        raise FileError("both a path and an upload were given; empty one of the two")
    if isinstance(upload, UploadFile) and upload.filename:
        path = work.uploads.keep(upload.filename, upload.file)
    elif not typed and work.uploads.holds(work.draft.path):
        path = Path(work.draft.path)
    else:
        path = within(typed, work.opened)
    try:
        forgotten = work.choose_table(path, settings)
    except Exception:
        if has_upload:
            work.uploads.forget(path)
        raise
    if forgotten:
        return redirect("/file?forgotten=" + _quoted(forgotten))
    return redirect("/columns")


def _quoted(names: Sequence[str]) -> str:
    from urllib.parse import quote

    return quote(", ".join(names[:20]))


def _dataset(text: str) -> str:
    text = text.strip()
    if not text:
        raise FileError("give these people's budget a name, such as clinic-2026; every fit on them is charged to it")
    from dpsparse.privacy.ledger.location import granted_name

    return granted_name(text, ())


def forget_upload(request: Request, form: FormData) -> RedirectResponse:
    """Remove the uploaded copy of the records."""
    work = request.app.state.work
    if work.jobs.running is not None:
        raise FileError("the fit that is running reads the upload; remove it when the fit has ended")
    work.uploads.forget(work.draft.path)
    work.change(path=None)
    return redirect("/file")


def columns_page(request: Request, error: str | None = None, form: FormData | None = None) -> HTMLResponse:
    """Step 2: the response and the features."""
    from dpsparse.io.cells.person_columns import is_called_as_ids

    work = request.app.state.work
    require(work)
    facts, settings = work.facts, work.draft.settings
    rows, target = rows_of(facts, settings), settings.target or ""
    response, person = response_of(settings), settings.person or ""
    pattern = {"pattern": "", "action": "leave out", "value": ""}
    if form is not None and form.get("columns") == digest(facts.names):
        rows, target = typed_rows(facts, form), str(form.get("target", ""))
        response, person = typed_response(form), str(form.get("person", ""))
        pattern = {key: str(form.get(f"pattern_{key}" if key != "pattern" else key, "")) for key in pattern}
    content: dict[str, Any] = {"rows": rows, "target": target, "response": response, "pattern": pattern, "known": KNOWN}
    ids = None if person else next(filter(is_called_as_ids, facts.names), None)
    content |= {"declares": declares(facts), "types": facts.types, "ids": ids}
    return page(request, "columns", step="columns", error=error, person=person, **content)


def choose_columns(request: Request, form: FormData) -> RedirectResponse:
    """Take the response, the features and what is publicly known of them."""
    work = request.app.state.work
    require(work)
    rows = typed_rows(work.facts, form)
    target: str | None = str(form.get("target", "")).strip()
    applies = form.get("do") == "apply"
    if applies:
        pattern, value = str(form.get("pattern", "")).strip(), str(form.get("pattern_value", ""))
        rows = apply_pattern(rows, pattern, str(form.get("pattern_action", "")), value)
        # Not yet to be complete: somebody is in the middle of it.
        target = target if target in work.facts.names else None
    person = str(form.get("person", "")).strip() or None
    work.change(settings=chosen(work.draft.settings, rows, target, typed_response(form), person))
    return redirect("/columns#columns" if applies else "/accuracy")


def preview_shell(request: Request) -> HTMLResponse:
    """Step 4: a preview of the report."""
    work = request.app.state.work
    require(work, target=True, planned=True)
    return page(request, "preview", step="preview", rare=planned_forecast(work).get("rare"))


def preview_report(request: Request) -> HTMLResponse:
    """The report on made-up records."""
    work = request.app.state.work
    require(work, target=True, planned=True)
    if not work.jobs.working.acquire(timeout=20):
        return fragment("busy")
    try:
        facts, settings = work.facts, work.draft.settings
        _, known = shape_of(work.draft.path, settings)
        apart = (settings.target, settings.person, settings.exposure, *settings.drop)
        names = tuple(name for name in facts.names if name not in apart)
        numbers = (facts.n_people, settings.sparsity, settings.epsilon, work.delta(), settings.most_records)
        text = preview_page(names, settings.target, *numbers, known, settings.family, settings.estimand)
    finally:
        work.jobs.working.release()
    return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY})


def save_settings(request: Request) -> Response:
    """The choices as a file, without data."""
    work = request.app.state.work
    named = {"Content-Disposition": 'attachment; filename="dpsparse-settings.json"'}
    return Response(work.draft.settings.to_json(), media_type="application/json", headers=named)


def load_settings(request: Request, form: FormData) -> RedirectResponse:
    """Take the choices in a file that the page wrote."""
    import json

    work, upload = request.app.state.work, form.get("settings")
    if not isinstance(upload, UploadFile) or not upload.filename:
        raise FileError("no file of settings was chosen; choose one that this page saved")
    try:
        content = json.loads(upload.file.read(2**24))
    except ValueError:
        raise FileError("this is no file of settings; choose one that this page saved") from None
    settings = settings_of(Fields(content, "the settings"))
    forgotten: list[str] = []
    if work.draft.path is not None:
        settings = replace(settings, dataset=settings.dataset or work.draft.settings.dataset)
        settings, forgotten = settings.for_columns(work.facts.names)
    # Epsilon is confirmed here, with the forecast for this table in view.
    work.change(settings=settings, planned=False)
    return redirect("/file?forgotten=" + _quoted(forgotten) if forgotten else "/")

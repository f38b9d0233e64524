"""The steps that spend and what comes of them: confirmation, progress, the report with its downloads."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from dpsparse.app.accuracy_page import usual_grant
from dpsparse.app.downloads import DOWNLOADS, offered, report_of
from dpsparse.app.draft_forecast import page_words
from dpsparse.app.jobs import CANCELLED, DONE, FAILED, LOST, STARTED, Job
from dpsparse.app.render import EXPECTED, Missing, page, redirect, require
from dpsparse.app.security import REPORT_POLICY
from dpsparse.html import Html
from dpsparse.messages import one_line
from dpsparse.schema import FileError, listed

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

# What the ledger says of a fit without a model, in words.
COST = {
    "charged": "Its charge stands: epsilon {epsilon:g} is spent, and whatever it released is lost.",
    "reserved": "It had released nothing. Its reservation of epsilon {epsilon:g} still counts as spent: no other "
    "program can prove that nothing was released.",
    "refunded": "Nothing was spent: its reservation was given back.",
    None: "Nothing was spent: the ledger has no reservation of it.",
}
HEADLINES = {
    STARTED: "The fit is running",
    DONE: "The report",
    CANCELLED: "The fit was cancelled",
    FAILED: "The fit failed",
    LOST: "The program ended during this fit",
}


def spend_page(request: Request, error: str | None = None, form: FormData | None = None) -> HTMLResponse:
    """Step 5: what is about to be spent, and the confirmation."""
    work = request.app.state.work
    require(work, target=True, planned=True)
    with work.lock:
        ticket, seen = work.ticket, _or_none(lambda: work.confirmation)
    # Fits on the same people before: a second one adds to them.
    earlier = [job for job in work.jobs.all() if job.settings.dataset == work.draft.settings.dataset]
    earlier = [(job, HEADLINES[job.state]) for job in earlier if job.state != CANCELLED]
    confirm = {
        "grant": usual_grant(work, form),
        "beside": _or_none(work.granted_beside) or [],
        "ticket": ticket,
        "seen": seen,
        "earlier": earlier,
        "ledger": str(work.ledger),
    }
    return page(request, "spend", step="spend", error=error, **confirm)


def _or_none(read: Callable[[], Any]) -> Any:
    """What is read, or None where it cannot be: the page says why by itself."""
    try:
        return read()
    except EXPECTED:
        return None


def spend(request: Request, form: FormData) -> RedirectResponse:
    """Begin the fit that was confirmed; the same confirmation twice is one fit."""
    work = request.app.state.work
    require(work, target=True, planned=True)
    if form.get("sure") != "on":
        raise FileError("tick the box to say that you want to spend; nothing was spent")
    if work.balance() is None and work.jobs.get(str(form.get("ticket"))) is None:
        raise FileError("these people have no budget yet; grant one here, then confirm")
    job = work.spend(str(form.get("ticket")), str(form.get("seen")))
    return redirect(f"/fits/{job.name}")


def _job(request: Request) -> Job:
    job: Job = request.app.state.work.jobs.get(request.path_params["name"])
    if job is None:
        raise Missing
    return job


def job_page(request: Request, error: str | None = None, form: FormData | None = None) -> HTMLResponse:
    """Step 6: how far a fit is, and its report."""
    work, job = request.app.state.work, _job(request)
    cost = None
    if job.state in (CANCELLED, FAILED, LOST):
        try:
            cost = COST[work.jobs.charge_of(job)].format(epsilon=job.settings.epsilon)
        except EXPECTED as trouble:
            cost = f"What it cost could not be read: {one_line(trouble)}"
    content: dict[str, Any] = {"job": job, "headline": HEADLINES[job.state], "cost": cost, "downloads": {}}
    content |= {"message": job.message, "context": None, "notes": [page_words(note) for note in job.notes]}
    if job.state == DONE:
        content |= {
            "context": job.model.context,
            "downloads": offered(job.model),
            "statement": job.model.privacy.statement(),
            "short": _short(job.model),
            "publishable": _publishable(job.model),
            "unnamed": _unnamed(job.model),
        }
    return page(request, "job", step="results", error=error, **content)


def _short(model: "LinearModel") -> Html:
    """What matters, as the report says it; before it, that responses could not be read, or that hardly any is yes."""
    from dpsparse.html import escaped, paragraphs, tag
    from dpsparse.model.ratios import hardly_any
    from dpsparse.model.unread_responses import unread
    from dpsparse.report.report_summary import as_sentence, verdicts

    is_short = model.responses is not None and model.responses.is_short
    warnings = [*([unread(model)] if is_short else []), *([rare] if (rare := hardly_any(model)) else [])]
    warning = [tag("p", as_sentence(text), class_="notice") for text in warnings]
    return escaped(paragraphs([*warning, *verdicts(model)]))


def _publishable(model: "LinearModel") -> str | None:
    from dpsparse.report.report_summary import publishable

    return publishable(model)


def _unnamed(model: "LinearModel") -> str:
    """What a rare category without a name is, and what the page offers for it."""
    from dpsparse.report.report_summary import unnamed, unnamed_columns

    sentences, columns = list(unnamed(model)), unnamed_columns(model)
    if columns:
        sentences.append(
            f"If the categories of {listed(columns)} are publicly known, type them in step 2 before another fit: then "
            "each has its name."
        )
    return " ".join(sentences)


def job_state(request: Request) -> JSONResponse:
    """How far a fit is, for the script of the page."""
    job = _job(request)
    released = job.gate.passed
    words = (
        "Reading the table; nothing is released yet" if not released else "Epsilon is charged; the fit runs to its end"
    )
    return JSONResponse(
        {"state": job.state, "share": job.share if released else 0.0, "words": words, "cancellable": not released}
    )


def cancel(request: Request, form: FormData) -> RedirectResponse:
    """Cancel a fit that has released nothing."""
    job = _job(request)
    if job.state == STARTED and not job.gate.close():
        raise FileError("the first release was made: epsilon is spent, and the fit is best left to run to its end")
    return redirect(f"/fits/{job.name}")


def results_page(request: Request) -> HTMLResponse:
    """All fits, newest first."""
    jobs = [(job, HEADLINES[job.state]) for job in request.app.state.work.jobs.all()]
    return page(request, "results", step="results", jobs=jobs)


def download(request: Request) -> Response:
    """A file of a finished fit; no name but those of `DOWNLOADS` leads to one."""
    job, file = _job(request), request.path_params["file"]
    if job.state != DONE or file not in offered(job.model):
        raise Missing
    content = DOWNLOADS[file][1](job, request.app.state.work)
    named = {"Content-Disposition": f'attachment; filename="{file}"', "Content-Security-Policy": REPORT_POLICY}
    return Response(content, media_type="application/octet-stream", headers=named)


def report(request: Request) -> Response:
    """The report of a fit, to be shown within the page."""
    job = _job(request)
    if job.state != DONE:
        raise Missing
    return HTMLResponse(report_of(job.model), headers={"Content-Security-Policy": REPORT_POLICY})

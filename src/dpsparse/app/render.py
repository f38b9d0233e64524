"""Pages from templates: what every page shows beside its own content, and forms that answer errors in place."""

import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from dpsparse.app.budget_left import too_little
from dpsparse.app.glossary import TERMS, anchor
from dpsparse.app.security import require_csrf
from dpsparse.app.settings import digest
from dpsparse.messages import one_line
from dpsparse.schema import listed

if TYPE_CHECKING:
    from dpsparse.app.workspace import Workspace

STEPS = (
    ("file", "File"),
    ("columns", "Columns"),
    ("accuracy", "Accuracy"),
    ("preview", "Preview"),
    ("spend", "Spend"),
    ("results", "Report"),
    ("budget", "Budget"),
)
# What people can mend; anything else is a mistake of the program.
EXPECTED = (ValueError, ArithmeticError, RuntimeError, OSError, ImportError)
_FIELDS = 200_000

_environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.globals |= {"TERMS": TERMS, "anchor": anchor, "digest": digest, "listed": listed}
_environment.filters |= {
    "share_left": lambda balance: math.floor(100 * (1 - balance["share_spent"])),
    "moment": lambda text: text.replace("T", " ").replace("+00:00", " UTC"),
}


class NotYet(Exception):
    """A step that needs an earlier one first.

    `step` is the earlier one.
    """

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


class Missing(Exception):
    """Something that is not there."""


def page(
    request: Request,
    template: str,
    *,
    step: str | None = None,
    error: str | None = None,
    status: int = 200,
    **content: Any,
) -> HTMLResponse:
    """A page, with the steps, what was chosen so far, and the budget."""
    work = request.app.state.work
    shown = {"steps": STEPS, "step": step, "csrf": request.state.csrf, "error": error, "notice": None}
    shown |= overview(work) | content
    status = 422 if error and status == 200 else status
    return HTMLResponse(_environment.get_template(f"{template}.html").render(shown), status)


def fragment(template: str, **content: Any) -> HTMLResponse:
    """A piece of a page."""
    return HTMLResponse(_environment.get_template(f"{template}.html").render(content))


def overview(work: "Workspace") -> dict[str, Any]:
    """What was chosen so far, and the budget of these people."""
    draft, trouble, balance, facts, delta = work.draft, None, None, None, None
    try:
        facts, balance = work.facts, work.balance()
        delta = work.delta()
    except EXPECTED as error:
        trouble = one_line(error)
    chosen, settings = [], draft.settings
    if draft.path is not None:
        chosen.append(("Table", Path(draft.path).name, "file"))
    if facts is not None:
        chosen.append((settings.protects.singles.capitalize(), f"{facts.n_records:,}", "file"))
        if settings.person is None:
            most = settings.records_per_person
            chosen.append(("Records per person", "1" if most == 1 else f"up to {most}", "file"))
        else:
            chosen.append(("People", f"{facts.n_people:,}, by {settings.person}", "columns"))
        roles = (settings.target, settings.person, settings.exposure)
        used = len(facts.names) - len(settings.drop) - sum(name is not None for name in roles)
        if settings.target is not None:
            chosen.append(("Response", settings.target, "columns"))
            if settings.is_yes_or_no:
                yes = "1, true or yes" if settings.positive is None else settings.positive
                chosen.append(("It is yes where", yes, "columns"))
            if settings.exposure is not None:
                chosen.append(("In proportion to", settings.exposure, "columns"))
            chosen.append(("Columns", f"{used:,} of {len(facts.names) - 1:,} may be selected", "columns"))
            known = len(settings.public)
            units = (
                f"of {known:,} column{'s' * (known > 1)}; the others are learned" if known else "none; all are learned"
            )
            chosen.append(("Public units", units, "columns"))
        if draft.planned:
            chosen.append(("To select", f"{settings.sparsity} columns", "accuracy"))
            effects = {
                "binomial": "the odds of yes",
                "poisson": "the mean, as ratios",
                "two-part": "the overall mean, in two parts",
            }
            on = effects.get(settings.family, f"the {settings.estimand} response")
            chosen.append(("Effects on", on, "accuracy"))
            if settings.holdout is not None:
                chosen.append(("Held out", f"{settings.holdout:.0%} of the {settings.protects.many}", "accuracy"))
    left = balance["epsilon_left"] if balance and draft.planned else None
    return {
        "draft": draft,
        "settings": settings,
        "facts": facts,
        "balance": balance,
        "delta": delta,
        "chosen": chosen,
        "brief": " · ".join(value for label, value, _ in chosen if label in ("Table", "Response")),
        "too_little": too_little(settings.epsilon, left, settings.dataset),
        "trouble": trouble,
        "running": work.jobs.running,
        "lost": work.jobs.lost,
        "uploaded": work.uploads.holds(draft.path),
    }


def redirect(path: str) -> RedirectResponse:
    """Go on by GET, so that a reload repeats nothing."""
    return RedirectResponse(path, 303)


def action(
    change: Callable[[Request, FormData], Response], shown: Callable[..., Response]
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a form.

    `change` gives the answer where all went well. `shown` is the page of the form, with `error` and `form`, where it
    did not.
    """

    async def endpoint(request: Request) -> Response:
        async with request.form(max_fields=_FIELDS, max_files=1) as form:
            try:
                require_csrf(form, request)
            except PermissionError as error:
                return PlainTextResponse(str(error), 403)
            try:
                return await run_in_threadpool(change, request, form)
            except NotYet as early:
                return redirect(f"/{early.step}")
            except EXPECTED as error:
                # Errors carry no value of the records; see docs/privacy.md.
                return await run_in_threadpool(shown, request, error=one_line(error), form=form)

    return endpoint


def require(work: "Workspace", *, target: bool = False, planned: bool = False) -> None:
    """Raise NotYet unless the draft has come this far."""
    if work.draft.path is None or work.draft.settings.dataset is None:
        raise NotYet("file", "Choose a table first.")
    if target and work.draft.settings.target is None:
        raise NotYet("columns", "Choose the response first.")
    if planned and not work.draft.planned:
        raise NotYet("accuracy", "Choose epsilon first, with its forecast in view.")

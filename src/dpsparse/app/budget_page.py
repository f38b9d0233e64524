"""Step 7: grants, history and verification of the budget; a grant may also be made in steps 3 and 5."""

import math
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dpsparse.app.accuracy_page import typed_choices, usual_grant
from dpsparse.app.render import EXPECTED, Missing, page, redirect
from dpsparse.messages import one_line
from dpsparse.schema import FileError, listed

if TYPE_CHECKING:
    from dpsparse.app.workspace import Workspace


def budget_page(request: Request, error: str | None = None, form: FormData | None = None) -> HTMLResponse:
    """Step 7: grants, history, verification."""
    from dpsparse.model.context import spending
    from dpsparse.report.budget_facts import (
        EVENT_HEADINGS,
        EVENTS_MEANING,
        MEANING,
        balance_facts,
        event_cells,
        spending_figure,
    )

    work = request.app.state.work
    state, trouble, verified = None, error, None
    try:
        state = work.ledger_state()
    except EXPECTED as unreadable:
        trouble = one_line(unreadable)
    if state is not None and request.query_params.get("verify"):
        # Reading the state checks the chain and repeats every decision.
        verified = f"Intact: {len(state.events):,} events, head {state.head}."
    pictures = {}
    if state is not None:
        for name in sorted(state.filters):
            grant = state.filters[name].grant
            pictures[name] = spending_figure(spending(state, name, by_day=True), grant.epsilon, grant.delta)
    content: dict[str, Any] = {
        "ledger": str(work.ledger),
        "pictures": pictures,
        "balances": [] if state is None else [balance_facts(state, name) for name in sorted(state.filters)],
        "events": [] if state is None else [event_cells(event) for event in state.events],
        "beside": [] if state is None else sorted(state.filters),
        "headings": EVENT_HEADINGS,
        "meaning": MEANING,
        "events_meaning": EVENTS_MEANING,
        "head": None if state is None else state.head,
        "notice": verified,
        "typed": {name: str(usual if form is None else form.get(name, usual)) for name, usual in _usual(work).items()},
    }
    return page(request, "budget", step="budget", error=trouble, **content)


def _usual(work: "Workspace") -> dict[str, Any]:
    settings = work.draft.settings
    known = {"dataset": settings.dataset or "", "records_per_person": str(settings.records_per_person)}
    return usual_grant(work) | known


def grant(request: Request, form: FormData) -> RedirectResponse:
    """Grant people their budget, once; beside other budgets only to other people."""
    work, numbers = request.app.state.work, {}
    for name in ("grant_epsilon", "grant_delta", "records_per_person"):
        try:
            numbers[name] = float(str(form.get(name, "")))
        except ValueError:
            numbers[name] = math.nan
        if not math.isfinite(numbers[name]):
            raise FileError(f"{name.replace('_', ' ')}: write a number")
    if numbers["records_per_person"] != int(numbers["records_per_person"]):
        raise FileError("records per person: write a whole number of at least 1")
    if form.get("sure") != "on":
        raise FileError("a grant is made once and cannot be changed: tick the box to say that you want it")
    dataset = str(form.get("dataset", "")).strip()
    beside = work.granted_beside(dataset)
    if beside and form.get("others") != "on":
        raise FileError(
            f"a new name is a new budget, and the ledger has budgets of {listed(beside)} already: use that name in "
            "step 1 for the same people, or tick the box to say that these are other people"
        )
    # The form of step 3 also holds the settings typed there. They are checked before the grant and kept after it.
    settings = typed_choices(work.draft.settings, form) if "epsilon" in form else None
    work.ledger.grant(
        dataset,
        epsilon=numbers["grant_epsilon"],
        delta=numbers["grant_delta"],
        records_per_person=int(numbers["records_per_person"]),
    )
    if settings is not None:
        work.change(settings=settings)
    back = form.get("back")
    return redirect(f"/{back}" if back in ("accuracy", "spend") else "/budget")


def witness(request: Request) -> Response:
    """The newest head of the ledger as a file to keep elsewhere, for `dpsparse budget verify --witness`."""
    state = request.app.state.work.ledger_state()
    if state is None:
        raise Missing
    named = {"Content-Disposition": 'attachment; filename="ledger-head.txt"'}
    return Response(f"{state.head}\n", media_type="text/plain", headers=named)

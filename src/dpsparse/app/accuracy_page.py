"""Step 3: what could be found at which epsilon, and the choice of it."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from dpsparse.app.budget_left import too_little
from dpsparse.app.draft_forecast import Asked, forecast, parts_forecast, ratio_forecast, shape_of
from dpsparse.app.render import fragment, page, redirect, require
from dpsparse.app.settings import Settings
from dpsparse.app.typed_numbers import (
    Typed,
    typed_count,
    typed_delta,
    typed_epsilon,
    typed_estimand,
    typed_holdout,
    typed_number,
    typed_positive,
    typed_share,
)
from dpsparse.schema import FileError

if TYPE_CHECKING:
    from dpsparse.app.workspace import Workspace


def accuracy_page(request: Request, error: str | None = None, form: FormData | None = None) -> HTMLResponse:
    """Step 3: what could be found, at which epsilon."""
    work = request.app.state.work
    require(work, target=True)
    settings, balance = work.draft.settings, work.balance()
    typed = {
        "epsilon": f"{settings.epsilon:g}",
        "sparsity": str(settings.sparsity),
        "estimand": settings.estimand,
        "delta": _shown(settings.delta),
        "holdout": _shown(settings.holdout),
        "records": str(work.facts.n_people),
        "noise": _shown(settings.noise),
        "effect": _shown(settings.effect),
        "share_of_yes": _shown(settings.share_of_yes),
        "mean_response": _shown(settings.mean_response),
    }
    typed |= {name: str(form[name]) for name in typed if form and name in form}
    usual = work.usual_delta()
    handed_back = {"usual_delta": usual, "epsilon_left": "" if balance is None else repr(balance["epsilon_left"])}
    try:
        shown = _forecast(work, typed | handed_back)
    except (ValueError, ArithmeticError):
        shown = None
    content = {"typed": typed, "forecast": shown, "grant": usual_grant(work, form), "budget": balance}
    content["beside"] = [] if balance else work.granted_beside()
    content |= handed_back | {"too_little": _too_little(work, typed | handed_back)}
    return page(request, "accuracy", step="accuracy", error=error, **content)


def _too_little(work: "Workspace", typed: Typed) -> str | None:
    """What is wrong with the epsilon that was typed, as far as the ledger goes."""
    try:
        return too_little(typed_epsilon(typed), typed_number(typed, "epsilon_left", None), work.draft.settings.dataset)
    except ValueError:
        return None


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.12g}"


def usual_grant(work: "Workspace", form: FormData | None = None) -> dict[str, Any]:
    """What a grant's form shows: what was typed, or an epsilon for some fits at about the delta of the forecast."""
    delta = work.delta()
    usual = {
        "grant_epsilon": "3",
        "grant_delta": "1e-06" if delta is None else f"{10.0 ** math.floor(math.log10(delta)):g}",
    }
    return {name: str(text if form is None else form.get(name, text)) for name, text in usual.items()}


def forecast_fragment(request: Request) -> HTMLResponse:
    """The forecast for other numbers, as the sliders move."""
    work = request.app.state.work
    require(work, target=True)
    try:
        shown: dict[str, Any] = {"forecast": _forecast(work, request.query_params)}
    except (ValueError, ArithmeticError) as error:
        shown = {"forecast": None, "error": str(error)}
    return fragment(
        "_forecast", too_little=_too_little(work, request.query_params), settings=work.draft.settings, **shown
    )


def _forecast(work: "Workspace", typed: Typed) -> dict[str, Any]:
    settings, path, facts = work.draft.settings, work.draft.path, work.facts
    assert path is not None and facts is not None  # noqa: PT018  (`require` has seen to it)
    d, known = shape_of(path, settings)
    delta = typed_number(typed, "delta", None)
    if delta is None:
        # The page hands it back, as it does what is left, so that no slider waits for the ledger.
        delta = typed_number(typed, "usual_delta", None)
    asked = Asked(
        typed_count(typed, "records", settings.protects.many, default=facts.n_people),
        d,
        known,
        epsilon=typed_epsilon(typed),
        delta=work.usual_delta() if delta is None else delta,
        sparsity=typed_count(typed, "sparsity", "columns to select"),
        people=settings.most_records,
        rows=facts.n_records / max(1, facts.n_people),
        holdout=typed_holdout(typed),
    )
    guesses = _guesses(typed)
    if settings.is_yes_or_no:
        return ratio_forecast(asked, share=guesses["share_of_yes"])
    if settings.is_two_part:
        return parts_forecast(asked, share=guesses["share_of_yes"])
    if settings.is_count:
        return ratio_forecast(asked, is_count=True, mean=guesses["mean_response"])
    return forecast(asked, estimand=typed_estimand(typed), noise=guesses["noise"], effect=guesses["effect"])


def planned_forecast(work: "Workspace") -> dict[str, Any]:
    """The forecast of the draft as it was planned."""
    chosen = work.draft.settings
    names = ("epsilon", "sparsity", "holdout", "noise", "effect", "share_of_yes", "mean_response")
    typed = {name: _shown(getattr(chosen, name)) for name in names}
    return _forecast(work, typed | {"estimand": chosen.estimand, "delta": _shown(work.delta())})


def _guesses(typed: Typed) -> dict[str, Any]:
    """What somebody guesses for the forecast; a fit knows nothing of it."""
    return {
        "noise": typed_positive(typed, "noise", "the response's noise"),
        "effect": typed_positive(typed, "effect", "the effect"),
        "share_of_yes": typed_share(typed),
        "mean_response": typed_positive(typed, "mean_response", "the mean of the response"),
    }


def typed_choices(settings: Settings, form: FormData) -> Settings:
    """The settings with what was typed in step 3."""
    return replace(
        settings,
        epsilon=typed_epsilon(form),
        delta=typed_delta(form),
        sparsity=typed_count(form, "sparsity", "columns to select"),
        estimand=typed_estimand(form),
        holdout=typed_holdout(form),
        **_guesses(form),
    )


def choose_accuracy(request: Request, form: FormData) -> RedirectResponse:
    """Take epsilon and the number of columns to select; one that the ledger has no room for only if that was seen."""
    work = request.app.state.work
    require(work, target=True)
    settings, balance = typed_choices(work.draft.settings, form), work.balance()
    refusal = balance and too_little(settings.epsilon, balance["epsilon_left"], settings.dataset)
    if refusal and form.get("beyond") != "on":
        raise FileError(f"{refusal}; to see a preview all the same, tick the box above the button")
    work.change(settings=settings, planned=True)
    return redirect("/preview")

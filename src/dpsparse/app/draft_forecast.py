"""The forecast of a draft, from public numbers alone: `plan`, in sentences and a picture."""

import json
import math
import os
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dpsparse.app.settings import Settings, settings_of
from dpsparse.html import number
from dpsparse.inference.intervals import SHOWN_PERCENT
from dpsparse.report.charts import curves
from dpsparse.schema import Fields

if TYPE_CHECKING:
    from dpsparse.families.estimands import EstimandName
    from dpsparse.planning.forecast import Plan

# Places of the curve: epsilons from 0.03 to 10.
_GRID = tuple(10 ** (k / 8) for k in range(-12, 9))


def shape_of(path: str, settings: Settings) -> tuple[int, bool]:
    """The features that the forecast is for, and whether all units are public, from the table's public facts."""
    stamp = os.stat(path)
    return _shape(str(path), settings.to_json(), (stamp.st_mtime_ns, stamp.st_size))


@lru_cache(maxsize=8)
def _shape(path: str, chosen: str, _stamp: tuple[int, int]) -> tuple[int, bool]:
    from dpsparse.data.raw_data import read_table
    from dpsparse.estimators._raw_fit import n_expected

    settings = settings_of(Fields(json.loads(chosen), "the settings"))
    data = read_table(
        path,
        settings.target,
        bounds=settings.bounds(),
        person=settings.person,
        separator=settings.separator,
        encoding=settings.encoding,
    )
    return n_expected(data), data.units_known() == "all"


def forecast(
    n: int,
    d: int,
    known: bool,
    *,
    epsilon: float,
    delta: float | None,
    sparsity: int,
    estimand: "EstimandName" = "mean",
    people: int = 1,
    rows: float = 1.0,
    holdout: float | None = None,
    noise: float | None = None,
    effect: float | None = None,
) -> dict[str, Any]:
    """What a fit would find, for the page.

    `noise` is a guess of the response's noise, in its own units; None to measure in units of the noise. `effect` is one
    that one hopes to find, in the same units. Returns texts for the template.
    """
    from dpsparse.planning import plan
    from dpsparse.report.report_summary import as_sentence

    fitted = n if holdout is None else n - math.floor(n * holdout)
    here = plan(
        max(1, fitted),
        d,
        min(sparsity, d),
        epsilon,
        delta,
        estimand=estimand,
        units_known=known,
        noise_scale=1.0 if noise is None else noise,
        records_per_person=people,
        rows_per_person=rows,
    )
    forecasts = _curve(replace(here, epsilon=1.0))
    lines = {
        "effect selected in 4 fits of 5": [at.smallest_effect for at in forecasts],
        f"width of a {SHOWN_PERCENT} interval": [at.interval_width for at in forecasts],
    }
    width = None if here.interval_width == math.inf else _rough(here.interval_width)
    smallest = None if here.smallest_effect == math.inf else _rough(here.smallest_effect)
    words = (
        f"Over epsilon: the effect that is selected in 4 fits of 5, {smallest or 'none'} at epsilon "
        f"{epsilon:g}, and the width of a {SHOWN_PERCENT} interval, {width or 'none'}."
    )
    unit = "times the response's noise" if noise is None else "in the response's own unit"
    marked = min(max(epsilon, _GRID[0]), _GRID[-1])
    return {
        "epsilon": f"{epsilon:g}",
        "delta": f"{here.guarantee.delta:.2g}",
        "smallest": smallest,
        "width": width,
        "estimand": estimand,
        "caveat": " ".join(as_sentence(each) for each in (here.few_features, here.caveat) if each),
        **({"wanted": None} if effect is None else _wanted(here, effect)),
        "unit": unit,
        "n": f"{fitted:,}",
        "warning": _warning(here, d),
        "rare": rare(here, unit, effect),
        "picture": curves(_GRID, lines, (marked, f"epsilon {epsilon:g}"), words),
    }


@lru_cache(maxsize=64)
def _curve(base: "Plan") -> "list[Plan]":
    """The forecasts over epsilon, which a slider of epsilon leaves as they are."""
    return [replace(base, epsilon=epsilon) for epsilon in _GRID]


def _rough(value: float) -> str:
    """Two digits: a forecast knows no more."""
    return number(float(f"{value:.2g}"))


def _wanted(here: "Plan", effect: float) -> dict[str, Any]:
    """What it takes to find an effect."""
    return {
        "wanted": number(effect),
        "reached": here.smallest_effect <= effect,
        "n_needed": _count(here.n_for_effect(effect)),
        "epsilon_needed": _epsilon(here.epsilon_for_effect(effect)),
    }


def rare(here: "Plan", unit: str, effect: float | None = None) -> list[str]:
    """What it takes to find a category or a 0/1 column that few have, in sentences.

    `unit` is what effects are measured in, `effect` a difference between those who have it and the others that one
    hopes to find.

    Examples
    --------
    >>> from dpsparse import plan
    >>> from dpsparse.app.draft_forecast import rare
    >>> rare(plan(300, 50, 5, 0.1), "times the noise")
    ['Categories and yes/no columns are likely missed, whatever their effect.']
    """
    least = here.share_for_effect(math.inf)
    if least == math.inf:
        return ["Categories and yes/no columns are likely missed, whatever their effect."]
    half, tenth = _rough(here.effect_for_share(0.5)), here.effect_for_share(0.1)
    sentence = (
        "A category, or a yes in a yes/no column, is found where those who have it differ from the others by "
        f"{half} {unit} or more if half of all have it"
    )
    sentence += "." if tenth == math.inf else f", and by {_rough(tenth)} or more if one in ten has it."
    sentences = [sentence, f"One that fewer than {_people(least, here)} have is likely missed, whatever its effect."]
    if effect is not None:
        share = here.share_for_effect(effect)
        sentences.append(
            f"A difference of {number(effect)} is likely missed, however many have it."
            if share == math.inf
            else f"For a difference of {number(effect)} about {_people(share, here)} must have it."
        )
    return sentences


def _people(share: float, here: "Plan") -> str:
    return f"{float(f'{100 * share:.2g}'):g} % of the {here.units_of_n} ({math.ceil(share * here.n):,})"


def _warning(here: "Plan", d: int) -> str | None:
    from dpsparse.estimators.sparse_regressor import forecast_warning

    warning = forecast_warning(here.n, d, here.sparsity, here.guarantee, here.units_known, here.estimand)
    return warning and page_words(warning)


def page_words(note: str) -> str:
    """A note of an estimator, with what to do on the page in the place of what to write in Python."""
    from dpsparse.estimators.sparse_regressor import HOW_TO_GIVE_UNITS

    return note.replace(HOW_TO_GIVE_UNITS, "type in step 2 what is publicly known of the columns")


def _count(needed: float) -> str | None:
    return None if needed == math.inf else f"{needed:,}"


def _epsilon(needed: float) -> str | None:
    return None if needed == math.inf else f"{needed:.2g}"

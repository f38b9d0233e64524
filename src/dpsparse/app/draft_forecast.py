"""The forecast of a draft, from public numbers alone: `plan`, in sentences and a picture.

There is one for numbers, one for effects that are ratios, of odds or of a mean, and one for a response in two parts.
"""

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from dpsparse.app.settings import Settings, settings_of
from dpsparse.html import Html, number
from dpsparse.inference.intervals import SHOWN_PERCENT
from dpsparse.report.charts import curves
from dpsparse.schema import Fields

if TYPE_CHECKING:
    from dpsparse.families.estimands import EstimandName
    from dpsparse.planning.forecast import Plan

_Planned = TypeVar("_Planned")

# Places of the curve: epsilons from 0.03 to 10.
_GRID = tuple(10 ** (k / 8) for k in range(-12, 9))
# Without a guess, as many of yes as of no, or above 0 as not: fewer of one of them find less.
EVEN = 0.5
# Without a guess, a mean of 1. Visits and claims vary about so many times as much as a Poisson law.
ONE, VISITS = 1.0, 5.0
# A ratio, or an effect in units of the noise, beyond this is none that people have.
_LARGEST = 100.0


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


@dataclass(frozen=True)
class Asked:
    """What is public of a fit: its table's size, whether all units are known, its guarantee, what it selects.

    `people` is the most records of a person, `rows` the mean number of their rows where a column says whose they are.
    """

    n: int
    d: int
    known: bool
    epsilon: float
    delta: float | None
    sparsity: int
    people: int = 1
    rows: float = 1.0
    holdout: float | None = None

    @property
    def n_fitted(self) -> int:
        """The records, or people, that are not held out."""
        return self.n if self.holdout is None else self.n - math.floor(self.n * self.holdout)

    def planned(self, plan: "Callable[..., _Planned]", **guesses: Any) -> "_Planned":
        """The forecast that `plan` or `plan_two_part` makes, with guesses of the response."""
        return plan(
            max(1, self.n_fitted),
            self.d,
            min(self.sparsity, self.d),
            self.epsilon,
            self.delta,
            units_known=self.known,
            records_per_person=self.people,
            rows_per_person=self.rows,
            **guesses,
        )

    def drawn(self, lines: dict[str, list[float]], words: str) -> Html | None:
        """A picture of lines over epsilon, at which the fit's own is marked; `words` say what it shows."""
        marked = min(max(self.epsilon, _GRID[0]), _GRID[-1])
        return curves(_GRID, lines, (marked, f"epsilon {self.epsilon:g}"), words)


def forecast(
    asked: Asked, *, estimand: "EstimandName" = "mean", noise: float | None = None, effect: float | None = None
) -> dict[str, Any]:
    """What a fit would find, for the page.

    `noise` is a guess of the response's noise, in its own units; None to measure in units of the noise. `effect` is one
    that one hopes to find, in the same units. Returns texts for the template.
    """
    from dpsparse.planning import plan
    from dpsparse.report.report_summary import as_sentence

    here = asked.planned(plan, estimand=estimand, noise_scale=1.0 if noise is None else noise)
    forecasts = _curve(replace(here, epsilon=1.0))
    lines = {
        "effect selected in 4 fits of 5": [at.smallest_effect for at in forecasts],
        f"width of a {SHOWN_PERCENT} interval": [at.interval_width for at in forecasts],
    }
    width = None if here.interval_width == math.inf else _rough(here.interval_width)
    smallest = None if here.smallest_effect == math.inf else _rough(here.smallest_effect)
    words = (
        f"Over epsilon: the effect that is selected in 4 fits of 5, {smallest or 'none'} at epsilon "
        f"{asked.epsilon:g}, and the width of a {SHOWN_PERCENT} interval, {width or 'none'}."
    )
    unit = "times the response's noise" if noise is None else "in the response's own unit"
    return {
        "epsilon": f"{asked.epsilon:g}",
        "delta": f"{here.guarantee.delta:.2g}",
        "smallest": smallest,
        "width": width,
        "estimand": estimand,
        "caveat": " ".join(as_sentence(each) for each in (here.few_features, here.caveat) if each),
        **({"wanted": None} if effect is None else _wanted(here, effect)),
        "unit": unit,
        "n": f"{asked.n_fitted:,}",
        "warning": _warning(here, asked.d),
        "rare": rare(here, unit, effect),
        "picture": asked.drawn(lines, words),
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
    from dpsparse.estimators._private import HOW_TO_NAME_PEOPLE
    from dpsparse.estimators.sparse_regressor import HOW_TO_GIVE_UNITS

    in_step_2 = {
        HOW_TO_GIVE_UNITS: "type in step 2 what is publicly known of the columns",
        HOW_TO_NAME_PEOPLE: "name it in step 2, or leave it out there where nobody has another row",
    }
    for advice, there in in_step_2.items():
        note = note.replace(advice, there)
    return note


def _count(needed: float) -> str | None:
    return None if needed == math.inf else f"{needed:,}"


def _epsilon(needed: float) -> str | None:
    return None if needed == math.inf else f"{needed:.2g}"


def ratio_forecast(
    asked: Asked, *, share: float | None = None, is_count: bool = False, mean: float | None = None
) -> dict[str, Any]:
    """What a fit would find whose effects are ratios, for the page. Returns texts for the template.

    `share` is a guess of the share of yes, and `mean` one of the mean of a count or a cost, where the response is that.

    Examples
    --------
    >>> asked = Asked(10_000, 60, False, epsilon=1.0, delta=None, sparsity=5)
    >>> even, rare = (ratio_forecast(asked, share=share) for share in (0.5, 0.05))
    >>> float(even["ratio"]) < float(rare["ratio"])
    True
    """
    from dpsparse.planning import plan

    share, mean = EVEN if share is None else share, ONE if mean is None else mean
    guess = {"mean_response": mean, "overdispersion": VISITS} if is_count else {"share_of_yes": share}
    here = asked.planned(plan, **guess)
    smallest = _told(here.smallest_ratio)
    ratio = None if smallest == math.inf else number(float(f"{smallest:.3g}"))
    ratios = [_told(replace(here, epsilon=at).smallest_ratio) for at in _GRID]
    words = (
        f"Over epsilon: the smallest {here.ratio} that is selected in 4 fits of 5, {ratio or 'none'} at epsilon "
        f"{asked.epsilon:g}."
    )
    return {
        "epsilon": f"{asked.epsilon:g}",
        "n": f"{asked.n_fitted:,}",
        "ratio": ratio,
        "inverse": f"{1 / smallest:.2g}",
        "name": here.ratio,
        "mean": f"{mean:g}" if is_count else None,
        "share": f"{100 * share:g} %",
        "picture": asked.drawn({f"smallest {here.ratio} that is found": ratios}, words),
    }


def _told(ratio: float) -> float:
    return ratio if ratio < _LARGEST else math.inf


def parts_forecast(asked: Asked, *, share: float | None = None) -> dict[str, Any]:
    """What a fit in two parts would find; `share` is a guess of the share above 0. Returns texts for the template.

    Examples
    --------
    >>> asked = Asked(50_000, 20, False, epsilon=1.0, delta=None, sparsity=3)
    >>> half, few = (parts_forecast(asked, share=share) for share in (0.5, 0.2))
    >>> float(half["whether"]) < float(few["whether"]), float(half["how_much"]) < float(few["how_much"])
    (True, True)
    """
    from dpsparse.planning.two_part_forecast import plan_two_part

    above = EVEN if share is None else share
    here = asked.planned(plan_two_part, share_above_0=above)
    ratio, effect = here.whether.smallest_odds_ratio, here.how_much.smallest_effect
    return {
        "parts": True,
        "epsilon": f"{asked.epsilon:g}",
        "n": f"{asked.n_fitted:,}",
        "share": f"{100 * above:g} %",
        "whether": None if ratio >= _LARGEST else number(float(f"{ratio:.3g}")),
        "how_much": None if effect >= _LARGEST else number(float(f"{effect:.2g}")),
    }

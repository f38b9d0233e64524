"""The forecast of a draft whose response is yes or no: the odds ratios that a fit would find, from public numbers."""

import math
from dataclasses import replace
from typing import Any

from dpsparse.html import number
from dpsparse.report.charts import curves

# Without a guess, as many of yes as of no: fewer of one of them find less.
EVEN = 0.5
# An odds ratio beyond this is none that people have.
_LARGEST = 100.0
# Places of the curve: epsilons from 0.03 to 10.
_GRID = tuple(10 ** (k / 8) for k in range(-12, 9))


def odds_forecast(
    n: int,
    d: int,
    known: bool,
    *,
    epsilon: float,
    delta: float | None,
    sparsity: int,
    people: int = 1,
    holdout: float | None = None,
    share: float | None = None,
) -> dict[str, Any]:
    """What a fit would find, for the page; `share` is a guess of the share of yes. Returns texts for the template.

    Examples
    --------
    >>> from dpsparse.app.odds_forecast import odds_forecast
    >>> even, rare = (
    ...     odds_forecast(10_000, 60, False, epsilon=1.0, delta=None, sparsity=5, share=share) for share in (0.5, 0.05)
    ... )
    >>> float(even["ratio"]) < float(rare["ratio"])
    True
    """
    from dpsparse.planning import plan

    fitted = n if holdout is None else n - math.floor(n * holdout)
    here = plan(
        max(1, fitted),
        d,
        min(sparsity, d),
        epsilon,
        delta,
        units_known=known,
        records_per_person=people,
        share_of_yes=EVEN if share is None else share,
    )
    smallest = _told(here.smallest_odds_ratio)
    ratio = None if smallest == math.inf else number(float(f"{smallest:.3g}"))
    ratios = [_told(replace(here, epsilon=at).smallest_odds_ratio) for at in _GRID]
    words = (
        f"Over epsilon: the smallest odds ratio that a fit finds in four of five cases, {ratio or 'none'} at epsilon "
        f"{epsilon:g}."
    )
    marked = min(max(epsilon, _GRID[0]), _GRID[-1])
    lines = {"smallest odds ratio that is found": ratios}
    return {
        "epsilon": f"{epsilon:g}",
        "n": f"{fitted:,}",
        "ratio": ratio,
        "inverse": f"{1 / smallest:.2g}",
        "share": f"{100 * (EVEN if share is None else share):g} %",
        "picture": curves(_GRID, lines, (marked, f"epsilon {epsilon:g}"), words),
    }


def _told(ratio: float) -> float:
    return ratio if ratio < _LARGEST else math.inf

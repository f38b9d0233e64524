"""The forecast of a draft whose effects are ratios, of odds or of a mean: those that a fit would find."""

import math
from dataclasses import replace
from typing import Any

from dpsparse.html import number
from dpsparse.report.charts import curves

# Without a guess, as many of yes as of no: fewer of one of them find less.
EVEN = 0.5
# Without a guess, a mean of 1. Visits and claims vary about so many times as much as a Poisson law.
ONE, VISITS = 1.0, 5.0
# A ratio beyond this is none that people have.
_LARGEST = 100.0
# Places of the curve: epsilons from 0.03 to 10.
_GRID = tuple(10 ** (k / 8) for k in range(-12, 9))


def ratio_forecast(
    n: int,
    d: int,
    known: bool,
    *,
    epsilon: float,
    delta: float | None,
    sparsity: int,
    people: int = 1,
    rows: float = 1.0,
    holdout: float | None = None,
    share: float | None = None,
    is_count: bool = False,
    mean: float | None = None,
) -> dict[str, Any]:
    """What a fit would find, for the page. Returns texts for the template.

    `share` is a guess of the share of yes, and `mean` one of the mean of a count or a cost, where the response is that.

    Examples
    --------
    >>> from dpsparse.app.ratio_forecast import ratio_forecast
    >>> even, rare = (
    ...     ratio_forecast(10_000, 60, False, epsilon=1.0, delta=None, sparsity=5, share=share) for share in (0.5, 0.05)
    ... )
    >>> float(even["ratio"]) < float(rare["ratio"])
    True
    """
    from dpsparse.planning import plan

    fitted = n if holdout is None else n - math.floor(n * holdout)
    guess: dict[str, Any] = {"share_of_yes": EVEN if share is None else share}
    if is_count:
        guess = {"mean_response": ONE if mean is None else mean, "overdispersion": VISITS}
    here = plan(
        max(1, fitted),
        d,
        min(sparsity, d),
        epsilon,
        delta,
        units_known=known,
        records_per_person=people,
        rows_per_person=rows,
        **guess,
    )
    smallest = _told(here.smallest_ratio)
    ratio = None if smallest == math.inf else number(float(f"{smallest:.3g}"))
    ratios = [_told(replace(here, epsilon=at).smallest_ratio) for at in _GRID]
    words = (
        f"Over epsilon: the smallest {here.ratio} that is selected in 4 fits of 5, {ratio or 'none'} at epsilon "
        f"{epsilon:g}."
    )
    marked = min(max(epsilon, _GRID[0]), _GRID[-1])
    lines = {f"smallest {here.ratio} that is found": ratios}
    return {
        "epsilon": f"{epsilon:g}",
        "n": f"{fitted:,}",
        "ratio": ratio,
        "inverse": f"{1 / smallest:.2g}",
        "name": here.ratio,
        "mean": None if not is_count else f"{ONE if mean is None else mean:g}",
        "share": f"{100 * (EVEN if share is None else share):g} %",
        "picture": curves(_GRID, lines, (marked, f"epsilon {epsilon:g}"), words),
    }


def _told(ratio: float) -> float:
    return ratio if ratio < _LARGEST else math.inf

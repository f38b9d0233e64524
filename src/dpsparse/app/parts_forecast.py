"""The forecast of a draft whose response is in two parts: what a fit would find in each, from public numbers."""

import math
from typing import Any

from dpsparse.html import number

# Without a guess, half of the records are above 0.
HALF = 0.5
# An odds ratio, or an effect in units of the noise, beyond this is none that people have.
_LARGEST = 100.0


def parts_forecast(
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
) -> dict[str, Any]:
    """What a fit would find, for the page; `share` is a guess of the share above 0. Returns texts for the template.

    Examples
    --------
    >>> from dpsparse.app.parts_forecast import parts_forecast
    >>> half, few = (
    ...     parts_forecast(50_000, 20, False, epsilon=1.0, delta=None, sparsity=3, share=share) for share in (0.5, 0.2)
    ... )
    >>> float(half["whether"]) < float(few["whether"]), float(half["how_much"]) < float(few["how_much"])
    (True, True)
    """
    from dpsparse.planning.two_part_forecast import plan_two_part

    fitted = n if holdout is None else n - math.floor(n * holdout)
    above = HALF if share is None else share
    here = plan_two_part(
        max(1, fitted),
        d,
        min(sparsity, d),
        epsilon,
        delta,
        share_above_0=above,
        units_known=known,
        records_per_person=people,
        rows_per_person=rows,
    )
    ratio, effect = here.whether.smallest_odds_ratio, here.how_much.smallest_effect
    return {
        "parts": True,
        "epsilon": f"{epsilon:g}",
        "n": f"{fitted:,}",
        "share": f"{100 * above:g} %",
        "whether": None if ratio >= _LARGEST else number(float(f"{ratio:.3g}")),
        "how_much": None if effect >= _LARGEST else number(float(f"{effect:.2g}")),
    }

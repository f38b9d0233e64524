"""The picture of a forecast, by matplotlib."""

import textwrap
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpsparse.planning.forecast import Plan

# Numbers of an axis from here on are written in powers of ten.
_PLAIN = 1e6


def draw(plan: "Plan", axes: "Axes | None", epsilons: Iterable[float] | None, over: Literal["epsilon", "n"]) -> "Axes":
    """The expected error and the effect that is selected in 4 fits of 5 over epsilon, or over n."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes = plt.subplots(figsize=(6, 4), layout="constrained")[1] if axes is None else axes
    places: list[Any]
    if over == "n":
        # A fit has at least two records.
        places = sorted({max(2, round(plan.n * 10 ** (k / 10))) for k in range(-10, 11)})
    else:
        places = [10 ** (k / 10) for k in range(-15, 11)] if epsilons is None else list(epsilons)
    plans = [replace(plan, **{over: place}) for place in places]
    axes.loglog(places, [at.expected_error for at in plans], "-", color="tab:blue", label="expected l2 error")
    effects = [at.smallest_effect for at in plans]
    axes.loglog(places, effects, "--", color="black", label="effect selected in 4 fits of 5")
    here, fixed = f"epsilon = {plan.epsilon:g}", f"n = {plan.n:,}"
    if over == "n":
        here, fixed = fixed, here
    axes.axvline(getattr(plan, over), color="tab:gray", linestyle=":", label=here)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}" if value < _PLAIN else f"{value:.0e}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(plan.units_of_n if over == "n" else "epsilon")
    axes.set_ylabel(plan.unit)
    title = f"{fixed}, d = {plan.d:,}, {plan.sparsity} features, {plan.units}, {plan.response}"
    axes.set_title(textwrap.fill(title, 60), fontsize="medium")
    axes.legend()
    return axes

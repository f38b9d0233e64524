"""`dpsparse demo`: a private fit of synthetic data, explained step by step."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from dpsparse import AdaHuber, PrivateSparseRegressor, plan
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.inference.inference_constants import FAMILY_WISE_LEVEL
from dpsparse.inference.intervals import SHOWN_PERCENT
from dpsparse.io.atomic import save_figure
from dpsparse.privacy.guarantee import check_epsilon

N, D, SPARSITY = 10_000, 1_000, 5


def run_demo(epsilon: float, picture: str | Path, seed: int | None, console: Console | None = None) -> dict[str, Any]:
    """Make data, fit privately, print the guarantee, the releases and the effects, and draw a picture.

    `seed` is that of the synthetic data; privacy noise is never seeded. Returns the main numbers.
    """
    console = console or Console()
    check_epsilon(epsilon)
    folder = Path(picture).resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"--out: the folder {folder} does not exist")
    console.print(
        f"[bold]Data[/]: n = {N:,} records, d = {D:,} features, {SPARSITY} of them matter; "
        "Student-t noise with 3 degrees of freedom. Effects are on the typical response: outliers do not count."
    )
    # 1.48 times the median size of Student's t with 3 degrees of freedom.
    forecast = plan(N, D, SPARSITY, epsilon, estimand="typical", units_known=True, noise_scale=1.13)
    console.print(
        f"[bold]Forecast[/], before anything is spent: l2 error about {forecast.expected_error:.3f}; "
        f"effects of {forecast.smallest_effect:.2f} are selected in 4 fits of 5."
    )
    X, y, coef = make_heavy_tailed(N, D, SPARSITY, random_state=seed)
    private = PrivateSparseRegressor(sparsity=SPARSITY, estimand="typical", epsilon=epsilon, **STANDARDIZED).fit(X, y)
    open_fit = AdaHuber(lam=0.1, sparsity=SPARSITY).fit(X, y)
    console.print("[bold]Guarantee[/]: " + private.privacy_.statement(), highlight=False)
    releases = private.privacy_.releases
    console.print(f"[bold]Released[/]: {len(releases)} noisy statistics, rho = {private.privacy_.rho:.4g} in all.")
    console.print(_effects_table(coef, private, open_fit.coef_))
    console.print(
        f"[bold]Significant[/]: at the {100 * FAMILY_WISE_LEVEL:g} % family-wise level over {D:,} features "
        "(Bonferroni). An interval is of one effect alone: it may exclude 0 where this says no."
    )
    n_found = len(set(np.flatnonzero(coef)) & set(private.support_))
    errors = [np.linalg.norm(model.coef_ - coef) for model in (private, open_fit)]
    console.print(f"[bold]Found[/]: {n_found} of the {SPARSITY} true features.")
    console.print(
        f"[bold]Error[/] (l2): {errors[0]:.3f} private, {errors[1]:.3f} not private, "
        f"{np.linalg.norm(coef):.3f} for all zeros."
    )
    _draw(coef, private, open_fit, picture)
    console.print(f"[bold]Picture[/]: {picture}", highlight=False)
    return {
        "guarantee": private.privacy_.statement(),
        "expected_error": forecast.expected_error,
        "found": n_found,
        "error": float(errors[0]),
        "non_private_error": float(errors[1]),
        "zero_error": float(np.linalg.norm(coef)),
        "picture": str(picture),
    }


def _effects_table(coef: NDArray[np.float64], private: PrivateSparseRegressor, open_fit: NDArray[np.float64]) -> Table:
    low, high = private.conf_int().T
    table = Table(title="Effects")
    for name in ("feature", "true", "private", f"{SHOWN_PERCENT} interval", "significant", "not private"):
        table.add_column(name, justify="right")
    # The estimates that the intervals are of; what predictions use where there is no interval.
    estimates = np.where(np.isfinite(low), (low + high) / 2, private.coef_)
    for j in _shown(coef, private.coef_):
        interval = f"[{low[j]:+.3f}, {high[j]:+.3f}]" if np.isfinite(low[j]) else "-"
        values = (f"{value[j]:+.3f}" if value[j] else "0" for value in (coef, estimates, open_fit))
        true, released, plain = values
        table.add_row(str(j), true, released, interval, "yes" if private.clear_[j] else "no", plain)
    return table


def _shown(coef: NDArray[np.float64], private: NDArray[np.float64]) -> NDArray[np.intp]:
    shown = np.flatnonzero((coef != 0) | (private != 0))
    return shown[np.argsort(-np.abs(coef[shown]), kind="stable")]


def _draw(coef: NDArray[np.float64], private: PrivateSparseRegressor, open_fit: AdaHuber, picture: str | Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = _shown(coef, private.coef_)
    position = np.arange(len(shown))
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.scatter(position, coef[shown], marker="_", s=200, color="black", label="true")
    axes.scatter(position - 0.15, open_fit.coef_[shown], marker="x", color="tab:gray", label="not private")
    selected = shown[np.isin(shown, private.support_)]
    low, high = private.conf_int()[selected].T
    axes.errorbar(
        position[np.isin(shown, selected)] + 0.15,
        (low + high) / 2,
        yerr=(high - low) / 2,
        fmt="o",
        markersize=3,
        capsize=5,
        color="tab:blue",
        label=f"private, epsilon = {private.epsilon:g}, {SHOWN_PERCENT} interval",
    )
    axes.axhline(0, color="lightgray", zorder=0)
    axes.set_xticks(position, shown)
    axes.set_xlabel("feature (true ones first)")
    axes.set_ylabel("effect on the response")
    axes.legend()
    save_figure(figure, picture)

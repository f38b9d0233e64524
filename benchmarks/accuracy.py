"""Accuracy of every method of the package on the synthetic tasks, beside the non-private reference.

Run ``python benchmarks/accuracy.py --out results/``. Errors are l2 distances to the true coefficients, in units of the
task's scale, on seeds 1000 to 1019 (nothing was tuned on them), two noise draws each. Noise is symmetric, so that
effects on the mean and on the typical response are the same; ours are on the typical one (``--estimand``). The
reference is non-private Huber iterative hard thresholding (tau 1, step 0.5, 100 steps) on the same data. Ratios are of
means, with a 95 % bootstrap interval over seeds.
"""

import json
import warnings
from pathlib import Path

import click
import numpy as np
from reference_fits import huber_iht
from tasks import TASKS

from dpsparse import DPIHTH, DPIHTL, DPSLR, AdaHuber, PrivateSparseRegressor, plan
from dpsparse.data.public_units import STANDARDIZED

OURS = "PrivateSparseRegressor"
PAPER = {"DPIHTH": DPIHTH, "DPIHTL": DPIHTL, "DPSLR": DPSLR}


def private_coefficients(task, X, y, noise_seed, estimand):
    """Coefficients of our method and of the paper's (the latter get a centred response of unit scale: a head start)."""
    guarantee = {"sparsity": task.sparsity, "epsilon": task.epsilon, "delta": task.delta, "random_state": noise_seed}
    yield OURS, PrivateSparseRegressor(estimand=estimand, **guarantee, **STANDARDIZED).fit(X, y).coef_
    for name, method in PAPER.items():
        yield name, method(**guarantee).fit(X, (y - task.shift) / task.scale).coef_ * task.scale


def run_task(task, seeds, draws, estimand, progress):
    """Errors and hits of all methods; one entry for each seed and draw."""
    errors, hits = {}, {}
    for seed in seeds:
        X, y, coef = task.make(seed)
        plain = (y - task.shift) / task.scale
        open_fits = {
            "non-private IHT": huber_iht(X, plain, task.sparsity) * task.scale,
            "AdaHuber": AdaHuber(lam=0.1, sparsity=task.sparsity).fit(X, plain).coef_ * task.scale,
            "zero": np.zeros(task.d),
        }
        estimates = [*open_fits.items()]
        for draw in range(draws):
            estimates += private_coefficients(task, X, y, 2 * seed + draw, estimand)
        for name, estimate in estimates:
            errors.setdefault(name, {}).setdefault(seed, []).append(np.linalg.norm(estimate - coef) / task.scale)
            hits.setdefault(name, []).append(np.count_nonzero((estimate != 0) & (coef != 0)) / task.sparsity)
        progress.update(1)
    return {name: [np.mean(e) for e in by_seed.values()] for name, by_seed in errors.items()}, hits


def ratio_with_interval(errors, reference, seed=0):
    """Ratio of means and its bootstrap interval over seeds."""
    errors, reference = np.array(errors), np.array(reference)
    draws = np.random.default_rng(seed).integers(len(errors), size=(4000, len(errors)))
    ratios = errors[draws].mean(axis=1) / reference[draws].mean(axis=1)
    return float(errors.mean() / reference.mean()), *map(float, np.quantile(ratios, [0.025, 0.975]))


def summarize(name, task, estimand, errors, hits):
    """One row for each method, ready for JSON."""
    forecast = plan(
        task.n, task.d, task.sparsity, task.epsilon, task.delta,
        estimand=estimand, units_known=True, noise_scale=task.noise_size(estimand), correlation=task.correlation,
    )  # fmt: skip
    rows = []
    for method, values in errors.items():
        ratio, low, high = ratio_with_interval(values, errors["non-private IHT"])
        row = {"task": name, "method": method, "error": float(np.mean(values)), "spread": float(np.std(values, ddof=1)),
               "ratio": ratio, "low": low, "high": high, "support": float(np.mean(hits[method]))}  # fmt: skip
        if method == OURS:
            row |= {"target": task.target, "forecast": forecast.expected_error / task.scale}
        rows.append(row)
    return rows


def print_table(rows):
    """All methods, then our targets."""
    click.echo(f"{'task':<5} {'method':<24} {'error':>8} {'sd':>8} {'ratio':>7}  {'95 % interval':<16} {'found':>6}")
    for row in rows:
        click.echo(
            f"{row['task']:<5} {row['method']:<24} {row['error']:>8.4f} {row['spread']:>8.4f} {row['ratio']:>7.2f}  "
            f"[{row['low']:.2f}, {row['high']:.2f}]{'':<4} {row['support']:>6.0%}"
        )
    click.echo("\ntask   ratio      target   verdict   forecast/measured")
    for row in rows:
        if row["method"] == OURS:
            verdict = "met" if row["ratio"] <= row["target"] else "MISSED"
            click.echo(
                f"{row['task']:<5} {row['ratio']:>7.2f} {row['target']:>11.2f}   {verdict:<8}"
                f" {row['forecast'] / row['error']:>10.2f}"
            )


def draw(rows, path):
    """Errors by task and method on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    tasks = list(dict.fromkeys(row["task"] for row in rows))
    styles = {"zero": ("_", "black"), "DPSLR": ("v", "0.6"), "DPIHTL": ("s", "0.6"), "DPIHTH": ("^", "0.4"),
              "AdaHuber": ("x", "0.2"), "non-private IHT": ("+", "black"), OURS: ("o", "tab:blue")}  # fmt: skip
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for method, (marker, color) in styles.items():
        points = [(tasks.index(row["task"]), row["error"]) for row in rows if row["method"] == method]
        axes.scatter(*zip(*points, strict=True), marker=marker, color=color, s=60, label=method, zorder=3)
    axes.set_yscale("log")
    axes.set_xticks(range(len(tasks)), tasks)
    axes.set_xlabel("task")
    axes.set_ylabel("mean l2 error of the coefficients")
    axes.grid(axis="y", color="0.9")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.18), ncols=4, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


@click.command()
@click.option("--tasks", default=",".join(TASKS), show_default=True)
@click.option("--first-seed", default=1000, show_default=True)
@click.option("--seeds", default=20, show_default=True)
@click.option("--draws", default=2, show_default=True)
@click.option("--estimand", type=click.Choice(["mean", "typical"]), default="typical", show_default=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for JSON and picture.")
def main(tasks, first_seed, seeds, draws, estimand, out):
    """Print the table; write accuracy.json and accuracy.png to --out."""
    warnings.simplefilter("ignore")
    rows, names = [], tasks.split(",")
    with click.progressbar(length=seeds * len(names), label="tasks") as progress:
        for name in names:
            rows += summarize(name, TASKS[name], estimand, *run_task(
                TASKS[name], range(first_seed, first_seed + seeds), draws, estimand, progress))  # fmt: skip
    print_table(rows)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / "accuracy.json").write_text(json.dumps(rows, indent=1) + "\n")
        draw(rows, out / "accuracy.png")


if __name__ == "__main__":
    main()

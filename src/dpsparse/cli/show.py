"""What the commands print: promises, effects, records. It reads releases only."""

import json

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpsparse.html import number


def as_json(content):
    """Print JSON."""
    click.echo(json.dumps(content, indent=1, allow_nan=False))


def _console():
    # Column names are not markup.
    return Console(highlight=False, emoji=False)


def fit(model, data, notes):
    """Print what was promised, read and found."""
    console = _console()
    record = model.privacy
    _say(console, "Data", f"{data}: {record.n_records:,} records, {len(model.features):,} features")
    for note in notes:
        _say(console, "Note", note)
    _say(console, "Promise", record.statement())
    _effects(console, model)


def store(folder, manifest, notes):
    """Print what a store holds."""
    console = _console()
    n, d = manifest.shape
    files = f"{len(manifest.chunks):,} file{'s' * (len(manifest.chunks) > 1)}"
    _say(console, "Store", f"{folder}: {n:,} records, {d:,} features in {manifest.dtype.name}, {files} of features")
    for note in notes:
        _say(console, "Note", note)


def saved(out, report):
    """Print where the model and the report went."""
    if out is None:
        _say(_console(), "Model", "not saved; --out model.json would")
    else:
        _say(_console(), "Model", f"{out}; use it with: dpsparse predict {out} new.csv")
    if report is not None:
        _say(_console(), "Report", report)


def inspection(model):
    """Print the promise in plain words and in full, and the effects."""
    console = _console()
    _say(console, "Model", f"{model.target} from {len(model.features):,} features, by {model.estimator}")
    _say(console, "In plain words", model.privacy.plain_words())
    _effects(console, model)
    _say(console, "In full", "")
    click.echo(str(model.privacy))


def _say(console, heading, text):
    console.print(f"[bold]{heading}[/]: {escape(text)}", soft_wrap=not console.is_terminal)


def _effects(console, model):
    table = Table()
    table.add_column("feature", overflow="fold")
    for heading in ("effect", "90 % interval", "stands clear"):
        table.add_column(heading, justify="right", no_wrap=True)
    for effect in model.effects:
        table.add_row(*map(escape, effect.row()))
    table.add_row("(intercept)", number(model.intercept), "", "")
    _say(console, "Effects", f"on {model.target}, for a step of 1 of each feature")
    console.print(table)
    if not model.effects:
        _say(console, "Nothing found", "no effect stands clear of the noise")
    elif not model.response_scale_known:
        _say(
            console,
            "Nothing learned",
            "the response's scale could not be found; give more epsilon, or put its public center and scale under "
            "[response] in the bounds file",
        )
    else:
        if not all(effect.clear for effect in model.effects):
            _say(console, "Not clear", "the largest of so many features without effect would look like this")
        if not all(effect.centred for effect in model.effects):
            _say(console, "Centre off", "by more than the feature's spread; better public bounds would help")


def plan(first, rows):
    """Print a forecast for each epsilon."""
    console = _console()
    _say(console, "Forecast", f"n = {first.n:,}, d = {first.d:,}, {first.sparsity} features to pick")
    table = Table()
    for heading in ("epsilon", "l2 error", "smallest effect", "90 % interval", "n for half the error"):
        table.add_column(heading, justify="right")
    for row in rows:
        *numbers, needed = (row[key] for key in row if key != "delta")
        table.add_row(*(f"{value:.3g}" for value in numbers), "-" if needed is None else f"{needed:,}")
    console.print(table)
    _say(
        console,
        "Units",
        "the response's noise per scaled feature. Smallest effect: found 4 times in 5. 90 % interval: its width.",
    )

"""What the commands print, show of their progress and write. It reads releases and public numbers only."""

import json
import os
import sys
from contextlib import contextmanager, nullcontext

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from dpsparse.io.atomic import atomic_file
from dpsparse.model.effect import EFFECT_HEADINGS, UNIT_HEADINGS, effect_rows, unit_rows
from dpsparse.model.evaluation import HEADINGS, in_words, score_rows
from dpsparse.model.json_file import as_dict
from dpsparse.model.reliability import doubt_of
from dpsparse.model.remarks import remarks

# Column names are not markup, and an emoji's name in one stays as it is.
_PLAIN = {"highlight": False, "emoji": False}


def writing(out, *inputs, replace=True, private=False):
    """The stream of `--out`, opened at once; None where there is no `--out`. A private file is its owner's alone."""
    return nullcontext() if out is None else atomic_file(out, inputs, replace, private)


@contextmanager
def reader_may_leave():
    """Go on without printing where nobody reads any more, as after ``| head``: what was paid for is still saved."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # rich turns the first into the second. Whatever is printed later goes nowhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def print_json(content):
    """Print JSON."""
    click.echo(json.dumps(content, indent=1, allow_nan=False))


def say(heading, text):
    """Print a line with its heading."""
    console = Console(**_PLAIN)
    console.print(f"[bold]{heading}[/]: {escape(text)}", soft_wrap=not console.is_terminal)


def print_table(headings, rows, *, texts=1):
    """Print a table. The first `texts` columns are text, which a narrow screen folds; the others are numbers."""
    table = Table()
    for place, heading in enumerate(headings):
        is_text = place < texts
        table.add_column(heading, **({"overflow": "fold"} if is_text else {"justify": "right", "no_wrap": True}))
    for row in rows:
        table.add_row(*map(escape, row))
    Console(**_PLAIN).print(table)


def model_facts(model):
    """A model for JSON: the content of its file, and of each effect what people read of it.

    That is the effect itself, its 90 % interval, if any, the verdict and, where it is not reliable, why and what would
    help.
    """
    facts = as_dict(model)
    for effect, shown in zip(model.effects, facts["effects"], strict=True):
        shown["effect"] = effect.value
        shown["interval"] = effect.interval and dict(zip(("low", "high"), effect.interval, strict=True))
        shown["verdict"] = effect.verdict.value
        doubt = doubt_of(effect)
        shown["reason"], shown["remedy"] = (None, None) if doubt is None else (doubt.reason, doubt.remedy)
    return facts


def print_budget(context, ledger):
    """Print what was left of the budget in a ledger, as the context of a fit or an evaluation says."""
    if ledger is None:
        return
    budget = context and context.budget
    unread = f"charged; the ledger could not be read again: see dpsparse budget show {ledger}"
    say("Budget", unread if budget is None else budget.sentence())


def print_effects(model):
    """Print the effects of a released model, and what they mean where it is not plain."""
    say("Effects", f"on {model.target}, for a step of 1 of each feature")
    print_table(EFFECT_HEADINGS, effect_rows(model.effects, model.intercept))
    for heading, text in remarks(model):
        say(heading, text)
    if model.scores is not None:
        print_scores(model.scores, model.constant_prediction, model.target)
    # Where nothing was learned they are noise.
    if model.response_scale_known and (units := unit_rows(model.effects)):
        say("Units learned", "centres and scales that the fit released within its guarantee")
        print_table(UNIT_HEADINGS, units)


def print_scores(scores, constant, target):
    """Print how well a model predicts records held out."""
    say("Held out", in_words(scores, target))
    print_table(HEADINGS, score_rows(scores, constant))


def print_store(folder, manifest, notes=()):
    """Print what a store holds."""
    n, d = manifest.shape
    held = (
        f"{d:,} features in {manifest.dtype.name}" if manifest.layout == "features" else f"the cells of {d:,} columns"
    )
    chunks = len(manifest.chunks)
    say("Store", f"{folder}: {n:,} records, {held}, in {chunks:,} chunk{'s' * (chunks > 1)}")
    print_notes(notes)


def print_notes(notes):
    """Print what the user should know before relying on a result."""
    for note in notes:
        say("Note", note)


def store_facts(manifest):
    """What a store holds, for JSON."""
    n, d = manifest.shape
    return {
        "n_records": n,
        "layout": manifest.layout,
        **({"n_features": d, "dtype": manifest.dtype.name} if manifest.layout == "features" else {"n_columns": d}),
        "chunks": len(manifest.chunks),
    }


@contextmanager
def step_bar(total):
    """A progress bar; gives the function to call, with a name, before each of `total` (or None) steps."""
    with _bar(MofNCompleteColumn()) as progress:
        task = progress.add_task("", total=total)
        started = []

        def next_step(name):
            progress.update(task, description=name, completed=len(started))
            started.append(name)

        yield next_step


@contextmanager
def share_bar():
    """A progress bar; gives the function to call with the work done, which may be a fraction, and all work."""
    with _bar(TaskProgressColumn()) as progress:
        task = progress.add_task("reading and fitting", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _bar(*columns):
    """A bar on standard error; elsewhere than on a terminal nothing would be seen but empty lines."""
    console = Console(stderr=True)
    columns = (BarColumn(), *columns, TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, "{task.description}", console=console, transient=True, disable=not console.is_terminal)

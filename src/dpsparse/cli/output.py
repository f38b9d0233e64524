"""What the commands print, show of their progress and write. It reads releases and public numbers only."""

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from dpsparse.algorithms.evaluation_outcomes import OutcomeScores
from dpsparse.io.atomic import atomic_file
from dpsparse.io.store.manifest import Manifest
from dpsparse.model.context import FitContext
from dpsparse.model.doubts import doubt_of
from dpsparse.model.effect import UNIT_HEADINGS, effect_headings, effect_rows, unit_rows
from dpsparse.model.evaluation_result import Evaluation, headings, in_words, score_rows
from dpsparse.model.json_file import as_dict
from dpsparse.model.meaning import of_target
from dpsparse.model.outcome_words import calibration_headings, calibration_rows
from dpsparse.model.ratios import odds_ratio, ratio_words
from dpsparse.model.released import LinearModel
from dpsparse.model.remarks import remarks
from dpsparse.model.two_part_words import part_rows
from dpsparse.model.unnamed_values import shown_effects

# Column names are not markup, and an emoji's name in one stays as it is.
_PLAIN: dict[str, Any] = {"highlight": False, "emoji": False}


def writing(
    out: str | None, *inputs: str | os.PathLike[str], replace: bool = True, private: bool = False
) -> AbstractContextManager[Any]:
    """The stream of `--out`, opened at once; None where there is no `--out`. A private file is its owner's alone."""
    return nullcontext() if out is None else atomic_file(out, inputs, replace, private)


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Go on without printing where nobody reads any more, as after ``| head``: what was paid for is still saved."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # rich turns the first into the second. Whatever is printed later goes nowhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def print_json(content: Mapping[str, Any]) -> None:
    """Print JSON."""
    click.echo(json.dumps(content, indent=1, allow_nan=False))


def say(heading: str, text: str) -> None:
    """Print a line with its heading."""
    console = Console(**_PLAIN)
    console.print(f"[bold]{heading}[/]: {escape(text)}", soft_wrap=not console.is_terminal)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> None:
    """Print a table. The first `texts` columns are text, which a narrow screen folds; the others are numbers."""
    console, cells = Console(**_PLAIN), [list(row) for row in rows]
    table = _table(headings, cells, texts)
    if console.measure(table).maximum >= console.width:
        # Long headings of numbers are folded first, then the space between columns goes, and then verdicts are folded
        # between words, so that names keep their space.
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)] or [1] * len(headings)
        folded = [textwrap.fill(each, max(width, 10)) for each, width in zip(headings, widths, strict=True)]
        table = _table(folded, cells, texts)
        if console.measure(table).maximum >= console.width:
            table.padding = (0, 0, 0, 0)
        if console.measure(table).maximum >= console.width:
            cells = [[*row[:texts], *map(_folded, row[texts:])] for row in cells]
            table = _table(folded, cells, texts)
            table.padding = (0, 0, 0, 0)
    console.print(table)


def _folded(cell: str) -> str:
    """Words below each other; numbers and intervals stay as they are."""
    words = cell.split()
    return "\n".join(words) if all(map(str.isalpha, words)) else cell


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], texts: int) -> Table:
    table = Table()
    for place, heading in enumerate(headings):
        is_text = place < texts
        table.add_column(heading, **({"overflow": "fold"} if is_text else {"justify": "right", "no_wrap": True}))
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def model_facts(model: LinearModel) -> dict[str, Any]:
    """A model for JSON: the content of its file, and of each effect what people read of it.

    That is the effect itself, its 95 % interval and its p-value (not adjusted), if any, the verdict (family-wise) and,
    where it is not reliable, why and what would help. Where effects are logs of ratios, the ratios stand
    beside them.
    """
    facts, words = as_dict(model), ratio_words(model)
    for effect, shown in zip(model.effects, facts["effects"], strict=True):
        shown["effect"] = effect.value
        shown["interval"] = effect.interval and dict(zip(("low", "high"), effect.interval, strict=True))
        if words is not None:
            name, ends = words.ratio.replace(" ", "_"), effect.interval and map(odds_ratio, effect.interval)
            shown[name] = odds_ratio(effect.value)
            shown[f"{name}_interval"] = ends and dict(zip(("low", "high"), ends, strict=True))
        shown["p_value"] = effect.p_value
        shown["verdict"] = effect.verdict.value
        doubt = doubt_of(effect, model.within, model.privacy.guarantee.protects.said)
        shown["reason"], shown["remedy"] = (None, None) if doubt is None else (doubt.reason, doubt.remedy)
    return facts


def print_budget(context: FitContext | None, ledger: object) -> None:
    """Print what was left of the budget in a ledger, as the context of a fit or an evaluation says."""
    if ledger is None:
        return
    budget = None if context is None else context.budget
    unread = f"charged; the ledger could not be read again: see dpsparse budget show {ledger}"
    say("Budget", unread if budget is None else budget.sentence())


def print_effects(model: LinearModel) -> None:
    """Print the effects of a released model, and what they mean where it is not plain."""
    words = ratio_words(model)
    if words is not None:
        say(words.heading, f"of {words.of}, per one-unit increase of each feature")
    else:
        on = model.target if model.parts is None else of_target(model)
        say("Estimates", f"of effects on {on}, per one-unit increase of each feature")
    print_table(effect_headings(words), effect_rows(shown_effects(model), model.intercept, words is not None))
    for title, effects, intercept, part_words in part_rows(model):
        say(
            title,
            f"{'effects' if part_words is None else part_words.heading.lower()} per one-unit increase of each feature",
        )
        print_table(effect_headings(part_words), effect_rows(effects, intercept, part_words is not None))
    for heading, text in remarks(model):
        say(heading, text)
    if model.evaluation is not None:
        print_scores(model.evaluation)
    # Where nothing was learned they are noise.
    if model.response_scale_known and (units := unit_rows(model.effects)):
        say("Units learned", "centres and scales that the fit released within its guarantee")
        print_table(UNIT_HEADINGS, units)


def print_scores(evaluation: Evaluation) -> None:
    """Print how well a model predicts records held out."""
    say("Held out", in_words(evaluation))
    print_table(headings(evaluation), score_rows(evaluation))
    if isinstance(evaluation.scores, OutcomeScores):
        print_table(calibration_headings(evaluation), calibration_rows(evaluation.scores))


def print_store(folder: str | os.PathLike[str], manifest: Manifest, notes: Sequence[str] = ()) -> None:
    """Print what a store holds."""
    n, d = manifest.shape
    held = (
        f"{d:,} features in {manifest.dtype.name}" if manifest.layout == "features" else f"the cells of {d:,} columns"
    )
    chunks = len(manifest.chunks)
    say("Store", f"{folder}: {n:,} records, {held}, in {chunks:,} chunk{'s' * (chunks > 1)}")
    print_notes(notes)


def print_notes(notes: Sequence[str]) -> None:
    """Print what the user should know before relying on a result."""
    for note in notes:
        say("Note", note)


def store_facts(manifest: Manifest) -> dict[str, Any]:
    """What a store holds, for JSON."""
    n, d = manifest.shape
    return {
        "n_records": n,
        "layout": manifest.layout,
        **({"n_features": d, "dtype": manifest.dtype.name} if manifest.layout == "features" else {"n_columns": d}),
        "chunks": len(manifest.chunks),
    }


@contextmanager
def step_bar(total: int | None) -> Iterator[Callable[[str], None]]:
    """A progress bar; gives the function to call, with a name, before each of `total` (or None) steps."""
    with _bar(MofNCompleteColumn()) as progress:
        task = progress.add_task("", total=total)
        started: list[str] = []

        def next_step(name: str) -> None:
            progress.update(task, description=name, completed=len(started))
            started.append(name)

        yield next_step


@contextmanager
def share_bar() -> Iterator[Callable[[float, float], None]]:
    """A progress bar; gives the function to call with the work done, which may be a fraction, and all work."""
    with _bar(TaskProgressColumn()) as progress:
        task = progress.add_task("reading and fitting", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _bar(*columns: ProgressColumn) -> Progress:
    """A bar on standard error; elsewhere than on a terminal nothing would be seen but empty lines."""
    console = Console(stderr=True)
    columns = (BarColumn(), *columns, TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, "{task.description}", console=console, transient=True, disable=not console.is_terminal)

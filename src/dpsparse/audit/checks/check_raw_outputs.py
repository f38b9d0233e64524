"""Everything that leaves a raw table's fits, commands and pages is a function of releases and public facts.

A fit runs once. Then it runs again with the same releases on tables that have nothing in common with its own but the
names of their columns and their number of records (`raw_shapes`). All that leaves must be the same bytes: results with
whatever they hold, texts, streams, log, warnings, errors, files, the ledger, calls of progress, pages. The releases
come from several tables and guarantees, and once without a name, so that branches which depend on releases are met.
"""

import io
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from dpsparse import PrivateSparsePoissonRegressor, PrivateSparseRegressor, PrivateSparseTwoPartRegressor
from dpsparse.audit.checks.check_raw_tables import FITS, FORMULA
from dpsparse.audit.checks.check_replay import cached_schedules, different
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.fits import EvaluatedCells, public_model_of_cells
from dpsparse.audit.harness.raw_fits import EXPOSURE, PEOPLE, SOURCES, known_of_columns, run_raw
from dpsparse.audit.harness.raw_shapes import TELLING, as_lines, raw_shapes
from dpsparse.audit.harness.run_page import run_page
from dpsparse.audit.harness.run_program import DATASET, Program, run_program
from dpsparse.audit.harness.tape import Run, Script, same
from dpsparse.model.json_file import write_model

# So weak that releases follow the records, and so strong that they follow nothing.
WEAK, STRONG = {"epsilon": 400.0, "delta": 1e-2}, {"epsilon": 0.5, "delta": 1e-6}
# Of which table the releases are, under which guarantee, and whether they have names.
BASES: tuple[tuple[str, dict[str, float], bool], ...] = (
    (TELLING, WEAK, True),
    (TELLING, WEAK, False),
    ("usual, other values", WEAK, True),
    ("usual, other values", STRONG, True),
)


# The name of a path, how it runs, whose releases it takes, and whether it is to be refused.
Case = tuple[str, Callable[..., Any], tuple[Any, ...], bool]


def check_raw_outputs() -> Iterator[Finding]:
    """Fits on every source, then commands, then the page."""
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder) / "work"):
            yield check_case(*case)


def cases(place: Path) -> Iterator[Case]:
    """Every path that is replayed, each in the same folder."""
    for name, model, source in PATHS:
        bases = BASES if source == "CSV" else _SOME
        yield f"{name}, {source}", partial(run_raw, model, source, place), bases, False
    for name, commands in COMMANDS.items():
        yield f"dpsparse: {name}", partial(_run_command, commands, place), _SOME, False
    for name, commands in REFUSED.items():
        yield f"dpsparse, refused: {name}", partial(_run_command, commands, place), _SOME[:1], True
    for name, holdout, bases in (("the page", None, _SOME), ("the page, some held out", 0.2, BASES[2:3])):
        yield name, partial(run_page, place, holdout=holdout), bases, False
    for name, commands in OPEN.items():
        yield f"dpsparse: {name}", partial(_run_open, commands, place), _SOME[:1], False


PATHS: tuple[tuple[str, Callable[..., Any], str], ...] = (
    # A typed frame is read in the same way where its responses are given apart.
    *(("a fit", FITS["fits on raw tables"], source) for source in SOURCES if source != "typed frame"),
    ("a fit with bounds", partial(PrivateSparseRegressor, sparsity=3), "CSV, bounds"),
    ("a fit by a formula", FITS["formulas on raw tables"], "typed frame, formula"),
    *(("a classifier", FITS["classifiers on raw tables"], source) for source in ("CSV", "typed frame")),
    ("a classifier of truths", FITS["classifiers of truths on raw tables"], "CSV"),
    ("tune", FITS["tune on raw tables"], "CSV"),
    ("fit_and_evaluate", FITS["fit_and_evaluate on raw tables"], "CSV"),
    ("evaluate", EvaluatedCells, "CSV"),
    ("a fit by person", FITS["fits on raw tables"], f"frame, {PEOPLE}"),
    ("counts", partial(PrivateSparsePoissonRegressor, sparsity=3), f"frame, {EXPOSURE}"),
    ("two parts", partial(PrivateSparseTwoPartRegressor, sparsity=2), "frame"),
)


def check_case(name: str, run_on: Callable[..., Any], bases: tuple[Any, ...], refused: bool) -> Finding:
    """Replay one path on every table."""
    # Each with plans of its own: some fits make releases that their facts do not ask for.
    with cached_schedules():
        fault = replay_shapes(run_on, bases, refused)
    evidence = fault or f"{len(raw_shapes())} tables, {len(bases)} sets of releases: the same bytes"
    return Finding(name, "nothing but releases leaves", evidence, not fault)


def replay_shapes(run_on: Callable[..., Any], bases: tuple[Any, ...] = BASES, refused: bool = False) -> str | None:
    """The first difference between what leaves on one table and on another, with the same releases; None for none.

    `run_on`: of a table, a guarantee and a script of outputs; gives a `Run`.
    `bases`: of `BASES`.
    `refused`: whether an error is expected, the same on all tables.
    """
    tables = raw_shapes()
    for source, guarantee, named in bases:
        base = run_on(tables[source], guarantee, None)
        script = base.tape.script
        if not named:
            script = [draw.output if draw.kind != "names" else [{} for _ in draw.output] for draw in base.tape.draws]
            base = run_on(tables[source], guarantee, script)
        if (base.error is not None) != refused:
            return base.error or "it is not refused"
        for name, table in tables.items():
            fault = _difference(base, run_on(table, guarantee, script), refused)
            if fault:
                return f"{fault} (releases of: {source}; table: {name})"
    return None


def _difference(base: Run, other: Run, refused: bool) -> str | None:
    if not refused:
        return different(base, other)
    changed = [name for name in base.fitted if not same(base.fitted[name], other.fitted.get(name))]
    changed += ["error"] * (base.error != other.error) + ["warnings"] * (base.warnings != other.warnings)
    return f"{changed[0]} depends on more than public facts" if changed else None


_GRANT = {"epsilon": 500.0, "delta": 0.1}
_LEDGER = ("--ledger", "{folder}/budget.db", "--dataset", DATASET)
_SOME = BASES[:2]
_TABLE, _TARGET = "{folder}/table.csv", ("--target", "y")
_OUT = ("--out", "{folder}/model.json")
_FIT = ("fit", _TABLE, *_TARGET, "--sparsity", "3", "--delta", "0.01")
_REPORT = ("--report", "{folder}/report.html")
_CANDIDATES = ("--sparsity", "1", "--sparsity", "3", "--drop", "mixed", "--delta", "0.01")
_SPENDS = ("--epsilon", "400", *_LEDGER)
_MODEL = "{folder}/public.json"
COMMANDS = {
    "fit": ((*_FIT, *_SPENDS, *_OUT, *_REPORT),),
    "fit, as JSON": ((*_FIT, *_SPENDS, *_OUT, "--json"),),
    "fit with bounds": ((*_FIT, *_SPENDS, *_OUT, "--bounds", "{folder}/bounds.toml"),),
    "fit by a formula": (("fit", _TABLE, "--formula", FORMULA, *_FIT[4:], *_SPENDS, *_OUT, *_REPORT),),
    "fit, some held out": ((*_FIT, *_SPENDS, *_OUT, "--holdout", "0.2", *_REPORT),),
    "tune": (("tune", _TABLE, *_TARGET, *_CANDIDATES, *_SPENDS, *_REPORT),),
    "convert, then fit": (
        ("convert", _TABLE, "--out", "{folder}/store", *_TARGET),
        ("fit", "{folder}/store", "--sparsity", "3", "--delta", "0.01", *_SPENDS, *_OUT),
    ),
    "bounds init": (("bounds", "init", _TABLE, *_TARGET, "--out", "{folder}/made.toml"),),
    "evaluate": (("evaluate", _MODEL, _TABLE, "--delta", "0.01", *_SPENDS, "--out", "{folder}/scores.json"),),
    "evaluate, as JSON": (("evaluate", _MODEL, _TABLE, "--delta", "0.01", *_SPENDS, "--json"),),
}
# Each is refused for a public reason: what is said must not depend on the cells.
REFUSED = {
    "a fit beyond the budget": ((*_FIT, "--epsilon", "900", *_LEDGER, *_OUT),),
    "a column that is not there": (("fit", _TABLE, "--target", "cost", *_SPENDS, *_OUT),),
    "a formula that reads other records": (("fit", _TABLE, "--formula", "y ~ scale(amount)", *_SPENDS, *_OUT),),
    "a model that is there": ((*_FIT, *_SPENDS, "--out", _MODEL),),
    "no place for the model": ((*_FIT, *_SPENDS),),
    "a share that cannot be held out": ((*_FIT, *_SPENDS, *_OUT, "--holdout", "0.999"),),
}


def _run_command(
    commands: Any, place: Path, table: list[list[bytes]], guarantee: dict[str, float], script: Script | None
) -> Run:
    model = io.BytesIO()
    write_model(public_model_of_cells(), model)
    files = {"table.csv": as_lines(table), "public.json": model.getvalue(), "bounds.toml": known_of_columns().encode()}
    return run_program(Program(commands, files, _GRANT), place, script)


# What these show is the holder's own: records, or the curator's eyes alone. Nothing of it may stay behind.
OPEN = {
    "check": (("check", _TABLE, *_TARGET),),
    "predict": (("predict", _MODEL, _TABLE, "--out", "{folder}/predictions.csv"),),
}
_SHOWN = ("standard output", "standard error", "exit code")


def _run_open(commands: Any, place: Path, *how: Any) -> Run:
    run = _run_command(commands, place, *how)
    kept = {name: value for name, value in run.fitted.items() if name not in _SHOWN}
    return Run(run.tape, None, run.warnings, kept)

"""The program as a shell runs it, with everything that leaves it kept: for two tables, all of it must be the same."""

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse import PrivacyLedger, PrivateSparseRegressor
from dpsparse.audit.harness.patching import replaced
from dpsparse.audit.harness.tape import Run, Script, Tape
from dpsparse.audit.harness.watching import files_in, watched
from dpsparse.data.on_disk import OnDisk
from dpsparse.data.raw_data import RawData
from dpsparse.engine.threads import threads
from dpsparse.estimators._private import PrivateEstimator
from dpsparse.model import context
from dpsparse.privacy.accounting.meter import Meter, MeterShare
from dpsparse.privacy.ledger.events import Event

# By name, as the console script does: the audit lies below the commands.
_MAIN, _OUTPUT = "dpsparse.cli:main", "dpsparse.cli.output"
DATASET = "people"
# A store and predictions are the holder's records, and a ledger has the time of day: their contents are not compared.
HELD = ("store", "predictions.csv", "budget.db", "budget.db-wal", "budget.db-shm")


@dataclass(frozen=True)
class Program:
    """Commands, one after the other, in a folder of their own.

    `commands`: the arguments of each; "{folder}" stands for the folder.
    `files`: files that are there beforehand.
    `grant`: a budget to grant in the folder's ledger.
    """

    commands: tuple[tuple[str, ...], ...]
    files: dict[str, bytes]
    grant: dict[str, Any] | None = None


def run_program(program: "Program", folder: Path, script: Script | None = None) -> Run:
    """Run the commands, the last of them on a tape.

    `program`: what to run.
    `folder`: made anew.
    `script`: outputs to replay.
    Returns: its `fitted` is all that left the program.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    for name, content in program.files.items():
        (folder / name).write_bytes(content)
    ledger = PrivacyLedger(folder / "budget.db") if program.grant else None
    if ledger:
        ledger.grant(DATASET, **(program.grant or {}))
    *before, last = ([part.format(folder=folder) for part in command] for command in program.commands)
    leaks: dict[str, Any] = {}
    for number, command in enumerate(before):
        _, shown = _watched(command, folder)
        leaks |= {f"{what} of command {number + 1}": value for what, value in shown.items()}
    tape = Tape(script)
    tape.private = ledger is not None
    seen, shown = _watched(last, folder, tape)
    if seen.meters and ledger:
        shown["ledger"] = [_public(event) for event in ledger.history()]
    shown |= {"parameters": seen.parameters, "progress": seen.progress, "support_": np.array([], dtype=int)}
    shown |= files_in(folder, program.files, HELD)
    if seen.meters:
        shown["privacy_"] = seen.meters[0].record()
    error = None if shown["exit code"] == 0 else f"an error: {shown['standard error'].strip()}"
    return Run(tape, error, shown.pop("warnings"), leaks | shown)


class NewYear(datetime):
    """A clock that stands still: a model says the day of its fit."""

    @classmethod
    def now(cls, tz: Any = None) -> "NewYear":
        """The same moment at all times."""
        return cls(2000, 1, 1, tzinfo=tz)


class _Seen:
    """What reaches the estimators, and how they tell of their progress."""

    def __init__(self) -> None:
        self.meters: list[Any] = []
        self.parameters: list[dict[str, Any]] = []
        self.progress: list[Any] = []

    @contextlib.contextmanager
    def bar(self, *_: int) -> Iterator[Callable[..., Any]]:
        """A bar that keeps the calls."""
        yield lambda *call: self.progress.append(call)


def _watched(command: list[str], folder: Path, tape: Tape | None = None) -> "tuple[_Seen, dict[str, Any]]":
    """Run one command; what reached the estimators, and all that left it."""
    seen = _Seen()
    fit, open_meter = PrivateSparseRegressor.fit, PrivateEstimator._open_meter

    def fitted(
        model: Any, X: NDArray[np.float64] | OnDisk | RawData, y: NDArray[np.float64] | None = None, **more: Any
    ) -> Any:
        known = {name: value for name, value in model.get_params().items() if name != "ledger"}
        seen.parameters.append({**known, "features": type(X).__name__, "responses": type(y).__name__})
        return fit(model, X, y, **more)

    def opened(model: Any, *arguments: int) -> Meter | MeterShare:
        meter = open_meter(model, *arguments)
        seen.meters.append(meter)
        return meter

    output = resolve_name(_OUTPUT)
    with contextlib.ExitStack() as stack:
        if tape is not None:
            stack.enter_context(tape.running())
        for owner, values in (
            (PrivateSparseRegressor, {"fit": fitted}),
            (PrivateEstimator, {"_open_meter": opened}),
            (context, {"datetime": NewYear}),
            (output, {"share_bar": seen.bar, "step_bar": seen.bar}),
        ):
            stack.enter_context(replaced(owner, **values))
        # In one thread, so that the sums of blocks come onto the tape in order.
        stack.enter_context(threads(1))
        told = stack.enter_context(watched(folder))
        status = _status(command)
    return seen, {**told.shown(), "exit code": status, "warnings": told.warnings}


def _status(command: list[str]) -> str | int | None:
    try:
        resolve_name(_MAIN)(command)
    except SystemExit as stopped:
        return stopped.code
    return 0


def _public(event: Event) -> tuple[str, str, dict[str, Any]]:
    """An event of a ledger without the time and the fit's id, which is drawn at random."""
    return event.dataset, event.kind, {key: value for key, value in json.loads(event.payload).items() if key != "at"}

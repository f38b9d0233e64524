"""The whole program on neighbouring files, through the command line.

`fit`, `convert` and `evaluate` run four times with the same outputs, as `check_replay` runs estimators: two versions of
a record, each among two sets of companions. All that leaves the program must be the same: standard output and error,
logs, warnings, the exit code, files and their modes, the ledger's payloads, calls of progress. What was asked for on
the command line must reach the estimator. The outputs of `convert` and `predict` are records, for their
holder: there, a record may change nothing but its own row.
"""

import io
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse import OnDisk
from dpsparse.audit.checks.check_replay import cached_schedules, replay_runs
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.fits import public_model
from dpsparse.audit.harness.neighbors import N_FEATURES, Pair, pairs
from dpsparse.audit.harness.raw_pairs import TARGET, RawPair, raw_pairs
from dpsparse.audit.harness.run_program import DATASET, Program, run_program
from dpsparse.audit.harness.tape import Run, Script, same
from dpsparse.model.json_file import write_model
from dpsparse.privacy.guarantee import Guarantee

# So weak that releases follow the records; two records a person, which must reach every price.
WANTED = Guarantee(200.0, 1e-2, records_per_person=2)
ASKED = ("--epsilon", "200", "--delta", "0.01", "--records-per-person", "2")
GRANT = {"epsilon": 500.0, "delta": 0.1}
LEDGER = ("--ledger", "{folder}/budget.db", "--dataset", DATASET)
MODEL, REPORT = ("--out", "{folder}/model.json"), ("--report", "{folder}/report.html")
RESPONSE = str(N_FEATURES)
BOUNDS = b"[columns.0]\ncenter = 0.5\nscale = 2.0\n[columns.2]\nlow = -3.0\nhigh = 3.0\n[response]\nscale = 1.5\n"
NUMBERS = ("response from end to end", "features from end to end", "off the grid", "a column turns constant")
LINES = ("responses and numbers from end to end", "every class changes", "a quote left open", "not UTF-8")


@dataclass(frozen=True)
class Case:
    """Commands on a file of one kind, and what must reach the estimator."""

    commands: tuple[tuple[str, ...], ...]
    raw: bool = False
    grant: dict[str, Any] | None = None
    parameters: dict[str, Any] | None = None


def _fit(data: str, *more: str) -> tuple[str, ...]:
    return ("fit", f"{{folder}}/{data}", "--sparsity", "2", *ASKED, *MODEL, *more)


_TARGET = ("--target", RESPONSE)
_CONVERT = ("convert", "{folder}/table.npy", "{folder}/store", *_TARGET)
_KNOWN = {"feature_center": [0.5, None, 0.0, None], "response_scale": 1.5, "missing": "center"}
_UNKNOWN = {"feature_center": [None] * N_FEATURES, "response_scale": None, "missing": "center"}
CASES = {
    "evaluate": Case(
        (("evaluate", "{folder}/public.json", "{folder}/table.npy", *ASKED, *LEDGER, "--out", "{folder}/scores.json"),),
        grant=GRANT,
    ),
    "fit on numbers, no bounds": Case(
        (_fit("table.npy", *_TARGET, *LEDGER, *REPORT),), grant=GRANT, parameters=_UNKNOWN
    ),
    "fit on numbers with bounds": Case(
        (_fit("table.npy", *_TARGET, "--bounds", "{folder}/bounds.toml", "--json"),), parameters=_KNOWN
    ),
    "fit on numbers, some held out": Case(
        (_fit("table.npy", *_TARGET, "--holdout", "0.2", *LEDGER),), grant=GRANT, parameters=_UNKNOWN
    ),
    "convert, then fit": Case(
        (_CONVERT, _fit("store", *LEDGER)), grant=GRANT, parameters=_UNKNOWN | {"feature_center": None}
    ),
    "convert a raw file, then fit": Case(
        (("convert", "{folder}/table.csv", "{folder}/store", "--target", TARGET), _fit("store", *LEDGER)),
        raw=True,
        grant=GRANT,
    ),
    "fit on a raw file": Case((_fit("table.csv", "--target", TARGET, *LEDGER),), raw=True, grant=GRANT),
}


def check_program() -> Iterator[Finding]:
    """Every private command on neighbouring files, then those whose outputs are records."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "work"
        with cached_schedules():
            for name, case in CASES.items():
                yield _check_private(name, case, place)
        for name in OPEN:
            yield _check_open(name, place)


def _files(content: bytes, raw: bool) -> dict[str, bytes]:
    model = io.BytesIO()
    write_model(replace(public_model(N_FEATURES, prediction_range=(-40.0, 40.0)), target=RESPONSE), model)
    return {"table.csv" if raw else "table.npy": content, "bounds.toml": BOUNDS, "public.json": model.getvalue()}


def _numbers(pair: Pair, *place: int) -> bytes:
    table, file = pair.table(*place), io.BytesIO()
    np.save(file, np.column_stack([table[:, 1:], table[:, 0]]))
    return file.getvalue()


def _lines(pair: RawPair, companions: int, version: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        pair.write(path, companions, version)
        return path.read_bytes()


def _neighbors(raw: bool) -> dict[str, Callable[..., Any]]:
    """Files of one kind by name, each a function of the companions and of the version of the record."""
    listed, wanted, content = (raw_pairs(), LINES, _lines) if raw else (pairs(), NUMBERS, _numbers)
    return {pair.name: lambda *place, pair=pair: content(pair, *place) for pair in listed if pair.name in wanted}


def _check_private(name: str, case: "Case", place: Path) -> Finding:
    fault = None
    for pair, content in _neighbors(case.raw).items():

        def run_on(companions: int, version: int, script: Script | None, content: Any = content) -> Run:
            program = Program(case.commands, _files(content(companions, version), case.raw), case.grant)
            return run_program(program, place, script)

        base = run_on(0, 0, None)
        fault = base.error or _not_as_asked(base, case) or replay_runs(run_on)[0]
        if fault:
            fault = f"{fault} (pair: {pair})"
            break
    evidence = fault or f"{len(_neighbors(case.raw))} pairs: the same output, files, log, ledger and progress"
    return Finding(f"dpsparse: {name}", "nothing but releases leaves", evidence, not fault)


def _not_as_asked(base: Run, case: "Case") -> str | None:
    if base.fitted["privacy_"].guarantee != WANTED:
        return "another guarantee than was asked for"
    if case.grant and [kind for _, kind, _ in base.fitted["ledger"]] != ["grant", "reserve", "charge"]:
        return "the ledger is not charged"
    if case.parameters is None:
        return None
    given = base.fitted["parameters"][0]
    wrong = [name for name, value in case.parameters.items() if not same(given[name], value)]
    return f"another {wrong[0]} than the bounds give" if wrong else None


def _rows_of_store(folder: Path) -> NDArray[np.float64]:
    store = OnDisk(folder / "store")
    return np.column_stack([*(store[str(k)] for k in range(N_FEATURES)), store.response])


def _rows_of_predictions(folder: Path) -> NDArray[Any]:
    return np.array((folder / "predictions.csv").read_text().splitlines()[1:])


_PREDICT = ("predict", "{folder}/public.json", "{folder}/table.npy", "--out", "{folder}/predictions.csv")
OPEN = {
    "convert": (_CONVERT, _rows_of_store),
    "convert with bounds": ((*_CONVERT, "--bounds", "{folder}/bounds.toml"), _rows_of_store),
    "predict": (_PREDICT, _rows_of_predictions),
}


def _check_open(name: str, place: Path) -> Finding:
    command, rows_of = OPEN[name]
    fault = None
    for pair in (pair for pair in pairs() if pair.name in NUMBERS):
        runs: list[Run] = []
        rows: list[Any] = []
        for version in (0, 1):
            program = Program((command,), _files(_numbers(pair, 0, version), False))
            runs.append(run_program(program, place))
            rows.append(rows_of(place) if runs[-1].error is None else None)
        fault = (
            runs[0].error
            or runs[1].error
            or _other_rows(pair, rows[0], rows[1])
            or _shown(*runs)
            or _open_store(runs[0])
        )
        if fault:
            fault = f"{fault} (pair: {pair.name})"
            break
    evidence = fault or f"{len(NUMBERS)} pairs: all other rows the same"
    return Finding(f"dpsparse: {name}", "a record changes its own row alone", evidence, not fault)


def _other_rows(pair: Pair, first: NDArray[Any], second: NDArray[Any]) -> str | None:
    others = [np.delete(rows, pair.position, axis=0) for rows in (first, second)]
    return None if same(others[0], others[1]) else "another record's row changes"


def _shown(first: Run, second: Run) -> str | None:
    changed = [name for name in first.fitted if not same(first.fitted[name], second.fitted[name])]
    return f"the {changed[0]} differs" if changed or first.warnings != second.warnings else None


def _open_store(run: Run) -> str | None:
    """A store holds the records: it is for whoever made it."""
    modes = run.fitted["modes of files"]
    open_to_others = [name for name, mode in modes if name.startswith("store") and not mode.endswith("------")]
    return f"others may read {open_to_others[0]}" if open_to_others else None

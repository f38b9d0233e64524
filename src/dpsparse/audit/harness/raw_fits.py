"""Fits on raw tables from every source, with all that leaves them."""

import io
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dpsparse.audit.harness.fits import EvaluatedCells
from dpsparse.audit.harness.many_rows import ids_of
from dpsparse.audit.harness.raw_shapes import as_arrow, as_frame, as_lines, as_typed_frame
from dpsparse.audit.harness.tape import Run, Script, recorded
from dpsparse.audit.harness.watching import files_in, watched
from dpsparse.data.raw_data import RawData, read_table
from dpsparse.engine.config import configured
from dpsparse.io.bounds import Bounds
from dpsparse.io.cells.raw_table import as_raw_table
from dpsparse.io.convert import convert_cells
from dpsparse.io.provenance import cells_of
from dpsparse.model.effect_tables import compare_models
from dpsparse.model.json_file import write_model
from dpsparse.model.released import LinearModel
from dpsparse.report.fit_page import fit_page

TARGET = "y"
INPUTS = ("table.csv", "table.parquet", "table.store", "bounds.toml")
# So few bytes that a CSV file has several blocks.
BLOCK = 2**9
# A source of which features and responses are given apart, as scikit-learn does.
SEPARATE = "frame and responses"
# What a frame names beside its responses: whose record it is, or its exposure.
PEOPLE, EXPOSURE = "people", "exposure"
# A column that no fit may read.
DROPPED = "note"
# Terms of a frame with declared types.
TERMS = (
    f"{TARGET} ~ amount*region + C(grade):C(region) + I(mixed**2) + member + bs(amount, knots=[20], lower=0, upper=40)"
)


def known_of_columns() -> str:
    """A bounds file with all that may be publicly known: units, a kind, categories, and a column that is left out."""
    return (
        f'drop = ["{DROPPED}"]\n[columns.amount]\ncenter = 20.0\nscale = 10.0\n[columns.joined]\nkind = "date_dmy"\n'
        '[columns.grade]\ncategories = ["A", "B"]\n[response]\nscale = 9.0\n'
    )


def _csv(table: list[list[bytes]], folder: Path) -> Path:
    path = folder / "table.csv"
    path.write_bytes(as_lines(table))
    return path


def as_store(path: Path) -> Path:
    """The CSV file as a store of its cells, which is read a few records at a time."""
    folder = path.with_suffix(".store")
    shutil.rmtree(folder, ignore_errors=True)
    table = as_raw_table(path)
    convert_cells(table, cells_of(table, Bounds(), TARGET), folder)
    return folder


def _parquet(table: list[list[bytes]], folder: Path) -> Any:
    import pyarrow.parquet

    pyarrow.parquet.write_table(as_arrow(table), folder / "table.parquet")
    return folder / "table.parquet"


SOURCES = {
    "CSV": _csv,
    "store": lambda table, folder: as_store(_csv(table, folder)),
    "frame": lambda table, folder: as_frame(table),
    "typed frame": lambda table, folder: as_typed_frame(table),
    SEPARATE: lambda table, folder: as_typed_frame(table),
    "Parquet": _parquet,
}


def raw_data(source: str, table: list[list[bytes]], folder: Path) -> tuple[Any, ...]:
    """What a fit takes of a table from one of the sources; what is known of it stands after a comma."""
    kind, _, known = source.partition(", ")
    data = SOURCES[kind](table, folder)
    if kind == SEPARATE:
        # A list declares no type.
        return data.drop(columns=TARGET), [None if cell != cell else cell for cell in data[TARGET].tolist()]
    return (_read(data, kind, known, folder),)


def _read(data: Any, kind: str, known: str, folder: Path) -> RawData:
    if known == "formula":
        return read_table(data, formula=TERMS)
    if known == PEOPLE:
        # Whose records are whose is public, and the same in all tables.
        return read_table(data.assign(who=ids_of(np.arange(len(data)) * 7 % 13)), TARGET, person="who")
    if known == EXPOSURE:
        return read_table(data, TARGET, exposure="amount")
    if not known:
        return read_table(data) if kind == "store" else read_table(data, TARGET)
    (folder / "bounds.toml").write_text(known_of_columns())
    return read_table(data, TARGET, bounds=folder / "bounds.toml")


def run_raw(
    model: Callable[..., Any] | type[Any] | type[EvaluatedCells],
    source: str,
    folder: Path,
    table: list[list[bytes]],
    guarantee: dict[str, Any],
    script: Script | None = None,
    **options: Any,
) -> Run:
    """Fit on a table under a tape, with all that leaves: what it says of itself, streams, logs and files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    data = raw_data(source, table, folder)
    with watched(folder) as seen, configured(csv_block_bytes=BLOCK):
        run = recorded(model(**guarantee, **options), lambda: data, script)
        try:
            run.fitted["said"] = {} if run.error else said(run.fitted)
        except Exception as raised:
            run = replace(run, error=f"{type(raised).__name__}: {raised}")
    run.fitted.update(seen.shown() | files_in(folder, INPUTS, INPUTS))
    return run


def _covariance(model: LinearModel) -> str:
    """The covariance of effects, or why there is none."""
    try:
        return str(model.vcov().to_csv())
    except ValueError as refused:
        return str(refused)


def said(fitted: dict[str, Any]) -> dict[str, Any]:
    """Every text that a fitted estimator and its evaluation give of themselves."""
    texts: dict[str, Any] = {}
    for name in ("released_", "evaluation_"):
        if name in fitted:
            each = fitted[name]
            texts |= {
                f"{name} repr": repr(each),
                f"{name} summary": each.summary(),
                f"{name} HTML": str(each.as_html()),
            }
    if "released_" in fitted:
        file = io.BytesIO()
        write_model(fitted["released_"], file)
        model = fitted["released_"]
        texts |= {"model file": file.getvalue(), "report": fit_page(model), "table": model.to_latex()}
        texts |= {"effects": model.effects_.to_csv(), "glance": model.glance().to_csv()}
        # Tables for Word and pictures are among what the page offers.
        texts |= {"covariance": _covariance(model), "side by side": compare_models([model, model]).to_markdown()}
    return texts

"""The input of a fit or a conversion: a table with public bounds, or a store, which contains its bounds."""

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.on_disk import OnDisk
from dpsparse.data.public_units import public_units
from dpsparse.data.raw_data import RawData, check_options, read_table
from dpsparse.io.bounds import Bounds
from dpsparse.io.bounds_file import read_bounds
from dpsparse.io.convert import convert, convert_cells, count_cell_chunks, count_chunks
from dpsparse.io.formats import open_table, require_format
from dpsparse.io.provenance import CellProvenance, Provenance, cells_of, provenance_of
from dpsparse.io.store.manifest import CELLS, Manifest, is_store, read_manifest
from dpsparse.io.table_features import read_features
from dpsparse.schema import FileError, quoted


def open_input(
    data: str | os.PathLike[str],
    target: str | None = None,
    bounds: str | os.PathLike[str] | None = None,
    *,
    drop: Sequence[str] = (),
    positive: str | None = None,
    exposure: str | None = None,
    formula: str | None = None,
    person: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> "Given":
    """The input at a path; names are read and checked, values are not.

    `drop` names further columns to leave out, as the bounds file does. `positive` is the label of a response that is
    yes, where it is yes or no; it comes before that of the bounds or the store. `exposure` is the column to which
    means are in proportion, and `person` the one that says whose record it is, of a table of cells, whose response and
    features a `formula` may name. A separator of None is taken from the first line of a CSV file. An input has
    `read()`, which gives the X and y of a fit; `parameters`, those of an estimator that are publicly known; `positive`,
    the label of yes or None; `model`, which gives the released model in the columns' own units; and `notes` for whoever
    runs the fit.
    """
    columns: dict[str, Any] = {"exposure": exposure, "person": person, "formula": formula}
    if is_store(data):
        known = _with_drop(bounds, drop)
        if read_manifest(data).layout == CELLS:
            return CellStoreInput(data, target, known, positive, columns)
        _refuse_columns(data, **columns)
        return StoreInput(data, target, known, positive)
    if str(data).lower().endswith(".npy"):
        _refuse_columns(data, **columns)
        return TableInput(data, target, bounds, drop, positive)
    return RawInput(data, target, bounds, drop, positive, columns, separator=separator, encoding=encoding)


def _refuse_columns(
    data: str | os.PathLike[str], exposure: str | None, person: str | None, formula: str | None
) -> None:
    """Refuse a formula, and the columns of an exposure and of people, where all columns are features already."""
    if formula is not None:
        raise FileError(
            f"{data}: --formula needs a table, or a store of its cells: the columns of an npy file, and those of a "
            "store of features, are all features; nothing was spent"
        )
    if exposure is not None:
        raise FileError(
            "--exposure needs a table, or a store of its cells: the columns of an npy file, and those of a store of "
            "features, are all features; nothing was spent"
        )
    if person is not None:
        raise FileError(
            f"{data}: it keeps no column of people, so --person cannot name one; fit the CSV or Parquet file, or a "
            "store of its cells"
        )


def _with_drop(bounds: str | os.PathLike[str] | None, drop: Sequence[str]) -> str | os.PathLike[str] | Bounds | None:
    """Bounds with further columns to leave out; the path or None as it is where there are none."""
    if not drop:
        return bounds
    known = _as_bounds(bounds)
    where = f"{known.where} and --drop" if known.where else "--drop"
    return replace(known, where=where, drop=(*known.drop, *drop))


def open_for_store(
    data: str | os.PathLike[str],
    target: str,
    bounds: str | os.PathLike[str] | None = None,
    *,
    drop: Sequence[str] = (),
    positive: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> "TableInput | RawInput":
    """The input of a conversion; names are read and checked, values are not.

    It is a `TableInput` where it is public of every column that it holds plain numbers, or which categories: their
    features are stored. Otherwise it is a `RawInput`: cells are stored, and a fit learns what they are. A store of
    cells keeps the label of yes, `positive`.
    """
    if str(data).lower().endswith(".npy"):
        if positive is not None:
            raise FileError(
                f"{data}: a store of an npy file keeps no label of yes; give --positive to each fit instead"
            )
        return TableInput(data, target, bounds, drop)
    raw = RawInput(data, target, bounds, drop, positive, separator=separator, encoding=encoding)
    # A table of numbers is read with the separator of its first line, and in UTF-8.
    is_usual = separator is None and encoding in _USUAL
    return TableInput(data, target, bounds, drop) if is_usual and raw.is_declared else raw


class RawInput:
    """A CSV or Parquet file as people have it. A fit learns what its columns are, within the guarantee."""

    def __init__(
        self,
        data: str | os.PathLike[str],
        target: str | None,
        bounds: str | os.PathLike[str] | None,
        drop: Sequence[str] = (),
        positive: str | None = None,
        columns: dict[str, Any] | None = None,
        **dialect: Any,
    ) -> None:
        require_format(data)
        known: Any = _with_drop(bounds, drop)
        self._data = read_table(data, target, bounds=known, positive=positive, **(columns or {}), **dialect)
        formula = self._data.formula
        target = self._data.target if formula is None else formula.target_column
        given = "".join(f" --{name} {shlex.quote(each)}" for name, each in dialect.items() if each not in _USUAL)
        self.notes = [] if bounds is not None else [_no_bounds(data, target, _ALL, given)]
        self.notes.append(_unread(data, given))
        self.parameters: dict[str, Any] = {}

    @property
    def positive(self) -> str | None:
        """The label of yes; None where none was given."""
        return self._data.positive

    @property
    def has_response_units(self) -> bool:
        """Whether a centre or a scale of the response is public."""
        return (self._data.bounds.response_center, self._data.bounds.response_scale) != (None, None)

    @property
    def is_declared(self) -> bool:
        """Whether it is public what every column is; see `RawData.is_declared`."""
        return self._data.is_declared

    def count_chunks(self, dtype: str) -> int:
        """The number of chunks of a store; `dtype` is that of other stores."""
        return count_cell_chunks(self._data.table.n_records, self._provenance)

    def convert(
        self, folder: str | os.PathLike[str], dtype: str, progress: Callable[[str], object] | None = None
    ) -> Manifest:
        """Write the cells as a store; see `io.convert`."""
        return convert_cells(self._data.table, self._provenance, folder, progress)

    @cached_property
    def _provenance(self) -> CellProvenance:
        known = replace(self._data.bounds, response_positive=self._data.positive)
        return cells_of(self._data.table, known, self._data.target)

    def read(self) -> tuple[RawData, None]:
        """The table, with its responses in it."""
        return self._data, None

    def model(self, released: Any) -> Any:
        """The released model as it is."""
        return released


class CellStoreInput(RawInput):
    """A store of cells: what a fit learns of its file it learns of the store."""

    notes: Any = ()

    def __init__(
        self,
        data: str | os.PathLike[str],
        target: str | None,
        bounds: Any,
        positive: str | None,
        columns: dict[str, Any],
    ) -> None:
        self._data = read_table(data, target, bounds=bounds, positive=positive, **columns)
        self.parameters = {}


_ALL = "what the columns are, their centres and scales"
# Separators and encodings that a command to be copied need not give.
_USUAL = (None, "utf-8")


def _unread(data: str | os.PathLike[str], given: str = "") -> str:
    """Said of every file, whatever is in it."""
    return (
        "cells that are missing or cannot be read count as missing, and are not reported here; to see them, for "
        f"your eyes only: dpsparse check {shlex.quote(str(data))}{given}"
    )


def _no_bounds(data: str | os.PathLike[str], target: str | None, learned: str, given: str = "") -> str:
    return (
        f"no --bounds: a fit learns {learned} within its guarantee; if some are publicly known, give them for more "
        f"accurate effects: dpsparse bounds init {shlex.quote(str(data))} --target {shlex.quote(str(target))}"
        f"{given} --out bounds.toml"
    )


class _NumericInput:
    """What tables of numbers and stores share."""

    units: tuple[Any, Any]
    provenance: Provenance
    in_public_units: bool
    positive: float | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Public centres and scales, or the number that is yes; files have gaps."""
        units = {"feature_center": self.units[0], "feature_scale": self.units[1], "missing": "center"}
        if self.positive is not None:
            return units | {"positive": self.positive}
        known = {"center": self.provenance.response_center, "scale": self.provenance.response_scale}
        return units | {f"response_{name}": value for name, value in known.items() if value is not None}

    @property
    def has_response_units(self) -> bool:
        """Whether a centre or a scale of the response is public."""
        return (self.provenance.response_center, self.provenance.response_scale) != (None, None)

    def model(self, released: Any) -> Any:
        """The released model of the file's columns."""
        model = released.on_columns(self.provenance.features, self.provenance.target)
        return model.in_raw_units() if self.in_public_units else model


class TableInput(_NumericInput):
    """A table and what is publicly known of its columns. Its features are in the columns' own units."""

    in_public_units = False

    def __init__(
        self,
        data: str | os.PathLike[str],
        target: Any,
        bounds: str | os.PathLike[str] | None,
        drop: Sequence[str] = (),
        positive: str | None = None,
    ) -> None:
        self.table = open_table(data)
        known = _as_bounds(_with_drop(bounds, drop))
        self.provenance = provenance_of(self.table, known, target)
        self.positive = _as_number(positive or known.response_positive)
        self.notes = [] if bounds is not None else [_no_bounds(data, target, "the columns' centres and scales")]
        if not str(data).lower().endswith(".npy"):
            self.notes.append(_unread(data))
        features = self.provenance.features
        self.units = [feature.center for feature in features], [feature.scale for feature in features]
        # Refused here, so that `convert` writes no store that a fit would refuse.
        public_units(*self.units, features)

    def count_chunks(self, dtype: str) -> int:
        """The number of chunks of a store with features of this dtype."""
        return count_chunks(self.table.n_records(), self.provenance, dtype)

    def convert(
        self, folder: str | os.PathLike[str], dtype: str, progress: Callable[[str], object] | None = None
    ) -> Manifest:
        """Write the features as a store; see `io.convert`."""
        return convert(self.table, self.provenance, folder, dtype, progress)

    def read(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Features and responses."""
        return read_features(self.table, self.provenance.features, self.provenance.target)


class StoreInput(_NumericInput):
    """A store of features, in public units, so that the centres that are known are 0 and the scales 1."""

    in_public_units = True
    notes: Sequence[str] = ()

    def __init__(self, data: str | os.PathLike[str], target: str | None, bounds: Any, positive: str | None) -> None:
        self.table, self.positive = OnDisk(data), _as_number(positive)
        provenance = read_manifest(data).provenance
        assert isinstance(provenance, Provenance)  # a store of cells is a `CellStoreInput`
        self.provenance = provenance
        features = self.provenance.features
        self.units = (
            _one_or_each([None if feature.center is None else 0.0 for feature in features]),
            _one_or_each([None if feature.scale is None else 1.0 for feature in features]),
        )
        check_options(data, self.provenance.target, target, bounds)

    def read(self) -> tuple[OnDisk, NDArray[np.float64]]:
        """The features, left on the disk, and the responses."""
        return self.table, self.table.response


def _as_number(label: str | None) -> float | None:
    """The number that a label of yes stands for in a table of numbers."""
    if label is None:
        return None
    try:
        number = float(label)
    except ValueError:
        raise FileError(
            f"positive: {quoted(label)} is no number, and the response is a column of numbers; give the number that is "
            "yes, such as 1"
        ) from None
    return int(number) if number.is_integer() else number


def _as_bounds(bounds: str | os.PathLike[str] | Bounds | None) -> Bounds:
    if bounds is None:
        return Bounds()
    return bounds if isinstance(bounds, Bounds) else read_bounds(bounds)


def _one_or_each(units: list[float | None]) -> float | list[float | None] | None:
    """One value where all features have the same, which a fit applies faster than one for each."""
    return units[0] if len(set(units)) == 1 else units


Given = RawInput | TableInput | StoreInput

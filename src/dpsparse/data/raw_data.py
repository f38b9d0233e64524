"""A raw table with its response and what is publicly known of its columns: the X of a fit that learns the rest."""

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dpsparse.io.bounds import Bounds, read_bounds
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.raw_table import as_raw_table
from dpsparse.io.features import one_hot
from dpsparse.schema import FileError, listed, quoted


@dataclass(frozen=True)
class RawData:
    """A raw table, its response, and public knowledge of its columns.

    Parameters
    ----------
    table : RawTable
        The cells.
    target : str
        The column of responses.
    bounds : Bounds
        What is publicly known.
    kinds : dict of str to Kind
        How cells are read, where that is publicly known.
    """

    table: Any
    target: str
    bounds: Bounds = field(default_factory=Bounds)
    kinds: dict = field(default_factory=dict)

    def __post_init__(self):
        names = self.table.names
        for name in (self.target, *self.kinds):
            if name not in names:
                raise FileError(f"there is no column {quoted(name)}; the columns are {listed(names)}")
        # Refused here, before anything is spent: columns that the bounds name and the table lacks.
        self.bounds.features(names, self.target)

    @cached_property
    def columns(self):
        """The columns of features, in order."""
        return [name for name in self.table.names if name != self.target and name not in self.bounds.drop]

    @cached_property
    def declared(self):
        """How cells are read, of the columns of which that is publicly known."""
        declared = dict(self.table.declared)
        for name in self.columns:
            known = self.bounds.columns.get(name, self.bounds.default)
            if isinstance(known, list):
                declared[name] = Kind.text
            elif known != (None, None):
                declared.setdefault(name, Kind.number)
        declared |= {name: Kind(kind) for name, kind in self.kinds.items()}
        return {name: declared[name] for name in (*self.columns, self.target) if name in declared}

    @cached_property
    def with_categories(self):
        """The columns whose categories are public, with these."""
        return {name: known for name, known in self.bounds.columns.items() if isinstance(known, list)}

    @cached_property
    def learned_columns(self):
        """The columns of features without public categories."""
        return [name for name in self.columns if name not in self.with_categories]

    @cached_property
    def maybe_text(self):
        """Of these, those that may be text."""
        return [name for name in self.learned_columns if self.declared.get(name, Kind.text) == Kind.text]

    @cached_property
    def maybe_numbers(self):
        """Of these, those that may be numbers."""
        return [name for name in self.learned_columns if self.declared.get(name) != Kind.text]

    def public_units(self, feature):
        """Public centre and scale of a feature, by name; none where it is 0/1."""
        if feature.kind == Kind.text:
            return {}
        center, scale = self.bounds.columns.get(feature.column, self.bounds.default)
        return {"center": center, "scale": scale}

    def units_known(self):
        """Of which columns of features centre and scale are public: "all", "none" or "some"."""
        known = [self.bounds.columns.get(name, self.bounds.default) for name in self.maybe_numbers]
        given = [unit for pair in known for unit in pair if unit is not None]
        if not given:
            return "none"
        # Nothing is known of a 0/1 feature of text.
        return "all" if len(given) == 2 * len(known) and len(known) == len(self.columns) else "some"

    def given_features(self):
        """The 0/1 features of public categories."""
        features = [each for name, known in self.with_categories.items() for each in one_hot(name, known)]
        return [replace(each, kind=Kind.text.value) for each in features]


def read_table(
    data: Any,
    target: str,
    *,
    bounds: Any = None,
    kinds: dict[str, str] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> RawData:
    """A file or data frame as people have it, for `PrivateSparseRegressor.fit`: text, gaps, dates, IDs.

    Nothing is read but the names of the columns and the number of records. A fit learns the rest within its guarantee:
    which columns are numbers, dates or text, which categories there are, centres and scales.

    Parameters
    ----------
    data : str, path, DataFrame or pyarrow.Table
        A .csv or .parquet file, a folder of .parquet files, or a frame of pandas or polars.
    target : str
        The column of responses.
    bounds : str, path, Bounds or None, default=None
        What is publicly known of the columns: a bounds file, or what `read_bounds` gives.
    kinds : dict of str to str or None, default=None
        How the cells of some columns are read, where that is publicly known: "number", "number_grouped" (1,234.5),
        "number_comma" (1.234,5), "boolean", "date_ymd", "date_dmy", "date_mdy" or "text".
    separator : str or None, default=None
        Between the cells of a CSV file; None to take it from the first line.
    encoding : {"utf-8", "latin-1"}, default="utf-8"
        Of a CSV file.

    Returns
    -------
    RawData
        For `fit`, which needs no y then.
    """
    if isinstance(bounds, str | os.PathLike):
        bounds = read_bounds(bounds)
    table = as_raw_table(data, separator=separator, encoding=encoding)
    return RawData(table, target, Bounds() if bounds is None else bounds, dict(kinds or {}))

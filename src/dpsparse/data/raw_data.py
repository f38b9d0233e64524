"""A raw table with its response and what is publicly known of its columns: the X of a fit that learns the rest."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dpsparse.io.bounds import Bounds
from dpsparse.io.bounds_file import read_bounds
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.raw_table import StoreTable, as_raw_table
from dpsparse.io.table_features import Feature
from dpsparse.schema import FileError, alternatives, quoted

# Kinds of types that are numbers as they are.
_TYPED = (Kind.number, Kind.boolean)


@dataclass(frozen=True)
class RawData:
    """A raw table, its response, and public knowledge of its columns."""

    table: Any
    target: str
    bounds: Bounds = field(default_factory=Bounds)
    kinds: dict[str, Any] = field(default_factory=dict)  # How cells are read, where that is publicly known.
    positive: str | None = None  # The cell that is yes, where every other response is no.

    def __post_init__(self) -> None:
        names = self.table.names
        for name in (self.target, *self.kinds):
            if name not in names:
                raise FileError(f"there is no column {quoted(name)}; {alternatives(name, names)}")
        for name, kind in self.kinds.items():
            if kind not in list(Kind):
                raise FileError(f"kinds: {quoted(name)} is {kind!r}; it must be one of {', '.join(Kind)}")
        # Refused here, before anything is spent: columns that the bounds name and the table lacks, and a response that
        # is publicly no number.
        self.bounds.features(names, self.target)
        if self.declared.get(self.target) == Kind.text and self.positive is None:
            raise FileError(
                f"the response {quoted(self.target)} is declared as text, nothing could be learned of it and nothing "
                "was spent; choose a column of numbers, declare its kind (a number, a date or a boolean), or say which "
                "label is yes: --positive LABEL, which is positive of read_table. Every other label is no; with more "
                "than two labels make one fit for each"
            )

    @cached_property
    def columns(self) -> list[str]:
        """The columns of features, in order."""
        return [name for name in self.table.names if name != self.target and not self.bounds.is_dropped(name)]

    @cached_property
    def declared(self) -> dict[str, Kind]:
        """How cells are read, of the columns of which that is publicly known."""
        declared = dict(self.table.declared)
        # Units for a whole group of columns say that these hold plain numbers, so that a wide table has no vote.
        declared |= {name: Kind.number for name in self._with_units if name not in declared.keys() | self.numeric}
        declared |= self.bounds.kinds(self.columns) | self.kinds
        return {name: Kind(declared[name]) for name in (*self.columns, self.target) if name in declared}

    @cached_property
    def numeric(self) -> set[str]:
        """The columns whose own section gives units: no text, but written as 1,234.5, 1.234,5 or true, for a vote."""
        return {name for name in self._with_units if name in self.bounds.columns}

    @cached_property
    def _with_units(self) -> list[str]:
        known = {name: self.bounds.of(name) for name in self.columns}
        return [name for name, each in known.items() if each.center is not None or each.scale is not None]

    @cached_property
    def with_categories(self) -> dict[str, tuple[str, ...]]:
        """The columns whose categories are public, with these."""
        known = {name: self.bounds.of(name).categories for name in self.columns}
        return {name: categories for name, categories in known.items() if categories is not None}

    @cached_property
    def learned_columns(self) -> list[str]:
        """The columns of features without public categories."""
        return [name for name in self.columns if name not in self.with_categories]

    @cached_property
    def maybe_text(self) -> list[str]:
        """Of these, those that may be text."""
        kinds = dict.fromkeys(self.numeric, Kind.number) | self.declared
        return [name for name in self.learned_columns if kinds.get(name, Kind.text) == Kind.text]

    @cached_property
    def maybe_numbers(self) -> list[str]:
        """Of these, those that may be numbers."""
        return [name for name in self.learned_columns if self.declared.get(name) != Kind.text]

    @cached_property
    def is_declared(self) -> bool:
        """Whether it is public of every column that it holds plain numbers, or which categories."""
        known, types = dict.fromkeys(self.numeric, Kind.number) | self.declared, self.table.declared
        plain = {
            name: types.get(name) in _TYPED if name in types else kind == Kind.number for name, kind in known.items()
        }
        is_number = self.positive is None and plain.get(self.target, True)
        return is_number and all(plain.get(name, False) for name in self.learned_columns)

    def public_facts(self, feature: Feature) -> dict[str, Any]:
        """What is publicly known of a feature, by the names of its fields; nothing where it is 0/1."""
        if feature.kind == Kind.text:
            return {}
        known = self.bounds.of(feature.column)
        return {"center": known.center, "scale": known.scale, "fill": known.fill}

    def units_known(self) -> str:
        """Of which columns of features centre and scale are public: "all", "none" or "some"."""
        known = [self.bounds.of(name) for name in self.learned_columns]
        given = [unit for each in known for unit in (each.center, each.scale) if unit is not None]
        if not given and not self.with_categories:
            return "none"
        return "all" if len(given) == 2 * len(known) else "some"

    def n_units_known(self) -> int:
        """Of how many features, at most, both centre and scale are public."""
        known = [self.bounds.of(name) for name in self.learned_columns]
        return sum(None not in (each.center, each.scale) for each in known) + len(self.given_features())

    def part(self, modulus: int, residues: Iterable[int]) -> "RawData":
        """Some of the records, by position; see `BlockTable.part`."""
        return replace(self, table=self.table.part(modulus, residues))

    def given_features(self) -> list[Feature]:
        """The 0/1 features of public categories."""
        features = [each for name in self.with_categories for each in self.bounds.of(name).features(name)]
        return [replace(each, kind=Kind.text.value) for each in features]


def read_table(
    data: Any,
    target: str | None = None,
    *,
    bounds: Any = None,
    kinds: dict[str, str] | None = None,
    positive: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> RawData:
    """A file or data frame as people have it, for `PrivateSparseRegressor.fit`: text, gaps, dates, IDs.

    Nothing is read but the names of the columns and the number of records. A fit learns the rest within its guarantee:
    which columns are numbers, dates or text, which categories there are, centres and scales.

    Parameters
    ----------
    data : str, path, DataFrame or pyarrow.Table
        A .csv or .parquet file, a folder of .parquet files, a store that `dpsparse convert` made of one of these, or a
        frame of pandas or polars.
    target : str or None, default=None
        The column of responses; a store knows it.
    bounds : str, path, Bounds or None, default=None
        What is publicly known of the columns: a bounds file, or what `read_bounds` gives. A store has it.
    kinds : dict of str to str or None, default=None
        How the cells of some columns are read, where that is publicly known: "number", "number_grouped" (1,234.5),
        "number_comma" (1.234,5), "boolean", "date_ymd", "date_dmy", "date_mdy" or "text".
    positive : str or None, default=None
        The label of the response that is yes, and 1, in lower or upper case; every other one is no, and 0. None: that
        of the bounds or the store, and where they have none, the response is a number, or true or false. It is public:
        it is not learned from the records.
    separator : str or None, default=None
        Between the cells of a CSV file; None to take it from the first line.
    encoding : {"utf-8", "latin-1", "cp1252"}, default="utf-8"
        Of a CSV file; "cp1252" is that of Windows in western Europe and America, and "latin-1" is read as it.

    Returns
    -------
    RawData
        For `fit`, which needs no y then.
    """
    table = as_raw_table(data, separator=separator, encoding=encoding)
    if isinstance(table, StoreTable):
        check_options(data, table.target, target, bounds)
        return RawData(table, table.target, table.bounds, dict(kinds or {}), positive or table.bounds.response_positive)
    if target is None:
        raise FileError("the target is missing: name the column of responses")
    if isinstance(bounds, str | os.PathLike):
        bounds = read_bounds(bounds)
    known = Bounds() if bounds is None else bounds
    return RawData(table, target, known, dict(kinds or {}), positive or known.response_positive)


def check_options(store: Any, known: str, target: str | None, bounds: Any) -> None:
    """Refuse options that contradict what a store knows of itself.

    `known` is the store's target, `target` the one that was given.
    """
    if bounds is not None:
        raise FileError(
            f"{store}: a store has its bounds and its columns in it; leave out --bounds and --drop, or convert again "
            "with them"
        )
    if target not in (None, known):
        raise FileError(f"{store}: the target of this store is {quoted(known)}; leave out the target, or convert again")

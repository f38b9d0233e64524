"""A raw table with its response and what is publicly known of its columns: the X of a fit that learns the rest."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpsparse.data.object_tables import as_objects, listed
from dpsparse.data.person_ids import ids_beside, people_of
from dpsparse.data.public_schema import read_schema
from dpsparse.data.validation import name_of_response, refuse_masked
from dpsparse.engine.people import People
from dpsparse.io.bounds import Bounds
from dpsparse.io.bounds_file import read_bounds
from dpsparse.io.cells.formula_table import FormulaTable
from dpsparse.io.cells.formulas import Formula, Product, read_formula
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.raw_table import FrameTable, StoreTable, as_raw_table
from dpsparse.io.cells.typed_cells import NUMERIC_KINDS
from dpsparse.io.table_features import Feature
from dpsparse.schema import FileError, alternatives, quoted


@dataclass(frozen=True)
class RawData:
    """A raw table, its response, and public knowledge of its columns."""

    table: Any
    target: str
    bounds: Bounds = field(default_factory=Bounds)
    kinds: dict[str, Any] = field(default_factory=dict)  # How cells are read, where that is publicly known.
    positive: str | None = None  # The cell that is yes, where every other response is no.
    exposure: str | None = None  # The column to which means of responses are in proportion.
    person: str | None = None  # The column that says whose record it is; None where each is a person's only one.
    formula: Formula | None = None  # What the columns of features are made of, where a formula says it.
    within: bool = False  # Whether records are read as deviations from their person's mean.

    def __post_init__(self) -> None:
        names = self.table.names
        for name in (self.target, *self.kinds, *self._others):
            if name not in names:
                raise FileError(f"there is no column {quoted(name)}; {alternatives(name, names)}")
        for name, kind in self.kinds.items():
            if kind not in list(Kind):
                raise FileError(f"kinds: {quoted(name)} is {kind!r}; it must be one of {', '.join(Kind)}")
        if self.exposure == self.target:
            raise FileError(f"the exposure {quoted(self.exposure)} is the response: name another column")
        if self.exposure is not None and self.exposure == self.person:
            raise FileError(f"{quoted(self.exposure)} cannot be both the exposure and the column of people")
        if self.person == self.target:
            raise FileError(f"{quoted(self.target)} cannot be both the response and the column of people")
        if self.formula is not None and {*self._others} & {*self.formula.columns}:
            raise FileError("formula: the exposure and the column of people are no features: leave them out of it")
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
        others = (self.target, *self._others)
        names = self.table.names if self.formula is None else self.formula.columns
        return [name for name in names if name not in others and not self.bounds.is_dropped(name)]

    @property
    def products(self) -> Sequence[Product]:
        """Numbers times categories, each of which is one variable."""
        kept = () if self.formula is None else self.formula.products
        return [each for each in kept if {each.number, each.category} <= {*self.columns}]

    @cached_property
    def units_of_parts(self) -> dict[str, tuple[float, float]]:
        """Centres and scales of the columns of splines, from their public knots."""
        return {} if self.formula is None else self.formula.units

    @property
    def _others(self) -> tuple[str, ...]:
        """The columns that are neither features nor responses."""
        return tuple(name for name in (self.exposure, self.person) if name is not None)

    @property
    def kind_of_exposure(self) -> Kind:
        """How the cells of the exposure are read: as plain numbers, unless it is public that they are not."""
        assert self.exposure is not None
        return Kind((self.table.declared | self.kinds).get(self.exposure, Kind.number))

    @cached_property
    def people(self) -> People | None:
        """Whose records are whose; None where each is a person's only one, or no column says it."""
        if self.person is None:
            return None
        return people_of(self.table.names_of(self.person), self.table.n_records)

    @property
    def n_people(self) -> int:
        """The number of people, which is that of records where no column says otherwise."""
        return int(self.table.n_records) if self.people is None else self.people.n_people

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where they are divided among people; None elsewhere."""
        return None if self.people is None else int(self.table.n_records)

    @cached_property
    def standing(self) -> Any:
        """The table of those records that stand for people, one each."""
        people = self.people
        return self.table if people is None else self.table.at(people.order[people.chosen])

    @cached_property
    def declared(self) -> dict[str, Kind]:
        """How cells are read, of the columns of which that is publicly known."""
        declared = dict(self.table.declared)
        # Units for a whole group of columns say that these hold plain numbers, so that a wide table has no vote.
        declared |= {name: Kind.number for name in self._with_units if name not in declared.keys() | self.numeric}
        declared |= self.bounds.kinds(self.columns) | self.kinds
        if self.formula is not None:
            # What a formula multiplies is a number, and what it says are categories is text.
            declared = self.formula.kinds | declared | dict.fromkeys(self.formula.categories, Kind.text)
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
            name: types.get(name) in NUMERIC_KINDS if name in types else kind == Kind.number
            for name, kind in known.items()
        }
        is_number = self.positive is None and plain.get(self.target, True)
        return is_number and all(plain.get(name, False) for name in self.learned_columns)

    def public_facts(self, feature: Feature) -> dict[str, Any]:
        """What is publicly known of a feature, by the names of its fields; nothing where it is 0/1."""
        if feature.kind == Kind.text:
            return {}
        known = self.bounds.of(feature.column)
        part_of = None if self.formula is None else self.formula.variables.get(feature.column)
        return {"center": known.center, "scale": known.scale, "fill": known.fill, "part_of": part_of}

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
        """Some of the records, by position, or those of some people; see `BlockTable.part`."""
        if self.people is None:
            return replace(self, table=self.table.part(modulus, residues))
        return replace(self, table=self.table.at(np.flatnonzero(np.isin(self.people.number % modulus, list(residues)))))

    def given_features(self) -> list[Feature]:
        """The 0/1 features of public categories."""
        features = [each for name in self.with_categories for each in self.bounds.of(name).features(name)]
        return [replace(each, kind=Kind.text.value) for each in features]


def read_table(
    data: Any,
    target: str | None = None,
    *,
    formula: str | None = None,
    bounds: Any = None,
    schema: Mapping[str, Any] | None = None,
    positive: str | None = None,
    exposure: str | None = None,
    person: str | None = None,
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
        The column of responses; a store knows it, and a formula names it.
    formula : str or None, default=None
        The response and the features, such as ``"cost ~ age*sex + log1p(income) + C(region)"``. Terms are columns as
        they are (also text and dates); ``C(column)``, to read numbers as categories; functions of one number (``log``,
        ``log1p``, ``sqrt``, ``exp``, ``abs``, ...); arithmetic and comparisons in ``I(...)``; products ``a:b`` of
        numbers, of categories, and of a number and a category, which is one variable; and cubic splines with public
        knots, ``bs(age, knots=[30, 50, 70], lower=0, upper=110)``, which are one variable too. ``a*b`` is
        ``a + b + a:b``, and ``.`` is all other columns. A term that would read other records is refused.
    bounds : str, path, Bounds or None, default=None
        What is publicly known of the columns: a bounds file, or what `read_bounds` gives. A store has it.
    schema : dict or None, default=None
        What is publicly known of the types of some columns: how cells are read, "number", "number_grouped" (1,234.5),
        "number_comma" (1.234,5), "boolean", "date_ymd", "date_dmy", "date_mdy" or "text"; or which categories there
        are, the baseline first: a list of texts, or a dtype that has them, such as ``frame["region"].dtype``. Levels of
        a frame's dtypes are public only where they are given here: otherwise categories are learned.
    positive : str or None, default=None
        The label of the response that is yes, and 1, in lower or upper case; every other one is no, and 0. None: that
        of the bounds or the store, and where they have none, the response is a number, or true or false. It is public:
        it is not learned from the records.
    exposure : str or None, default=None
        The column to which means of responses are in proportion, for `PrivateSparsePoissonRegressor`: it is no feature.
        Its cells are plain numbers, unless `schema` says otherwise.
    person : str or None, default=None
        The column that says whose record it is, by ids of any kind; it is no feature. The guarantee is to each person
        then, whatever number of rows they have. A record without an id is a person of its own.
    separator : str or None, default=None
        Between the cells of a CSV file; None to take it from the first line.
    encoding : {"utf-8", "latin-1", "cp1252"}, default="utf-8"
        Of a CSV file; "cp1252" is that of Windows in western Europe and America, and "latin-1" is read as it.

    Returns
    -------
    RawData
        For `fit`, which needs no y then.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsparse import read_table
    >>> people = pd.DataFrame({"age": [31.0, 47.0], "sex": ["f", "m"], "cost": [400.0, 900.0]})
    >>> data = read_table(people, formula="cost ~ age*sex + I(age**2)", schema={"sex": ["f", "m"]})
    >>> data.target, data.columns, data.formula.text
    ('cost', ['age', 'sex', 'I(age ** 2)'], 'cost ~ age + sex + age:sex + I(age ** 2)')
    >>> read_table(people, formula="cost ~ scale(age)")
    Traceback (most recent call last):
    ...
    dpsparse.schema.FileError: formula: scale(...) reads other records, which no release pays for: leave it out, \
since a fit learns units privately; or write I((x - 50) / 15) with public numbers
    """
    table = as_raw_table(data, separator=separator, encoding=encoding)
    if isinstance(bounds, str | os.PathLike):
        bounds = read_bounds(bounds)
    known = Bounds() if bounds is None else bounds
    if isinstance(table, StoreTable):
        check_options(data, table.target, None if formula is not None else target, bounds)
        known, target = table.bounds, target if formula is not None else table.target
    elif target is None and formula is None:
        raise FileError("the target is missing: name the column of responses, or give a formula")
    named = {"positive": positive or known.response_positive, "exposure": exposure, "person": person}
    return raw_data(table, target, known, formula, schema, **named)


def raw_data(
    table: Any, target: str | None, bounds: Bounds, formula: str | None, schema: Any, **named: str | None
) -> RawData:
    """A table with what is public of it: its bounds, a formula, a schema, the label of yes and columns by name."""
    kinds, given = read_schema(schema or {}, table.names)
    bounds = replace(bounds, columns={**bounds.columns, **given})
    if formula is None:
        assert target is not None, "a table without a formula has a target"
        return RawData(table, target, bounds, kinds, **named)  # type: ignore[arg-type]
    texts: list[str] = []
    if isinstance(table, FrameTable):
        texts = [name for name in table.names if name not in table.declared]
    public = {**table.declared, **bounds.kinds(table.names), **kinds}
    # Texts are categories by their type, unless everything is text, also numbers, and nobody says which.
    categories = texts if any(kind != Kind.text for kind in public.values()) else getattr(table, "categorical", ())
    declared = {**dict.fromkeys(categories, Kind.text), **public}
    apart = [named.get(role) for role in ("exposure", "person")]
    read = read_formula(formula, table.names, declared, text_types=texts, apart=apart)
    if target not in (None, read.target):
        raise FileError(f"the response of the formula is {quoted(read.target)}, and the target {quoted(str(target))}")
    return RawData(FormulaTable(table, read), read.target, bounds, kinds, formula=read, **named)  # type: ignore[arg-type]


def refuse_beside(y: Any, person: Any = None) -> None:
    """Refuse responses and ids beside a table from `read_table`, which names the columns that have them."""
    if y is not None:
        raise ValueError("y must be left out: the table from read_table names its response")
    if person is not None:
        raise ValueError("person must be left out: name the column of ids in read_table, as person")


def join_response(X: Any, y: Any, bounds: Bounds, schema: Any = None, person: Any = None) -> RawData:
    """A frame and its responses, row by row, as a raw table; `schema` is what is public of its types.

    `person` is the name of its column of ids, or has these ids.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"region": ["north", "south"]})
    >>> data = join_response(frame, pd.Series([1.0, 2.0], name="cost"), Bounds())
    >>> data.table.names, data.target
    (['region', 'cost'], 'cost')
    """
    if y is None:
        raise ValueError("y is missing: give the responses of these records, or read_table with their column")
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        y = y.iloc[:, 0] if hasattr(y, "iloc") else y[:, 0]
    refuse_masked(y)
    given = listed(y) if isinstance(y, list | tuple) else y
    if getattr(given, "ndim", 1) != 1 or len(given) != len(X):
        raise ValueError("X and y must have the same number of rows, and y one column")
    # A list declares no type: that which NumPy gives it follows from the responses, of which one may be missing.
    values = as_objects(y) if isinstance(y, list | tuple) else y
    target = name_of_response(y, {str(name) for name in getattr(X, "column_names", X.columns)})
    person, ids = ids_beside(X, person, target)
    return raw_data(FrameTable(X, (target, values), *ids), target, bounds, None, schema, person=person)


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

"""Provenance: what the features or the cells of a store are in the table that they were read from."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import DTypeLike

from dpsparse.io.bounds import Bounds
from dpsparse.io.bounds_file import KINDS, bounds_content, bounds_of
from dpsparse.io.table_features import Feature, read_feature
from dpsparse.schema import Fields, FileError, listed

if TYPE_CHECKING:
    from dpsparse.io.tables.table_reader import TableReader


@dataclass(frozen=True)
class Provenance:
    """Where features come from, and what is publicly known of them."""

    target: str
    features: tuple[Feature, ...]  # What each is in the table, with its public centre and scale.
    # Publicly known, or None.
    response_center: float | None
    response_scale: float | None
    source: str  # a fingerprint of the table


def provenance_of(table: "TableReader", bounds: Bounds, target: str) -> Provenance:
    """The provenance of all features of a table."""
    table.require([target])
    features = tuple(bounds.features(table.names, target))
    return Provenance(target, features, bounds.response_center, bounds.response_scale, table.fingerprint())


@dataclass(frozen=True)
class CellProvenance:
    """Where the cells of a table come from, and what is publicly known of their columns."""

    target: str
    columns: tuple[str, ...]  # all that are kept, the target included
    declared: dict[str, str]  # the kinds that the table's own types declare, by column
    bounds: Bounds
    dialect: tuple[str, ...]  # separator and encoding of a CSV file
    source: str  # a fingerprint of the table


def cells_of(table: Any, bounds: Bounds, target: str) -> CellProvenance:
    """The provenance of all cells of a table whose columns are not dropped."""
    columns = tuple(name for name in table.names if name == target or not bounds.is_dropped(name))
    declared = {name: str(table.declared[name]) for name in columns if name in table.declared}
    known = bounds.of_kept(name for name in table.names if name != target)
    return CellProvenance(target, columns, declared, known, table.dialect, table.fingerprint())


def cells_content(provenance: CellProvenance) -> dict[str, Any]:
    """What `read_cells` reads again, for JSON."""
    return {**vars(provenance), "bounds": bounds_content(provenance.bounds)}


def read_cells(fields: Fields) -> CellProvenance:
    """The provenance that `cells_content` wrote in a store, every entry checked."""
    declared = fields.table("declared")
    provenance = CellProvenance(
        target=fields.text("target"),
        columns=tuple(fields.names("columns")),
        declared={name: declared.text(name) for name in declared},
        bounds=bounds_of(fields.table("bounds")),
        dialect=tuple(fields.names("dialect")),
        source=fields.text("source"),
    )
    fields.finish()
    if provenance.target not in provenance.columns or not {*provenance.declared.values()} <= {*KINDS}:
        raise FileError(f"{fields.where}: columns, target and kinds do not fit each other")
    return provenance


def read_provenance(fields: Fields) -> Provenance:
    """The provenance that `dataclasses.asdict` wrote in a store, every entry checked."""
    provenance = Provenance(
        target=fields.text("target"),
        features=tuple(read_feature(row) for row in fields.tables("features")),
        response_center=fields.number("response_center", None),
        response_scale=fields.number("response_scale", None, above=0),
        source=fields.text("source"),
    )
    fields.finish()
    return provenance


def differing_options(
    old: Provenance | CellProvenance, new: Provenance | CellProvenance, old_dtype: DTypeLike, new_dtype: DTypeLike
) -> str:
    """Which options of two conversions of a table differ, in words; names only."""
    if type(old) is not type(new):
        # Whether every column is declared decides what a store holds.
        return "other bounds"
    old_columns, new_columns = _by_column(old), _by_column(new)
    names = [name for name in old_columns | new_columns if old_columns.get(name) != new_columns.get(name)]
    differs = {
        "dtype": old_dtype != new_dtype,
        "target": old.target != new.target,
        "separator or encoding": getattr(old, "dialect", ()) != getattr(new, "dialect", ()),
    }
    words = [f"another {name}" for name, other in differs.items() if other]
    # Another target turns the old one into a feature: that is one changed option, not two.
    words += [f"other bounds of {listed(names)}"] if names and not differs["target"] else []
    return ", ".join(words)


def _by_column(provenance: Provenance | CellProvenance) -> dict[str, Any]:
    """What is publicly known of each column."""
    if isinstance(provenance, CellProvenance):
        bounds = provenance.bounds
        response = [bounds.response_center, bounds.response_scale, bounds.response_positive]
        return {name: bounds.of(name) for name in provenance.columns} | {provenance.target: response}
    known: dict[str, list[Any]] = {provenance.target: [provenance.response_center, provenance.response_scale]}
    for feature in provenance.features:
        known.setdefault(feature.column, []).append(feature)
    return known

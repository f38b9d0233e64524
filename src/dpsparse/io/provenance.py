"""Provenance: what the features or the cells of a store are in the table that they were read from."""

from dataclasses import dataclass

from dpsparse.io.bounds import Bounds
from dpsparse.io.bounds_file import KINDS, bounds_content, bounds_of
from dpsparse.io.features import Feature, read_feature
from dpsparse.schema import FileError, listed


@dataclass(frozen=True)
class Provenance:
    """Where features come from, and what is publicly known of them.

    Parameters
    ----------
    target : str
        The column of responses.
    features : tuple of Feature
        What each feature is in the table, with its public centre and scale.
    response_center, response_scale : float or None
        Publicly known, or None.
    source : str
        A fingerprint of the table.
    """

    target: str
    features: tuple[Feature, ...]
    response_center: float | None
    response_scale: float | None
    source: str


def provenance_of(table, bounds, target):
    """The provenance of all features of a table.

    Parameters
    ----------
    table : TableReader
        The file.
    bounds : Bounds
        What is publicly known of its columns.
    target : str
        The column of responses.
    """
    table.require([target])
    features = tuple(bounds.features(table.names, target))
    return Provenance(target, features, bounds.response_center, bounds.response_scale, table.fingerprint())


@dataclass(frozen=True)
class CellProvenance:
    """Where the cells of a table come from, and what is publicly known of their columns.

    Parameters
    ----------
    target : str
        The column of responses.
    columns : tuple of str
        All columns that are kept, the target included.
    declared : dict of str to str
        The kinds that the table's own types declare, by column.
    bounds : Bounds
        What is publicly known of these columns.
    dialect : tuple of str
        Separator and encoding of a CSV file.
    source : str
        A fingerprint of the table.
    """

    target: str
    columns: tuple[str, ...]
    declared: dict[str, str]
    bounds: Bounds
    dialect: tuple[str, ...]
    source: str


def cells_of(table, bounds, target):
    """The provenance of all cells of a table whose columns are not dropped.

    Parameters
    ----------
    table : CsvTable or ParquetTable
        The file.
    bounds : Bounds
        What is publicly known of its columns.
    target : str
        The column of responses.
    """
    columns = tuple(name for name in table.names if name == target or not bounds.is_dropped(name))
    declared = {name: str(table.declared[name]) for name in columns if name in table.declared}
    known = bounds.of_kept(name for name in table.names if name != target)
    return CellProvenance(target, columns, declared, known, table.dialect, table.fingerprint())


def cells_content(provenance):
    """What `read_cells` reads again, for JSON."""
    return {**vars(provenance), "bounds": bounds_content(provenance.bounds)}


def read_cells(fields):
    """The provenance that `cells_content` wrote in a store, every entry checked.

    Parameters
    ----------
    fields : Fields
        The table of the file.
    """
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


def read_provenance(fields):
    """The provenance that `dataclasses.asdict` wrote in a store, every entry checked.

    Parameters
    ----------
    fields : Fields
        The table of the file.
    """
    provenance = Provenance(
        target=fields.text("target"),
        features=tuple(read_feature(row) for row in fields.tables("features")),
        response_center=fields.number("response_center", None),
        response_scale=fields.number("response_scale", None, above=0),
        source=fields.text("source"),
    )
    fields.finish()
    return provenance


def differing_options(old, new, old_dtype, new_dtype):
    """Which options of two conversions of a table differ, in words; names only.

    Parameters
    ----------
    old, new : Provenance or CellProvenance
        Of what was written, and of what is to be written.
    old_dtype, new_dtype : str or dtype
        The dtypes of the features.
    """
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


def _by_column(provenance):
    """What is publicly known of each column."""
    if isinstance(provenance, CellProvenance):
        bounds = provenance.bounds
        response = [bounds.response_center, bounds.response_scale]
        return {name: bounds.of(name) for name in provenance.columns} | {provenance.target: response}
    known = {provenance.target: [provenance.response_center, provenance.response_scale]}
    for feature in provenance.features:
        known.setdefault(feature.column, []).append(feature)
    return known

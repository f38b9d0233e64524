"""Provenance: what the features of a fit or of a store are in the table that they were read from."""

from dataclasses import dataclass

from dpsparse.io.features import Feature, read_feature
from dpsparse.schema import listed


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
    old, new : Provenance
        Of what was written, and of what is to be written.
    old_dtype, new_dtype : str or dtype
        The dtypes of the features.
    """
    old_columns, new_columns = _by_column(old), _by_column(new)
    names = [name for name in old_columns | new_columns if old_columns.get(name) != new_columns.get(name)]
    differs = {"dtype": old_dtype != new_dtype, "target": old.target != new.target}
    words = [f"another {name}" for name, other in differs.items() if other]
    # Another target turns the old one into a feature: that is one changed option, not two.
    words += [f"other bounds of {listed(names)}"] if names and not differs["target"] else []
    return ", ".join(words)


def _by_column(provenance):
    """What is publicly known of each column."""
    known = {provenance.target: [provenance.response_center, provenance.response_scale]}
    for feature in provenance.features:
        known.setdefault(feature.column, []).append(feature)
    return known

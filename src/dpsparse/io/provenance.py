"""What a store's columns are in the table that it was made of."""

from dataclasses import dataclass
from pathlib import Path

from dpsparse.io.features import Feature, read_feature
from dpsparse.io.store import MANIFEST
from dpsparse.schema import FileError, listed


@dataclass(frozen=True)
class Origin:
    """Where a store's columns come from, and what is publicly known of them.

    Parameters
    ----------
    target : str
        The column of responses.
    features : tuple of Feature
        The columns of the store: what they are in the table, the centres and scales that were applied.
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


def origin_of(table, bounds, target):
    """What will be written for a table.

    Parameters
    ----------
    table : Table
        The file.
    bounds : Bounds
        What is publicly known of its columns.
    target : str
        The column of responses.
    """
    table.require([target])
    features = tuple(bounds.features(table.names, target))
    return Origin(target, features, bounds.response_center, bounds.response_scale, table.fingerprint())


def read_origin(manifest, where):
    """The origin that a store's manifest tells, every entry checked."""
    fields = manifest.table
    found = Origin(
        target=fields.text("target"),
        features=tuple(read_feature(row) for row in fields.tables("features")),
        response_center=fields.number("response_center", None),
        response_scale=fields.number("response_scale", None, above=0),
        source=fields.text("source"),
    )
    fields.finish()
    if [feature.name for feature in found.features] != manifest.names:
        raise FileError(f"{Path(where) / MANIFEST}: 'names' and 'features' differ; the file was changed")
    return found


def other_options(begun, origin, old, new):
    """Which options of two conversions of a table differ, in words; names only.

    Parameters
    ----------
    begun, origin : Origin
        What was written, and what is to be.
    old, new : str or dtype
        The dtypes of the features.
    """
    known = [_known(each) for each in (begun, origin)]
    names = [name for name in known[0] | known[1] if known[0].get(name) != known[1].get(name)]
    differ = {"dtype": old != new, "target": begun.target != origin.target}
    told = [f"another {name}" for name, other in differ.items() if other]
    # Another target makes a feature of the old one, which needs no telling.
    told += [f"other bounds of {listed(names)}"] if names and not differ["target"] else []
    return ", ".join(told)


def _known(origin):
    """For each column of a store what is publicly known of it."""
    found = {origin.target: [origin.response_center, origin.response_scale]}
    for feature in origin.features:
        found.setdefault(feature.column, []).append(feature)
    return found

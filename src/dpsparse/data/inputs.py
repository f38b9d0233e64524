"""The input of a fit on a file: a table with public bounds, or a store, which contains its bounds."""

import shlex

from dpsparse.data.on_disk import OnDisk
from dpsparse.data.units import public_units
from dpsparse.io.bounds import Bounds
from dpsparse.io.bounds_file import read_bounds
from dpsparse.io.features import read_features
from dpsparse.io.formats import open_table
from dpsparse.io.provenance import provenance_of
from dpsparse.io.store.manifest import is_store, read_manifest
from dpsparse.schema import FileError, quoted


def open_input(data, target=None, bounds=None):
    """The input at a path; names are read and checked, values are not.

    Parameters
    ----------
    data : str or path
        A table, or the folder of a store.
    target : str or None
        The column of responses; a store knows it.
    bounds : str, path or None
        The bounds file; a store has none beside it.

    Returns
    -------
    TableInput or StoreInput
        With `read()`, which gives features and responses; `units`, the public centres and scales of what it reads,
        None where they are not known; `in_public_units`, whether these were applied already; `provenance`; and `notes`
        for whoever runs the fit.
    """
    return StoreInput(data, target, bounds) if is_store(data) else TableInput(data, target, bounds)


class TableInput:
    """A table and what is publicly known of its columns. Its features are in the columns' own units."""

    in_public_units = False

    def __init__(self, data, target, bounds):
        self.table = open_table(data)
        self.provenance = provenance_of(self.table, Bounds() if bounds is None else read_bounds(bounds), target)
        self.notes = (
            []
            if bounds is not None
            else [
                "no --bounds: a fit learns the columns' centres and scales within its guarantee; if some are publicly "
                f"known, give them for more accurate effects: dpsparse bounds init {shlex.quote(str(data))} "
                f"--target {shlex.quote(target)} --out bounds.toml"
            ]
        )
        features = self.provenance.features
        self.units = [feature.center for feature in features], [feature.scale for feature in features]
        # Refused here, so that `convert` writes no store that a fit would refuse.
        public_units(*self.units, features)

    def read(self):
        """Features and responses."""
        return read_features(self.table, self.provenance.features, self.provenance.target)


class StoreInput:
    """A store. Its features are in public units, so that the centres that are known are 0 and the scales 1."""

    in_public_units, notes = True, ()

    def __init__(self, data, target, bounds):
        self.table = OnDisk(data)
        self.provenance = read_manifest(data).provenance
        features = self.provenance.features
        self.units = (
            _one_or_each([None if feature.center is None else 0.0 for feature in features]),
            _one_or_each([None if feature.scale is None else 1.0 for feature in features]),
        )
        if bounds is not None:
            raise FileError(f"{data}: a store has its bounds in it; leave out --bounds, or convert again with them")
        if target not in (None, self.provenance.target):
            name = quoted(self.provenance.target)
            raise FileError(f"{data}: the target of this store is {name}; leave out --target, or convert again")

    def read(self):
        """The features, left on the disk, and the responses."""
        return self.table, self.table.response


def _one_or_each(units):
    """One value where all features have the same, which a fit applies faster than one for each."""
    return units[0] if len(set(units)) == 1 else units

"""What a fit reads: a table with public bounds, or a store, which knows its own."""

import shlex

from dpsparse.data.on_disk import OnDisk
from dpsparse.io.bounds import Bounds, read_bounds
from dpsparse.io.features import read_features
from dpsparse.io.provenance import origin_of, read_origin
from dpsparse.io.store import is_store, read_manifest
from dpsparse.io.tables.open_table import open_table
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
    """
    return StoreInput(data, target, bounds) if is_store(data) else TableInput(data, target, bounds)


class TableInput:
    """A table and what is publicly known of its columns."""

    def __init__(self, data, target, bounds):
        self.table = open_table(data)
        self.origin = origin_of(self.table, Bounds() if bounds is None else read_bounds(bounds), target)
        self.notes = (
            []
            if bounds is not None
            else [
                "no --bounds: every column is taken as publicly standardised (centre 0, scale 1); "
                f"if they are not, effects are lost, so start with: dpsparse bounds init {shlex.quote(str(data))} "
                f"--target {shlex.quote(target)} --out bounds.toml"
            ]
        )
        features = self.origin.features
        self.units = [feature.center for feature in features], [feature.scale for feature in features]

    def read(self):
        """Features and responses."""
        return read_features(self.table, self.origin.features, self.origin.target)

    def model(self, estimator):
        """The released model of an estimator that was fitted on it."""
        return estimator.released_.on_columns(self.origin.features, self.origin.target)


class StoreInput:
    """A store: its features are in public units, so that their centres are 0 and their scales 1."""

    notes, units = (), (0.0, 1.0)

    def __init__(self, data, target, bounds):
        self.table = OnDisk(data)
        self.origin = read_origin(read_manifest(data), data)
        if bounds is not None:
            raise FileError(f"{data}: a store has its bounds in it; leave out --bounds, or convert again with them")
        if target not in (None, self.origin.target):
            told = quoted(self.origin.target)
            raise FileError(f"{data}: the target of this store is {told}; leave out --target, or convert again")

    def read(self):
        """The features, left on the disk, and the responses."""
        return self.table, self.table.response

    def model(self, estimator):
        """The released model of an estimator that was fitted on it, in the units of the table."""
        return estimator.released_.on_columns(self.origin.features, self.origin.target).in_raw_units()

"""Features that are read from a disk block by block, and arrays of integers, which are read in the same way."""

from typing import Any

from dpsparse.data.on_disk import OnDisk
from dpsparse.data.remote_table import RemoteTable
from dpsparse.engine.disk.disk_rows import DiskRows
from dpsparse.engine.protocols import Rows


class DiskTable(RemoteTable):
    """Features of `OnDisk`, a memory map, a Zarr array or an array of integers."""

    @staticmethod
    def _open(X: Any) -> OnDisk:
        return X if isinstance(X, OnDisk) else OnDisk(X)

    def rows(self, y: Any, *, check_before_release: bool = True) -> Rows:
        """The rows with their responses; a session always checks them when it is opened."""
        return DiskRows(self._features.source, y)

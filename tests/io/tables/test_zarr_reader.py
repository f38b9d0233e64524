import numpy as np
import pytest
import zarr

from dpsparse import OnDisk
from dpsparse.schema import FileError

VALUES = np.arange(35.0, dtype=np.float32).reshape(7, 5)


@pytest.mark.parametrize("version", [2, 3])
def test_a_folder_and_an_open_array_are_the_same_table(tmp_path, version):
    path = tmp_path / "z"
    array = zarr.create_array(path, shape=VALUES.shape, chunks=(2, 3), dtype=VALUES.dtype, zarr_format=version)
    array[:] = VALUES
    for table in (OnDisk(path), OnDisk(array)):
        assert (table.shape, table.names, table.dtype) == ((7, 5), None, np.float32)
        np.testing.assert_array_equal(table[3], VALUES[:, 3])
        np.testing.assert_array_equal(table.drop(0, 2).on_host([0, 2]), VALUES[:, [1, 4]])


def test_arrays_of_another_shape_and_folders_that_are_none_are_refused(tmp_path):
    zarr.create_array(tmp_path / "z", shape=(3,), dtype="f8")
    with pytest.raises(FileError, match="one array of real numbers with two dimensions"):
        OnDisk(tmp_path / "z")
    (tmp_path / "z" / "zarr.json").write_text("{}")
    with pytest.raises(FileError, match="is not a readable Zarr file"):
        OnDisk(tmp_path / "z")

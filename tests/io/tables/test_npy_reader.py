import os

import numpy as np
import pytest

from dpsparse.io.formats import open_on_disk, open_table
from dpsparse.schema import FileError


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", ">f8", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_go_by_number(tmp_path, dtype, order):
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    np.save(tmp_path / "a.npy", np.asarray(array, order=order))
    table = open_table(tmp_path / "a.npy")
    assert table.names == ["0", "1", "2"]
    assert table.n_records() == 2
    np.testing.assert_array_equal(table.read(["2", "0"], {})[0], array[:, [2, 0]])
    np.testing.assert_array_equal(open_on_disk(tmp_path / "a.npy").source().columns([2, 0]), array[:, [2, 0]])


def test_there_is_no_text(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    table = open_table(tmp_path / "a.npy")
    assert table.text_columns() == []
    with pytest.raises(FileError, match="an npy file has no columns of text"):
        table.read(["0"], {"1": ["north", "south"]})


@pytest.mark.parametrize("opened", [open_table, open_on_disk])
@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((0, 3)), np.zeros((2, 2), dtype=complex), np.array([["a"]])])
def test_arrays_of_another_shape_or_kind(tmp_path, array, opened):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(FileError, match="two dimensions"):
        opened(tmp_path / "a.npy")


@pytest.mark.parametrize("opened", [open_table, open_on_disk])
def test_pickled_objects_are_never_loaded(tmp_path, opened):
    np.save(tmp_path / "a.npy", np.array([[print]], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match="not a readable npy"):
        opened(tmp_path / "a.npy")


@pytest.mark.parametrize("opened", [open_table, open_on_disk])
@pytest.mark.parametrize("shape", [(10**9, 2), (10**18, 10**18), (-1, 2), (2, 3)])
def test_a_header_that_lies_about_the_size_fails_before_anything_is_read(tmp_path, shape, opened):
    """Ten gigabytes, all of them a hole in the file."""
    header = str({"descr": "<f8", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header.encode())
    os.truncate(path, 10 * 2**30)
    with pytest.raises(FileError, match=r"not as long as its header says|not a readable npy"):
        opened(path)

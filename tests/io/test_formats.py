import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dpsparse import OnDisk
from dpsparse.io.formats import open_on_disk, open_table
from dpsparse.schema import FileError

PEOPLE = pd.DataFrame({"age": [31.5, 47.0], "visits": [1, 7], "region": ["north", "south"]})


@pytest.fixture
def folder(tmp_path):
    """A table in each format of one file, and a folder of Parquet files."""
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    PEOPLE.to_parquet(tmp_path / "people.PARQUET", index=False)
    np.save(tmp_path / "people.npy", PEOPLE[["age", "visits"]])
    (tmp_path / "parts").mkdir()
    for place in (0, 1):
        PEOPLE[place : place + 1].to_parquet(tmp_path / f"parts/{place}.parquet", index=False)
    return tmp_path


@pytest.mark.parametrize("name", ["people.csv", "people.PARQUET", "parts"])
def test_numbers_and_categories_come_in_the_order_asked_for(folder, name):
    table = open_table(folder / name)
    assert table.names == list(PEOPLE)
    matrix, codes = table.read(["visits", "age"], {"region": ["south", "north", "east"]})
    np.testing.assert_array_equal(matrix, PEOPLE[["visits", "age"]])
    np.testing.assert_array_equal(codes["region"], [1, 0])
    with pytest.raises(FileError, match="no column 'income'"):
        table.read(["income"], {})


@pytest.mark.parametrize("name", ["people.PARQUET", "parts", "people.npy"])
def test_a_fit_reads_the_same_table_in_place(folder, name):
    table = OnDisk(folder / name)
    np.testing.assert_array_equal(table[table.columns[1]], PEOPLE.visits)
    with pytest.raises(ValueError, match="only a store knows its response"):
        _ = table.response


def test_paths_that_hold_no_table_are_refused_in_one_line(folder):
    (folder / "a.xlsx").touch()
    for name in ("a.txt", "a.csv.gz", "a.doc"):
        (folder / name).touch()
    (folder / "b.csv").mkdir()
    (folder / "zarr.json").touch()
    for opened, name, message in (
        (open_table, "a.csv", "a.csv does not exist"),
        (open_table, "a.xlsx", "^a.xlsx: save the table as CSV in the program that made it, then give that file$"),
        (open_table, "a.txt", "must end in .csv, .parquet or .npy; rename it to .csv if its cells are separated by"),
        (open_table, "a.csv.gz", "must end in .csv, .parquet or .npy; unpack it first$"),
        (open_table, "a.doc", "must end in .csv, .parquet or .npy$"),
        (open_table, "b.csv", "is not a file, nor a folder of .parquet files"),
        (open_table, "", "is not a file, nor a folder of .parquet files"),
        (open_on_disk, "a.npy", "a.npy does not exist"),
        (open_on_disk, "people.csv", "must be a .parquet or .npy file, .* a store is made with: dpsparse convert"),
        (open_on_disk, "b.csv", "must be a .parquet or .npy file, a folder of .parquet files, a Zarr array or a store"),
    ):
        with pytest.raises((FileError, ValueError, FileNotFoundError), match=message) as caught:
            opened(folder / name)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["Parquet", "npy"])
@pytest.mark.parametrize("opened", [open_table, open_on_disk])
def test_ten_gigabytes_of_nothing_fail_at_once(tmp_path, kind, opened):
    path = tmp_path / f"a.{kind.lower()}"
    path.touch()
    os.truncate(path, 10 * 2**30)
    with pytest.raises(FileError, match=f"not a readable {kind}"):
        opened(path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "package", "extra"), [("parts", "pyarrow", "data"), ("z", "zarr", "zarr")])
def test_a_package_that_is_missing_is_named(folder, name, package, extra):
    (folder / "z").mkdir()
    (folder / "z/zarr.json").touch()
    code = f"import sys; sys.modules[{package!r}] = None\nfrom dpsparse import OnDisk\nOnDisk({name!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120)
    assert f"{name} needs {package}: pip install 'dpsparse[{extra}]'" in done.stderr.splitlines()[-1]

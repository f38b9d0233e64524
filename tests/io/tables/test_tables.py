import os

import numpy as np
import pandas as pd
import pytest

from dpsparse.io.formats import open_table
from dpsparse.schema import FileError

PEOPLE = pd.DataFrame(
    {
        "age": [31.5, 47.0, 62.25],
        "smoker": [True, False, True],
        "visits": [1, 0, 7],
        "region": ["north", "south", "north"],
    }
)


def written(folder, kind, people=PEOPLE):
    path = folder / f"people.{kind}"
    (people.to_csv if kind == "csv" else people.to_parquet)(path, index=False)
    return path


def lines(folder, content):
    path = folder / "people.csv"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_numbers_and_categories_come_in_the_order_asked_for(tmp_path, kind):
    table = open_table(written(tmp_path, kind))
    assert table.names == list(PEOPLE)
    assert table.text_columns() == ([] if kind == "csv" else ["region"])
    matrix, codes = table.read(["visits", "age"], {"region": ["south", "north", "east"]})
    np.testing.assert_array_equal(matrix, PEOPLE[["visits", "age"]])
    np.testing.assert_array_equal(codes["region"], [1, 0, 1])


def test_kinds_of_parquet_columns(tmp_path):
    people = PEOPLE.assign(region=PEOPLE.region.astype("category"), age=PEOPLE.age.astype("float32"))
    matrix, codes = open_table(written(tmp_path, "parquet", people)).read(
        ["age", "smoker"], {"region": ["north", "south"]}
    )
    np.testing.assert_array_equal(matrix, [[31.5, 1], [47.0, 0], [62.25, 1]])
    np.testing.assert_array_equal(codes["region"], [0, 1, 0])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", ">f8", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_columns_go_by_number(tmp_path, dtype, order):
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    np.save(tmp_path / "a.npy", np.asarray(array, order=order))
    table = open_table(tmp_path / "a.npy")
    assert table.names == ["0", "1", "2"]
    np.testing.assert_array_equal(table.read(["2", "0"], {})[0], array[:, [2, 0]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"age,cost\n31\n", "not a readable CSV"),
        (b"age,cost\n31,2,secret\n", "not a readable CSV"),
        (b"", "not a readable CSV"),
        (b"age,age\n1,2\n", "same name"),
        (b",cost\n1,2\n", "printable name"),
        (b"age\x1b[31m,cost\n1,2\n", "printable name"),
        (b"31.5,cost\n47,2\n", "the first line must name the columns"),
        (b"age,c\xffst\n1,2\n", "not a readable CSV"),
        (b"\x00,b\n1,2\n", "printable name"),
    ],
)
def test_broken_csv_is_refused_in_one_line_without_its_values(tmp_path, content, message):
    with pytest.raises(FileError, match=message) as caught:
        open_table(lines(tmp_path, content)).read(["age", "cost"], {})
    told = str(caught.value)
    assert "\n" not in told
    assert "secret" not in told
    assert "31" not in told.replace(str(tmp_path), "")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_what_is_no_number_is_nan_and_what_is_no_category_is_none(tmp_path):
    path = lines(tmp_path, b"age,region\n1,north\n,north\nNA,north\n")
    np.testing.assert_array_equal(open_table(path).read(["age"], {})[0], [[1], [np.nan], [np.nan]])
    path = lines(tmp_path, b"age,cost,region\n1.5,secret,north\n1_0,2e3,\ntrue, 7 ,qzx\n")
    matrix, codes = open_table(path).read(["cost", "age"], {"region": ["south", "north"]})
    np.testing.assert_array_equal(matrix, [[np.nan, 1.5], [2e3, np.nan], [7, np.nan]])
    np.testing.assert_array_equal(codes["region"], [1, -1, -1])


def test_text_with_commas_quotes_and_newlines(tmp_path):
    path = lines(tmp_path, b'a,"b, or ""c"""\r\n1,"x\ny"\r\n2,"x,y"\r\n')
    table = open_table(path)
    assert table.names == ["a", 'b, or "c"']
    np.testing.assert_array_equal(table.read(["a"], {'b, or "c"': ["x,y", "x\ny"]})[1]['b, or "c"'], [1, 0])


def test_text_in_parquet_is_not_a_number(tmp_path):
    with pytest.raises(FileError, match="column 'region' holds text"):
        open_table(written(tmp_path, "parquet")).read(["region"], {})


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((0, 3)), np.zeros((2, 2), dtype=complex), np.array([["a"]])])
def test_npy_of_another_shape_or_kind(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(FileError, match="two dimensions"):
        open_table(tmp_path / "a.npy")


def test_pickled_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[print]], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match="not a readable npy"):
        open_table(tmp_path / "a.npy")


@pytest.mark.parametrize("shape", [(10**9, 2), (10**18, 10**18), (-1, 2), (2, 3)])
def test_a_header_that_lies_about_the_size_fails_before_anything_is_read(tmp_path, shape):
    """Ten gigabytes, all of them a hole in the file."""
    header = str({"descr": "<f8", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header.encode())
    os.truncate(path, 10 * 2**30)
    with pytest.raises(FileError, match=r"not as long as its header says|not a readable npy"):
        open_table(path)


@pytest.mark.parametrize("kind", ["Parquet", "npy"])
def test_ten_gigabytes_of_nothing_fail_at_once(tmp_path, kind):
    path = tmp_path / f"a.{kind.lower()}"
    path.touch()
    os.truncate(path, 10 * 2**30)
    with pytest.raises(FileError, match=f"not a readable {kind}"):
        open_table(path)


def test_files_that_are_not_there_and_endings_that_are_not_read(tmp_path):
    (tmp_path / "a.xlsx").touch()
    for name, message in (
        ("a.csv", "does not exist"),
        ("a", "does not exist"),
        ("a.xlsx", "must end in"),
        ("", "nor a folder of"),
    ):
        with pytest.raises(FileError, match=message):
            open_table(tmp_path / name)
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(FileError, match="is not a file"):
        open_table(tmp_path / "b.csv")
    with pytest.raises(FileError, match="no column 'income'"):
        open_table(written(tmp_path, "csv")).read(["income"], {})

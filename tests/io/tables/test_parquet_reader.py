import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsparse.io.formats import open_on_disk, open_table
from dpsparse.schema import FileError

PEOPLE = pd.DataFrame(
    {"age": [31.5, 47.0, 62.25], "smoker": [True, False, True], "region": ["north", "south", "north"]}
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.parquet"


def test_the_schema_tells_text_from_numbers(path):
    PEOPLE.to_parquet(path, index=False)
    table = open_table(path)
    assert table.text_columns() == ["region"]
    assert table.n_records() == 3
    with pytest.raises(FileError, match=r"column 'region' holds text"):
        table.read(["region"], {})


def test_kinds_of_columns(path):
    PEOPLE.assign(region=PEOPLE.region.astype("category"), age=PEOPLE.age.astype("float32")).to_parquet(path)
    matrix, codes = open_table(path).read(["age", "smoker"], {"region": ["north", "south"]})
    np.testing.assert_array_equal(matrix, [[31.5, 1], [47.0, 0], [62.25, 1]])
    np.testing.assert_array_equal(codes["region"], [0, 1, 0])


def test_files_of_a_folder_must_have_the_same_columns(tmp_path):
    PEOPLE.to_parquet(tmp_path / "1.parquet")
    PEOPLE[["age"]].to_parquet(tmp_path / "2.parquet")
    for opened in (open_table, open_on_disk):
        with pytest.raises(FileError, match=r"2\.parquet has other columns than 1\.parquet; .* in the same order"):
            opened(tmp_path)


def test_types_may_differ_where_columns_are_converted_and_must_not_where_a_fit_reads_them(tmp_path):
    PEOPLE[["age"]].to_parquet(tmp_path / "1.parquet")
    PEOPLE[["age"]].astype("float32").to_parquet(tmp_path / "2.parquet")
    np.testing.assert_array_equal(open_table(tmp_path).read(["age"], {})[0], PEOPLE[["age"]].loc[[0, 1, 2, 0, 1, 2]])
    with pytest.raises(FileError, match=r"2\.parquet has columns of other types than 1\.parquet"):
        open_on_disk(tmp_path).source()


def test_a_fit_reads_the_same_numbers_in_pieces(path):
    PEOPLE.to_parquet(path, row_group_size=2)
    source = open_on_disk(path).source()
    assert (source.shape, source.names) == ((3, 3), ["age", "smoker", "region"])
    numbers = source.only([1, 0])
    np.testing.assert_array_equal(numbers.columns([0, 1]), PEOPLE[["smoker", "age"]].astype(float))
    with pytest.raises(ValueError, match=r"column 'region' holds .*string, no numbers: drop it"):
        _ = source.dtype


@pytest.mark.parametrize("arrow_type", [pa.binary(), pa.string(), pa.large_string()], ids=str)
def test_bytes_that_are_no_text_are_no_category(tmp_path, arrow_type):
    """One such cell does not make the file unreadable."""
    cells = pa.array([b"north", b"caf\xe9", None], pa.large_binary()).cast(arrow_type, safe=False)
    pq.write_table(pa.table({"region": cells}), tmp_path / "a.parquet")
    _, codes = open_table(tmp_path / "a.parquet").read([], {"region": ["north", "south"]})
    assert codes["region"].tolist() == [0, -1, -1]

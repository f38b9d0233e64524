import numpy as np
import pytest

from dpsparse.io.formats import open_table
from dpsparse.schema import FileError


def lines(folder, content):
    path = folder / "people.csv"
    path.write_bytes(content)
    return path


def test_a_file_has_no_schema(tmp_path):
    table = open_table(lines(tmp_path, b"age,region\n31.5,north\n47,south\n"))
    assert table.names == ["age", "region"]
    assert table.text_columns() == []
    assert table.n_records() is None


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
def test_a_broken_file_is_refused_in_one_line_without_its_values(tmp_path, content, message):
    with pytest.raises(FileError, match=message) as caught:
        open_table(lines(tmp_path, content)).read(["age", "cost"], {})
    text = str(caught.value)
    assert "\n" not in text
    assert "secret" not in text
    assert "31" not in text.replace(str(tmp_path), "")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_cells_that_are_no_numbers_are_nan_and_other_text_is_no_category(tmp_path):
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

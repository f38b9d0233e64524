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
    assert table.n_records() == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; its first line must name the columns"),
        (b"age,age\n1,2\n", "line 1, field 2: two columns have the same name"),
        (b"cost,\n1,2\n", "line 1, field 2: every column needs a printable name"),
        (b"age\x1b[31m,cost\n1,2\n", "line 1, field 1: every column needs a printable name"),
        (b"\x00,b\n1,2\n", "line 1, field 1: every column needs a printable name"),
        (b"age\rcost\r31\r2", "line 1, field 1: every column needs a printable name"),
        (b"31.5,cost\n47,2\n", "the first line must name the columns"),
        (b"EUR 31.234,50;cost\n47;2\n", "the first line must name the columns"),
        (b"31'234.50 CHF;cost\n47;2\n", "the first line must name the columns"),
        (b"age,c\xffst\n1,2\n", "line 1 is not valid utf-8; save the file as UTF-8, or give its encoding"),
        (b"\xff\xfea\x00g\x00e\x00\n\x00", "the file is UTF-16 or UTF-32, which Excel calls Unicode text; save it as"),
        (b'age,"cost\n1,2\n', "line 1 has a quote that is left open, or text after a closing quote"),
        (b'"age"s,cost\n1,2\n', "line 1 has a quote that is left open, or text after a closing quote"),
        (b"a" * (2**20 + 1), "line 1 is longer than 1 MiB; it must name the columns"),
    ],
)
def test_a_line_that_names_no_columns_is_refused_in_one_line_without_its_values(tmp_path, content, message):
    with pytest.raises(FileError, match=message) as caught:
        open_table(lines(tmp_path, content))
    text = str(caught.value)
    assert "\n" not in text
    assert "31" not in text.replace(str(tmp_path), "")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_currency_and_a_year_may_be_a_name(tmp_path):
    assert open_table(lines(tmp_path, b"EUR 2019,usd2020\n1,2\n")).names == ["EUR 2019", "usd2020"]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_the_one_of_which_the_first_line_has_most(tmp_path, separator):
    """Not of which the records have most; what is in quotes does not count."""
    header, record = (separator.join(cells) for cells in (["age", '"a,,b;;c||"', "cost"], ["1", "x", "2"]))
    table = open_table(lines(tmp_path, f"\ufeff{header}\n{record}\n1,,,;;;|||\t\t\t2\n".encode()))
    assert table.names == ["age", "a,,b;;c||", "cost"]
    np.testing.assert_array_equal(table.read(["age", "cost"], {})[0], [[1, 2], [np.nan, np.nan]])


def test_malformed_lines_are_records_without_cells(tmp_path):
    content = b'age,cost\n31\n1,2,secret\n\n"3,4\n5,"6"x\n7,\xff\n8,9\n'
    matrix, codes = open_table(lines(tmp_path, content)).read(["age", "cost"], {"age": ["8", "31"]})
    np.testing.assert_array_equal(matrix, [[np.nan, np.nan]] * 6 + [[8, 9]])
    np.testing.assert_array_equal(codes["age"], [-1] * 6 + [0])


def test_cells_that_are_no_numbers_are_nan_and_other_text_is_no_category(tmp_path):
    path = lines(tmp_path, b"age,region\n1,north\n,north\nNA,north\n")
    np.testing.assert_array_equal(open_table(path).read(["age"], {})[0], [[1], [np.nan], [np.nan]])
    path = lines(tmp_path, b"age,cost,region\n1.5,secret,north\n1_0,2e3,\ntrue, 7 ,qzx\n")
    matrix, codes = open_table(path).read(["cost", "age"], {"region": ["south", "north"]})
    np.testing.assert_array_equal(matrix, [[np.nan, 1.5], [2e3, np.nan], [7, np.nan]])
    np.testing.assert_array_equal(codes["region"], [1, -1, -1])


def test_categories_may_be_words_that_count_as_empty_elsewhere(tmp_path):
    path = lines(tmp_path, b'a,b\n1,none\n2, "x" \n3,"say ""x"""\n4,\n')
    codes = open_table(path).read(["a"], {"b": ["none", 'say "x"', '"x"']})[1]["b"]
    np.testing.assert_array_equal(codes, [0, 2, 1, -1])


def test_text_with_separators_and_quotes(tmp_path):
    path = lines(tmp_path, b'a,"b, or ""c"""\r\n1,"x;y"\r\n2,"x,y"\r\n')
    table = open_table(path)
    assert table.names == ["a", 'b, or "c"']
    np.testing.assert_array_equal(table.read(["a"], {'b, or "c"': ["x,y", "x;y"]})[1]['b, or "c"'], [1, 0])

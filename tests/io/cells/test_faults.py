import numpy as np
import pandas as pd
import pytest

from dpsparse.engine.config import configured
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.raw_table import CsvTable, FrameTable

KINDS = [Kind.text, Kind.number, Kind.date_ymd]


def faults_of(folder, content, kinds=KINDS, **options):
    (folder / "people.csv").write_bytes(content)
    table = CsvTable(folder / "people.csv", **options)
    return table.faults(table.names, kinds, most=3)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("size", [2**22, 9])
def test_lines_and_cells_with_their_places(tmp_path, compiled, size):
    content = b'who,age,born\na,1,2024-01-31\n\n1,2\nb,secret,31/01/2024\n"c,1,2\nd,\xff,1\ne,,NA\nf,"1,5",2024-02-30\n'
    with configured(compiled=compiled, csv_block_bytes=size):
        faults = faults_of(tmp_path, content)
    assert list(faults) == [
        (3, None, "the line is empty"),
        (4, None, "the line has another number of cells than line 1"),
        (5, "age", "not a plain number"),
        (5, "born", "not a date as 2024-01-31"),
        (6, None, "a quote is left open, or text follows a closing quote"),
        (7, None, "the line is not valid in the file's encoding"),
        (8, "age", "missing"),
        (8, "born", "missing"),
        (9, "age", "not a plain number"),
        (9, "born", "not a date as 2024-01-31"),
    ]
    assert [group.count for group in faults.groups if group.column == "age"] == [1, 2]
    assert "secret" not in str(faults)
    words = " ".join(remark for _, remark in faults.remarks)
    for word in ("in quotes", "latin-1", "must end in its line"):
        assert word in words


def test_many_faults_are_counted_and_the_first_listed(tmp_path):
    faults = faults_of(tmp_path, b"who,age,born\n" + b"x,y,\n" * 500)
    assert [(group.what, group.count, group.lines) for group in faults.groups] == [
        ("not a plain number", 500, (2, 3, 4)),
        ("missing", 500, (2, 3, 4)),
    ]


@pytest.mark.parametrize(
    ("header", "separator", "name"), [(b"a", ";", "semicolon"), (b"a,b", "\t", "tab"), (b"a|b", ",", "comma")]
)
def test_a_separator_that_the_lines_have_and_the_header_lacks(tmp_path, header, separator, name):
    content = header + b"\n" + b"".join(separator.join(f"{n}" for n in range(3)).encode() + b"\n" for _ in range(30))
    kinds = [Kind.text] * (1 if header == b"a" else 2)
    assert (None, f"cells seem to be separated by a {name}: give it as the separator") in faults_of(
        tmp_path, content, kinds
    ).remarks
    good = separator.join("abc").encode() + content[len(header) :]
    assert faults_of(tmp_path, good, [Kind.number] * 3).remarks == ()


def test_identifiers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": np.arange(100) + 7_000,
            "code": [f"p{n}" for n in range(100)],
            "income": rng.normal(size=100),
            "region": rng.choice(["north", "south"], 100),
        }
    )
    faults = FrameTable(frame).faults(list(frame), [Kind.number, Kind.text, Kind.number, Kind.text])
    assert [column for column, _ in faults.remarks] == ["number", "code"]
    assert faults.groups == ()


def test_records_of_frames_are_counted_from_1():
    table = FrameTable(pd.DataFrame({"a": ["1", "x", None]}, dtype=object))
    assert list(table.faults(["a"], [Kind.number])) == [(2, "a", "not a plain number"), (3, "a", "missing")]
    assert list(table.part(2, [0]).faults(["a"], [Kind.number])) == [(3, "a", "missing")]

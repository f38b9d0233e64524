"""Reading is a map of single records: a record's cells do not depend on any other line, on blocks or on threads."""

import tempfile

import csv_files
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.app import file_pages
from dpsparse.cli.fit_command import fit
from dpsparse.engine import config
from dpsparse.engine.threads import threads
from dpsparse.io.cells.grammar import CellClass, Kind, classify, value
from dpsparse.io.cells.lines import ENCODINGS
from dpsparse.io.cells.raw_table import CsvTable

HEADER, NAMES = b"a,b,c\n", ["a", "b", "c"]
NUMERIC = [kind for kind in Kind if kind != Kind.text]


def opened(content, **options):
    # The file is mapped: it stays readable when its name is gone.
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(content)
        file.flush()
        return CsvTable(file.name, **options)


def everything(table):
    """What each record gives for every kind, one row a record."""
    values = [table.numbers(NAMES, [kind] * 3) for kind in NUMERIC]
    return np.hstack([*values, *(table.buckets(name)[:, None] for name in NAMES)])


def sums(table):
    values = [
        table.value_counts(name, bucket) for name in NAMES for bucket in sorted(set(table.buckets(name).tolist()))
    ]
    return table.class_counts(NAMES).tolist(), table.distinct_counts(NAMES).tolist(), values


def alone(line):
    """What a record gives as the only one of a file."""
    return everything(opened(HEADER + line))


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(csv_files.files(), st.booleans())
def test_a_record_gives_what_it_gives_alone(content, compiled):
    with config.configured(compiled=compiled):
        table = opened(HEADER + b"".join(content))
        assert table.n_records == len(content)
        np.testing.assert_array_equal(everything(table), np.vstack([alone(line) for line in content]))


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(csv_files.files(min_size=2), csv_files.lines(), csv_files.ends, st.data())
def test_another_line_changes_its_own_record_only(content, line, end, data):
    place = data.draw(st.integers(0, len(content) - 1))
    changed = [*content[:place], line + end, *content[place + 1 :]]
    before, after = everything(opened(HEADER + b"".join(content))), everything(opened(HEADER + b"".join(changed)))
    np.testing.assert_array_equal(np.delete(before, place, 0), np.delete(after, place, 0))


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(csv_files.files(), st.integers(1, 40), st.integers(1, 3))
def test_blocks_threads_and_kernels_change_nothing(content, size, count):
    content = HEADER + b"".join(content)
    table = opened(content)
    expected = everything(table), sums(table)
    for compiled in (True, False):
        with config.configured(csv_block_bytes=size, compiled=compiled), threads(count):
            table = opened(content)
            np.testing.assert_array_equal(everything(table), expected[0])
            assert sums(table) == expected[1]


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(csv_files.files(min_size=0))
def test_classes_are_those_by_which_kinds_read(content):
    """Counts of classes agree with what the kinds read, and blank records count nowhere."""
    table = opened(HEADER + b"".join(content))
    counts = table.class_counts(NAMES)
    assert (counts.sum(axis=1) == counts.sum(axis=1)[0]).all()
    for kind in NUMERIC:
        read = (~np.isnan(table.numbers(NAMES, [kind] * 3))).sum(axis=0)
        # A number of this class may be too large in one of its readings.
        assert (read <= counts[:, sorted(kind.reads)].sum(axis=1)).all()
    texts = [(table.buckets(name) >= 0).sum() for name in NAMES]
    assert texts == (counts.sum(axis=1) - counts[:, CellClass.EMPTY]).tolist()


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(csv_files.files(min_size=0), st.integers(1, 4), st.data())
def test_parts(content, modulus, data):
    table = opened(HEADER + b"".join(content))
    residues = data.draw(st.lists(st.integers(0, modulus - 1), min_size=1, unique=True))
    rows = [row for row in range(len(content)) if row % modulus in residues]
    with config.configured(csv_block_bytes=16):
        part = opened(HEADER + b"".join(content)).part(modulus, residues)
        of_part = part.part(2, [1])
    assert (part.n_records, of_part.n_records) == (len(rows), len(rows[1::2]))
    np.testing.assert_array_equal(everything(part), everything(table)[rows])
    np.testing.assert_array_equal(everything(of_part), everything(table)[rows[1::2]])
    assert sums(part) == sums(opened(HEADER + b"".join(_ended(content)[row] for row in rows)))


def _ended(content):
    """Lines that all have an end: the last one may become another."""
    return [line if line.endswith(b"\n") else line + b"\n" for line in content]


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(csv_files.numbers)
def test_kernels_round_numbers_as_python_does(text):
    try:
        expected = float(text)
    except ValueError:
        expected = float("nan")
    table = opened(f"a,b\n{text},x\n".encode())
    found = table.numbers(["a"], [Kind.number])[0, 0]
    if np.isfinite(expected):
        assert np.float64(expected).tobytes() == found.tobytes()
    else:
        assert np.isnan(found)


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(st.lists(csv_files.separated, min_size=1, max_size=30))
def test_kernels_read_separators_as_the_grammar_does(texts):
    table = opened(("a,b,c\n" + "".join(f'"{text}",,\n' for text in texts)).encode())
    expected = [[classify(text), *(value(text, kind) for kind in NUMERIC)] for text in texts]
    np.testing.assert_array_equal(everything(table)[:, : 3 * len(NUMERIC) : 3], [row[1:] for row in expected])
    counts = np.bincount([row[0] for row in expected], minlength=len(CellClass))
    np.testing.assert_array_equal(table.class_counts(["a"])[0], counts)


@pytest.mark.parametrize("compiled", [True, False])
def test_latin_1(compiled):
    content = "name;été\nJosé\xa0;1,5\n\xa0;x\n".encode("latin-1")
    with config.configured(compiled=compiled):
        table = opened(content, encoding="latin-1")
        assert table.names == ["name", "été"]
        assert table.value_counts("name", table.buckets("name")[0]) == {"José": 1}
        np.testing.assert_array_equal(table.numbers(["été"], [Kind.number_comma])[:, 0], [1.5, np.nan])
        assert table.buckets("name")[1] == -1


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize("compiled", [True, False])
def test_cp1252(compiled, encoding):
    """The encoding of Windows: its euro and its spaces that do not break; bytes that it gives no character are text.

    Whoever calls it latin-1, as many do, has the same: a fit on it learned nothing, and was paid for.
    """
    content = "prix;qui\n1\u00a0234,50 €;“Zoë”\n12,5;\x81\n".encode("cp1252", "replace").replace(
        b";?\n", b";\x81\x8d\n"
    )
    with config.configured(compiled=compiled):
        table = opened(content, encoding=encoding)
        np.testing.assert_array_equal(table.numbers(["prix"], [Kind.number_comma])[:, 0], [1234.5, 12.5])
        assert table.texts("qui") == ["“Zoë”", "\x81\x8d"]
        every = opened(
            b"a;b\n" + b"".join(bytes([byte, 120, 59, 49, 10]) for byte in range(128, 256)), encoding=encoding
        )
        assert np.isfinite(every.numbers(["b"], [Kind.number])).all()


def test_every_option_and_choice_names_the_encodings():
    (option,) = [each for each in fit.params if each.name == "encoding"]
    assert set(option.type.choices) == set(file_pages.ENCODINGS) == set(ENCODINGS)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_line_of_more_than_a_mebibyte_is_one_blank_record(compiled):
    lines = [b"1,2,".ljust(2**20 + more, b"x") for more in (0, 1)]
    for end in (b"\n", b"\r\n"):
        with config.configured(compiled=compiled):
            table = opened(HEADER + end.join([*lines, b"3,4,5"]))
            np.testing.assert_array_equal(table.numbers(["a"], [Kind.number])[:, 0], [1, np.nan, 3])
            assert table.buckets("c")[1] == -1

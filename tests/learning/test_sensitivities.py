"""Adversarial neighbours of raw tables: counts move by no more than declared, whatever a line holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.io.cells.grammar import N_BUCKETS, bucket
from dpsparse.io.cells.raw_table import CsvTable
from dpsparse.privacy import sensitivity
from dpsparse.privacy.protection import ADJACENCIES

COLUMNS = ["a", "b", "c"]
HOSTILE = ["", "1", "1,234", '"1,5"', "true", "2024-01-31", "03/04/2024", "north", '"', '""', "n/a", "\x00", " north "]
HOSTILE += ["1 234", "1'234.5", '"EUR 1.234,50"', "5 €", "(5)", "5-", '"12,-"', "1\u202f234"]
cell = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=4))
# A line that any text may be; most have the right number of cells.
line = st.one_of(st.lists(cell, min_size=3, max_size=3).map(",".join), cell, st.just('"'), st.just("a,b,c,d"))


@st.composite
def neighbors(draw, adjacency):
    lines = draw(st.lists(line, min_size=1, max_size=6))
    if draw(st.booleans()):
        lines = [lines[0]] * len(lines)
    other = list(lines)
    # An empty line is a blank record, which adds nothing to any count.
    other[draw(st.integers(0, len(lines) - 1))] = "" if adjacency == "zero-out-one" else draw(line)
    return lines, other


def table(folder, lines):
    path = folder / "table.csv"
    path.write_bytes("\n".join(["a,b,c", *lines, ""]).encode("utf-8", "surrogatepass"))
    return CsvTable(path)


def bucket_counts(raw, columns):
    made = [raw.buckets(column) for column in columns]
    return np.array([np.bincount(each[each >= 0], minlength=N_BUCKETS) for each in made])


def value_counts(raw, column, texts):
    """Counts of every value of a column, on one index for both tables."""
    counts = {}
    for each in {bucket(text) for text in texts}:
        counts |= raw.value_counts(column, each)
    return np.array([counts.get(text, 0) for text in texts])


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_counts_of_raw_tables_move_by_no_more_than_declared(adjacency, tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")

    @settings(max_examples=150, deadline=None)
    @given(neighbors(adjacency), st.integers(1, 3))
    def check(pair, n_columns):
        columns = COLUMNS[:n_columns]
        first, second = ([], [])
        for lines, made in zip(pair, (first, second), strict=True):
            raw = table(folder, lines)
            made += [
                raw.n_records,
                raw.class_counts(columns),
                bucket_counts(raw, columns),
                raw.distinct_counts(columns),
            ]
        assert first[0] == second[0] == len(pair[0])
        changes = [np.linalg.norm((a - b).ravel()) for a, b in zip(first[1:], second[1:], strict=True)]
        histogram = sensitivity.histograms(n_columns, adjacency) * (1 + 1e-12)
        assert changes[0] <= histogram
        assert changes[1] <= histogram
        assert changes[2] <= sensitivity.distinct_counts(n_columns, adjacency) * (1 + 1e-12)

    check()


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_bounds_are_reached(adjacency, tmp_path):
    others = ["1,1,1", "2,south,3"]
    replaced = "" if adjacency == "zero-out-one" else "7,n,2024-01-31"
    columns, made = COLUMNS, []
    for own in ("north,x,y", replaced):
        raw = table(tmp_path, [own, *others])
        made.append([raw.class_counts(columns), bucket_counts(raw, columns), raw.distinct_counts(columns)])
    changes = [np.linalg.norm((a - b).ravel()) for a, b in zip(*made, strict=True)]
    assert changes[0] == pytest.approx(sensitivity.histograms(3, adjacency))
    assert changes[1] == pytest.approx(sensitivity.histograms(3, adjacency))
    assert changes[2] == (pytest.approx(sensitivity.distinct_counts(3, adjacency)) if replaced == "" else 0)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_values_of_a_column_are_one_histogram(adjacency, tmp_path):
    texts = ["north", "south", "east"]
    made = []
    for own in ("north", "" if adjacency == "zero-out-one" else "south"):
        lines = [f"{own},1,1" if own else "", "south,1,1", "east,1,1"]
        made.append(value_counts(table(tmp_path, lines), "a", texts))
    assert np.linalg.norm(made[0] - made[1]) == pytest.approx(sensitivity.histograms(1, adjacency))

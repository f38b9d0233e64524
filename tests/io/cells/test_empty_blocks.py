"""A block that holds none of what is counted changes no type on the way from rows to releases."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpsparse
from dpsparse.engine import config
from dpsparse.io.cells import block_table
from dpsparse.io.cells.raw_table import CsvTable, FrameTable
from dpsparse.privacy import sensitivity
from dpsparse.privacy.protection import ADJACENCIES

# Where numbers of records are made; what is above these folders sees releases alone, or is handed what they made.
READERS = ("io", "data", "learning", "engine", "estimators")


def csv(folder, lines):
    (folder / "table.csv").write_text("\n".join(["a,b", *lines, ""]))
    table = CsvTable(folder / "table.csv")
    assert len(table.blocks) == len(lines), "one line a block"
    return table


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_an_empty_block_does_not_merge_distinct_texts(tmp_path, monkeypatch, adjacency, compiled):
    """Large hashes that differ in their last bits alone are the same as floats: one record would move many counts."""
    monkeypatch.setattr(block_table, "hash", lambda text: 2**62 + int(text), raising=False)
    found = []
    with config.configured(csv_block_bytes=1, compiled=compiled):
        for last in ("0,x", ",x" if adjacency == "replace-one" else ""):
            found.append(int(csv(tmp_path, [*(f"{number},x" for number in range(64)), last]).distinct_counts(["a"])[0]))
    assert abs(found[0] - found[1]) <= sensitivity.distinct_counts(1, adjacency)
    assert found == [64, 64]


def test_every_count_is_made_of_integers_where_blocks_are_empty(tmp_path):
    with config.configured(csv_block_bytes=1):
        table = csv(tmp_path, ["", ",", "x,1", "", "NA,na"])
        part = table.part(2, [1])
    for each in (table, part):
        assert each.class_counts(["a", "b"]).dtype == each.distinct_counts(["a", "b"]).dtype == np.int64
        assert each.buckets("a").dtype == np.int16
        assert each.category_codes("a", ["x"]).dtype == np.int64
    assert table.distinct_counts(["a", "b"]).tolist() == [1, 1]
    assert part.distinct_counts(["a", "b"]).tolist() == [0, 0]
    empty = FrameTable(pd.DataFrame({"a": [], "b": []}))
    assert empty.distinct_counts(["a", "b"]).tolist() == [0, 0]


def _untyped(path):
    """Lines where an array is made of a list that may be empty, without a dtype: an empty one is float64."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if ast.unparse(node.func) not in ("np.array", "np.asarray") or len(node.args) > 1:
            continue
        if any(keyword.arg == "dtype" for keyword in node.keywords):
            continue
        made = node.args[0]
        listed = isinstance(made, ast.ListComp | ast.GeneratorExp) or (
            isinstance(made, ast.Call) and ast.unparse(made.func) in ("list", "sorted", "tuple")
        )
        starred = isinstance(made, ast.List) and all(isinstance(each, ast.Starred) for each in made.elts)
        if listed or starred:
            yield f"{path}:{node.lineno}"


def test_an_array_of_a_list_that_may_be_empty_names_its_type(tmp_path):
    """The whole class of the fault: `np.array([])` is of floats, and whatever it is joined with becomes one."""
    package = Path(dpsparse.__file__).parent
    found = [line for folder in READERS for path in sorted((package / folder).rglob("*.py")) for line in _untyped(path)]
    assert found == []
    (tmp_path / "planted.py").write_text("x = np.array([hash(text) for text in texts])\ny = np.array([1, 2])\n")
    assert [line.rpartition(":")[2] for line in _untyped(tmp_path / "planted.py")] == ["1"]

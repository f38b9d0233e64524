"""No object and no function of the algorithms is too large to be read at once."""

import ast
from pathlib import Path

import pytest

import dpsparse

SOURCE = Path(dpsparse.__file__).parent
FILES = sorted(
    file for package in ("algorithms", "inference", "families", "learning") for file in (SOURCE / package).rglob("*.py")
)
MOST_FIELDS, MOST_METHODS, MOST_LINES = 14, 15, 400
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.With, ast.Assert, ast.comprehension)


def fields_of(node):
    """The fields of a dataclass, and what methods set on self."""
    declared = {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)}
    set_later = {
        inner.attr
        for inner in ast.walk(node)
        if isinstance(inner, ast.Attribute)
        and isinstance(inner.ctx, ast.Store)
        and isinstance(inner.value, ast.Name)
        and inner.value.id == "self"
    }
    return declared | set_later


def complexity(node):
    """The cyclomatic complexity of a function."""
    inner = list(ast.walk(node))
    booleans = sum(len(each.values) - 1 for each in inner if isinstance(each, ast.BoolOp))
    return 1 + booleans + sum(isinstance(each, BRANCHES) for each in inner)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_objects_and_functions_are_small(file):
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            assert len(fields_of(node)) <= MOST_FIELDS, node.name
            assert sum(isinstance(each, ast.FunctionDef) for each in node.body) <= MOST_METHODS, node.name
        if isinstance(node, ast.FunctionDef):
            assert complexity(node) <= 20, node.name
    assert len(file.read_text().splitlines()) <= MOST_LINES


def test_large_ones_are_noticed():
    large = ast.parse("class Large:\n" + "".join(f"    a{k}: int\n" for k in range(13))).body[0]
    assert len(fields_of(large)) == 13
    branching = ast.parse("def f(x):\n" + "    if x and not x: pass\n" * 10).body[0]
    assert complexity(branching) == 21

"""Every number of the method is named, has a reason beside it, and stands in one place of its package."""

import ast
from pathlib import Path

import pytest

import dpsparse

SOURCE = Path(dpsparse.__file__).parent
# Where the numbers of a package stand; a family has its own file.
HOMES = {
    "algorithms/pursuit": {
        "pursuit_constants.py",
        "grid_constants.py",
        "budget.py",
        "newton_budget.py",
        "counts_budget.py",
        "reference_budget.py",
    },
    "inference": {"inference_constants.py"},
    "families": {"robust_linear.py", "binomial.py", "poisson.py", "estimands.py"},
    "learning": {"learning_constants.py", "table_prices.py"},
}
# What needs no name: nothing, one, two, a half.
PLAIN = {0, 1, 2, 0.5}
FILES = [(package, file) for package in HOMES for file in sorted((SOURCE / package).rglob("*.py"))]


def is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in PLAIN


def strange_numbers(tree, is_home):
    """The lines of numbers that have no name, or whose name stands in the wrong place."""
    named = {id(inner) for node in tree.body if isinstance(node, ast.Assign) for inner in ast.walk(node)}
    return [node.lineno for node in ast.walk(tree) if is_number(node) and not (is_home and id(node) in named)]


@pytest.mark.parametrize(("package", "file"), FILES, ids=lambda value: getattr(value, "name", value))
def test_no_number_is_inline(package, file):
    assert strange_numbers(ast.parse(file.read_text()), file.name in HOMES[package]) == []


def test_an_inline_number_is_noticed():
    inline, named = (
        ast.parse("def f(x):\n    return x + 0.3"),
        ast.parse("RATE = 0.3\ndef f(x):\n    return x + RATE / 2"),
    )
    assert strange_numbers(inline, True) == [2]
    assert strange_numbers(named, True) == []
    assert strange_numbers(named, False) == [1]


@pytest.mark.parametrize("file", [file for package, file in FILES if file.name in HOMES[package]], ids=str)
def test_every_named_number_has_a_reason(file):
    """A comment before it or before its group; the rows of a table of prices state theirs."""
    lines = file.read_text().splitlines()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and any(map(is_number, ast.walk(node))):
            group = "\n".join(lines[: node.lineno - 1]).rpartition("\n\n")[2]
            states_it = isinstance(node.value, ast.Call) and any(isinstance(each, str) for each in constants(node))
            assert "# " in group or states_it, f"line {node.lineno}"


def constants(node):
    return [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)]

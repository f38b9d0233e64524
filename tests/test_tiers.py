"""The quick tier is quick, and passes over no part of the package."""

import ast
import gc
from pathlib import Path

TESTS = Path(__file__).parent
# All of their tests are slow: what they test has quick tests elsewhere, or needs a browser, a server, a cluster, the
# whole audit or hundreds of fits.
SLOW = {
    "app/test_accessibility.py",
    "app/test_browser.py",
    "audit/checks/test_check_games.py",
    "audit/checks/test_check_raw_tables.py",
    "audit/checks/test_check_replay.py",
    "audit/test_run.py",
    "engine/dask/test_dask_rows.py",
    "estimators/test_dask.py",
    "estimators/test_same_bits.py",
    "fuzz/test_estimators.py",
    "fuzz/test_files.py",
    "fuzz/test_neighbors.py",
    "golden/test_bits.py",
    "model/test_every_family.py",
    "model/test_tables_in_papers.py",
    "paper/test_reproduce.py",
    "privacy/ledger/test_ledger_under_fire.py",
    "privacy/ledger/test_postgres_killed.py",
    "report/test_browser.py",
    "test_examples.py",
}


def is_slow(marks):
    return any("pytest.mark.slow" in ast.unparse(mark) for mark in marks)


def has_a_quick_test(path):
    """Whether a test has no mark of its own or of its module's that makes it slow; one may have slow parameters."""
    tree = ast.parse(path.read_text())
    marked = [node.value for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)]
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return not is_slow(marked) and any(
        not is_slow(mark for mark in test.decorator_list if "parametrize(" not in ast.unparse(mark)) for test in tests
    )


def test_what_is_tested_has_a_quick_test():
    without = {str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py") if not has_a_quick_test(path)}
    assert without == SLOW


def test_no_search_for_garbage_goes_through_the_tests_collected():
    # One such search takes as long as ten small fits where thousands of tests are collected.
    # Whether the collector is on is not asked: slices of dask arrays in two threads may leave it off.
    assert gc.get_freeze_count() > 0

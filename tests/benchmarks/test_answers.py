"""benchmarks/answers.py: references are those of statsmodels, selections those of a plain search, counts are right."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def load():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def skewed():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 2)) * [1.0, 1e4]
    return X, 3e6 * (1 + X @ [1.0, -2e-4] + np.exp(0.5 * X[:, 0]) * (np.exp(rng.standard_normal(600)) - np.exp(0.5)))


@pytest.mark.slow
def test_the_reference_of_a_mean_is_ols(load, skewed):
    sm = pytest.importorskip("statsmodels.api")
    X, y = skewed
    found, expected = load("reference_fits").statsmodels_fit(X, y, "mean"), sm.OLS(y, sm.add_constant(X)).fit()
    np.testing.assert_allclose(found.coef, expected.params[1:], rtol=1e-9)
    np.testing.assert_allclose(found.error, expected.HC3_se[1:], rtol=1e-9)


def test_the_reference_of_typical_effects_is_hubers_root(load, skewed):
    # In these units RLM's default rule stops early; ours does not depend on units.
    pytest.importorskip("statsmodels")
    fits = load("reference_fits")
    X, y = skewed
    found = fits.statsmodels_fit(X, y, "typical")
    np.testing.assert_allclose(found.coef, fits.huber_fit(X, y)[1], rtol=1e-4)
    residuals = y - X @ found.coef
    residuals -= fits.huber_fit(X, y)[0]
    tau = 1.345 * np.median(np.abs(residuals)) / 0.6745
    root = fits.estimating_root(X, y, tau, X.mean(axis=0), X.std(axis=0))
    np.testing.assert_allclose(found.error, root.error, rtol=1e-2)


def test_there_is_no_reference_where_the_scale_collapses(load):
    pytest.importorskip("statsmodels")
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 2))
    y = np.where(rng.random(500) < 0.8, 0.0, rng.exponential(size=500))
    assert np.isnan(load("reference_fits").statsmodels_fit(X, y, "typical")).all()


def test_forward_selection_takes_what_lowers_the_error_most(load):
    rng = np.random.default_rng(3)
    shared = rng.standard_normal((200, 1))
    groups = {name: 0.7 * shared + rng.standard_normal((200, 1 + k % 3)) for k, name in enumerate("abcdef")}
    groups["copy"] = 2 * groups["b"] + 5
    y = groups["b"].sum(axis=1) - 0.8 * groups["f"][:, 0] + rng.standard_normal(200)

    def error(names):
        A = np.column_stack([np.ones(200), *(groups[name] for name in names)])
        return ((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2).sum()

    fits = load("reference_fits")
    chosen = fits.forward_selection(groups, y, 3)
    for k in range(3):
        best = min(error([*chosen[:k], name]) for name in groups)
        assert error(chosen[: k + 1]) == pytest.approx(best)
    A = np.hstack([groups["b"], groups["copy"]])
    assert ((y - fits.least_squares_predictions(A, y, A)) ** 2).sum() == pytest.approx(error(["b"]))


def test_a_variable_has_all_its_levels_and_its_gap(load):
    train = pd.DataFrame({"age": [1.0, None, 3.0, 4.0], "town": ["a", "a", "b", None], "same": 1.0, "y": 0.0})
    test = pd.DataFrame({"age": [None, 2.0], "town": ["c", "b"], "same": 1.0, "y": 0.0})
    found = load("answers_fits").variables(train, test, "y")
    assert list(found) == ["age", "town"]
    np.testing.assert_allclose(found["age"][0], [[1, 0], [8 / 3, 1], [3, 0], [4, 0]])
    np.testing.assert_allclose(found["age"][1], [[8 / 3, 1], [2, 0]])
    np.testing.assert_allclose(found["town"][1], [[0, 0], [1, 0]])


class Model:
    """A fit with these intervals."""

    def __init__(self, intervals):
        self.intervals, self.released_ = np.array(intervals), self
        self.effects = ()

    def conf_int(self, level):
        """The intervals; of level 90 %."""
        assert level == 0.9
        return self.intervals


def test_intervals_are_counted_against_what_they_should_hold(load):
    model = Model([[0.0, 2.0], [0.0, 2.0], [np.nan, np.nan], [-1.0, 1.0]])
    counts = load("answers_fits").against(model, np.array([1.5, 3.0, 0.0, np.nan]), np.array([1.0, 0.5, 1.0, 1.0]))
    assert [counts[key] for key in ("effects", "intervals", "held", "outside")] == [3, 2, 1, 0]
    np.testing.assert_allclose(counts["widths"], [1 / 1.6449, 2 / 1.6449], rtol=1e-4)
    np.testing.assert_allclose(counts["distances"], [0.5, 4.0])
    row = load("answers").covered([counts] * 50, 0.8)
    assert (row["coverage"].value, row["verdict"], row["with_interval"]) == (0.5, "missed", pytest.approx(2 / 3))


def test_held_out_tables_are_not_those_of_development(load):
    tables = load("answers_tables")
    assert len(tables.NINE) == 9
    assert len(tables.HELD_OUT) == 10
    assert not {each.source for each in tables.HELD_OUT.values()} & {
        each.source for each in [*tables.DEVELOPMENT.values(), *tables.LEVEL.values()]
    }


def test_parts_are_kept_beside_each_other(load, tmp_path):
    text = load("answers_text")
    text.save(tmp_path, "level", [{"table": "a", "width": np.nan}])
    text.save(tmp_path, "errors", [{"table": "b"}])
    found = json.loads((tmp_path / "answers.json").read_text(), parse_constant=pytest.fail)
    assert found == {"level": [{"table": "a", "width": None}], "errors": [{"table": "b"}]}


def test_an_unknown_table_is_named(load):
    pytest.importorskip("statsmodels")
    result = CliRunner().invoke(load("answers").main, ["--table", "nowhere"])
    assert result.exit_code == 2
    assert "nowhere" in result.output

"""Predictions of a median: the same on every table, nearer to a skewed response, and said where it matters."""

from dataclasses import replace

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsparse import DPIHTH, OnDisk, PrivateSparseRegressor, read_table, tune
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect
from dpsparse.model.released import LinearModel
from dpsparse.model.remarks import remarks

N = 20_000
RNG = np.random.default_rng(0)
X = RNG.integers(-9, 10, (N, 4)) / 4
# Its mean is 1.65 and its median 1.
COST = 2 * X[:, 0] - X[:, 2] + RNG.lognormal(0.0, 1.0, N)
NAMES = list("abcd")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


@pytest.fixture(scope="module")
def fitted():
    return PrivateSparseRegressor(sparsity=2, epsilon=1.0, **STANDARDIZED).fit(pd.DataFrame(X, columns=NAMES), COST)


@pytest.fixture(scope="module")
def record(fitted):
    return fitted.privacy_


def saved(rows, folder):
    np.save(folder / "x.npy", rows)
    return folder / "x.npy"


KINDS = {
    "array": lambda rows, _: rows,
    "float32": lambda rows, _: rows.astype(np.float32),
    "list": lambda rows, _: rows.tolist(),
    "CSR": lambda rows, _: sparse.csr_matrix(rows),
    "pandas": lambda rows, _: pd.DataFrame(rows, columns=NAMES),
    "selected columns": lambda rows, _: pl.DataFrame(rows, schema=NAMES)[["c", "a"]],
    "memory map": lambda rows, folder: np.load(saved(rows, folder), mmap_mode="r"),
    "OnDisk": lambda rows, folder: OnDisk(saved(rows, folder)),
    "dask array": lambda rows, _: da.from_array(rows, chunks=20),
    "dask frame": lambda rows, _: dd.from_pandas(pd.DataFrame(rows, columns=NAMES), npartitions=2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_on_every_table_they_are_moved_before_they_are_clipped(kind, fitted, tmp_path):
    rows = np.vstack([X[:30], 1e6 * X[:30]])
    low, high = fitted.prediction_range_
    expected = np.clip(rows @ fitted.coef_ + fitted.intercept_ + fitted.median_shift_, low, high)
    assert {low, high} <= set(expected)
    table = KINDS[kind](rows, tmp_path)
    # Only the released model finds columns by name.
    for model in (fitted.released_, fitted)[: 1 if kind == "selected columns" else 2]:
        np.testing.assert_allclose(np.asarray(model.predict(table, statistic="median")), expected, rtol=1e-5)


numbers = st.floats(-1e6, 1e6)


@settings(max_examples=100, deadline=None)
@given(st.lists(numbers, min_size=3, max_size=3), numbers, numbers, st.tuples(numbers, numbers), st.booleans())
def test_a_median_is_the_line_moved_then_clipped(record, coef, intercept, shift, ends, limited):
    model = LinearModel(
        estimator="PrivateSparseRegressor",
        target="y",
        features=tuple(map(Feature, "abc")),
        effects=tuple(map(Effect, "abc", coef)),
        intercept=intercept,
        noise_floor=None,
        response_scale_known=True,
        privacy=record,
        prediction_range=(min(ends), max(ends)) if limited else None,
        median_shift=shift,
    )
    unlimited = replace(model, prediction_range=None).predict(X[:20, :3])
    expected = np.clip(unlimited + shift, min(ends), max(ends)) if limited else unlimited + shift
    size = np.abs(coef).sum() + abs(intercept) + abs(shift)
    np.testing.assert_allclose(model.predict(X[:20, :3], "median"), expected, rtol=0, atol=1e-12 * size)
    np.testing.assert_array_equal(model.predict(X[:20, :3]), model.predict(X[:20, :3], "mean"))


def test_the_absolute_error_is_smaller_for_a_skewed_response(fitted):
    assert fitted.median_shift_ == pytest.approx(1 - np.exp(0.5), abs=0.15)
    mean, median = fitted.predict(X), fitted.predict(X, "median")
    assert np.abs(COST - median).mean() < 0.97 * np.abs(COST - mean).mean()
    assert np.mean(median > COST) == pytest.approx(0.5, abs=0.06)
    assert np.mean(mean > COST) > 0.6
    # A score is of the mean.
    assert fitted.score(X, COST) == pytest.approx(1 - np.mean((COST - mean) ** 2) / np.var(COST), rel=1e-12)


def test_a_pipeline_hands_it_on(fitted):
    pipeline = make_pipeline(FunctionTransformer(), fitted)
    frame = pd.DataFrame(X[:50], columns=NAMES)
    np.testing.assert_array_equal(pipeline.predict(frame, statistic="median"), fitted.predict(frame, "median"))


def test_raw_tables_have_it_too():
    table = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 0, "big", "small"), "cost": COST})
    model = PrivateSparseRegressor(sparsity=2, epsilon=2.0).fit(read_table(table, target="cost"))
    new = table[["kind", "size"]][:200]
    low, high = model.prediction_range_
    mean, median = model.predict(new), model.predict(new, statistic="median")
    inside = (low < mean) & (mean < high) & (low < median) & (median < high)
    assert inside.sum() > 100
    line = model.released_.constant + (mean - model.released_.constant) / model.calibration_slope_
    np.testing.assert_allclose((median - line)[inside], model.median_shift_, rtol=1e-6)
    np.testing.assert_array_equal(model.released_.predict(new, "median"), median)


def test_what_has_no_median_says_so(fitted):
    without = PrivateSparseRegressor(sparsity=1, fit_intercept=False, **STANDARDIZED).fit(X, COST)
    for model in (without, without.released_, DPIHTH(sparsity=1).fit(X, COST).released_):
        with pytest.raises(ValueError, match=r"^statistic='median' needs .* with an intercept$"):
            model.predict(X, statistic="median")
    for model in (fitted, fitted.released_):
        with pytest.raises(ValueError, match=r"^statistic='mode' must be 'mean', 'median' or None$"):
            model.predict(X, statistic="mode")


def test_the_fitted_model_stays_as_it_is(fitted):
    before = (fitted.intercept_, fitted.released_)
    fitted.predict(X[:3], "median")
    assert (fitted.intercept_, fitted.released_) == before
    moved = fitted.released_.for_statistic("median")
    assert moved.for_statistic("median") == moved


def sentence(model):
    return next((text for heading, text in remarks(model) if heading == "Median"), None)


def test_a_skewed_response_is_remarked_on(fitted):
    model = fitted.released_
    text = sentence(model)
    assert text.startswith(f"about half of the values of y lie below the prediction less {-model.median_shift:.4g}; ")
    assert text in " ".join(model.summary().split())
    assert "below the prediction plus 2;" in sentence(replace(model, median_shift=2.0))
    for quiet in (
        {"median_shift": 0.09 * model.response_scale},
        {"median_shift": None},
        {"response_scale": None},
        {"response_scale_known": False},
    ):
        assert sentence(replace(model, **quiet)) is None
    tuned = tune([PrivateSparseRegressor(sparsity=s, epsilon=2.0, **STANDARDIZED) for s in (1, 2)], X, COST)
    assert sentence(tuned.estimator.released_) is not None


@pytest.mark.slow
def test_noise_is_not_remarked_on():
    said = 0
    for seed in range(40):
        rows, y, _ = make_heavy_tailed(1_500, 5, 1, random_state=seed)
        model = PrivateSparseRegressor(sparsity=1, epsilon=1.0, random_state=seed, **STANDARDIZED).fit(rows, y)
        said += sentence(model.released_) is not None
    assert said <= 2


def test_a_model_of_the_typical_response_has_no_mean():
    typical = PrivateSparseRegressor(sparsity=1, estimand="typical", **STANDARDIZED).fit(X, COST)
    for model in (typical, typical.released_):
        with pytest.raises(ValueError, match=r"^statistic='mean' needs a model of the mean.* estimand='mean'$"):
            model.predict(X, statistic="mean")
        np.testing.assert_array_equal(model.predict(X), model.predict(X, None))
        constant, slope = typical.released_.constant, typical.median_slope_ / typical.calibration_slope_
        low, high = typical.prediction_range_
        line = constant + slope * (model.predict(X) - constant)
        inside = (low < model.predict(X)) & (model.predict(X) < high)
        moved = np.median((model.predict(X, "median") - line)[inside])
        assert moved == pytest.approx(typical.median_shift_, abs=1e-9)


def test_a_model_of_the_mean_predicts_it_unless_asked(fitted):
    for model in (fitted, fitted.released_):
        np.testing.assert_array_equal(model.predict(X), model.predict(X, "mean"))

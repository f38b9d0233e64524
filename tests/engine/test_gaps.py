"""Gaps and blank records mean the same on every engine, to the last bit, and what they mean is defined here anew."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dpsparse.engine import queries, scores
from dpsparse.engine.config import configured
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.sparse_rows import SparseRows
from dpsparse.engine.dask.dask_rows import DaskRows, Partitions
from dpsparse.engine.disk.disk_rows import DiskRows
from dpsparse.engine.disk.feature_sources import ArraySource
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer, as_column, indicators, weight_levels
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS
from dpsparse.privacy import sensitivity

NOTHING = [np.nan, np.inf, -np.inf]
cells = st.sampled_from([0.0, -0.0, 0.5, 1.0, -2.5, 3.0, 1e-30, 1e30, -1e300, *NOTHING, *NOTHING])
responses = st.sampled_from([0.0, 1.0, -0.7, 2.5, 40.0, -1e300, np.nan])


@st.composite
def tables(draw, least=1):
    """Responses in column 0, then one to three features."""
    n, d = draw(st.integers(least, 25)), draw(st.integers(1, 3))
    X = draw(hnp.arrays(np.float64, (n, d), elements=cells))
    return np.column_stack([draw(hnp.arrays(np.float64, n, elements=responses)), X])


dtypes = st.sampled_from([np.float32, np.float64])


def families(d):
    """Quantizers of features, of their signs and of their gaps."""
    center, scale = np.linspace(-0.4, 0.3, d), np.linspace(0.7, 1.9, d)
    return (
        Quantizer(1.2, center, scale),
        Quantizer(1e-30, 1e-30),
        Quantizer(1.0, of_gaps=True),
        Quantizer(1.3, np.linspace(0.1, 0.6, d), scale, of_gaps=True),
    )


def level(value, clip_bound, center, scale, dtype):
    """The level of one number; 0 for none."""
    if value is None:
        return 0
    with np.errstate(all="ignore"):
        rate = dtype(1.0 / (clip_bound / 127 * scale))
        scaled = (dtype(value) - dtype(center)) * rate
    return int(np.rint(np.clip(scaled, -127, 127)))


def scores_by_definition(X, y, gap, quantizers):
    """Scores of records in Python's integers; `X` has None for gaps, `y` None in blank records."""
    scores = []
    for quantizer in quantizers:
        center, scale = (np.broadcast_to(each, X.shape[1]) for each in (quantizer.center, quantizer.scale))
        cells = gap if quantizer.of_gaps else X
        row = []
        for j in range(X.shape[1]):
            total = 0
            for i in range(len(X)):
                if y[i] is not None:
                    weight = int(weight_levels(np.array([y[i]]), 2.0)[0])
                    total += weight * level(cells[i, j], quantizer.clip_bound, center[j], scale[j], X.dtype_)
            row.append(total)
        scores.append(row)
    return scores


class Cells(np.ndarray):
    """Objects, with the dtype of the numbers that they were."""


def known(X):
    """The cells of a table, None where they are missing."""
    objects = np.where(np.isfinite(X), X, None).view(Cells)
    objects.dtype_ = X.dtype.type
    return objects


@np.errstate(all="ignore")
def paired(X, y):
    """The differences of pairs, of their responses and of their gaps, by their definition."""
    half = len(X) // 2
    differences = X[:half] - X[::-1][:half]
    missing = (~np.isfinite(X)).astype(int)
    return differences, y[:half] - y[::-1][:half], missing[:half] - missing[::-1][:half]


def engines(X, y):
    """The same rows on every engine of this machine."""
    yield "C order", DenseRows(np.ascontiguousarray(X), y)
    yield "Fortran order", DenseRows(np.asfortranarray(X), y)
    stored = sparse.csr_matrix(X)
    stored.sort_indices()
    yield "CSR", SparseRows.of(stored, y)
    yield "disk", DiskRows(ArraySource([X]), y)
    yield "disk, two files", DiskRows(ArraySource([X[: len(X) // 2], np.asfortranarray(X[len(X) // 2 :])]), y)


def session_of(rows, d, constant=True):
    """A session with every feature and every indicator as a column."""
    session = rows.session(families(d), constant=constant, check_finite=False)
    for feature in range(2 * d):
        session.add(feature)
        if feature % 2:
            session.rescale(0.25, 1.5)
    return session


def _of_scores(effects):
    """Queries of scores on all columns, mixed."""
    k = len(effects)
    matrix = np.eye(k) + np.linspace(-0.3, 0.4, k * k).reshape(k, k)
    score = scores.Terms("score", matrix, range(k), 0.2, effects)
    slope = scores.Terms("slope", matrix, range(k), 0.2, effects, 0.8)
    one = scores.Terms("score", np.eye(1), (0,), 0.2, effects)
    return {
        "norms": (scores.norm_counts, score, POINTS),
        "norms of rows": (scores.norm_counts, slope, POINTS),
        "mean score": (scores.clipped_sums, score, 1.1, np.inf, 0.0),
        "mean weighted score": (
            scores.clipped_sums,
            replace(score, long_rows=scores.LongRows(matrix.T, 0.9)),
            1.1,
            np.inf,
            0.0,
        ),
        "mean score, rising": (scores.clipped_sums, score, 2.3, 1.15, 0.7),
        "signed scores": (scores.score_counts, one, POINTS),
        "mean residual": (scores.ranged_sums, one, (0.4, np.inf, 0.0), (2.3, 1.15, 0.7), 3.2),
        "score moments": (scores.second_moment_sums, score, 2.3),
        "row moments": (scores.second_moment_sums, slope, 1.1),
    }


POINTS = np.array([-np.inf, -2.0, 0.0, 0.25, 0.5, 1.0, 1e30, np.inf])


def evaluated(session, n_columns):
    """Every query of a pursuit: named arrays of integers."""
    effects = np.linspace(-0.7, 0.9, n_columns)
    equation = (0.2, effects, 0.8, np.arange(n_columns), 1.1, 2.3)
    asked = {
        "residual counts": (queries.residual_counts, 0.2, effects, POINTS),
        "sizes": (queries.residual_counts, 0.2, effects, np.abs(POINTS[3:]), True),
        "products": (queries.product_sums, range(n_columns), 1.3),
        "gain": (queries.gain_sums, 0.2, effects, 4.0, 0.5),
        "calibration": (queries.calibration_sums, 0.2, effects, -0.3, 1.5, 2.0),
        "median line": (queries.median_line_sums, 0.2, effects, -0.3, 1.5, 0.9),
        "gradient": (queries.gradient_sums, *equation),
        "Gram matrix": (queries.gram_sums, *equation[3:]),
        "Jacobian": (queries.jacobian_sums, *equation),
        "variance": (queries.variance_sums, *equation),
        **_of_scores(effects),
    }
    for k in range(n_columns):
        asked[f"column {k}"] = (queries.column_counts, k, POINTS)
        asked[f"slopes {k}"] = (queries.slope_counts, effects, k, POINTS)
        asked[f"spread {k}"] = (queries.spread_sums, k, 0.7, 6.0)
        asked[f"mean {k}"] = (queries.mean_sums, k, 0.3, 0.7, 2.5)
    results = {name: session.evaluate(*query) for name, query in asked.items()}
    for level_of_residuals in (0.0, 0.3):
        results[f"scores {level_of_residuals}"] = session.scores(0.2, effects, 2.0, level_of_residuals)
    return {name: np.concatenate([np.ravel(each) for each in _tuple(value)]) for name, value in results.items()}


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


def assert_same(actual, expected, where):
    for name, value in expected.items():
        np.testing.assert_array_equal(actual[name], value, err_msg=f"{name}, {where}")


def sizes_of(size):
    """Blocks of at most so many bytes, or records."""
    records = {"least_records": 1, "most_records": size, "least_query_records": 1, "most_query_records": size}
    return {"block_bytes": size, "disk_block_bytes": size, **records}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(tables(), dtypes, st.booleans(), st.sampled_from([50, 2**26]))
def test_scores_are_those_of_the_definition(table, dtype, compiled, size):
    with np.errstate(all="ignore"):
        X, y = table[:, 1:].astype(dtype), table[:, 0]
    gap = np.where(np.isfinite(X), 0, 1)
    quantizers = families(X.shape[1])
    expected = scores_by_definition(known(X), np.where(np.isnan(y), None, y), gap, quantizers)
    differences, y_pairs, gap_pairs = paired(X, y)
    of_pairs = scores_by_definition(
        known(differences), np.where(np.isnan(y_pairs), None, y_pairs), gap_pairs, quantizers
    )
    sizes = sizes_of(size)
    with configured(compiled=compiled, **sizes):
        for name, rows in engines(X, y):
            scores = rows.session(quantizers, check_finite=False).scores(0.0, [], 2.0)
            assert scores.tolist() == expected, name
            if len(X) > 1:
                scores = rows.differences().session(quantizers, check_finite=False).scores(0.0, [], 2.0)
                assert scores.tolist() == of_pairs, name


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(tables(), dtypes, st.booleans(), st.sampled_from([50, 2**26]), st.sampled_from([0.0, 0.5]))
def test_every_engine_has_the_same_bits(table, dtype, compiled, size, share):
    with np.errstate(all="ignore"):
        X, y = table[:, 1:].astype(dtype), table[:, 0]
    d = X.shape[1]
    (_, first), *others = engines(X, y)
    expected = evaluated(session_of(first, d), 2 * d + 1)
    counts = first.evaluate(queries.feature_counts, POINTS)
    of_pairs = evaluated(session_of(first.differences(), d, False), 2 * d) if len(X) > 1 else None
    sizes = sizes_of(size)
    with configured(compiled=compiled, disk_memory_share=share, **sizes):
        for name, rows in [("by NumPy", first), *others]:
            assert_same(evaluated(session_of(rows, d), 2 * d + 1), expected, name)
            np.testing.assert_array_equal(rows.evaluate(queries.feature_counts, POINTS), counts, err_msg=name)
            if of_pairs is not None:
                assert_same(evaluated(session_of(rows.differences(), d, False), 2 * d), of_pairs, f"pairs, {name}")


@settings(max_examples=60, deadline=None)
@given(tables())
def test_columns_and_counts_are_those_of_the_definition(table):
    X, y = table[:, 1:], table[:, 0]
    d, blank, missing = X.shape[1], np.isnan(y), ~np.isfinite(X)
    with np.errstate(all="ignore"):
        counts = [[sum(X[i, j] <= point for i in range(len(X)) if not (blank[i] or missing[i, j])) for point in POINTS]
                  for j in range(d)]  # fmt: skip
    for name, rows in engines(X, y):
        assert rows.evaluate(queries.feature_counts, POINTS).tolist() == counts, name
        session = rows.session((), constant=True, check_finite=False)
        for j in range(d):
            assert rows.column(d + j).tolist() == missing[:, j].tolist(), name
            session.add(j)
            session.add(d + j)
        columns = [column.units for column in session._records.columns]
        np.testing.assert_array_equal(columns[0], np.where(blank, np.nan, 1.0))
        np.testing.assert_array_equal(columns[1::2], np.where(blank | missing.T, np.nan, X.T))
        np.testing.assert_array_equal(columns[2::2], np.where(blank, np.nan, missing.T))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(tables(least=2), dtypes)
def test_blank_records_add_nothing(table, dtype):
    """All sums are those of the table without its blank records, and those of the pairs without blank ones."""
    with np.errstate(all="ignore"):
        X, y = table[:, 1:].astype(dtype), table[:, 0]
    d, filled = X.shape[1], ~np.isnan(y)
    half = len(y) // 2
    both = np.flatnonzero(filled[:half] & filled[::-1][:half])
    in_pairs = np.concatenate([both, len(y) - 1 - both[::-1]])
    for (name, rows), (_, less), (_, pairs) in zip(
        engines(X, y), engines(X[filled], y[filled]), engines(X[in_pairs], y[in_pairs]), strict=True
    ):
        if not filled.any():
            assert not any(value.any() for value in evaluated(session_of(rows, d), 2 * d + 1).values()), name
            continue
        assert_same(evaluated(session_of(rows, d), 2 * d + 1), evaluated(session_of(less, d), 2 * d + 1), name)
        counts = less.evaluate(queries.feature_counts, POINTS)
        np.testing.assert_array_equal(rows.evaluate(queries.feature_counts, POINTS), counts)
        if both.any():
            of_pairs = evaluated(session_of(rows.differences(), d, False), 2 * d)
            assert_same(of_pairs, evaluated(session_of(pairs.differences(), d, False), 2 * d), f"pairs, {name}")


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(0, 24), st.integers(0, 3), st.sampled_from(NOTHING))
def test_a_gap_is_at_the_centre(table, i, j, nothing):
    """In units a gap is 0 in every sum but the counts of its own column and of its indicator."""
    i, j = i % len(table), 1 + j % (table.shape[1] - 1)
    center = 0.5
    there, here = table.copy(), table.copy()
    there[i, j], here[i, j] = nothing, center
    results = []
    for each in (there, here):
        session = DenseRows(each[:, 1:], each[:, 0]).session((), constant=True, check_finite=False)
        session.add(j - 1)
        session.rescale(center, 1.7)
        results.append(evaluated_sums(session))
    assert_same(*results, "a gap")


def evaluated_sums(session):
    effects = np.array([0.3, -0.8])
    equation = (0.2, effects, 0.8, np.arange(2), 1.1, 2.3)
    asked = {
        "residual counts": (queries.residual_counts, 0.2, effects, POINTS),
        "weights": (queries.pick_weights, 0.2, effects, 2.0, 0.3),
        "products": (queries.product_sums, range(2), 1.3),
        "gain": (queries.gain_sums, 0.2, effects, 4.0, 0.5),
        "calibration": (queries.calibration_sums, 0.2, effects, -0.3, 1.5, 2.0),
        "median line": (queries.median_line_sums, 0.2, effects, -0.3, 1.5, 0.9),
        "gradient": (queries.gradient_sums, *equation),
        "Gram matrix": (queries.gram_sums, *equation[3:]),
        "Jacobian": (queries.jacobian_sums, *equation),
        "variance": (queries.variance_sums, *equation),
        **_of_scores(effects),
        "spread": (queries.spread_sums, 1, 0.7, 6.0),
        "mean": (queries.mean_sums, 1, 0.0, 0.7, 2.5),
    }
    results = {name: session.evaluate(*query) for name, query in asked.items()}
    return {name: np.concatenate([np.ravel(each) for each in _tuple(value)]) for name, value in results.items()}


LARGEST = {
    "counts": lambda adjacency: sensitivity.count(adjacency),
    "vectors": lambda adjacency: sensitivity.bounded_norm_sum(VECTOR_LEVELS, adjacency),
    "matrices": lambda adjacency: sensitivity.gram(GRAM_LEVELS, adjacency, 2),
    "scores": lambda adjacency: sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, adjacency),
}


def _kind(name):
    if name.startswith("scores"):
        return "scores"
    if name in ("Gram matrix", "Jacobian", "variance", "score moments", "row moments"):
        return "matrices"
    counted = ("residual counts", "sizes", "column", "slopes", "norms", "signed")
    return "counts" if name.startswith(counted) else "vectors"


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(tables(least=2), st.integers(0, 24), st.data(), dtypes)
def test_one_record_moves_sums_within_their_sensitivities(table, i, data, dtype):
    i, d = i % len(table), table.shape[1] - 1
    other = table.copy()
    other[i] = data.draw(st.tuples(responses, *[cells] * d).map(np.array))
    results = {}
    with np.errstate(all="ignore"):
        for key, each in (("one", table), ("other", other)):
            rows = DenseRows(each[:, 1:].astype(dtype), each[:, 0])
            results[key] = [
                evaluated(session_of(rows, d), 2 * d + 1),
                evaluated(session_of(rows.differences(), d, False), 2 * d),
            ]
    blank = np.isnan(other[i, 0]) or np.isnan(table[i, 0])
    adjacencies = ("replace-one", "zero-out-one") if blank else ("replace-one",)
    for one, two in zip(results["one"], results["other"], strict=True):
        for name in one:
            change = (one[name] - two[name]).astype(object)
            if name == "gradient":
                assert abs(change[-1]) <= 1
                change = change[:-1]
            kind = _kind(name)
            size = max(abs(change)) if kind in ("counts", "scores") else np.sqrt(float((change**2).sum()))
            for adjacency in adjacencies:
                assert size <= LARGEST[kind](adjacency), (name, adjacency)


@pytest.mark.slow
@pytest.mark.parametrize("persisted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_cluster_has_the_same_bits(persisted, dtype, dask_client, configure):
    configure(dask_records=37)
    rng = np.random.default_rng(3)
    n, d = 211, 3
    X, y = rng.standard_normal((n, d)).astype(dtype), rng.standard_t(2, n)
    X[rng.random(X.shape) < 0.2], y[rng.random(n) < 0.2] = np.nan, np.nan
    X[4, 1], X[n - 5, 1], X[5, 2] = np.inf, np.inf, -np.inf
    lazy = da.from_array(X, chunks=((3, 100, 1, 107), d))
    lazy = Partitions(lazy.persist() if persisted else lazy, dtype)
    rows, here = DaskRows(lazy, lazy.responses(y)), DenseRows(X, y)
    assert_same(evaluated(session_of(rows, d), 2 * d + 1), evaluated(session_of(here, d), 2 * d + 1), "dask")
    np.testing.assert_array_equal(
        rows.evaluate(queries.feature_counts, POINTS), here.evaluate(queries.feature_counts, POINTS)
    )
    pairs, same = (session_of(each.differences(), d, False) for each in (rows, here))
    assert_same(evaluated(pairs, 2 * d), evaluated(same, 2 * d), "pairs on dask")
    parts = [session_of(each.part(1, 3).differences(), d, False) for each in (rows, here)]
    assert_same(*[evaluated(each, 2 * d) for each in parts], "a part on dask")


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(tables(), dtypes, st.booleans())
def test_residuals_of_rows_have_gaps_at_zero(table, dtype, compiled):
    with np.errstate(all="ignore"):
        X, y = table[:, 1:].astype(dtype), table[:, 0]
    d = X.shape[1]
    coef = np.linspace(-0.7, 0.9, 2 * d)
    quantizer = Quantizer(1.5, np.linspace(-0.4, 0.3, 2 * d), np.linspace(0.7, 1.9, 2 * d))
    expected = y.copy()
    for k in range(2 * d):
        values = X[:, k].astype(float) if k < d else (~np.isfinite(X[:, k - d])).astype(float)
        with np.errstate(all="ignore"):
            units = np.clip((values - quantizer.center[k]) / quantizer.scale[k], -1.5, 1.5)
            expected = expected - np.where(np.isfinite(values), units, 0.0) * coef[k]
    with configured(compiled=compiled):
        for name, rows in engines(X, y):
            np.testing.assert_array_equal(rows.residuals(coef, range(2 * d), quantizer), expected, err_msg=name)


def test_columns_are_copies():
    y, X = np.array([1.0, np.nan, 2.0]), np.array([1.0, 2.0, np.inf])
    column = as_column(X, y)
    X[:] = 7
    np.testing.assert_array_equal(column, [1.0, np.nan, np.nan])
    np.testing.assert_array_equal(indicators(column), [0.0, 1.0, 1.0])

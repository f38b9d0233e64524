"""Sums about a response in two parts, held against plain NumPy, with bounds that no record exceeds on any engine."""

import dask.array as da
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.special import expit

from dpsparse import OnDisk
from dpsparse.data.as_table import as_table
from dpsparse.engine.config import configured
from dpsparse.engine.queries import Column, Records
from dpsparse.engine.two_part_sums import (
    BELOW,
    BESIDE,
    MEANS_NORM,
    Lines,
    amount_counts,
    amount_sums,
    mean_sums,
    prediction_sums,
)
from dpsparse.engine.vector_sums import VECTOR_LEVELS

HOSTILE = [0.0, -0.0, 1.0, -1.0, 700.0, 5e-324, 1e160, 1e308, -1e308, np.inf, -np.inf, np.nan]
ANY = st.one_of(st.sampled_from(HOSTILE), st.floats())
LINES = Lines(-0.4, (0.0, 0.9, 0.0), 100.0, (0.0, 0.0, 30.0), 0.0, 400.0, (0.0, 0.0, 60.0))
BOUNDS = 30.0, 90.0
THRESHOLDS = np.array([1.0, 50.0, 200.0, np.inf])


def records(y, X):
    y = np.asarray(y, dtype=float)
    X = np.where(np.isnan(y)[:, None], np.nan, X)
    return Records(y, None, (Column.of(np.ones(len(y))), *(Column.of(each) for each in X.T)))


def made_up(n=3_000):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    y = np.where(rng.random(n) < 0.4, rng.exponential(120.0, n), 0.0)
    y[::17] = np.nan
    return X, y


def test_sums_are_those_of_plain_numpy():
    X, y = made_up()
    there = ~np.isnan(y)
    p, mu, unshrunk = expit(-0.4 + 0.9 * X[there, 0]), 100 + 30 * X[there, 1], 100 + 60 * X[there, 1]
    y_there = y[there]
    expected = [
        np.clip(p * np.clip(mu, 0, 400), 0, 90).mean() / 90,
        np.clip(p * (1 - p) * unshrunk, -30 * BELOW, 30).mean() / 30,
        np.clip(p * unshrunk, -90 * BELOW, 90).mean() / 90,
        (y_there > 0).mean(),
        4 * (p * (1 - p)).mean(),
    ]
    found = mean_sums(records(y, X), LINES, *BOUNDS) / VECTOR_LEVELS * MEANS_NORM / there.sum()
    shares = found / np.array([1, *[BESIDE] * 4]) + 0.5
    shares[1:3] = shares[1:3] * (1 + BELOW) - BELOW
    np.testing.assert_allclose(shares, expected, atol=3e-4)
    (found,) = prediction_sums(records(y, X), LINES, 90.0) / VECTOR_LEVELS / 2 / there.sum()
    assert found + 0.5 == pytest.approx(expected[0], abs=3e-4)
    clipped = np.minimum(y_there, 300)
    (found,) = amount_sums(records(y, X), 300.0, 150.0, 0.8) / VECTOR_LEVELS / 2 / there.sum()
    most = 300 + 0.8 * 150
    np.testing.assert_allclose((found + 0.5) * most, (clipped + 0.8 * np.maximum(clipped - 150, 0)).mean(), rtol=1e-5)
    counted = [(y_there[y_there > 0] <= each).sum() for each in THRESHOLDS]
    np.testing.assert_array_equal(amount_counts(records(y, X), THRESHOLDS), counted)


@settings(deadline=None)
@given(y=ANY, cells=hnp.arrays(np.float64, 2, elements=ANY), rise=st.floats(0, 4))
@example(y=1e308, cells=np.array([1e308, -1e308]), rise=2.0)
@example(y=np.inf, cells=np.array([np.nan, np.inf]), rise=0.0)
def test_no_record_exceeds_its_bounds_and_a_blank_one_adds_nothing(y, cells, rise):
    one = records([y], cells[None])
    vector, (amount,) = mean_sums(one, LINES, *BOUNDS), amount_sums(one, 300.0, 150.0, rise)
    (prediction,) = prediction_sums(one, LINES, 90.0)
    assert (vector.astype(float) ** 2).sum() <= VECTOR_LEVELS**2
    assert abs(amount) <= VECTOR_LEVELS
    assert abs(prediction) <= VECTOR_LEVELS
    counts = amount_counts(one, THRESHOLDS)
    assert np.diff(counts, prepend=0).sum() in (0, 1)
    if np.isnan(y):
        assert not vector.any()
        assert not amount
        assert not prediction
        assert not counts.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_engine_has_the_same_bits(dtype, tmp_path):
    X, y = made_up(501)
    X = X.astype(dtype)
    np.save(tmp_path / "x.npy", X)
    tables = [X, sparse.csr_matrix(X), OnDisk(tmp_path / "x.npy"), da.from_array(X, chunks=(100, 2))]
    found = []
    with configured(least_query_records=77, disk_block_bytes=999):
        for table in map(as_table, tables):
            rows = table.rows(
                da.from_array(y, chunks=100) if table is not None and "Dask" in type(table).__name__ else y
            )
            session = rows.session((), constant=True, check_finite=False)
            for feature, center in ((0, 0.1), (1, -0.2)):
                session.add(feature)
                session.rescale(center, 1.0)
            sums = [session.evaluate(mean_sums, LINES, *BOUNDS), session.evaluate(amount_sums, 300.0, 150.0, 0.8)]
            sums.append(session.evaluate(prediction_sums, LINES, 90.0))
            found.append(np.concatenate([*sums, session.evaluate(amount_counts, THRESHOLDS)]).tolist())
            session.close()
    assert all(each == found[0] for each in found)

"""Compiled kernels have the bits of NumPy, and NumPy takes over where they cannot be compiled."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpsparse.engine.cpu import dispatch, numba_kernels, numpy_kernels
from dpsparse.engine.quantize import rounded

hostile = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, 1.5, -2.5, 127.5, 5e-324, 1e38, 3e38, 1e308, -1e308, np.inf, -np.inf, np.nan]),
    st.floats(width=64),
)


hostile_tables = hnp.arrays(np.float64, st.tuples(st.integers(1, 35), st.integers(1, 5)), elements=hostile)
rates = st.sampled_from([1.0, 1e-300, 1e300, 5e-324, np.inf])
dtypes = st.sampled_from([np.float32, np.float64])


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(hostile_tables, hostile.filter(np.isfinite), rates, dtypes)
@np.errstate(all="ignore")
def test_compiled_levels_and_sums_have_the_bits_of_numpy(X, center, rate, dtype):
    X, one = X.astype(dtype), (dtype(center), dtype(rate))
    each = [np.full(X.shape[1], value) for value in one]
    by_hand = rounded(X, *one)
    weights = np.resize(np.array([65536, -65536, 1, 0, -77], dtype=np.int32), len(X))
    sums_by_hand = [sum(int(w) * int(level) for w, level in zip(weights, column, strict=True)) for column in by_hand.T]
    for module in (numba_kernels, numpy_kernels):
        for by, stored, sizes, public in (
            ("rows", X, X.shape, each),
            ("rows", X, X.shape, one),
            ("columns", X.T, (len(X),), each),
        ):
            line, step = dispatch.flat_view(np.ascontiguousarray(stored))
            out, sums = np.empty(stored.shape, dtype=np.int8), np.zeros(X.shape[1], dtype=np.int64)
            bad = getattr(module, f"round_{by}")(line, step, *sizes, *public, out.ravel(), out.shape[1])
            np.testing.assert_array_equal(out if by == "rows" else out.T, by_hand)
            assert bool(bad) == (not np.isfinite(X).all())
            getattr(module, f"add_{by}")(line, step, weights, *public, sums)
            assert sums.tolist() == sums_by_hand


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(hostile_tables, hostile.filter(np.isfinite), st.sampled_from([1.0, 0.3, 1e-300, 5e-324]), dtypes)
@np.errstate(all="ignore")
def test_compiled_residuals_have_the_bits_of_one_operation_after_another(X, center, scale, dtype):
    X, columns, effects = X.astype(dtype), np.array([X.shape[1] - 1, 0]), np.array([1.7, -0.3])
    y = np.linspace(-1, 1, len(X))
    by_hand = y
    for j, effect in zip(columns, effects, strict=True):
        units = np.clip((X[:, j].astype(np.float64) - center) / scale, -2.5, 2.5)
        by_hand = by_hand - np.where(np.isfinite(X[:, j]), units, 0.0) * effect
    public = (np.full(2, center), np.full(2, scale), effects, 2.5)
    wide = np.zeros((3 * len(X), 2 * X.shape[1]), dtype=dtype)
    wide[::3, ::2] = X
    for module in (numba_kernels, numpy_kernels):
        for stored in (X, np.asfortranarray(X), wide[::3, ::2], X[::-1].copy()[::-1]):
            residuals = y.copy()
            module.subtract_columns(*dispatch.strided_view(stored), X.shape[1], columns, *public, residuals)
            np.testing.assert_array_equal(residuals, by_hand)


@pytest.mark.parametrize("view", [dispatch.flat_view, dispatch.strided_view])
def test_what_kernels_can_read_is_not_copied(view):
    """Some rows and columns of a wide table: its features may be most of the memory."""
    wide = np.arange(60.0).reshape(6, 10)
    for table in (wide, wide[:, 2:7], wide[::2], wide[1:2], wide[:, 3:4], np.broadcast_to(wide[0], (4, 10))):
        line, step, *_ = view(table)
        assert np.shares_memory(line, wide)
        rows = [line[i * step : i * step + table.shape[1]].tolist() for i in range(len(table))]
        assert rows == table.tolist()
        # Beyond its last cell there may be other memory.
        assert np.lib.array_utils.byte_bounds(line) == np.lib.array_utils.byte_bounds(table)


def test_what_kernels_cannot_read_is_copied():
    """Rows or columns backwards or apart, and cells at odd addresses; two rows of a wide table are read in place."""
    wide = np.arange(60.0).reshape(6, 10)
    packed = np.zeros(6, dtype=[("byte", np.int8), ("row", float, 4)])["row"]
    packed[:] = wide[:, 3:7]
    for table in (wide[::-1], wide[:, ::-1], wide[:, ::5], wide[:2, 2:7], packed):
        n, d = table.shape
        line, step = dispatch.flat_view(table)
        assert [line[i * step : i * step + d].tolist() for i in range(n)] == table.tolist()
        line, down, right = dispatch.strided_view(table)
        assert [[line[i * down + j * right] for j in range(d)] for i in range(n)] == table.tolist()


def test_features_are_only_read_and_no_memory_beyond_them():
    assert not dispatch.strided_view(np.ones((3, 2)))[0].flags.writeable
    assert not len(dispatch.strided_view(np.ones((0, 2)))[0])


def test_a_machine_without_numba_has_numpy(monkeypatch):
    dispatch.compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "dpsparse.engine.cpu.numba_kernels", None)
    monkeypatch.delattr("dpsparse.engine.cpu.numba_kernels")
    assert dispatch.compiled() is None
    dispatch.compiled.cache_clear()


@pytest.mark.slow
def test_kernels_compile_where_there_is_no_place_for_a_cache():
    code = """
        import numba.core.caching as caching
        caching.CacheImpl._locator_classes = []
        import numpy as np
        from dpsparse.engine.cpu import dispatch
        sums = np.zeros(3, dtype=np.int64)
        dispatch.compiled().add_rows(np.ones(6), 3, np.ones(2, dtype=np.int32), 0.0, 5.0, sums)
        assert sums.tolist() == [10, 10, 10] and not dispatch.compiled().add_rows._cache.cache_path
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=240)

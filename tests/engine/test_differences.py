"""Differences of pairs of records are NumPy's on every engine, to the last bit, however the work is divided."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dpsparse.data.as_table import as_table
from dpsparse.engine import queries
from dpsparse.engine.config import configured
from dpsparse.engine.cpu import dense_rows
from dpsparse.engine.disk import memory
from dpsparse.engine.disk.disk_rows import DiskRows
from dpsparse.engine.disk.feature_sources import ArraySource
from dpsparse.engine.quantize import Quantizer, weight_levels
from dpsparse.engine.refusals import NOT_FINITE
from dpsparse.io.tables.parquet_reader import ParquetSource
from dpsparse.io.tables.zarr_reader import ZarrSource

# The first is of signs, the second tells what is above 0 from the rest.
SIGNS, POSITIVE, PUBLIC = Quantizer(1e-30), Quantizer(1e-30, center=1e-30), Quantizer(1.2, 0.3, 0.7)
FAMILIES = (SIGNS, POSITIVE, PUBLIC)
STORAGES = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sparse.csr_matrix}

hostile = st.sampled_from([0.0, -0.0, 1.0, 1.0, -2.5, 5e-324, 1e-40, 1e-29, 3e38, -3e38, np.inf, -np.inf, np.nan])
tables = hnp.arrays(np.float64, st.tuples(st.integers(2, 37), st.integers(1, 5)), elements=hostile)
dtypes = st.sampled_from([np.float32, np.float64])


@np.errstate(all="ignore")
def subtracted(values):
    """What `differences` is meant to give."""
    half = len(values) // 2
    return values[:half] - values[::-1][:half]


def sums_of(X, weights, quantizers):
    """The definition of scores in Python's integers."""
    levels = [quantizer.levels(X.copy()).astype(int).astype(object) for quantizer in quantizers]
    return [(each * weights.astype(int).astype(object)[:, None]).sum(axis=0).tolist() for each in levels]


def assert_differences(rows, X, y, **options):
    """Differences of the rows are those of NumPy: levels, sums, columns and counts."""
    X, y = subtracted(X), subtracted(y)
    pairs = rows.differences()
    assert (pairs.n_records, pairs.n_features) == X.shape
    session = pairs.session(FAMILIES, check_finite=False, **options)
    scores = session.scores(0.0, [], 2.0)
    assert scores.dtype == np.int64
    assert scores.tolist() == sums_of(X, weight_levels(y, 2.0), FAMILIES)
    last = X.shape[1] - 1
    session.add(last)
    session.rescale(0.0, 3.0)
    with np.errstate(all="ignore"):
        expected = y - np.where(np.isfinite(X[:, last]), X[:, last], 0.0).astype(np.float64) / 3.0 * 0.7
    thresholds = np.array([-2.0, -1e-9, 0.0, 0.5, 1e30])
    counts = session.evaluate(queries.residual_counts, 0.0, [0.7], thresholds)
    assert counts.tolist() == [int((expected <= threshold).sum()) for threshold in thresholds]
    session.close()


@settings(max_examples=150, deadline=None)
@given(tables, dtypes, st.sampled_from(list(STORAGES)), st.sampled_from([1, 100, 2**26]), st.booleans())
def test_in_memory(X, dtype, storage, size, compiled):
    with np.errstate(all="ignore"):
        X = X.astype(dtype)
    y = np.where(np.arange(len(X)) % 3 == 1, np.inf, np.linspace(-3, 3, len(X)))
    records = {"least_records": 1, "most_records": size, "least_query_records": 1, "most_query_records": size}
    with configured(block_bytes=size, compiled=compiled, **records):
        rows = as_table(STORAGES[storage](X)).rows(y)
        assert_differences(rows, X, y)
        part = np.arange(len(X))[1::2]
        if len(part) > 1:
            assert_differences(rows.part(1, 2), X[part], y[part])


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("cached", [8, 50, 300])
def test_small_blocks_change_nothing(storage, cached, monkeypatch):
    monkeypatch.setattr(dense_rows, "_CACHED_BYTES", cached)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(101, 7)).round(1), rng.normal(size=101)
    rows = as_table(STORAGES[storage](X)).rows(y)
    assert_differences(rows, X, y)
    pairs, weights = rows.differences(), weight_levels(subtracted(y), 1.0)
    signed = [int(s) for s in (PUBLIC.levels(subtracted(X)) * weights[:, None]).sum(axis=0)]
    assert pairs.weighted_sums(PUBLIC, weights).tolist() == signed
    assert pairs.part(1, 3).column(2).tolist() == subtracted(X)[1::3, 2].tolist()
    pairs.require_finite()


def sources(X, path):
    """The same features in files of all kinds, in pieces of odd sizes."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    zarr = pytest.importorskip("zarr")
    n = len(X)
    cuts = [0, n // 5, n // 5 + 1, n - 1, n]
    pieces = [X[start:stop] for start, stop in itertools.pairwise(cuts) if stop > start]
    orders = [np.asfortranarray(piece) if k % 2 else piece for k, piece in enumerate(pieces)]
    table = pyarrow.table({str(j): X[:, j] for j in range(X.shape[1])})
    parquet.write_table(table, path / "X.parquet", row_group_size=max(1, n // 4))
    array = zarr.create_array(path / "X.zarr", shape=X.shape, chunks=(max(1, n // 3), 2), dtype=X.dtype)
    array[:] = X
    metadata = parquet.ParquetFile(path / "X.parquet").metadata
    return [
        ArraySource([X]),
        ArraySource([np.asfortranarray(X)]),
        ArraySource(orders),
        ArraySource([X], selected=np.arange(X.shape[1])),
        ParquetSource([(path / "X.parquet", metadata)], table.column_names),
        ZarrSource(array),
    ]


@pytest.mark.parametrize("n", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 40)), 101])
@pytest.mark.parametrize("share", [0.0, 1e-9, 0.5])
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_on_a_disk(n, share, dtype, tmp_path, configure, monkeypatch):
    # With room for 500 bytes of levels some blocks are kept, and the others are read again.
    monkeypatch.setattr(memory, "available_bytes", lambda: 5e11)
    configure(disk_block_bytes=300, disk_memory_share=share)
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 7)).astype(dtype), rng.normal(size=n)
    X[0, 0], X[n - 1, 0], X[-1, 1], X[0, 2] = np.inf, np.inf, np.nan, -0.0
    for source in sources(X, tmp_path):
        rows = DiskRows(source, y)
        assert_differences(rows, X, y)
        pairs = rows.differences()
        assert pairs.evaluate(queries.nonfinite_blocks) >= 1
        if n > 5:
            assert_differences(rows.part(1, 3), X[1::3], y[1::3])
        with pytest.raises(ValueError, match=NOT_FINITE):
            rows.session(())


def test_sparse_differences_stay_sparse_and_canonical():
    rng = np.random.default_rng(0)
    X = sparse.random(41, 300, density=0.05, format="csr", dtype=np.float32, random_state=rng)
    X.data[::3] = 0.0
    pairs = as_table(X).rows(np.zeros(41)).differences()
    matrix = sparse.csr_matrix((pairs.data, pairs.indices, [*pairs.starts, pairs.stops[-1]]), shape=(20, 300))
    assert matrix.dtype == np.float32
    assert len(pairs.data) <= X.nnz
    assert matrix.has_canonical_format
    np.testing.assert_array_equal(matrix.toarray(), subtracted(X.toarray()))


def test_no_check_unless_asked_for():
    X = np.zeros((9, 2))
    X[1, 1] = np.inf
    for storage in STORAGES.values():
        pairs = as_table(storage(X)).rows(np.zeros(9)).differences()
        pairs.session((SIGNS,), check_finite=False)
        for quantizers in ((SIGNS,), ()):
            with pytest.raises(ValueError, match=NOT_FINITE):
                pairs.session(quantizers)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats()), dtypes)
@np.errstate(all="ignore")
def test_signs_and_what_is_positive(values, dtype):
    X = values.astype(dtype)
    X = X[~((X != 0) & (np.abs(X) < 2e-30))]
    above = np.where(np.isfinite(X), np.where(X > 0, 127, -127), 0)
    for storage in STORAGES.values():
        rows = as_table(storage(X[:, None])).rows(np.zeros(len(X)))
        for i in range(len(X)):
            alone = rows.take(slice(i, i + 1)).quantized((SIGNS, POSITIVE), check_finite=False)
            sign = np.sign(X[i]) * 127 if np.isfinite(X[i]) else 0
            assert alone.weighted_sums(np.ones(1)).tolist() == [[sign], [above[i]]]


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats()), st.floats(-1e9, 1e9), st.floats(1e-9, 1e9), dtypes
)
@np.errstate(all="ignore")
def test_a_rescaled_column_has_the_bits_of_the_quantizer_s_units(values, center, scale, dtype):
    X = values.astype(dtype)[:, None]
    quantizer = Quantizer(1.0, np.array([center]), np.array([scale]))
    session = as_table(X).rows(np.zeros(len(X))).session((), check_finite=False)
    session.add(0)
    session.rescale(*quantizer.center_and_scale(0))
    units = session.evaluate(lambda records: records.columns[0].units)
    np.testing.assert_array_equal(units, quantizer.units(np.where(np.isfinite(X), X, np.nan)[:, 0], 0))

import platform
import subprocess
import sys
import tracemalloc
from contextlib import nullcontext

import numpy as np
import pytest
from numba.core.errors import NumbaError
from scipy import sparse

from dpsparse.data.as_table import as_table
from dpsparse.engine.cpu import dense_rows, dispatch, numba_kernels
from dpsparse.engine.cpu.local_rows import block_size
from dpsparse.engine.disk.disk_rows import DiskRows
from dpsparse.engine.disk.feature_sources import ArraySource
from dpsparse.engine.quantize import WEIGHT_LEVELS, Quantizer, weight_levels
from dpsparse.engine.refusals import COLUMN_CHANGED, NOT_FINITE, ROWS_CHANGED
from dpsparse.engine.threads import slices, threads

RNG = np.random.default_rng(0)
CENTER, SCALE = RNG.normal(size=7), RNG.uniform(0.5, 3, size=7)


def sample(dtype=np.float64, n=53, d=7):
    X = RNG.standard_t(2, size=(n, d))
    X[RNG.random(X.shape) < 0.4] = 0
    return X.astype(dtype), RNG.normal(size=n)


def in_python_integers(X, weights, quantizer):
    """The definition, one cell at a time in X's own dtype, summed in Python's unbounded integers; 0 for a gap."""
    sums = [0] * X.shape[1]
    for i, row in enumerate(X):
        for j, value in enumerate(row):
            center = X.dtype.type(np.broadcast_to(quantizer.center, X.shape[1:])[j])
            scale = float(np.broadcast_to(quantizer.scale, X.shape[1:])[j])
            level = (value - center) * X.dtype.type(1.0 / (quantizer.clip_bound / 127 * scale))
            sums[j] += int(np.rint(min(max(level, -127), 127))) * int(weights[i]) if np.isfinite(value) else 0
    return sums


@pytest.fixture(params=["numba", "NumPy"])
def passes(request, configure, monkeypatch):
    """Both ways to run the passes; a kernel that does not compile would be replaced by NumPy's unseen."""
    assert dispatch.compiled() is numba_kernels
    configure(compiled=request.param == "numba")
    if request.param == "numba":
        monkeypatch.setattr(dispatch, "numpy_kernels", None)
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("quantizer", [Quantizer(2.5), Quantizer(0.7, CENTER, SCALE), Quantizer(1.5, 0.3, 2.0)])
@pytest.mark.parametrize("records", [1, 9, 2**15])
def test_every_storage_blocking_and_thread_gives_the_same_integers(dtype, quantizer, records, passes, configure):
    configure(least_records=1, most_records=records, block_bytes=64 * records)
    X, y = sample(dtype)
    weights = weight_levels(y, 1.0)
    expected = in_python_integers(X, weights, quantizer)
    wide = np.zeros((2 * len(X), 14), dtype=dtype)
    wide[::2, ::2] = X
    beside = np.hstack([X, X])[:, :7]
    packed = np.zeros(len(X), dtype=[("byte", np.int8), ("row", dtype, 7)])
    packed["row"] = X
    storages = (X, np.asfortranarray(X), wide[::2, ::2], beside, X[::-1][::-1], packed["row"], sparse.csr_matrix(X))
    for stored in storages:
        for count in (1, 2, 4):
            with threads(count):
                rows = as_table(stored).rows(weights)
                of_features = rows.evaluate(lambda block: block.weighted_sums(quantizer, block.y))
                (of_levels,) = rows.quantized((quantizer,)).weighted_sums(weights)
            assert of_features.dtype == of_levels.dtype == np.int64
            assert of_features.tolist() == expected
            assert of_levels.tolist() == expected


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_sums_are_those_of_the_definition(make, passes):
    """With centers, so that a cell that is not stored has a level too, and a gap has not that of 0."""
    X, y = sample()
    X[::5, 2], X[1::5, 3], X[2::5, 4] = np.nan, np.inf, -np.inf
    quantizer, weights = Quantizer(0.7, CENTER, SCALE), weight_levels(y, 1.0)
    expected = in_python_integers(X, weights, quantizer)
    rows = as_table(make(X)).rows(y)
    assert rows.weighted_sums(quantizer, weights).tolist() == expected
    assert rows.quantized((quantizer,), check_finite=False).weighted_sums(weights).tolist() == [expected]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (52, 6), (51, 3), (17, 5)])
def test_every_storage_finds_what_is_not_finite(value, place, passes):
    X, y = sample()
    X[place] = value
    for stored in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], sparse.csr_matrix(X)):
        for check in (
            lambda rows: rows.session((Quantizer(1.0),)),
            lambda rows: rows.session(()),
            lambda rows: rows.require_finite(),
        ):
            with pytest.raises(ValueError, match=NOT_FINITE):
                check(as_table(stored).rows(y))
        as_table(stored).rows(y).session((Quantizer(1.0),), check_finite=False)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix, "disk"])
def test_features_are_checked_unless_that_is_declined(make):
    X, y = sample()
    X[3, 2] = np.nan
    rows = DiskRows(ArraySource([X]), y) if make == "disk" else as_table(make(X)).rows(y)
    opened = [rows, rows.differences()]
    checks = [each.session for each in opened] + [each.quantized for each in opened if make != "disk"]
    for check in checks:
        with pytest.raises(ValueError, match=NOT_FINITE):
            check((Quantizer(1.0),))
        check((Quantizer(1.0),), check_finite=False)
        check((), check_finite=False)


def test_huge_finite_features_are_ordinary(passes):
    largest = [np.full((60, 3), np.finfo(dtype).max) for dtype in (np.float32, np.float64)]
    for stored in (*largest, *map(np.asfortranarray, largest)):
        rows = as_table(stored).rows(np.ones(60))
        rows.require_finite()
        rows.session((Quantizer(1.0),))


def test_large_blocks_are_multiples_of_what_kernels_read_at_a_time(configure):
    configure(block_bytes=800)
    with threads(1):
        # 100,000 cells of a byte are 125 blocks of 800, whose number of cells is rounded up; 1,000 of 7 are 9 of 112.
        assert slices(100_000, block_size(100_000, 1))[1] == slice(1024, 2048)
        assert slices(1_000, block_size(1_000, 7))[1] == slice(112, 224)
        # 40 rounded up, small ones as they are, and for few cells the least that pays: an eighth, rounded up.
        assert [block_size(1_000, size) for size in (20, 30, 900)] == [48, 26, 1]
        assert block_size(50, 1) == 112


@pytest.mark.parametrize("order", ["C", "F"])
def test_levels_lie_in_memory_as_their_table_does(order):
    """A pass over them runs along the memory."""
    levels = dense_rows.empty_levels(np.asarray(sample()[0], order=order))
    assert levels.flags.c_contiguous == (order == "C")
    assert levels.flags.f_contiguous == (order == "F")


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_parts_are_disjoint_and_complete(make):
    X, y = sample()
    quantizer = Quantizer(2.0)
    whole = as_table(make(X)).rows(y)
    parts = [whole.part(t, 4) for t in range(4)]
    assert sum(p.n_records for p in parts) == len(y)
    np.testing.assert_array_equal(np.sort(np.concatenate([p.y for p in parts])), np.sort(y))
    total = sum(p.weighted_sums(quantizer, weight_levels(p.y, 1.0)) for p in parts)
    np.testing.assert_array_equal(total, whole.weighted_sums(quantizer, weight_levels(y, 1.0)))
    for t, part in enumerate(parts):
        np.testing.assert_array_equal(part.column(3), X[t::4, 3])


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_residuals_are_one_record_at_a_time(make):
    X, y = sample()
    coef, support = np.zeros(7), [5, 2]
    coef[support] = 1.7, -0.3
    residuals = as_table(make(X)).rows(y).residuals(coef, support, Quantizer(np.inf))
    one_by_one = [(y[i] - X[i, 5] * 1.7) - X[i, 2] * -0.3 for i in range(len(y))]
    np.testing.assert_array_equal(residuals, one_by_one)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_no_rows_have_no_residuals(make, passes):
    X, y = sample()
    assert not len(as_table(make(X)).rows(y).part(60, 61).residuals(np.ones(7), [5, 2], Quantizer(2.0)))


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_no_rows_have_no_values_to_count_and_no_gaps(make, passes):
    X, y = sample()
    rows = as_table(make(X)).rows(y)
    assert rows.part(60, 61).feature_counts([-1.0, 0.0]).tolist() == [[0, 0]] * 7
    rows.part(52, 53).differences().require_finite()


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray])
def test_there_is_a_weight_for_each_row_or_pair(make):
    rows = as_table(make(sample()[0])).rows(np.zeros(53))
    for summed in (rows, rows.differences()):
        for excess in (-1, 1):
            with pytest.raises(ValueError, match=ROWS_CHANGED):
                summed.weighted_sums(Quantizer(1.0), np.zeros(summed.n_records + excess))


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_indicators_of_gaps_are_refused_where_no_gap_is_allowed(make):
    X, y = sample()
    as_table(make(X)).rows(y).quantized((Quantizer(1.0, of_gaps=True),))
    X[17, 3] = np.nan
    with pytest.raises(ValueError, match=NOT_FINITE):
        as_table(make(X)).rows(y).quantized((Quantizer(1.0, of_gaps=True),))


def test_sums_of_sparse_indicators_are_those_of_dense_ones():
    X, y = sample()
    X[::5, 2], X[1::5, 3] = np.nan, -np.inf
    quantizer, weights = Quantizer(0.7, 0.1, of_gaps=True), weight_levels(y, 1.0)
    expected = in_python_integers((~np.isfinite(X)).astype(float), weights, quantizer)
    for make in (np.asarray, sparse.csr_matrix):
        assert as_table(make(X)).rows(y).weighted_sums(quantizer, weights).tolist() == expected


@pytest.mark.parametrize("taken", [slice(1, None, 2), slice(0, 52), slice(7, 33), [0, 1, 1, 2, 3, 3]])
def test_differences_of_some_sparse_rows_are_of_their_own_cells(taken):
    """Whether the cells of these rows adjoin, lie apart, or are those of a row that is taken twice."""
    X, y = RNG.normal(size=(53, 7)), np.zeros(53)
    mine, pairs = X[taken], as_table(sparse.csr_matrix(X)).rows(y).take(taken).differences()
    half = len(mine) // 2
    for j in range(7):
        assert pairs.column(j).tolist() == (mine[:half, j] - mine[::-1][:half, j]).tolist()


def test_sparse_rows_are_finite_where_their_own_cells_are():
    X, y = sample()
    X[0, 0] = np.nan
    rows = as_table(sparse.csr_matrix(X)).rows(y)
    rows.part(60, 61).require_finite()
    rows.take(slice(1, None)).require_finite()
    with pytest.raises(ValueError, match=NOT_FINITE):
        rows.take(slice(0, 1)).require_finite()


def test_sums_of_sparse_levels_do_not_depend_on_threads(configure):
    configure(least_records=1)
    X, y = sample()
    quantizer, weights = Quantizer(0.7, CENTER, SCALE), weight_levels(y, 1.0)
    with threads(2):
        levels = as_table(sparse.csr_matrix(X)).rows(y).quantized((quantizer,))
        assert levels.weighted_sums(weights).tolist() == [in_python_integers(X, weights, quantizer)]


def test_more_records_than_exact_sums_allow_are_refused():
    """2^53 / (127 * 2^16) is 1,082,196,484.03."""
    for n in (1_082_196_484, 1_082_196_485):
        X, y = np.broadcast_to(0.0, (n, 1)), np.broadcast_to(0.0, n)
        with pytest.raises(OverflowError) if n % 2 else nullcontext():
            dense_rows.DenseRows(X, y)


def test_a_column_of_another_length_is_refused(monkeypatch):
    """NumPy would repeat one value for every record."""
    X, y = sample()
    rows = as_table(X).rows(y)
    session = rows.session(())
    monkeypatch.setattr(rows, "column", lambda j: X[:1, j])
    with pytest.raises(ValueError, match=COLUMN_CHANGED):
        session.add(0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_no_array_of_all_differences_is_made(order):
    X = np.zeros((2, 500_000), order=order)
    pairs = as_table(X).rows(np.zeros(2)).differences()
    tracemalloc.start()
    pairs.require_finite()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 3 * 2**20


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_at_full_scale_do_not_overflow(make, dtype, passes):
    # 10,001 rows of the largest terms: blocks of 256 in 32 bits, the rest in 64.
    X, weights = np.full((10_001, 9), 1e9, dtype=dtype), np.full(10_001, float(WEIGHT_LEVELS))
    rows = as_table(make(X)).rows(weights)
    assert rows.quantized((Quantizer(1.0),)).weighted_sums(weights).tolist() == [[10_001 * 127 * 65536] * 9]
    assert rows.weighted_sums(Quantizer(1.0), weights).tolist() == [10_001 * 127 * 65536] * 9


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_columns_are_told_apart(dtype):
    X, y = sample(dtype, n=numba_kernels.LONG_COLUMN + 300, d=11)
    quantizer, weights = Quantizer(0.7, np.linspace(-1, 1, 11), np.linspace(0.5, 2, 11)), weight_levels(y, 1.0)
    sums = as_table(np.asfortranarray(X)).rows(y).weighted_sums(quantizer, weights)
    assert sums.tolist() == in_python_integers(X, weights, quantizer)


def test_a_kernel_that_does_not_compile_is_replaced_by_numpy(monkeypatch):
    def fails(*_):
        raise NumbaError("no")

    monkeypatch.setattr(numba_kernels, "add_rows", fails)
    X, y = sample()
    weights = weight_levels(y, 1.0)
    sums = as_table(X).rows(y).weighted_sums(Quantizer(2.0), weights)
    assert sums.tolist() == in_python_integers(X, weights, Quantizer(2.0))


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries decide by other rules")
def test_arrays_of_a_query_take_memory_that_was_freed():
    program = """
import resource
import numpy as np
from dpsparse.engine.cpu.dense_rows import DenseRows

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        [np.ones(2**17) for _ in range(6)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults()
DenseRows(np.ones((3, 2)), np.ones(3)).session(())
faults()
print(before, faults())
"""
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    before, after = map(int, told.split())
    # The first round of each finds no memory yet.
    assert after < before / 10

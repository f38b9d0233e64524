"""One seed, one result: whatever holds the features, however they are divided and whoever adds them up."""

from functools import cache

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse
from shares import one_in

from dpsparse import DPIHTH, DPIHTL, DPSLR, OnDisk, PrivateSparseRegressor
from dpsparse.audit.harness.fits import YesNoPursuit
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.engine.config import configured
from dpsparse.engine.disk.memory import available_bytes
from dpsparse.engine.threads import threads

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

N, D = 1_501, 37
DTYPES = ["float32", "float64"]
MODELS = {
    "pursuit": lambda: PrivateSparseRegressor(
        sparsity=3, feature_center=np.linspace(-0.2, 0.2, D), feature_scale=0.9, random_state=1
    ),
    "pursuit without intercept": lambda: PrivateSparseRegressor(
        sparsity=4, fit_intercept=False, random_state=2, **STANDARDIZED
    ),
    # At this epsilon every release is made: splits of the features, tails, means, slopes, Jacobian, a step to the mean.
    "pursuit, units unknown": lambda: PrivateSparseRegressor(sparsity=3, epsilon=9.0, random_state=5),
    "pursuit, typical": lambda: PrivateSparseRegressor(
        sparsity=3, estimand="typical", epsilon=9.0, random_state=6, **STANDARDIZED
    ),
    "yes or no": lambda: YesNoPursuit(sparsity=3, epsilon=9.0, random_state=7, **STANDARDIZED),
    "yes or no, units unknown": lambda: YesNoPursuit(sparsity=3, epsilon=10.0, random_state=8),
    "DP-IHT-H": lambda: DPIHTH(sparsity=3, random_state=3),
    "DP-IHT-L": lambda: DPIHTL(sparsity=3, random_state=3),
    "DP-SLR": lambda: DPSLR(sparsity=3, random_state=3),
}


def table(dtype):
    X, y, _ = make_heavy_tailed(N, D, 3, df=2.5, random_state=4)
    X[np.abs(X) < 0.4] = 0
    return X.astype(dtype), y


ONE_BLOCK = {"least_records": 2**15, "least_query_records": 2**15, "block_bytes": 2**30}


@pytest.fixture(autouse=True)
def small_blocks(configure):
    """Many blocks, of sizes that divide nothing evenly."""
    configure(least_records=333, least_query_records=333, block_bytes=5_000, disk_block_bytes=7_001)


@cache
def expected(name, dtype):
    """Coefficients of the plainest fit there is: NumPy, one thread, one block."""
    X, y = table(dtype)
    with configured(compiled=False, **ONE_BLOCK), threads(1):
        return MODELS[name]().fit(X, y).coef_


def same(name, dtype, X):
    actual, coef = MODELS[name]().fit(X, table(dtype)[1]).coef_, expected(name, dtype)
    assert actual.dtype == coef.dtype
    assert actual.tobytes() == coef.tobytes()
    assert np.count_nonzero(actual) >= 3


STORES = {"C order": np.ascontiguousarray, "Fortran order": np.asfortranarray, "CSR": sparse.csr_matrix}


@pytest.mark.parametrize(
    ("name", "dtype", "kernels", "store", "count"),
    one_in(3, [*MODELS], DTYPES, ["numba", "NumPy"], [*STORES], [1, 2, 4]),
)
def test_arrays_and_threads(name, dtype, kernels, store, count):
    with configured(compiled=kernels == "numba"), threads(count):
        same(name, dtype, STORES[store](table(dtype)[0]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.bool_])
@pytest.mark.parametrize("name", ["pursuit", "pursuit, units unknown", "DP-IHT-H"])
def test_integers_are_floats(name, dtype):
    X = (10 * np.abs(table(np.float64)[0])).astype(np.int8).astype(dtype)
    y = table(np.float64)[1]
    actual, expected = (MODELS[name]().fit(each, y) for each in (X, X.astype(np.float64)))
    assert actual.coef_.tobytes() == expected.coef_.tobytes()
    np.testing.assert_allclose(actual.predict(X), expected.predict(X.astype(np.float64)))


def npy(X, folder, order):
    np.save(folder / "x.npy", np.asarray(X, order=order))
    return folder / "x.npy"


def parquet(X, folder, files):
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    (folder / "p").mkdir()
    for k, part in enumerate(np.array_split(np.arange(N), files)):
        frame.iloc[part].to_parquet(folder / "p" / f"{k:02}.parquet", row_group_size=250)
    return folder / "p" if files > 1 else folder / "p" / "00.parquet"


def zarr_array(X, folder, chunks):
    array = zarr.create_array(folder / "z.zarr", shape=X.shape, chunks=chunks, dtype=X.dtype)
    array[:] = X
    return array


ON_DISK = {
    "memory map": lambda X, folder: np.load(npy(X, folder, "C"), mmap_mode="r"),
    "Fortran .npy": lambda X, folder: OnDisk(npy(X, folder, "F")),
    "some columns of a .npy": lambda X, folder: OnDisk(npy(np.hstack([X[:, :5] * 2, X]), folder, "C")).drop(*range(5)),
    "scattered columns of a .npy": lambda X, folder: OnDisk(npy(np.insert(X, 9, 3.0, axis=1), folder, "C")).drop(9),
    "Parquet": lambda X, folder: OnDisk(parquet(X, folder, 1)),
    "a folder of Parquet files": lambda X, folder: OnDisk(str(parquet(X, folder, 3))),
    "Zarr": lambda X, folder: zarr_array(X, folder, (100, 10)),
    "a Zarr path": lambda X, folder: OnDisk((zarr_array(X, folder, (2_000, 50)), folder / "z.zarr")[1]),
}


@pytest.mark.parametrize(
    ("name", "dtype", "storage", "kept"),
    one_in(6, [*MODELS], DTYPES, [*ON_DISK], ["everything", "something", "nothing"]),
)
def test_files(name, dtype, storage, kept, tmp_path, configure):
    share = {"everything": 0.5, "something": N * D / 2 / available_bytes(), "nothing": 0.0}[kept]
    configure(disk_memory_share=share)
    same(name, dtype, ON_DISK[storage](table(dtype)[0], tmp_path))


@pytest.mark.parametrize("units", [{}, STANDARDIZED], ids=["units unknown", "units known"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaps_and_missing_responses(units, dtype, tmp_path):
    X, y = table(dtype)
    rng = np.random.default_rng(0)
    # Gaps of the second feature go with large responses, so that its indicator is selected.
    X[rng.random(X.shape) < 0.2], X[5, 2] = np.nan, np.inf
    y[np.isnan(X[:, 1])] += 9.0
    y[rng.random(N) < 0.1] = np.nan

    def fitted(values):
        options = {"sparsity": 4, "epsilon": 9.0, "random_state": 5, "missing": "center"}
        model = PrivateSparseRegressor(**options, **units).fit(values, y)
        return np.concatenate([model.coef_, model.missing_coef_, [model.intercept_]])

    with configured(compiled=False, **ONE_BLOCK), threads(1):
        expected = fitted(X)
    assert expected[D + 1] > 0
    np.save(tmp_path / "x.npy", X)
    stores = {
        "C order": X,
        "Fortran order": np.asfortranarray(X),
        "CSR": sparse.csr_matrix(X),
        "data frame": pd.DataFrame(X, columns=[f"x{j}" for j in range(D)]),
        "disk": OnDisk(tmp_path / "x.npy"),
        "dask": da.from_array(X, chunks=(400, 10)),
    }
    for name, values in stores.items():
        assert fitted(values).tobytes() == expected.tobytes(), name

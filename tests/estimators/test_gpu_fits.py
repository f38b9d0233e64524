"""Whole fits on a GPU have the bits of the CPU."""

import gc

import numpy as np
import pytest

from dpsparse import (
    DPIHTH,
    DPIHTL,
    DPSLR,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    PrivateSparseTwoPartRegressor,
    Streamed,
)
from dpsparse.data.public_units import STANDARDIZED

try:
    import torch

    HAS_GPU = torch.cuda.is_available()
except ImportError:
    HAS_GPU = False

pytestmark = [pytest.mark.cuda, pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA GPU and dpsparse[cuda]")]

N, D = 20_000, 5_000
CENTER, SCALE = np.linspace(-0.5, 0.5, D), np.linspace(0.5, 2.0, D)
MODELS = {
    "pursuit": PrivateSparseRegressor(random_state=0, **STANDARDIZED),
    "pursuit, public numbers": PrivateSparseRegressor(random_state=1, feature_center=CENTER, feature_scale=SCALE),
    "pursuit, units unknown": PrivateSparseRegressor(random_state=2),
    "pursuit, typical": PrivateSparseRegressor(random_state=5, estimand="typical", **STANDARDIZED),
    "pursuit, centers unknown": PrivateSparseRegressor(random_state=3, feature_scale=SCALE),
    "pursuit, typical, units unknown": PrivateSparseRegressor(random_state=6, estimand="typical"),
    "DPIHTH": DPIHTH(random_state=0),
    "DPIHTL": DPIHTL(random_state=0),
    "DPSLR": DPSLR(random_state=0),
}


@pytest.fixture(scope="module", params=["float32", "float64", "bfloat16", "int8"])
def table(request):
    """Features on the card in some dtype, the same values as floats on the host, and responses."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = torch.randn((N, D), device="cuda", generator=generator, dtype=torch.float64)
    X = (4 * X).round().clip(-128, 127) if request.param == "int8" else X
    X = X.to(getattr(torch, request.param))
    same = (X if X.dtype == torch.float64 else X.float()).cpu().numpy()
    noise = np.random.default_rng(0).standard_t(2, N)
    return X, same, same[:, :5].astype(np.float64) @ np.array([2.0, -1.5, 1.0, 1.0, 0.5]) + noise


@pytest.mark.parametrize("units", [STANDARDIZED, {}], ids=["units known", "units unknown"])
def test_yes_or_no_has_the_bits_of_the_cpu(table, units):
    """Wherever the labels are, too."""
    X, same, y = table
    model = PrivateSparseClassifier(sparsity=4, epsilon=4.0, random_state=0, **units)
    expected = model.fit(same, y > 0).coef_.copy()
    assert np.count_nonzero(expected) > 0
    for stored, labels in (
        (X, y > 0),
        (X.T.contiguous().T, torch.tensor(y > 0, device="cuda")),
        (X, torch.tensor(np.where(y > 0, 1, 0), device="cuda")),
    ):
        np.testing.assert_array_equal(model.fit(stored, labels).coef_, expected)
    if X.dtype != torch.bfloat16:
        np.testing.assert_array_equal(model.fit(Streamed(X.cpu().numpy()), y > 0).coef_, expected)


@pytest.mark.parametrize("units", [STANDARDIZED, {}], ids=["units known", "units unknown"])
def test_two_parts_have_the_bits_of_the_cpu(table, units):
    X, same, y = table
    model = PrivateSparseTwoPartRegressor(sparsity=3, epsilon=4.0, random_state=0, **units)
    expected = model.fit(same, y).coef_.copy()
    assert np.count_nonzero(expected) > 0
    np.testing.assert_array_equal(model.fit(X, y).coef_, expected)


@pytest.mark.parametrize("name", MODELS)
def test_coefficients_have_the_bits_of_the_cpu(table, name):
    X, same, y = table
    model = MODELS[name]
    expected = model.fit(same, y).coef_.copy()
    assert np.count_nonzero(expected) > 0
    if name.startswith("pursuit"):
        assert "mean score" in {release.name for release in model.privacy_.releases}
    for stored in (X, X.T.contiguous().T):
        np.testing.assert_array_equal(model.fit(stored, y).coef_, expected)
    np.testing.assert_allclose(model.predict(X), model.predict(same), rtol=1e-4, atol=1e-4)
    if X.dtype != torch.bfloat16:
        np.testing.assert_array_equal(model.fit(Streamed(X.cpu().numpy()), y).coef_, expected)


def test_splits_of_all_features_have_the_bits_of_the_cpu(table):
    X, same, y = (each[:, :400] if each.ndim == 2 else each for each in table)
    model = PrivateSparseRegressor(random_state=4, epsilon=2.0)
    expected = model.fit(same, y)
    assert any(release.name == "splits" for release in expected.privacy_.releases)
    coef = expected.coef_.copy()
    assert np.count_nonzero(coef) > 0
    for stored in (X, X.T.contiguous().T):
        np.testing.assert_array_equal(model.fit(stored, y).coef_, coef)
    if X.dtype != torch.bfloat16:
        np.testing.assert_array_equal(model.fit(Streamed(X.cpu().numpy()), y).coef_, coef)


def test_cupy_arrays_and_responses_on_the_card(table):
    cupy = pytest.importorskip("cupy", reason="needs CuPy")
    X, same, y = table
    if X.dtype == torch.bfloat16:
        pytest.skip("CuPy has no bfloat16")
    model = MODELS["pursuit"]
    expected = model.fit(same, y).coef_.copy()
    actual = model.fit(cupy.from_dlpack(X), torch.tensor(y, device="cuda")).coef_
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(model.fit(X, cupy.asarray(y)).coef_, expected)


@pytest.mark.parametrize("name", ["pursuit", "pursuit, units unknown"])
def test_a_memmap_larger_than_its_buffers(tmp_path, configure, name):
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(N, D))
    X[:] = np.random.default_rng(1).standard_normal((N, D), dtype=np.float32)
    X.flush()
    y = X[:, :3].sum(axis=1) + np.random.default_rng(2).standard_t(2, N)
    model = MODELS[name]
    expected = model.fit(np.asarray(X), y).coef_.copy()
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for room in (0, 3 * 10**7, 10**10):
        configure(cuda_buffer_bytes=2**24, cuda_free_bytes=room + 4 * 2**24)
        np.testing.assert_array_equal(model.fit(Streamed(mapped), y).coef_, expected)


@pytest.mark.parametrize("name", ["pursuit", "pursuit, units unknown"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_no_more_than_two_gigabytes_beside_the_features(name, dtype):
    X = torch.empty((50_000, 50_000), device="cuda", dtype=getattr(torch, dtype))
    X.random_(-9, 10) if dtype == "int8" else X.normal_()
    y = np.random.default_rng(0).standard_t(2, len(X))
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    MODELS[name].fit(X, y)
    assert torch.cuda.max_memory_allocated() - before <= 2e9


def test_what_is_not_finite_raises_a_constant_text(table):
    X, _, y = table
    if X.dtype == torch.int8:
        pytest.skip("int8 has no NaN")
    for bad in (float("nan"), float("inf")):
        broken = X.clone()
        broken[N - 1, D - 1] = bad
        for model in MODELS.values():
            with pytest.raises(ValueError, match=r"^Input contains NaN or infinity; the data must be finite"):
                model.fit(broken, y)


@pytest.mark.filterwarnings("ignore:With n=")  # that so few records show large effects alone
@pytest.mark.parametrize("name", MODELS)
def test_nothing_stays_on_the_card(name):
    """Neither X nor levels wait for a collection, after a fit, after one that failed, or after a prediction."""

    def work(X):
        y = X[:, 0].double().cpu().numpy()
        model = MODELS[name].fit(X, y)
        model.predict(X)
        X[3, 4] = float("inf")
        try:
            model.fit(X, y)
        except ValueError:
            return
        raise AssertionError("infinity was accepted")

    gc.collect()
    gc.disable()
    try:
        before = torch.cuda.memory_allocated()
        work(torch.randn((2_000, D), device="cuda"))
        assert torch.cuda.memory_allocated() - before < 2_000 * D
    finally:
        gc.enable()

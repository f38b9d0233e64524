"""Gaps and blank records on a GPU have the bits of the CPU."""

import os
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the GPU engine needs torch: pip install 'dpsparse[cuda]'")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="the GPU engine needs triton: pip install 'dpsparse[cuda]'")

from dpsparse import PrivateSparseRegressor, Streamed  # noqa: E402
from dpsparse.data.as_table import as_table  # noqa: E402
from dpsparse.engine import queries, scores  # noqa: E402
from dpsparse.engine.config import Config  # noqa: E402
from dpsparse.engine.cpu.dense_rows import DenseRows  # noqa: E402
from dpsparse.engine.cuda import cuda_kernels  # noqa: E402
from dpsparse.engine.cuda.cuda_features import CardFeatures  # noqa: E402
from dpsparse.engine.cuda.cuda_rows import CudaRows  # noqa: E402
from dpsparse.engine.quantize import Quantizer  # noqa: E402
from dpsparse.engine.refusals import NOT_FINITE  # noqa: E402

# Triton's interpreter computes with NumPy, which warns where a card is silent.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

N, D = 61, 5
FAMILIES = (
    Quantizer(1.2, np.linspace(-0.4, 0.3, D), np.linspace(0.7, 1.9, D)),
    Quantizer(1e-30),
    Quantizer(1.0, of_gaps=True),
    Quantizer(1.3, np.linspace(0.1, 0.6, D), np.linspace(0.7, 1.9, D), of_gaps=True),
)
POINTS = np.array([-np.inf, -2.0, 0.0, 0.25, 1.0, np.inf])


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles so small that a table has several."""
    if DEVICE == "cpu":
        for name in ("SUMS", "LEVEL_SUMS", "LEVELS"):
            shapes = {key: cuda_kernels.Shape(*((32, 4) if key[0] else (4, 16)), 8, 4, 2) for key in cuda_kernels.SUMS}
            monkeypatch.setattr(cuda_kernels, name, shapes)


def table(seed=0):
    """Features with gaps of every sort, and responses of which some are missing."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_t(2, (N, D)), rng.standard_t(2, N)
    for value, share in ((np.nan, 0.15), (np.inf, 0.05), (-np.inf, 0.05)):
        X[rng.random(X.shape) < share] = value
    y[rng.random(N) < 0.2] = np.nan
    X[4, 1] = X[4 + N // 2, 1] = np.inf
    return X, y


def results(rows, constant):
    """Every query, with features and indicators as columns."""
    session = rows.session(FAMILIES, constant=constant, check_finite=False)
    for feature in (1, D + 1, 3, D + 4):
        session.add(feature)
        session.rescale(0.25, 1.5)
    k = 4 + constant
    effects = np.linspace(-0.7, 0.9, k)
    equation = (0.2, effects, 0.8, np.arange(k), 1.1, 2.3)
    score = scores.Terms("score", np.eye(k) + np.linspace(-0.3, 0.4, k * k).reshape(k, k), range(k), 0.2, effects)
    one = scores.Terms("score", np.eye(1), (0,), 0.2, effects)
    asked = [
        (queries.residual_counts, 0.2, effects, POINTS),
        (queries.residual_counts, 0.2, effects, np.arange(4.0), True),
        *((queries.column_counts, j, POINTS) for j in range(k)),
        (queries.slope_counts, effects, k - 2, POINTS),
        (queries.spread_sums, k - 2, 0.7, 6.0),
        (queries.mean_sums, k - 2, 0.3, 0.7, 2.5),
        (queries.gain_sums, 0.2, effects, 4.0, 0.5),
        (queries.calibration_sums, 0.2, effects, -0.3, 1.5, 2.0),
        (queries.median_line_sums, 0.2, effects, -0.3, 1.5, 0.9),
        (queries.product_sums, range(k), 1.3),
        (queries.gradient_sums, *equation),
        (queries.gram_sums, *equation[3:]),
        (queries.jacobian_sums, *equation),
        (queries.variance_sums, *equation),
        (scores.norm_counts, score, POINTS),
        (scores.clipped_sums, score, 1.1, np.inf, 0.0),
        (scores.clipped_sums, score, np.float64(2.3), np.float64(1.15), np.float64(0.7)),
        (scores.score_counts, one, POINTS),
        (scores.ranged_sums, one, (0.4, np.inf, 0.0), (np.float64(2.3), np.float64(1.15), np.float64(0.7)), 1.8),
        (scores.second_moment_sums, replace(score, factor="slope", tau=np.float64(0.8)), 2.3),
    ]
    found = [session.evaluate(*query) for query in asked]
    found += [session.scores(0.2, effects, 2.0, level) for level in (0.0, 0.3)]
    return [np.asarray(part) for each in found for part in (each if isinstance(each, tuple) else (each,))]


def assert_same(rows, same, constant=True):
    for k, (one, other) in enumerate(zip(results(rows, constant), results(same, constant), strict=True)):
        np.testing.assert_array_equal(one, other, err_msg=str(k))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("room", [0, 10**6])
def test_on_a_card(dtype, order, room, configure):
    configure(cuda_memory_bytes=room + N * Config().cuda_record_bytes)
    X, y = table()
    X = torch.tensor(X).to(dtype)
    on_card = X.to(DEVICE)
    rows = CudaRows(CardFeatures(on_card if order == "C" else on_card.T.contiguous().T), y)
    same = DenseRows((X if dtype == torch.float64 else X.float()).numpy(), y)
    assert_same(rows, same)
    assert_same(rows.differences(), same.differences(), False)
    counts = same.evaluate(queries.feature_counts, POINTS)
    np.testing.assert_array_equal(rows.evaluate(queries.feature_counts, POINTS), counts)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("room", [0, 700])
def test_streamed(dtype, room, configure):
    configure(cuda_buffer_bytes=900, cuda_free_bytes=room + 4 * 900)
    X, y = table(1)
    X = X.astype(dtype)
    rows, same = as_table(Streamed(X, DEVICE)).rows(y), DenseRows(X, y)
    assert_same(rows, same)
    assert_same(rows.differences(), same.differences(), False)
    counts = same.evaluate(queries.feature_counts, POINTS)
    np.testing.assert_array_equal(rows.evaluate(queries.feature_counts, POINTS), counts)


def test_bytes_have_no_gaps():
    X, y = torch.randint(-128, 128, (N, D), generator=torch.manual_seed(0)).to(torch.int8), table()[1]
    rows, same = CudaRows(CardFeatures(X.to(DEVICE)), y), DenseRows(X.float().numpy(), y)
    assert_same(rows, same)
    assert_same(rows.differences(), same.differences(), False)


def test_the_residuals_of_rows():
    X, y = table(2)
    coef = np.linspace(-1, 1, 2 * D)
    rows, same = CudaRows(CardFeatures(torch.tensor(X, device=DEVICE)), y), DenseRows(X, y)
    for quantizer in (Quantizer(np.inf), Quantizer(1.5, 0.3, 2.0)):
        np.testing.assert_array_equal(
            rows.residuals(coef, range(2 * D), quantizer), same.residuals(coef, range(2 * D), quantizer)
        )


@pytest.mark.parametrize("families", [(), FAMILIES[:1], FAMILIES[2:]])
def test_they_are_refused_unless_accepted(families):
    X, y = table()
    with pytest.raises(ValueError, match=NOT_FINITE):
        CudaRows(CardFeatures(torch.tensor(X, device=DEVICE)), y).session(families)


def test_a_fit_has_the_bits_of_the_cpu():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    y = 2 * X[:, 0] - X[:, 3] + rng.standard_t(3, 300)
    X[rng.random(X.shape) < 0.15] = np.nan
    y[np.isnan(X[:, 1])] += 4
    y[rng.random(300) < 0.1] = np.nan
    fits = []
    for values in (X, Streamed(X, DEVICE)):
        model = PrivateSparseRegressor(sparsity=3, epsilon=9.0, random_state=0, missing="center").fit(values, y)
        fits.append(np.concatenate([model.coef_, model.missing_coef_, [model.intercept_]]))
        fits.append(model.predict(values))
    np.testing.assert_array_equal(fits[0], fits[2])
    np.testing.assert_allclose(fits[1], fits[3], rtol=1e-5)

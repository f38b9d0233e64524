"""Queries on a GPU: on a card where there is one, otherwise through Triton's interpreter on the CPU."""

import gc
import os

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the GPU engine needs torch: pip install 'dpsparse[cuda]'")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="the GPU engine needs triton: pip install 'dpsparse[cuda]'")

from dpsparse import Streamed  # noqa: E402
from dpsparse.data.as_table import as_table  # noqa: E402
from dpsparse.engine import queries, scores  # noqa: E402
from dpsparse.engine.config import Config  # noqa: E402
from dpsparse.engine.cuda import cuda_counts  # noqa: E402
from dpsparse.engine.cuda.cuda_features import CardFeatures  # noqa: E402
from dpsparse.engine.cuda.cuda_rows import CudaRows  # noqa: E402
from dpsparse.engine.cuda.cuda_terms import Terms  # noqa: E402
from dpsparse.engine.quantize import Quantizer  # noqa: E402

# Triton's interpreter computes with NumPy, which warns where a card is silent.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RNG = np.random.default_rng(0)
EFFECTS = np.array([0.7, -1.1, 1e-9, 0.3, 5.0, 4.0, 1e-200])
EQUATIONS = [
    (0.4, EFFECTS, 0.8, np.arange(5), 2.3, 2.9),
    (0.4, EFFECTS, 1e6, np.array([0, 3, 5]), 1.1, 1e3),
    (0.4, 0 * EFFECTS, 1.3, np.arange(1, 5), 3.7, 4.1),
    (0.4, 0 * EFFECTS, 0.7, [0], 1.0, 1.0),
]
TWO_SIDED = np.sort(np.concatenate([np.linspace(-3, 3, 50), [0.0, 0.0, 1e300, np.inf]]))
WITH_KERNELS = [
    (queries.residual_counts, 0.4, EFFECTS, np.linspace(-3, 3, 50)),
    (queries.residual_counts, 0.4, 0 * EFFECTS, np.arange(1.0, 9.0), True),
    *((queries.column_counts, position, TWO_SIDED) for position in (0, 2, 3, 5, 6)),
    (queries.column_counts, 3, TWO_SIDED, True),
    *((queries.slope_counts, effects, 4, TWO_SIDED) for effects in (EFFECTS, 0 * EFFECTS)),
    *((queries.pick_sums, 0.4, effects, bound) for effects in (EFFECTS, 0 * EFFECTS) for bound in (0.5, 1e3)),
    (queries.product_sums, range(1, 5), 3.1),
    (queries.product_sums, range(7), 1e3),
    (queries.gram_sums, np.arange(1, 5), 2.0, 4.1),
    (queries.gram_sums, np.array([0, 2, 6]), 1.0, 1e3),
    *((query, *public) for query in (queries.gradient_sums, queries.jacobian_sums) for public in EQUATIONS),
    *((queries.variance_sums, *public) for public in EQUATIONS),
    *((queries.spread_sums, position, 0.7, 3.3) for position in (1, 3, 6)),
    *((queries.mean_sums, position, np.float64(0.3), np.float64(1.7), 4.3) for position in (0, 3, 4)),
    *((queries.gain_sums, 0.4, effects, np.float64(3.1), np.float64(0.2)) for effects in (EFFECTS, 0.1 * EFFECTS)),
    (queries.calibration_sums, 0.4, EFFECTS, -0.3, 1.5, np.float64(3.1)),
    (queries.median_line_sums, 0.4, EFFECTS, -0.3, 1.5, np.float64(0.9)),
]


def share_at_most(records, position, most):
    """A query that no engine knows."""
    return np.array([int((records.columns[position].units <= most).sum()), len(records.y)])


MATRIX = np.array([[1.0, 0.2, -0.3], [0.1, 1.2, 0.0], [-0.4, 0.0, 0.9]])
SCORES = [
    scores.Terms("score", MATRIX, (0, 2, 3), 0.4, EFFECTS),
    scores.Terms("score", 1e-3 * MATRIX, (1, 4, 6), np.float64(0.4), 0.1 * EFFECTS, np.float64(1.3)),
    scores.Terms("slope", MATRIX, (0, 2, 3), 0.4, EFFECTS, np.float64(2.5)),
    scores.Terms("score", np.eye(1), (0,), 0.4, EFFECTS),
    scores.Terms("score", MATRIX, (0, 2, 3), 0.4, EFFECTS, long_rows=scores.LongRows(MATRIX.T, np.float64(1.1))),
]
NORMS = np.append(np.geomspace(0.01, 1e6, 60), np.inf)
WITHOUT_KERNELS = [
    (share_at_most, 3, 0.2),
    *((scores.norm_counts, terms, NORMS) for terms in SCORES),
    *((scores.clipped_sums, terms, np.float64(2.3), np.inf, 0.0) for terms in SCORES),
    *((scores.clipped_sums, terms, np.float64(2.3), np.float64(1.15), np.float64(0.7)) for terms in SCORES),
    *((scores.second_moment_sums, terms, np.float64(3.1)) for terms in SCORES),
    (scores.score_counts, SCORES[3], np.append(-NORMS[-2::-1], NORMS)),
    (scores.ranged_sums, SCORES[3], (np.float64(0.4), np.inf, 0.0), (np.float64(2.3), np.float64(1.15), 0.7), 1.8),
]


def session_of(rows, quantizer, d):
    """A session with the constant and d features, in other units."""
    session = rows.session((quantizer,), constant=True)
    for feature in range(d):
        session.add(feature)
        session.rescale(*quantizer.center_and_scale(feature))
    return session


@pytest.mark.parametrize("asked", WITH_KERNELS + WITHOUT_KERNELS, ids=lambda asked: asked[0].__name__)
def test_queries_have_the_bits_of_the_cpu(asked, monkeypatch):
    query, *public = asked
    X = np.column_stack([RNG.standard_t(1, size=1_500) * 10.0**k for k in (-150, -3, 0, 0, 1, 200)])
    X[::9, 2], X[::11, 4], X[::22, 3] = 0.0, 1e308, -1e308  # residuals that are infinite, and NaN
    y, quantizer = RNG.standard_t(1, size=len(X)), Quantizer(1.5, 0.3, 2.0)
    on_cpu = session_of(as_table(X).rows(y), quantizer, X.shape[1])
    on_card = session_of(CudaRows(CardFeatures(torch.tensor(X, device=DEVICE)), y), quantizer, X.shape[1])
    if query not in {each for each, *_ in WITHOUT_KERNELS}:
        monkeypatch.setattr(Terms, "_records", None)
    answers = [
        session.scores(*public) if query is queries.pick_sums else session.evaluate(query, *public)
        for session in (on_cpu, on_card)
    ]
    expected, actual = (answer if isinstance(answer, tuple) else (answer,) for answer in answers)
    assert len(expected) == len(actual)
    for one, other in zip(expected, actual, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.any(one)


@pytest.mark.parametrize("asked", WITH_KERNELS + WITHOUT_KERNELS[1:], ids=lambda asked: asked[0].__name__)
def test_the_own_code_serves_tensors(asked):
    query, *public = asked
    if query is queries.pick_sums:
        pytest.skip("its features are quantized elsewhere")
    y = RNG.standard_t(1, size=700)
    columns = RNG.standard_t(1, size=(7, 700)) * 10.0 ** np.array([0, -3, 0, 0, 1, 150, 200])[:, None]
    expected = query(queries.Records(y, None, tuple(map(queries.Column.of, columns))), *public)
    terms = Terms(torch.tensor(y, device=DEVICE))
    for column in columns:
        terms.add(torch.tensor(column, device=DEVICE))
    actual = query(terms._records(), *public)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (expected, actual)), strict=True):
        np.testing.assert_array_equal(one, other)


POINTS = np.sort(np.concatenate([[0.0, 0.0, -np.inf, np.inf], RNG.standard_t(2, size=203), [1.0, 2.0, 1e38]]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int8], ids=str)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("n_thresholds", [1, 210, 530])
def test_counts_of_features_are_those_of_the_cpu(dtype, order, n_thresholds, monkeypatch):
    if DEVICE == "cpu":
        monkeypatch.setattr(cuda_counts, "_SHAPE", (32, 4))
    n, d = (301, 7) if DEVICE == "cpu" else (20_003, 71)
    X = RNG.standard_t(1, size=(n, d))
    X[RNG.random(X.shape) < 0.1] = 0.0
    # float32's nearest numbers to some points, on either side of them.
    X[: len(POINTS), 3] = POINTS
    if dtype == torch.int8:
        X = torch.tensor(np.rint(np.clip(X, -128, 127))).to(dtype)
    else:
        X[7, 1], X[8, 1], X[9, 2] = np.nan, np.inf, -np.inf
        X = torch.tensor(X).to(dtype)
    same, y = (X if X.dtype == torch.float64 else X.float()).numpy(), RNG.normal(size=n)
    thresholds = np.sort(np.concatenate([POINTS, RNG.normal(size=320)]))[:: 530 // n_thresholds][:n_thresholds]
    expected = as_table(same).rows(y).evaluate(queries.feature_counts, thresholds)
    on_card = X.to(DEVICE)
    rows = CudaRows(CardFeatures(on_card if order == "C" else on_card.T.contiguous().T), y)
    actual = rows.evaluate(queries.feature_counts, thresholds)
    assert actual.dtype == np.int64
    np.testing.assert_array_equal(actual, expected)
    assert np.any(expected) or n_thresholds == 1


@pytest.mark.parametrize("order", "CF")
def test_counts_of_streamed_features_and_parts_are_those_of_the_cpu(order, configure):
    configure(cuda_buffer_bytes=2_000, cuda_free_bytes=0)
    X, y = np.asarray(RNG.normal(size=(101, 11)), dtype=np.float32, order=order), RNG.normal(size=101)
    thresholds = np.linspace(-2, 2, 9)
    rows, on_cpu = as_table(Streamed(X, DEVICE)).rows(y), as_table(X).rows(y)
    np.testing.assert_array_equal(
        rows.evaluate(queries.feature_counts, thresholds), on_cpu.evaluate(queries.feature_counts, thresholds)
    )
    np.testing.assert_array_equal(
        rows.part(1, 3).evaluate(queries.feature_counts, thresholds),
        on_cpu.part(1, 3).evaluate(queries.feature_counts, thresholds),
    )


@pytest.mark.parametrize("families", [1, 2])
@pytest.mark.parametrize("room", [0, 500, 1_100, 2_500, 10_000])
def test_levels_of_records_and_pairs_share_the_memory(families, room, configure):
    n, d = 100, 16
    configure(cuda_memory_bytes=room + n * Config().cuda_record_bytes, cuda_buffer_bytes=1_600)
    features = CardFeatures(torch.tensor(RNG.normal(size=(n, d)), device=DEVICE))
    rows = CudaRows(features, RNG.normal(size=n))
    assert features.room == room
    session = rows.session((Quantizer(1.0),) * families)
    kept = session._quantized.bytes_kept
    # Levels take all room there is, up to a row, and no more.
    assert min(families * n * d, room) - families * d < kept <= room
    pairs = rows.differences().session((Quantizer(1.0),), check_finite=False)
    assert kept + pairs._quantized.bytes_kept <= room
    assert sum(levels.numel() for _, some in pairs._quantized._kept for levels in some) == pairs._quantized.bytes_kept
    assert pairs._quantized.bytes_kept == n * d // 2 or features.room < 2 * d
    del session, pairs
    gc.collect()
    assert features.room == room

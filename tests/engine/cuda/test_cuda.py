"""The GPU engine's arithmetic: on a card where there is one, otherwise through Triton's interpreter on the CPU."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the GPU engine needs torch: pip install 'dpsparse[cuda]'")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="the GPU engine needs triton: pip install 'dpsparse[cuda]'")

import dpsparse  # noqa: E402
from dpsparse import DPIHTL, PrivateSparseRegressor, Streamed  # noqa: E402
from dpsparse.data.as_table import as_table  # noqa: E402
from dpsparse.data.public_units import STANDARDIZED  # noqa: E402
from dpsparse.engine import arrays, queries  # noqa: E402
from dpsparse.engine.config import Config  # noqa: E402
from dpsparse.engine.cuda import cuda_kernels  # noqa: E402
from dpsparse.engine.cuda.cuda_features import CardFeatures  # noqa: E402
from dpsparse.engine.cuda.cuda_rows import CudaRows  # noqa: E402
from dpsparse.engine.quantize import WEIGHT_LEVELS, Quantizer, weight_levels  # noqa: E402
from dpsparse.engine.refusals import NOT_FINITE  # noqa: E402

# Triton's interpreter computes with NumPy, which warns where a card is silent.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RNG = np.random.default_rng(0)
N, D = 100, 21
QUANTIZERS = {
    "plain": Quantizer(2.5),
    "vectors": Quantizer(0.7, RNG.normal(size=D), RNG.uniform(0.5, 3, size=D)),
    "numbers": Quantizer(1.5, 0.3, 2.0),
    "tiny": Quantizer(1.0, 0.0, 1e-39),
    "infinite rate": Quantizer(1.0, 0.0, 1e-60),
    "zero rate": Quantizer(1.0, 0.0, 1e60),
    "infinite center": Quantizer(1.0, 1e60, 1.0),
}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch, configure):
    """Tiles so small that a table has many, and programs of several tiles; levels in rows of 16 bytes."""
    configure(cuda_long_row=1)
    if DEVICE == "cpu":
        for name in ("SUMS", "LEVEL_SUMS", "LEVELS"):
            shapes = {key: cuda_kernels.Shape(*((32, 4) if key[0] else (4, 16)), 8, 4, 2) for key in cuda_kernels.SUMS}
            monkeypatch.setattr(cuda_kernels, name, shapes)


def features(dtype, quantizer=None, n=N):
    """Heavy tails, huge and tiny values, and, for a quantizer, values at its rounding ties."""
    X = RNG.standard_t(1, size=(n, D))
    X[RNG.random(X.shape) < 0.05] = 1e38
    X[RNG.random(X.shape) < 0.05] = 1e-40
    X[RNG.random(X.shape) < 0.05] = -0.0
    if quantizer is not None:
        ties = (RNG.integers(-130, 130, X.shape) + 0.5) * quantizer.step * quantizer.scale + quantizer.center
        X = np.where((RNG.random(X.shape) < 0.4) & (np.abs(ties) < 1e38), ties, X)
    if dtype == torch.bfloat16 and DEVICE == "cpu":
        X[np.abs(X) < 1e-37] = 0.0  # Triton's interpreter misreads its smallest numbers; a card does not
    if dtype == torch.int8:
        return torch.tensor(np.clip(np.rint(X), -128, 127)).to(torch.int8)
    return torch.tensor(np.clip(X, -3e38, 3e38)).to(dtype)


def as_numpy(X):
    """The same values for the CPU engine; bfloat16 and int8 as float32."""
    return (X if X.dtype == torch.float64 else X.float()).numpy()


def card_rows(X, y, order="C", **options):
    on_card = X.to(DEVICE)
    return CudaRows(CardFeatures(on_card if order == "C" else on_card.T.contiguous().T), y, **options)


def room_for(levels):
    """The configuration that leaves this many bytes for levels."""
    return {"cuda_memory_bytes": levels + N * Config().cuda_record_bytes}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int8], ids=str)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("quantizer", QUANTIZERS.values(), ids=QUANTIZERS)
def test_sums_have_the_bits_of_the_cpu(dtype, order, quantizer, configure):
    configure(**room_for(900))
    X, y = features(dtype, quantizer), RNG.normal(size=N)
    weights = weight_levels(y, 1.0)
    expected = as_table(as_numpy(X)).rows(y).weighted_sums(quantizer, weights)
    quantized = card_rows(X, y, order).quantized((quantizer,))
    np.testing.assert_array_equal(quantized.weighted_sums(weights)[0], expected)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("room", [0, 1, 900, 10**6])
def test_neither_what_is_kept_nor_parts_change_a_bit(order, room, configure):
    configure(**room_for(room))
    quantizer = QUANTIZERS["vectors"]
    X, y = features(torch.float32, quantizer), RNG.normal(size=N)
    weights = weight_levels(y, 1.0)
    rows, on_cpu = card_rows(X, y, order), as_table(as_numpy(X)).rows(y)
    np.testing.assert_array_equal(
        rows.quantized((quantizer,)).weighted_sums(weights)[0], on_cpu.weighted_sums(quantizer, weights)
    )
    part, same = rows.part(1, 3), on_cpu.part(1, 3)
    np.testing.assert_array_equal(
        part.weighted_sums(quantizer, weights[1::3]), same.weighted_sums(quantizer, weights[1::3])
    )
    np.testing.assert_array_equal(arrays.host(part.column(5)), same.column(5))
    coef = np.arange(D) / 3
    residuals = part.residuals(coef, [7, 2], quantizer)
    np.testing.assert_array_equal(residuals, same.residuals(coef, [7, 2], quantizer))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("room", [0, 900, 10**6])
def test_streamed_sums_have_the_bits_of_the_cpu(dtype, order, room, configure):
    configure(cuda_buffer_bytes=2_000, cuda_free_bytes=room + 4 * 2_000)
    quantizer = QUANTIZERS["vectors"]
    X, y = np.asarray(RNG.normal(size=(N, D)) * 3, dtype=dtype, order=order), RNG.normal(size=N)
    X.flags.writeable = False
    weights = weight_levels(y, 1.0)
    rows = as_table(Streamed(X, DEVICE)).rows(y)
    on_cpu = as_table(X.astype(np.float32) if dtype == np.int8 else X).rows(y)
    quantized = rows.quantized((quantizer,))
    for _ in range(2):
        np.testing.assert_array_equal(quantized.weighted_sums(weights)[0], on_cpu.weighted_sums(quantizer, weights))
    sums = rows.part(2, 5).weighted_sums(quantizer, weights[2::5])
    np.testing.assert_array_equal(sums, on_cpu.part(2, 5).weighted_sums(quantizer, weights[2::5]))


@pytest.mark.parametrize("order", "CF")
def test_every_byte_has_its_level(order):
    d = 200 if DEVICE == "cpu" else 100_000
    scale = np.concatenate([RNG.uniform(0.1, 50, d - 6), [20, 40, 50, 100, 127, 254]])
    center = np.concatenate([RNG.normal(size=d - 6), [0, 0, 0.5, 3, 0, 0]])
    X = torch.arange(-128, 128).to(torch.int8)[:, None].expand(256, d).contiguous()
    quantizer, weights = Quantizer(0.4, center, scale), weight_levels(RNG.normal(size=256), 1.0)
    quantized = card_rows(X, np.zeros(256), order).quantized((quantizer,))
    # The last two have many ties.
    odd = quantized._publics[0].of_bytes.odd.tolist()
    assert set(odd) >= {d - 2, d - 1}
    assert len(odd) < 10 + d / 1_000
    expected = as_table(as_numpy(X)).rows(np.zeros(256)).weighted_sums(quantizer, weights)
    np.testing.assert_array_equal(quantized.weighted_sums(weights)[0], expected)


@pytest.mark.parametrize("scale", [127.0, np.array([1.0, 1e-9]), np.array([127.0, 254.0])], ids=str)
def test_bytes_are_read_as_floats_where_most_are_odd_or_scales_far_apart(scale):
    X = torch.arange(-128, 128).to(torch.int8)[:, None].expand(256, 2).contiguous()
    quantizer, weights = Quantizer(0.4, 0.0, scale), weight_levels(RNG.normal(size=256), 1.0)
    quantized = card_rows(X, np.zeros(256)).quantized((quantizer,))
    assert quantized._publics[0].of_bytes is None
    expected = as_table(as_numpy(X)).rows(np.zeros(256)).weighted_sums(quantizer, weights)
    np.testing.assert_array_equal(quantized.weighted_sums(weights)[0], expected)


def test_the_largest_terms_do_not_overflow():
    n = 1_000
    weights = np.full(n, float(WEIGHT_LEVELS))
    for order in "CF":
        rows = card_rows(torch.full((n, 3), 1e9), weights, order)
        assert rows.quantized((Quantizer(1.0),)).weighted_sums(weights).tolist() == [[n * 127 * 65536] * 3]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("room", [0, 900, 10**6])
def test_what_is_not_finite_is_found_before_any_sum(bad, dtype, room, configure):
    configure(**room_for(room))
    for order in "CF":
        X = torch.tensor(RNG.normal(size=(N, D))).to(dtype)
        X[RNG.integers(N), RNG.integers(D)] = bad
        rows = card_rows(X, np.zeros(N), order)
        with pytest.raises(ValueError, match=NOT_FINITE):
            rows.quantized((Quantizer(1.0),))
        levels = card_rows(X, np.zeros(N), order, check_before_release=False).quantized((Quantizer(1.0),))
        with pytest.raises(ValueError, match=NOT_FINITE):
            levels.weighted_sums(np.ones(N))
        with pytest.raises(ValueError, match=NOT_FINITE):
            rows.part(0, 2)


FAMILIES = (Quantizer(1e-30), Quantizer(1e-30, center=1e-30), QUANTIZERS["vectors"])


def assert_same_sessions(on_card, on_cpu, **options):
    """Scores of several families, and queries on a column that is rescaled."""
    assert (on_card.n_records, on_card.n_features) == (on_cpu.n_records, on_cpu.n_features)
    answers = []
    for rows in (on_card, on_cpu):
        session = rows.session(FAMILIES, **options)
        scores = [session.scores(0.1, [], 2.0), session.scores(0.1, [], 0.5)]
        session.add(D - 1)
        raw = session.evaluate(queries.residual_counts, 0.1, [0.3], np.linspace(-3, 3, 50))
        session.rescale(0.2, 0.7)
        units = session.evaluate(queries.residual_counts, 0.1, [0.3], np.linspace(-3, 3, 50))
        answers.append([*scores, raw, units, session.evaluate(queries.gram_sums, np.arange(1), 2.0, 3.0)])
    assert answers[0][0].shape == (len(FAMILIES), D)
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.any(one)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int8], ids=str)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("room", [0, 900, 10**6])
@pytest.mark.parametrize("n", [N, N - 1])
def test_differences_have_the_bits_of_the_cpu(dtype, order, room, n, configure):
    configure(**room_for(room))
    X, y = features(dtype, n=n), RNG.normal(size=n)
    rows, on_cpu = card_rows(X, y, order), as_table(as_numpy(X)).rows(y)
    assert_same_sessions(rows, on_cpu)
    assert_same_sessions(rows.differences(), on_cpu.differences(), check_finite=False)
    pairs, same = rows.differences().part(1, 3), on_cpu.differences().part(1, 3)
    weights = weight_levels(same.y, 1.0)
    np.testing.assert_array_equal(pairs.weighted_sums(FAMILIES[2], weights), same.weighted_sums(FAMILIES[2], weights))
    np.testing.assert_array_equal(arrays.host(pairs.column(5)), same.column(5))
    assert_same_sessions(rows.part(1, 2).differences(), on_cpu.part(1, 2).differences(), check_finite=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("room", [0, 3_000, 10**6])
def test_streamed_differences_have_the_bits_of_the_cpu(dtype, order, room, configure):
    configure(cuda_buffer_bytes=2_000, cuda_free_bytes=room + 4 * 2_000)
    X, y = np.asarray(RNG.normal(size=(N, D)) * 3, dtype=dtype, order=order), RNG.normal(size=N)
    X.flags.writeable = False
    rows = as_table(Streamed(X, DEVICE)).rows(y)
    on_cpu = as_table(X.astype(np.float32) if dtype == np.int8 else X).rows(y)
    assert_same_sessions(rows, on_cpu)
    assert_same_sessions(rows.differences(), on_cpu.differences(), check_finite=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("room", [0, 10**6])
def test_differences_are_not_checked(dtype, room, configure):
    configure(**room_for(room))
    X, y = features(dtype), RNG.normal(size=N)
    X[3, 1], X[3 + N // 2, 1], X[5, 2], X[7, 3] = np.inf, np.inf, np.nan, torch.finfo(dtype).max
    X[7 + N // 2, 3] = -torch.finfo(dtype).max
    pairs, same = card_rows(X, y).differences(), as_table(as_numpy(X)).rows(y).differences()
    assert_same_sessions(pairs, same, check_finite=False)


def test_without_quantizers_features_are_checked_all_the_same():
    X = features(torch.float32)
    card_rows(X, np.zeros(N)).session(())
    X[3, 1] = np.inf
    for before in (True, False):
        with pytest.raises(ValueError, match=NOT_FINITE):
            card_rows(X, np.zeros(N), check_before_release=before).session(())


@pytest.mark.filterwarnings("ignore:epsilon=100 is above 10")
@pytest.mark.parametrize(
    "model",
    [
        PrivateSparseRegressor(random_state=0, sparsity=3, **STANDARDIZED),
        # So large that every kind of release is made.
        PrivateSparseRegressor(random_state=0, sparsity=3, epsilon=100.0),
        PrivateSparseRegressor(random_state=0, sparsity=3, epsilon=100.0, feature_scale=1.0),
        DPIHTL(random_state=0),
    ],
)
def test_fits_and_predictions_agree(model):
    X = RNG.normal(size=(400, 20)).astype(np.float32)
    y = X[:, :3] @ [2.0, -1.0, 1.0] + RNG.standard_t(2, size=400)
    expected = model.fit(X, y).coef_
    here = Streamed(X, DEVICE)
    model.fit(here, y)
    assert model.coef_.dtype == np.float32
    assert model.n_features_in_ == 20
    np.testing.assert_array_equal(model.coef_, expected)
    np.testing.assert_allclose(model.predict(here), model.predict(X), rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match=r"X has 19 features, but .* is expecting 20"):
        model.predict(Streamed(X[:, 1:], DEVICE))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(here, y[1:])
    with pytest.raises(ValueError, match="2D array"):
        model.fit(Streamed(X[0], DEVICE), y)
    with pytest.raises(ValueError, match="use float32, float64, bfloat16 or int8"):
        model.fit(Streamed(X.astype(np.int64), DEVICE), y)
    bad = X.copy()
    bad[3, 4] = np.inf
    with pytest.raises(ValueError, match=NOT_FINITE):
        model.fit(Streamed(bad, DEVICE), y)


def test_with_a_ledger_what_is_not_finite_is_refunded(tmp_path):
    for name in ("opendp", "sqlalchemy"):
        pytest.importorskip(name, reason=f"a ledger needs {name}")
    ledger = dpsparse.PrivacyLedger(tmp_path / "budget.db")
    ledger.grant("trial", epsilon=1, delta=1e-6)
    model = PrivateSparseRegressor(sparsity=2, delta=1e-6, ledger=ledger, dataset="trial", **STANDARDIZED)
    X, y = RNG.normal(size=(300, 4)), RNG.normal(size=300)
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match=NOT_FINITE):
        model.fit(Streamed(X, DEVICE), y)
    assert [event.kind for event in ledger.history()][1:] == ["reserve", "refund"]
    model.fit(Streamed(np.nan_to_num(X), DEVICE), y)
    assert [event.kind for event in ledger.history()][-1] == "charge"

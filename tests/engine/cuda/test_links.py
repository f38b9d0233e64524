"""Yes/no responses on a GPU have the bits of the CPU: on a card, or through Triton's interpreter."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the GPU engine needs torch: pip install 'dpsparse[cuda]'")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="the GPU engine needs triton: pip install 'dpsparse[cuda]'")

from dpsparse.data.as_table import as_table  # noqa: E402
from dpsparse.engine import links, queries, scores, vector_sums  # noqa: E402
from dpsparse.engine.cuda.cuda_features import CardFeatures  # noqa: E402
from dpsparse.engine.cuda.cuda_rows import CudaRows  # noqa: E402
from dpsparse.engine.links import LOGIT  # noqa: E402
from dpsparse.engine.quantize import Quantizer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

CENTER, EFFECTS = -0.4, np.array([0.7, -1.1, 1e-9, 0.3, 5.0])
MATRIX = np.array([[1.0, 0.2, -0.3], [0.1, 1.2, 0.0], [-0.4, 0.0, 0.9]])
NORMS = np.append(np.geomspace(0.01, 1e6, 60), np.inf)
TERMS = [
    scores.Terms(factor, MATRIX, (0, 2, 3), np.float64(CENTER), EFFECTS, tau, row_bound)
    for factor in ("score", "slope", "row")
    for tau, row_bound in ((np.inf, np.inf), (0.5, np.float64(1.7)), (np.float64(0.8), np.inf))
]
ASKED = [
    (queries.residual_counts, CENTER, EFFECTS, np.array([-0.5, 0.0, np.inf])),
    (queries.gradient_sums, 0.0, 0 * EFFECTS, 0.5, [0], 1.0, 1.0),
    (queries.gradient_sums, CENTER, EFFECTS, 0.5, [0, 2, 4], 1.3, 2.1),
    *((scores.norm_counts, terms, NORMS) for terms in TERMS),
    *((scores.clipped_sums, terms, np.float64(2.3), np.inf, 0.0) for terms in TERMS),
    *((scores.second_moment_sums, terms, np.float64(1.1)) for terms in TERMS),
]


@pytest.fixture(autouse=True)
def nearest_roots(monkeypatch):
    """A card rounds roots to the nearest, and so does NumPy; torch on a CPU has MKL's, which are off by a last bit."""
    if DEVICE == "cpu":
        for module in (links, scores, vector_sums):
            monkeypatch.setattr(module, "square_root", _square_root)


def _square_root(values):
    return np.sqrt(values) if isinstance(values, np.ndarray) else torch.from_numpy(np.sqrt(values.numpy()))


def sessions(X, y, **options):
    quantizer = Quantizer(0.7, 0.1, 1.3)
    for rows in (as_table(X).rows(y.copy()), CudaRows(CardFeatures(torch.tensor(X, device=DEVICE)), y)):
        session = rows.session((quantizer,), constant=True, link=LOGIT, **options)
        for feature in range(X.shape[1]):
            session.add(feature)
            session.rescale(0.1, 1.3)
        yield session


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "with gaps"])
def test_sums_have_the_bits_of_the_cpu(missing):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_t(1, size=1_500) * 10.0**k for k in (-150, 0, 0, 1)])
    X[::11, 2] = 1e308
    y = (rng.random(1_500) < 0.3).astype(float)
    if missing:
        X[::7, 1], X[::13, 2], y[::17] = np.nan, np.inf, np.nan
    on_cpu, on_card = sessions(X, y, check_finite=not missing)
    for query, *public in ASKED:
        one, other = (session.evaluate(query, *public) for session in (on_cpu, on_card))
        for expected, actual in zip(
            *(each if isinstance(each, tuple) else (each,) for each in (one, other)), strict=True
        ):
            np.testing.assert_array_equal(expected, actual)
            assert np.any(expected)
    for level in (0.0, 0.3):
        one, other = (session.scores(CENTER, EFFECTS, 0.5, level) for session in (on_cpu, on_card))
        np.testing.assert_array_equal(one, other)


def test_a_card_has_the_whole_table_of_probabilities():
    """Every step of it, the halves between steps, and predictors beyond it."""
    x = np.concatenate([np.arange(-13, 13, 2.0**-11), [1e300, -1e300, np.inf, -np.inf, np.nan]])
    y = np.zeros_like(x)
    for bound in (0.5, np.inf):
        for ask in (LOGIT.residuals, LOGIT.slope_roots):
            on_card = ask(torch.tensor(y, device=DEVICE), 0.0, [torch.tensor(x, device=DEVICE)], [1.0], bound)
            np.testing.assert_array_equal(ask(y, 0.0, [x], [1.0], bound), on_card.cpu().numpy())

import numpy as np
import pytest
from scipy import sparse

from dpsparse.algorithms.iht.private_iht import _as_integers, private_iht
from dpsparse.algorithms.iht.theory import step_sizes, theory_parameters
from dpsparse.algorithms.losses import Absolute, Huber, Squared
from dpsparse.data.as_table import as_table
from dpsparse.datasets import make_heavy_tailed
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SeededSource, ZeroSource

LOSSES = [Huber(1.0), Absolute(), Squared(30.0)]
GUARANTEE = Guarantee(1.0, 1e-5)


def plain_iht(X, y, loss, steps, sparsity, clip, radius, clip_predictions, on_grid):
    """Iterative hard thresholding in floats; `on_grid` rounds features, weights and coefficients to the grid."""
    coef = np.zeros(X.shape[1])
    for t, step in enumerate(steps):
        part, response = X[t :: len(steps)], y[t :: len(steps)]
        clipped = np.clip(part, -clip, clip)
        psi = loss.psi(response - (clipped if clip_predictions else part) @ coef)
        features, start = clipped, coef
        if on_grid:
            unit = step * clip / 127 * loss.bound / 65536 / len(response)
            start = np.rint(coef / unit) * unit
            features = np.rint(clipped * 127 / clip) * clip / 127
            psi = np.rint(psi * 65536 / loss.bound) * loss.bound / 65536
        moved = start + step / len(response) * (features.T @ psi)
        kept = np.argsort(-np.abs(moved), kind="stable")[:sparsity]
        coef = np.zeros_like(coef)
        coef[kept] = moved[kept]
        norm = np.linalg.norm(coef)
        coef *= min(1.0, radius / norm) if radius is not None and norm > 0 else 1.0
    return coef


def run(X, y, loss, source, *, steps=(0.5,) * 6, radius=None, clip_predictions=True, sparsity=4):
    meter = Meter(GUARANTEE, len(y), source)
    result = private_iht(
        as_table(X).rows(y),
        meter,
        loss=loss,
        steps=list(steps),
        sparsity=sparsity,
        clip_bound=3.0,
        radius=radius,
        calibration="tight",
        clip_predictions=clip_predictions,
    )
    return result, meter.record()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("radius", [None, 1.2])
@pytest.mark.parametrize("clip_predictions", [True, False])
def test_without_noise_it_is_iterative_hard_thresholding(loss, radius, clip_predictions):
    X, y, _ = make_heavy_tailed(1_203, 40, 4, random_state=3)
    result, _ = run(X, y, loss, ZeroSource(), radius=radius, clip_predictions=clip_predictions)
    arguments = (X, y, loss, (0.5,) * 6, 4, 3.0, radius, clip_predictions)
    same_numbers = plain_iht(*arguments, on_grid=True)
    np.testing.assert_allclose(result.coef, same_numbers, atol=1e-12, rtol=0)
    # Features are off by at most half a level, 3/254, at random: a mean of 200 such errors, over 6 steps.
    np.testing.assert_allclose(result.coef, plain_iht(*arguments, on_grid=False), atol=0.02)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_it_finds_the_truth_where_noise_is_small(loss):
    X, y, coef = make_heavy_tailed(60_000, 30, 3, df=5, random_state=5)
    result, _ = run(X, y, loss, SeededSource(0), steps=(0.5,) * 9, sparsity=3)
    limit = 0.5 if isinstance(loss, Squared) else 0.3
    assert np.linalg.norm(result.coef - coef) < limit * np.linalg.norm(coef)


@pytest.mark.slow
@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_same_seed_same_bits_whatever_blocks_and_storage(make, configure):
    X, y, _ = make_heavy_tailed(700, 20, 3, random_state=7)
    X[X < 0.5] = 0
    expected, _ = run(X, y, Huber(1.0), SeededSource(9))
    for records in (1, 33, 2**20):
        configure(least_records=1, most_records=records, block_bytes=64 * records)
        result, _ = run(make(X), y, Huber(1.0), SeededSource(9))
        np.testing.assert_array_equal(result.coef, expected.coef)


def test_a_record_touches_only_its_own_part():
    # Row 2 of the table lies in part 2 of 6, and in no other.
    X, y, _ = make_heavy_tailed(60, 10, 2, random_state=0)
    other = X.copy()
    other[2] = 50.0
    tables = [as_table(x).rows(y) for x in (X, other)]
    for t in range(6):
        same = (tables[0].part(t, 6).X == tables[1].part(t, 6).X).all()
        assert same == (t != 2)


def test_the_record_holds_one_peeling_a_part():
    X, y, _ = make_heavy_tailed(300, 10, 2, random_state=0)
    _, record = run(X, y, Absolute(), SeededSource(0))
    assert [r.part for r in record.releases] == list(range(6))
    assert record.rho == record.releases[0].rho
    assert record.epsilon <= 1.0
    assert record.epsilon == pytest.approx(1.0, rel=1e-9)


def test_theory_parameters():
    light = theory_parameters(10_000, 1_000, 5, 1.0, 0.5, 1e-5)
    heavy = theory_parameters(10_000, 1_000, 5, 0.5, 0.5, 1e-5)
    assert light.n_iter == 9
    assert light.sparsity == 5
    assert light.clip_bound == pytest.approx(np.log(1000))
    # The balance of bias tau^-zeta and noise c tau gives tau^(1 + zeta) = 1 / c whatever zeta is.
    assert light.tau**2 == pytest.approx(heavy.tau**1.5)
    more = theory_parameters(40_000, 1_000, 5, 1.0, 0.5, 1e-5)
    assert more.tau > light.tau
    assert theory_parameters(10**4, 10, 1, 1.0, 1e9, 0.5).tau == pytest.approx((10**4 / np.log(10)) ** 0.5)
    with pytest.raises(ValueError, match="zeta=0"):
        theory_parameters(100, 10, 2, 0, 1.0, 1e-5)


def test_public_numbers_become_integers_whatever_they_are():
    # A NaN cast to an integer would wrap round in the sum and void the sensitivity.
    strange = np.array([np.nan, np.inf, -np.inf, 1e300, -2.4])
    assert _as_integers(strange).tolist() == [0, 2**61, -(2**61), 2**61, -2]


def test_two_phase_steps_decay_then_stay():
    steps = step_sizes((1.0, 0.5, 0.2), 5)
    assert steps == [1.0, 0.5, 0.25, 0.2, 0.2]
    assert step_sizes(0.3, 2) == [0.3, 0.3]


@pytest.mark.parametrize(("loss", "step"), [(Huber(1.0), 1e-320), (Huber(5e-324), 0.5), (Huber(1e10), 1e308)])
def test_steps_beyond_floating_point_are_refused(loss, step):
    X, y, _ = make_heavy_tailed(300, 10, 2, random_state=0)
    with pytest.raises(ValueError, match="too extreme together"):
        run(X, y, loss, ZeroSource(), steps=[step])

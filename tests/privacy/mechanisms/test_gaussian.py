import math
from fractions import Fraction

import numpy as np
import opendp.domains as domains
import opendp.measurements as measurements
import opendp.metrics as metrics
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opendp.mod import enable_features
from scipy import stats

from dpsparse.privacy.accounting.meter import BudgetExceeded, Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.gaussian import gaussian_scale, release_gram, release_vector
from dpsparse.privacy.noise import SecureSource, SeededSource, ZeroSource

GUARANTEE, ROOMY = Guarantee(1.0, 1e-6), Guarantee(1e6, 1e-6)


def meter(source=None, guarantee=GUARANTEE):
    return Meter(guarantee, 100, source or SeededSource(0))


@pytest.mark.parametrize("sensitivity", [1.0, 3.7, 1e7])
@pytest.mark.parametrize("rho", [1e-6, 0.01, 2.0])
def test_the_scale_costs_rho_by_opendp_too(sensitivity, rho):
    enable_features("contrib")
    mechanism = measurements.make_gaussian(
        domains.vector_domain(domains.atom_domain(T="i64")),
        metrics.l2_distance(T="f64"),
        gaussian_scale(sensitivity, rho),
    )
    assert mechanism.map(sensitivity) == pytest.approx(rho, rel=1e-12)
    assert (sensitivity / gaussian_scale(sensitivity, rho)) ** 2 / 2 <= rho


@given(st.floats(1e-3, 1e12), st.floats(1e-12, 1e3))
def test_scales_are_rounded_up(sensitivity, rho):
    """A price is the squared change by twice the squared scale; off the diagonal a change counts twice."""
    paid = meter(ZeroSource(), ROOMY)
    noisy = release_gram(paid, np.zeros((2, 2), int), sensitivity=sensitivity, rho=rho, name="g")
    diagonal, off = Fraction(noisy.scale[0, 0]), Fraction(noisy.scale[0, 1])
    price = Fraction(sensitivity) ** 2 / 2
    for spent in (price / diagonal**2, price / off**2 / 2):
        assert Fraction(rho) * (1 - Fraction(1, 10**14)) <= spent <= Fraction(rho)


def test_vectors_carry_gaussian_noise_of_the_stated_scale():
    noisy = release_vector(meter(SecureSource()), np.full(3_000, 77), sensitivity=10.0, rho=1e-3, name="v")
    z = (noisy.values - 77) / noisy.scale
    assert noisy.scale[0] == pytest.approx(10 / math.sqrt(2e-3))
    assert stats.kstest(z, stats.norm(scale=1).cdf).pvalue > 1e-10


def test_gram_noise_is_symmetric_with_less_off_the_diagonal():
    diagonal, off = [], []
    for seed in range(400):
        noisy = release_gram(meter(SeededSource(seed)), np.zeros((4, 4), int), sensitivity=9.0, rho=1e-3, name="g")
        assert (noisy.values == noisy.values.T).all()
        diagonal.extend(np.diagonal(noisy.values))
        off.extend(noisy.values[np.triu_indices(4, 1)])
    scale = gaussian_scale(9.0, 1e-3)
    assert np.std(diagonal) == pytest.approx(scale, rel=0.06)
    assert np.std(off) == pytest.approx(scale / math.sqrt(2), rel=0.06)
    assert noisy.scale[0, 0] == pytest.approx(scale)
    assert noisy.scale[0, 1] == pytest.approx(scale / math.sqrt(2))


def test_gram_without_noise_is_itself():
    gram = np.array([[5, -2, 1], [-2, 9, 0], [1, 0, 3]])
    noisy = release_gram(meter(ZeroSource()), gram, sensitivity=1.0, rho=1e-3, name="g")
    np.testing.assert_array_equal(noisy.values, gram)


@pytest.mark.parametrize(
    "release",
    [
        lambda m: release_vector(m, np.zeros(2, int), sensitivity=1.0, rho=1.0, name="v"),
        lambda m: release_gram(m, np.zeros((2, 2), int), sensitivity=1.0, rho=1.0, name="g"),
    ],
)
def test_unpaid_releases_are_refused_before_a_draw(release):
    class Bomb(ZeroSource):
        noiseless = False

        def gaussian(self, values, scale):
            raise AssertionError("drawn before it was paid for")

    poor = meter(Bomb())
    with pytest.raises(BudgetExceeded):
        release(poor)
    assert poor.record().releases == ()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_records_state_how_many_numbers_were_drawn(size):
    """Their slack is in proportion to it."""
    drawn = []

    class Counting(ZeroSource):
        def gaussian(self, values, scale):
            drawn.append(np.size(values))
            return super().gaussian(values, scale)

    used = meter(Counting())
    release_vector(used, np.zeros(size, int), sensitivity=1.0, rho=1e-4, name="v")
    (of_vector,) = used.record().releases
    assert of_vector.size == sum(drawn) == size
    assert of_vector.mechanism.words == (
        "Gaussian noise on a number" if size == 1 else f"Gaussian noise on {size} numbers"
    )
    release_gram(used, np.zeros((size, size), int), sensitivity=1.0, rho=1e-4, name="g")
    assert used.record().releases[1].size == sum(drawn) - size

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, NeighboringRelation
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.audit.oracles.exact_curve import exact_delta
from dpsparse.privacy.accounting import gdp
from dpsparse.privacy.accounting.compose import compose_gdp, largest_factor
from dpsparse.privacy.accounting.gdp import (
    CERTIFICATES,
    discreteness_slack,
    epsilon_from_mu,
    gaussian_curve,
    is_certified,
    largest_mu,
    tv_slack_fits,
)
from dpsparse.privacy.accounting.release import (
    MECHANISMS,
    ExponentialMechanism,
    GaussianMechanism,
    LaplacePeeling,
    PartitionSelection,
)
from dpsparse.privacy.guarantee import Guarantee

KINDS = (ExponentialMechanism, GaussianMechanism)
# Smallest constants that hold, from the curve at x = 0 and small e0: the first is pi / 2.
TRUE_CONSTANTS = {0.0: math.pi / 2, 0.5: 1.139, 1.0: 1.040, 2.0: 1.010}


def pick(epsilon0):
    return ExponentialMechanism(epsilon0**2 / 8)


def gaussian(mu):
    return GaussianMechanism(mu**2 / 2)


def real(epsilon, n=10_000, sparsity=5):
    return [slot.mechanism for slot in schedule_for(Guarantee(epsilon, 1e-5), n, 1_000, sparsity).slots()]


def random_sequence(seed):
    rng = np.random.default_rng(seed)
    size = 10 ** rng.uniform(-4, 0.5)
    gaussians = rng.choice([0.1, 0.5, 0.8])
    return [
        MECHANISMS["gaussian" if rng.random() < gaussians else "pick"](size * 10 ** rng.uniform(-2, 0))
        for _ in range(rng.integers(1, 12))
    ]


def equivalent_mu(epsilon, delta):
    """The mu with D_mu(epsilon) = delta."""
    low, high = 1e-6, 100.0
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_curve(middle, epsilon) <= delta else (low, middle)
    return low


def assert_bounded(sequence):
    mu = compose_gdp(sequence)
    epsilons = np.array([-2.0, -0.7, 0.0, 0.3, 1.0, 2.0, 3.0, 4.0, 4.7]) * mu
    deltas, errors = exact_delta(sequence, epsilons)
    bound = gaussian_curve(mu, epsilons)
    assert (errors <= 0.02 * bound).all()
    assert (deltas <= bound + errors).all(), (mu, deltas / bound - 1)


SEQUENCES = {
    "one Gaussian": [gaussian(0.4)],
    "one small pick": [pick(1e-3)],
    "one pick": [pick(0.3)],
    "one large pick": [pick(2.0)],
    "one huge pick": [pick(6.0)],
    "two picks": [pick(0.2), pick(0.2)],
    "growing picks": [pick(0.02 * 1.5**k) for k in range(8)],
    "shrinking picks": [pick(0.02 * 1.5**k) for k in range(8)][::-1],
    "many picks": [pick(0.05)] * 40,
    "pick after Gaussian": [gaussian(0.3), pick(0.3)],
    "Gaussian after pick": [pick(0.3), gaussian(0.3)],
    "pick, then little noise": [pick(0.3), gaussian(0.02)],
    "alternating": [pick(0.2), gaussian(0.05)] * 10,
    **{f"pick just at ratio {a}": [pick(0.4), gaussian(max(0.4 * a, 1e-6) * (1 + 1e-12))] for a, _ in CERTIFICATES},
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_no_sequence_loses_more_than_its_curve(name):
    assert_bounded(SEQUENCES[name])


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0])
def test_no_real_schedule_loses_more_than_its_curve(epsilon):
    assert_bounded(real(epsilon))


@pytest.mark.slow
def test_no_random_sequence_loses_more_than_its_curve():
    for seed in range(150):
        assert_bounded(random_sequence(seed))


def test_order_matters_and_is_accounted():
    last, first = [gaussian(0.3), pick(0.3)], [pick(0.3), gaussian(0.3)]
    epsilons = [0.0, 0.2, 0.5]
    assert (exact_delta(last, epsilons)[0] >= exact_delta(first, epsilons)[0]).all()
    assert compose_gdp(last) > compose_gdp(first)
    assert exact_delta(last, [0.0])[0] > gaussian_curve(compose_gdp(first), 0.0)


@pytest.mark.parametrize("ratio", TRUE_CONSTANTS)
def test_the_exact_curve_notices_constants_that_are_too_small(ratio):
    epsilon0 = 0.1
    sequence = [pick(epsilon0), gaussian(ratio * epsilon0)] if ratio else [pick(epsilon0)]
    (delta,), (error,) = exact_delta(sequence, [0.0], 400)
    for factor, holds in ((0.99, False), (1.01, True)):
        mu = epsilon0 * math.sqrt(ratio**2 + factor * TRUE_CONSTANTS[ratio] / 4)
        assert (delta + error <= gaussian_curve(mu, 0.0)) == holds
        assert (delta - error <= gaussian_curve(mu, 0.0)) == holds


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [10_000, 100_000])
def test_the_bound_is_near_for_real_schedules(epsilon, n):
    sequence = real(epsilon, n)
    (delta,), _ = exact_delta(sequence, [epsilon], 240)
    mu = compose_gdp(sequence)
    # A few hundredths of mu are many of delta, (epsilon / mu)^2 times as many.
    assert mu <= 1.06 * equivalent_mu(epsilon, delta)


def test_delta_is_near_where_picks_cost_little():
    sequence = real(0.1, 100_000)
    (delta,), _ = exact_delta(sequence, [0.1], 240)
    assert gaussian_curve(compose_gdp(sequence), 0.1) <= 1.25 * delta


@pytest.mark.slow
@pytest.mark.parametrize("mus", [[0.3], [0.1, 0.2, 0.2], [0.5] * 5, [2.0, 0.3]])
def test_gaussians_agree_with_dp_accounting(mus):
    accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    for mu in mus:
        accountant.compose(GaussianDpEvent(1 / mu))
    mu = compose_gdp([gaussian(m) for m in mus])
    for z in (0.0, 1.0, 2.5, 4.0):
        assert gaussian_curve(mu, z * mu) == pytest.approx(accountant.get_delta(z * mu), rel=1e-3)


@settings(deadline=None, max_examples=60)
@given(st.floats(1e-3, 2.0), st.sampled_from(CERTIFICATES))
def test_listed_constants_are_certified(epsilon0, ratio_and_constant):
    assert is_certified(epsilon0, *ratio_and_constant)


@settings(deadline=None, max_examples=60)
@given(st.floats(1e-3, 0.3), st.sampled_from(sorted(TRUE_CONSTANTS)), st.floats(0.5, 0.999))
def test_constants_below_the_true_one_fail(epsilon0, ratio, factor):
    assert not is_certified(epsilon0, ratio, factor * TRUE_CONSTANTS[ratio])


def test_certificates_fail_for_a_pick_taken_for_a_gaussian():
    assert not is_certified(0.1, 1.0, 1.0)
    assert not is_certified(0.1, 0.0, 1.4)
    assert not is_certified(1.0, 0.5, 1.05)
    assert not is_certified(1e-9, 0.0, 1.6)  # lost in rounding


@pytest.mark.parametrize(("ratio", "constant"), CERTIFICATES)
def test_listed_constants_are_near_the_tightest(ratio, constant):
    assert constant <= 1.02 * TRUE_CONSTANTS[ratio]
    assert not is_certified(0.1, ratio, 0.98 * constant)


def exact_curve_value(mu, x):
    mu, x = mpmath.mpf(mu), mpmath.mpf(x)

    def normal_cdf(z):
        return mpmath.erfc(-z / mpmath.sqrt(2)) / 2

    return normal_cdf(-x / mu + mu / 2) - mpmath.exp(x) * normal_cdf(-x / mu - mu / 2)


def test_the_curve_is_right_to_the_rounding_it_claims():
    rng = np.random.default_rng(0)
    with mpmath.workdps(60):
        for mu in np.geomspace(1e-4, 10, 60):
            # Certificates reach x = 17 mu.
            for x in (-1.0, 0.0, 17 * mu, *rng.uniform(-1, 8 * mu, 3), *rng.uniform(-min(1, 8 * mu), 8 * mu, 9)):
                true = exact_curve_value(mu, x)
                error = abs(mpmath.mpf(float(gaussian_curve(mu, x))) - true)
                assert error <= gdp._rounding(mu) * true


def test_the_curve_of_nothing():
    assert gaussian_curve(0.0, np.array([-1.0, 0.0, 1.0])) == pytest.approx([1 - math.exp(-1), 0, 0])
    assert compose_gdp([]) == 0
    assert epsilon_from_mu(0.0, 1e-6) == 0


@settings(deadline=None, max_examples=80)
@given(st.floats(0.01, 20), st.floats(-12, -1))
def test_mu_and_epsilon_are_inverse_and_on_the_safe_side(epsilon, log_delta):
    delta = 10**log_delta
    mu = largest_mu(epsilon, delta)
    assert epsilon_from_mu(mu, delta) == pytest.approx(epsilon, rel=1e-6)
    with mpmath.workdps(60):
        assert exact_curve_value(mu, epsilon) <= delta
        assert exact_curve_value(mu * (1 + 1e-7), epsilon) > delta
        assert exact_curve_value(mu, epsilon_from_mu(mu, delta)) <= delta


def test_a_mu_that_delta_covers_alone_has_epsilon_0():
    assert epsilon_from_mu(1e-7, 1e-6) == 0


@settings(deadline=None, max_examples=60)
@given(st.floats(0.05, 10), st.floats(-12, -2), st.integers(1, 5))
def test_spending_all_of_mu_never_reads_as_more_than_was_guaranteed(epsilon, log_delta, records):
    guarantee = Guarantee(epsilon, 10**log_delta, records_per_person=records)
    assert guarantee.epsilon_spent(math.inf, mu=guarantee.mu_per_record) <= epsilon


def total_variation(scale):
    """Between the discrete Gaussian and the continuous one rounded to integers."""
    k = np.arange(0, math.ceil(15 * scale))
    discrete = np.exp(-((k / scale) ** 2) / 2)
    discrete /= 2 * discrete.sum() - 1
    rounded = ndtr((0.5 - k) / scale) - ndtr((-0.5 - k) / scale)
    difference = np.abs(discrete - rounded)
    return (2 * difference.sum() - difference[0]) / 2


@pytest.mark.parametrize("scale", [4.0, 4.3, 5.5, 8.0, 13.7, 50.0, 200.0])
def test_discreteness_slack_covers_the_total_variation(scale):
    assert total_variation(scale) <= discreteness_slack(scale, 1) <= 3 * total_variation(scale)
    assert discreteness_slack(scale, 7) == pytest.approx(math.sqrt(7) * discreteness_slack(scale, 1))
    # As the record uses it: numbers of 1/sqrt 2 of the scale are covered by half of it.
    assert total_variation(2 * scale / math.sqrt(2)) <= discreteness_slack(scale, 1)


@pytest.mark.parametrize("scale", [4.0, 5.5, 13.7])
def test_the_divergence_behind_the_slack_is_below_its_bound(scale):
    """The slack is sqrt(KL / 2) of a KL divergence that adds over draws: half of the bound, about, is what it is."""
    k = np.arange(-math.ceil(8 * scale), math.ceil(8 * scale) + 1)
    discrete = np.exp(-((k / scale) ** 2) / 2)
    discrete /= discrete.sum()
    rounded = ndtr((0.5 - k) / scale) - ndtr((-0.5 - k) / scale)
    divergence = (discrete * np.log(discrete / rounded)).sum()
    assert 0.4 < divergence * 300 * scale**4 < 1
    assert math.sqrt(divergence / 2) <= discreteness_slack(scale, 1)


def test_discreteness_slack_of_coarse_noise_is_unbounded():
    assert discreteness_slack(3.99, 1) == math.inf


@pytest.mark.parametrize("sequence", [[gaussian(0.1)], [pick(0.1)], real(0.5), random_sequence(3), random_sequence(8)])
@pytest.mark.parametrize("room", [1.0, 1.1, 1.3])
def test_the_largest_factor_stays_within_mu_and_nearly_fills_it(sequence, room):
    mu = compose_gdp(sequence) * math.sqrt(room)
    factor = largest_factor(sequence, mu)
    assert factor == pytest.approx(room, rel=1e-6)
    assert factor == 1 or compose_gdp([replace(each, rho=factor * each.rho) for each in sequence]) <= mu


def test_no_room_leaves_prices_as_they_are():
    assert largest_factor([gaussian(0.5)], 0.4) == 1


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(st.lists(st.builds(lambda kind, rho: kind(rho), st.sampled_from(KINDS), st.floats(1e-5, 1e-2)), max_size=8))
def test_a_sequence_stopped_early_costs_no_more(sequence):
    mus = [compose_gdp(sequence[:length]) for length in range(len(sequence) + 1)]
    assert mus == sorted(mus)


@settings(deadline=None, max_examples=100)
@given(st.floats(0, 10), st.sampled_from(list(MECHANISMS.values())), st.floats(0, 1))
def test_no_step_lowers_the_cost_of_what_comes_later(later, kind, rho):
    """The premise of skipping a slot."""
    fails = {"failure_probability": 1e-9} if kind is PartitionSelection else {}
    assert kind(rho, **fails).mu_squared(later) >= later


def test_pure_releases_mix_with_gaussian_ones():
    """Randomised response is a post-processing of a Gaussian pair, before and after other Gaussians."""
    peeling, noise = LaplacePeeling(0.01, 0.2), gaussian(0.3)
    for sequence in ([peeling, noise], [noise, peeling]):
        assert compose_gdp(sequence) == pytest.approx(math.sqrt(math.pi * 0.01 + 0.09))


def test_a_pick_that_costs_nothing_is_accounted():
    assert compose_gdp([pick(0.0), gaussian(0.1)]) == pytest.approx(0.1)


@pytest.mark.parametrize("epsilon0", [15.0, 17.0, 30.0, 1e3])
def test_picks_too_large_to_certify_are_no_error(epsilon0):
    assert compose_gdp([pick(epsilon0), gaussian(3 * epsilon0)]) >= math.hypot(epsilon0 / 2, 3 * epsilon0)


def test_loose_guarantees_have_a_schedule():
    assert compose_gdp(real(500.0)) > 0


def test_a_slack_is_weighed_at_any_epsilon():
    # (1 + e) * slack <= a share of delta; beyond the range of e^epsilon only no slack fits.
    assert tv_slack_fits(0.0, 1e6, 1e-9)
    assert not tv_slack_fits(1e-30, 1e6, 1e-9)
    assert tv_slack_fits(gdp.TV_SLACK_SHARE * 1e-6 / (1 + math.e) * 0.999, 1.0, 1e-6)
    assert not tv_slack_fits(gdp.TV_SLACK_SHARE * 1e-6 / (1 + math.e) * 1.001, 1.0, 1e-6)

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpsparse.privacy.accounting.meter import BudgetExceeded, Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms import selection
from dpsparse.privacy.mechanisms.selection import (
    exponential_pick,
    exponential_picks,
    paper_peeling_scale,
    paper_scale_is_sound,
    peel,
    peeling_cost,
    pick_index,
    tight_peeling_scale,
)
from dpsparse.privacy.noise import SecureSource, SeededSource, ZeroSource

FALSE_ALARM = 1e-10
SCORES = np.array([0, 3, 5, 5, -40, 6, 1, 2], dtype=np.int64)


def softmax(scores, rate):
    weight = np.exp(rate * (scores - scores.max()))
    return weight / weight.sum()


def chi_square(picks, probability):
    return stats.chisquare(np.bincount(picks, minlength=len(probability)), probability * len(picks)).pvalue


@pytest.mark.parametrize("rate", [pytest.param(0.05, marks=pytest.mark.slow), 0.2])
@pytest.mark.parametrize("source", [SecureSource(), SeededSource(1)])
def test_picks_follow_the_closed_form(source, rate):
    picks = [pick_index(SCORES, rate, source) for _ in range(20_000)]
    assert chi_square(picks, softmax(SCORES, rate)) > FALSE_ALARM


@pytest.mark.slow
def test_picks_agree_with_opendp():
    rate = 0.2
    import opendp.domains as domains
    import opendp.measurements as measurements
    import opendp.metrics as metrics
    from opendp.measures import zero_concentrated_divergence
    from opendp.mod import enable_features

    enable_features("contrib")
    top = measurements.make_noisy_top_k(
        domains.vector_domain(domains.atom_domain(T=float, nan=False)),
        metrics.linf_distance(T=float),
        zero_concentrated_divergence(),
        k=1,
        scale=1 / rate,
    )
    theirs = np.bincount([top(SCORES.astype(float).tolist())[0] for _ in range(6_000)], minlength=len(SCORES))
    ours = np.bincount([pick_index(SCORES, rate, SecureSource()) for _ in range(6_000)], minlength=len(SCORES))
    seen = (theirs + ours) >= 10
    assert stats.chi2_contingency([theirs[seen], ours[seen]]).pvalue > FALSE_ALARM
    # A pick with epsilon0 = 2 rate costs epsilon0^2 / 8 by OpenDP's own map as well.
    assert top.map(1.0) == pytest.approx((2 * rate) ** 2 / 8, rel=1e-9)


class ScriptedBits:
    """A source whose uniform number is `first` in 64 bits, then ...0001 in every further draw."""

    noiseless = False

    def __init__(self, first):
        self.first = first
        self.calls = 0

    def bits(self, count):
        self.calls += 1
        return self.first if self.calls == 1 else 1


def test_float_and_decimal_picks_agree_away_from_edges():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.integers(-200, 200, size=30)
        drawn = int(rng.integers(2**63)) * 2
        source = ScriptedBits(drawn)
        quick = pick_index(scores, 0.03, source)
        assert source.calls == 1
        assert quick == selection._pick_in_decimals(scores.max() - scores, 0.03, ScriptedBits(0), drawn)


def test_a_draw_on_an_edge_is_settled_in_decimals():
    # Two equal scores: u = 1/2 is the edge to 64 bits; the bits that follow put it in the second cell.
    on_edge, below = ScriptedBits(2**63), ScriptedBits(2**63 - 1)
    assert pick_index(np.array([7, 7]), 1.0, on_edge) == 1
    assert on_edge.calls > 1
    assert pick_index(np.array([7, 7]), 1.0, below) == 0
    assert below.calls > 1


def test_far_scores_neither_overflow_nor_vanish_wrongly():
    scores = np.array([-(2**52), 2**52, 0])
    assert pick_index(scores, 1.0, SecureSource()) == 1
    assert pick_index(np.array([3]), 1e-300, SecureSource()) == 0


@pytest.mark.slow
def test_one_pick_of_a_million_is_exactly_distributed_over_groups():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 30, size=100_000)
    picks = [scores[pick_index(scores, 0.1, SeededSource(k))] for k in range(2_000)]
    by_score = np.array([softmax(scores, 0.1)[scores == s].sum() for s in range(30)])
    assert chi_square(picks, by_score) > 1e-4


@functools.cache
def guarantee_of(epsilon):
    return Guarantee(epsilon, 1e-6)


def meter(epsilon=1.0, source=None):
    return Meter(guarantee_of(epsilon), 1000, source or SeededSource(0))


def test_exponential_pick_charges_an_eighth_and_uses_that_rate():
    used = meter(source=SecureSource())
    rho = used.guarantee.rho_per_record / 20
    for _ in range(20):
        assert 0 <= exponential_pick(used, SCORES, sensitivity=3, rho=rho * (1 - 1e-12), name="pick") < len(SCORES)
    record = used.record()
    epsilon0 = 2 * record.releases[0].sensitivity / record.releases[0].scale
    assert epsilon0**2 / 8 <= rho
    assert epsilon0**2 / 8 == pytest.approx(rho, rel=1e-11)
    with pytest.raises(BudgetExceeded):
        exponential_pick(used, SCORES, sensitivity=3, rho=rho, name="one too many")


def exact_bounded_range(scores, moved, rate):
    shift = np.log(softmax(moved, rate)) - np.log(softmax(scores, rate))
    return shift.max() - shift.min()


def test_exponential_pick_is_bounded_range_with_equality():
    # Scores of sensitivity 1 moved against each other: the window is exactly epsilon0 = 2 rate.
    rate, base = 0.3, np.zeros(4)
    worst = max(
        exact_bounded_range(base, base + np.array(move), rate) for move in itertools.product((-1, 0, 1), repeat=4)
    )
    assert worst == pytest.approx(2 * rate)


def laplace_max_probabilities(scores, scale):
    """P(each index wins) with continuous Laplace noise, by quadrature."""
    grid = np.linspace(-60, 60, 240_001) * scale
    density = stats.laplace.pdf(grid[:, None] - scores, scale=scale)
    below = stats.laplace.cdf(grid[:, None] - scores, scale=scale)
    product = below.prod(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        integrand = np.nan_to_num(density * product / below)
    return integrand.sum(axis=0) * (grid[1] - grid[0])


def test_laplace_picks_are_not_bounded_range():
    # Four equal scores moved ++-- by a sensitivity of 0.05 scales: the window is 2.33 of it, more than the 2 of a
    # bounded-range pick: hence e^2/2, not e^2/8. Pure differential privacy with 2 holds.
    moved = 0.05 * np.array([1.0, 1.0, -1.0, -1.0])
    shift = np.log(laplace_max_probabilities(moved, 1.0) / laplace_max_probabilities(np.zeros(4), 1.0))
    assert (shift.max() - shift.min()) / 0.05 == pytest.approx(2.33, abs=0.01)
    assert np.abs(shift).max() <= 2 * 0.05


@pytest.mark.slow
def test_peeling_picks_have_the_law_of_report_noisy_max():
    scores = np.array([0, 20, -35, 10], dtype=np.int64)
    scale = 15.0
    source = SeededSource(2)
    picks = []
    for _ in range(6_000):
        roomy = meter(epsilon=100.0, source=source)
        peeled = peel(roomy, scores, sparsity=1, sensitivity=1, scale=scale, name="p", part=None)
        picks.append(peeled.support[0])
    assert chi_square(picks, laplace_max_probabilities(np.abs(scores).astype(float), scale)) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2.0**61, 2.0**64])
def test_saturated_scores_are_compared_as_if_they_were_not_cut(scale):
    # With ties for the first index it would be picked 3 times in 4 at the larger scale, and 5 times in 8 if only the
    # values cut below tied.
    picks = []
    for _ in range(1_500):
        secure, equal = meter(source=SecureSource()), np.zeros(2, dtype=np.int64)
        peeled = peel(secure, equal, sparsity=1, sensitivity=1, scale=scale, name="p", part=None)
        picks.append(peeled.support[0])
    assert chi_square(picks, np.full(2, 1 / 2)) > FALSE_ALARM


@pytest.mark.parametrize("scale_for", [tight_peeling_scale, paper_peeling_scale])
def test_scales_beyond_all_use_are_refused_before_anything_is_charged(scale_for):
    most = Guarantee(1e-10, 1e-6, records_per_person=10**6)
    with pytest.raises(ValueError, match="beyond 2\\*\\*64: raise epsilon"):
        scale_for(most, 1_000, 127 * 2**17)


def test_the_largest_scale_may_be_used():
    assert selection._checked_scale(2.0**64) == 2.0**64
    with pytest.raises(ValueError, match="beyond 2"):
        selection._checked_scale(math.nextafter(2.0**64, math.inf))


@pytest.mark.slow
def test_a_saturated_pick_has_the_law_of_the_unsaturated_one(monkeypatch):
    # The same cut at 40 instead of 2^62: noise of scale 30 is beyond it a quarter of the time.
    class Cut(SeededSource):
        def laplace(self, values, scale):
            return np.clip(super().laplace(values, scale), -40, 40)

    scores, scale, source = np.array([0, 20, -35, 10], dtype=np.int64), 30.0, Cut(5)
    cut = [np.argmax(source.laplace(np.abs(scores), scale)) for _ in range(8_000)]
    law = laplace_max_probabilities(np.abs(scores).astype(float), scale)
    assert chi_square(cut, law) < FALSE_ALARM
    monkeypatch.setattr(selection, "LARGEST", 40)
    picks = [
        peel(meter(100.0, source=source), scores, sparsity=1, sensitivity=1, scale=scale, name="p", part=None).support[
            0
        ]
        for _ in range(8_000)
    ]
    assert chi_square(picks, law) > 1e-4


@pytest.mark.slow
def test_peeling_values_carry_fresh_noise_of_the_same_scale():
    scale, values = 50.0, []
    for k in range(4_000):
        peeled = peel(
            meter(100.0, source=SeededSource(k)),
            np.array([10**6, 3, -(10**7)]),
            sparsity=2,
            sensitivity=1,
            scale=scale,
            name="p",
            part=None,
        )
        assert sorted(peeled.support) == [0, 2]
        values.append(peeled.values[np.argsort(peeled.support)] - [10**6, -(10**7)])
    assert stats.kstest(np.ravel(values), stats.laplace(scale=scale).cdf).pvalue > 1e-3


def test_peeling_without_noise_takes_the_largest_and_never_twice():
    vector = np.array([1, -9, 4, 9, 0], dtype=np.int64)
    used = meter(source=ZeroSource())
    peeled = peel(used, vector, sparsity=5, sensitivity=1, scale=1e3, name="p", part=None)
    assert peeled.support.tolist() == [1, 3, 2, 0, 4]
    assert peeled.values.tolist() == [-9, 9, 4, 1, 0]
    assert used.record().releases[0].size == len(peeled.support) + len(peeled.values)


@given(st.integers(1, 500), st.integers(1, 2**60), st.floats(1e-6, 1e30))
def test_a_peeling_costs_no_less_than_exact_arithmetic_says(sparsity, sensitivity, scale):
    ratio = Fraction(sensitivity) / Fraction(scale)
    for price, exact in zip(
        peeling_cost(sparsity, sensitivity, scale),
        (sparsity * ((2 * ratio) ** 2 + ratio**2) / 2, sparsity * (2 * ratio + ratio)),
        strict=True,
    ):
        assert math.nextafter(price, 0) < exact <= price


def test_tight_scale_spends_the_guarantee_and_beats_the_paper():
    for epsilon, sparsity in itertools.product((0.1, 0.5, 2.0, 20.0), (1, 5, 40)):
        guarantee = Guarantee(epsilon, 1e-5)
        scale = tight_peeling_scale(guarantee, sparsity, 2.0)
        rho, pure = peeling_cost(sparsity, 2.0, scale)
        assert guarantee.epsilon_spent(rho, pure) <= epsilon
        rho, pure = peeling_cost(sparsity, 2.0, scale * (1 - 1e-6))
        assert guarantee.epsilon_spent(rho, pure) > epsilon
        if paper_scale_is_sound(guarantee, sparsity):
            assert scale <= paper_peeling_scale(guarantee, sparsity, 2.0) * (1 + 1e-9)


def test_the_papers_scale_is_sound_where_the_notes_say():
    delta = math.exp(-10)
    paper = paper_peeling_scale(Guarantee(0.5, delta), 5, 1.0)
    assert paper == pytest.approx(2 * math.sqrt(3 * 5 * 10) / 0.5)
    for epsilon in (0.1, 1.0, 4.0, 50.0, 775.0):
        # s <= (4/3) log(1/delta): pure composition covers every epsilon.
        assert paper_scale_is_sound(Guarantee(epsilon, delta), 13)
    assert paper_scale_is_sound(Guarantee(4.0, delta), 200)
    assert not paper_scale_is_sound(Guarantee(775.0, delta), 200)


def test_paper_scale_serves_groups():
    guarantee = Guarantee(0.5, 1e-5, records_per_person=3)
    assert paper_scale_is_sound(guarantee, 5)
    assert paper_peeling_scale(guarantee, 5, 1.0) == 3 * paper_peeling_scale(Guarantee(0.5, 1e-5), 5, 1.0)


def test_peeling_is_charged_before_it_draws():
    class Bomb(ZeroSource):
        def laplace(self, values, scale):
            raise AssertionError("drawn before it was paid for")

    poor = meter(epsilon=0.01, source=Bomb())
    with pytest.raises(BudgetExceeded, match="raise epsilon"):
        peel(poor, np.arange(5), sparsity=2, sensitivity=100, scale=1.0, name="p", part=None)
    assert poor.record().releases == ()


@pytest.mark.parametrize("rate", [1e-12, 0.03, 1.0, 30.0])
def test_blocks_do_not_change_a_pick(rate, monkeypatch):
    scores = np.random.default_rng(4).integers(-100, 100, size=60)
    scores[20:40] -= 10_000  # blocks that weigh nothing
    whole = [pick_index(scores, rate, SeededSource(seed)) for seed in range(300)]
    for size in (1, 7, 20):
        monkeypatch.setattr(selection, "_BLOCK", size)
        assert [pick_index(scores, rate, SeededSource(seed)) for seed in range(300)] == whole


@pytest.mark.parametrize("excluded", [[0], [59, 3], [8, 7, 6, 5], list(range(1, 60))])
def test_a_pick_among_some_is_a_pick_of_a_table_without_the_others(excluded, monkeypatch):
    scores = np.random.default_rng(5).integers(-100, 100, size=60)
    scores[excluded[0]] = 10_000
    left = np.delete(np.arange(60), excluded)
    monkeypatch.setattr(selection, "_BLOCK", 7)
    sources = [ZeroSource(), *(SeededSource(seed) for seed in range(100))]
    same = [ZeroSource(), *(SeededSource(seed) for seed in range(100))]
    for one, other in zip(sources, same, strict=True):
        assert pick_index(scores, 0.03, one, excluded) == left[pick_index(scores[left], 0.03, other)]
    two = np.array([9, 7, 99, 7])
    assert pick_index(two, 1.0, ScriptedBits(2**63), [0, 2]) == 3  # on an edge, in decimals


@pytest.mark.slow
def test_several_picks_follow_the_closed_form_and_are_charged_once():
    scores, rho = np.array([[0, 40, 10], [25, 0, 0]]), 0.01
    rate = math.sqrt(8 * rho / 2) / (2 * 5)
    source, made = SeededSource(5), []
    for _ in range(10_000):
        used = Meter(Guarantee(1.0, 1e-6), 100, source)
        made.append(exponential_picks(used, scores, sensitivity=5, rho=rho, name="splits"))
    for row, picks in zip(scores, np.array(made).T, strict=True):
        assert chi_square(picks, softmax(row, rate)) > 1e-4
    (release,) = used.record().releases
    assert (release.rho, release.size, release.mechanism.count) == (rho, 2, 2)
    # Each pick moves log-odds within a window of 2 * 5 * rate.
    assert release.pure_epsilon == pytest.approx(2 * 2 * 5 * rate, rel=1e-9)


def test_several_picks_that_are_not_paid_for_are_refused_before_a_draw():
    poor = Meter(Guarantee(0.1, 1e-6), 100, SeededSource(0))
    with pytest.raises(BudgetExceeded):
        exponential_picks(poor, np.zeros((3, 4), dtype=int), sensitivity=1, rho=1.0, name="splits")
    assert poor.record().releases == ()

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpsparse import DPIHTH, NotPrivateWarning, PrivateSparseRegressor, plan
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.families.estimands import TYPICAL
from dpsparse.families.robust_linear import RobustLinear
from dpsparse.planning import peeling_limits
from dpsparse.planning.accuracy import mean_inflation
from dpsparse.privacy.guarantee import Guarantee


def test_more_privacy_costs_and_more_records_pay():
    base = plan(10_000, 1_000, 5, 0.5)
    for better in (plan(20_000, 1_000, 5, 0.5), plan(10_000, 1_000, 5, 1.0), plan(10_000, 1_000, 3, 0.5)):
        assert better.expected_error < base.expected_error
        assert better.smallest_effect < base.smallest_effect
        assert better.interval_width < base.interval_width
    assert plan(10_000, 1_000, 5, 0.5, correlation=0.8).expected_error > base.expected_error
    assert plan(10_000, 1_000, 5, 0.5, records_per_person=2).expected_error > base.expected_error


@pytest.mark.slow
@pytest.mark.parametrize("estimand", ["mean", "typical"])
@pytest.mark.parametrize("size", [(5_000, 20), (2_000, 1_000), (10_000, 1_000), (50_000, 300)])
def test_unknown_units_cost_and_are_the_default(size, estimand):
    unknown, known = (plan(*size, 5, 0.5, estimand=estimand, units_known=known) for known in (False, True))
    assert unknown == plan(*size, 5, 0.5, estimand=estimand)
    assert unknown.expected_error > known.expected_error
    assert unknown.smallest_effect > known.smallest_effect
    # The step to the estimand's estimator is the same. In the smallest table, where unknown units cost most, gradients
    # have at least a quarter of the budget, and effects that are estimated are narrower for it.
    assert unknown.interval_width >= known.interval_width or size == (2_000, 1_000)
    assert "unknown units" in str(unknown)
    assert ", known units" in str(known)


@pytest.mark.slow
def test_effects_on_a_mean_are_the_default_and_need_a_larger_table():
    small, typical = plan(1_000, 20, 5, 1.0), plan(1_000, 20, 5, 1.0, estimand="typical")
    assert small.estimand == "mean"
    assert (small.has_intervals, small.interval_width) == (False, math.inf)
    assert typical.has_intervals
    assert typical.caveat == ""
    n, epsilon = small.n_for_intervals, small.epsilon_for_intervals
    assert f"{n:,} records" in small.caveat
    assert f"epsilon {epsilon:.2g}" in small.caveat
    assert small.caveat in str(small).replace("Effects on a mean", "effects on a mean")
    for enough in (replace(small, n=n), replace(small, epsilon=epsilon)):
        assert enough.has_intervals
        assert enough.caveat == ""
    assert not replace(small, n=int(0.99 * n)).has_intervals
    assert not replace(small, epsilon=0.99 * epsilon).has_intervals
    # Where all features are taken, what has no interval is never significant.
    assert plan(1_000, 5, 5, 1.0).smallest_effect == math.inf
    assert plan(1_000, 5, 5, 1.0, estimand="typical").smallest_effect < math.inf


@pytest.mark.slow
def test_a_forecast_reaches_its_mean_where_a_fit_does():
    for n in (1_000, 3_000, 10_000):
        forecast, rng = plan(n, 20, 3, 1.0, 1e-6), np.random.default_rng(n)
        X = rng.standard_normal((n, 20))
        model = PrivateSparseRegressor(sparsity=3, epsilon=1.0, delta=1e-6, random_state=0)
        model.fit(X, X[:, :3].sum(axis=1) + rng.standard_normal(n))
        assert np.isfinite(model.conf_int()[model.support_]).all() == forecast.has_intervals


@pytest.mark.parametrize("n", [10_000, 100_000])
def test_a_mean_costs_more_than_what_is_typical(n):
    """Where noise is normal, so that its size is the same for both; its selection is the same in small tables."""
    mean, typical = plan(n, 100, 5, 1.0, typical_noise=1.0), plan(n, 100, 5, 1.0, estimand="typical")
    assert mean.expected_error > typical.expected_error
    assert mean.smallest_effect > typical.smallest_effect
    assert mean.interval_width > typical.interval_width


def test_a_split_of_every_feature_saves_most_of_the_cost_of_unknown_units():
    def cost(d):
        unknown, known = (plan(8_000, d, 5, 1.0, estimand="typical", units_known=known) for known in (False, True))
        return unknown.smallest_effect / known.smallest_effect

    public = {"units_known": "none", "family": RobustLinear(estimand=TYPICAL)}
    schedules = {d: schedule_for(Guarantee(1.0, 8_000**-1.1), 8_000, d, 5, **public) for d in (50, 5_000)}
    assert "splits" in [slot.name for slot in schedules[50].slots()]
    assert "splits" not in [slot.name for slot in schedules[5_000].slots()]
    assert cost(50) - 1 < (cost(5_000) - 1) / 2
    # Where all features are taken, nothing is selected by pairs.
    taken = [plan(5_000, 5, 5, 0.05, estimand="typical", units_known=known).smallest_effect for known in (False, True)]
    assert taken[0] / taken[1] < cost(5_000)


@pytest.mark.parametrize("estimand", ["mean", "typical"])
def test_more_records_never_hurt_where_splits_begin(estimand):
    # Where the step to the estimand's estimator begins, it takes its share from the selection.
    plans = [plan(n, 200, 5, 1.0, estimand=estimand) for n in range(3_500, 12_000, 250)]
    errors, effects = [at.expected_error for at in plans], [at.smallest_effect for at in plans]
    assert errors == sorted(errors, reverse=True)
    assert effects == sorted(effects, reverse=True)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("people", [1, 3])
def test_the_epsilon_for_an_effect_is_just_enough(known, people):
    base = plan(5_000, 200, 4, 1.0, 1e-6, units_known=known, records_per_person=people)
    for target in (0.2, 0.5, 2.0):
        epsilon = base.epsilon_for_effect(target)
        assert replace(base, epsilon=epsilon).smallest_effect <= target
        assert replace(base, epsilon=0.998 * epsilon).smallest_effect > target
    assert base.epsilon_for_effect(1e-6) == math.inf


def test_rare_features_take_larger_effects():
    forecast = plan(8_000, 100, 5, 1.0, noise_scale=3.0)
    for share in (0.5, 0.2, 0.1, 0.05):
        effect = forecast.effect_for_share(share)
        assert forecast.share_for_effect(effect) == pytest.approx(share)
        assert effect > 2 * forecast.smallest_effect
    # Below some share no effect suffices, and an effect below the smallest needs more than all.
    least = forecast.share_for_effect(math.inf)
    assert forecast.effect_for_share(0.99 * least) == math.inf
    assert forecast.effect_for_share(1.01 * least) < math.inf
    assert forecast.share_for_effect(forecast.smallest_effect) == math.inf


@pytest.mark.slow
def test_what_is_too_rare_is_missed_and_what_is_not_is_found():
    n, d, fits = 4_000, 100, 8
    forecast = plan(n, d, 2, 1.0, 1e-6, typical_noise=1.0)
    least, rng = forecast.share_for_effect(math.inf), np.random.default_rng(0)

    def found(share, effect):
        times = 0
        for seed in range(fits):
            X = rng.standard_normal((n, d))
            X[:, 0] = rng.random(n) < share
            y = effect * X[:, 0] + X[:, 1] + rng.standard_normal(n)
            estimator = PrivateSparseRegressor(sparsity=2, epsilon=1.0, delta=1e-6, random_state=seed)
            times += 0 in estimator.fit(X, y).support_
        return times

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        assert found(0.2, 1.5 * forecast.effect_for_share(0.2)) >= 7
        assert found(1.5 * least, 4.0) >= 7
        assert found(least / 5, 4.0) <= 3


def test_forecasts_are_in_the_units_of_the_noise():
    one, thousand = plan(5_000, 100, 4, 1.0), plan(5_000, 100, 4, 1.0, noise_scale=1_000.0)
    assert thousand.expected_error == pytest.approx(1_000 * one.expected_error)
    assert thousand.smallest_effect == pytest.approx(1_000 * one.smallest_effect)
    assert thousand.interval_width == pytest.approx(1_000 * one.interval_width)


def test_the_error_never_exceeds_that_of_missing_everything():
    assert plan(30, 10_000, 5, 0.1).expected_error <= math.sqrt(5)


@pytest.mark.parametrize("sparsity", [1, 5, 15])
def test_where_all_effects_are_lost_the_error_is_their_length(sparsity):
    # In unknown units a table of this size predicts a constant; in known ones the noise hides all effects.
    for lost in (plan(1_000, 50, sparsity, 0.2), plan(60, 5_000, sparsity, 0.2, units_known=True)):
        assert lost.expected_error == pytest.approx(stats.chi(sparsity).mean(), rel=1e-3)


@pytest.mark.parametrize("estimand", ["mean", "typical"])
@pytest.mark.parametrize("known", [True, False])
def test_where_all_features_are_taken_more_of_them_cost(known, estimand):
    taken = [plan(100_000, d, d, 1.0, estimand=estimand, units_known=known) for d in (2, 5, 10, 30, 60)]
    for name in ("expected_error", "smallest_effect", "interval_width"):
        values = [getattr(each, name) for each in taken]
        assert values == sorted(values)
    # Nothing is selected, so an effect must only be significant: more than 2.8 standard errors, for any number of them.
    assert all(each.smallest_effect > 2.8 * each.interval_width / (2 * 1.96) for each in taken)
    assert [each.minimum_detectable_effect for each in taken] == pytest.approx([each.smallest_effect for each in taken])


def test_a_minimum_detectable_effect_is_selected_and_significant():
    # Of 200 features z is 3.66, and 0.84 for 80 % power: 4.5 standard errors, more than this table takes to select it.
    large = plan(20_000, 200, 5, 1.0)
    assert large.minimum_detectable_effect == pytest.approx((3.6623 + 0.8416) * large.interval_width / (2 * 1.96), 1e-4)
    assert large.minimum_detectable_effect > large.smallest_effect
    # Among many features it is harder to select.
    small = plan(2_500, 5_000, 5, 0.5, estimand="typical")
    assert small.minimum_detectable_effect == small.smallest_effect
    assert plan(5_000, 200, 5, 0.1).minimum_detectable_effect == math.inf


def test_records_and_epsilon_for_a_target():
    base = plan(2_000, 1_000, 5, 0.5)
    n = base.n_for_error(0.05)
    assert plan(n, 1_000, 5, 0.5).expected_error <= 0.05 < plan(int(0.99 * n), 1_000, 5, 0.5).expected_error
    n = base.n_for_effect(0.1)
    assert plan(n, 1_000, 5, 0.5).smallest_effect <= 0.1
    epsilon = base.epsilon_for_effect(0.2)
    # Where splits begin, the effect jumps.
    assert plan(2_000, 1_000, 5, epsilon).smallest_effect <= 0.2 < plan(2_000, 1_000, 5, 0.99 * epsilon).smallest_effect
    known = replace(base, units_known=True)
    epsilon = known.epsilon_for_effect(0.2)
    assert replace(known, epsilon=epsilon).smallest_effect == pytest.approx(0.2, rel=0.01)
    assert base.epsilon_for_effect(1e-6) == math.inf


def test_the_heavier_the_tails_of_the_noise_the_more_a_selection_finds():
    # Of noise of the same standard deviation: its bulk is narrower, which a robust pursuit goes by.
    tails = [plan(3_000, 200, 5, 1.0, noise_scale=2.0, typical_noise=typical) for typical in (2.0, 1.5, 0.8)]
    for name in ("expected_error", "smallest_effect"):
        values = [getattr(each, name) for each in tails]
        assert values == sorted(values, reverse=True)
        assert values[0] > 1.3 * values[-1]
    assert tails[1].expected_error == plan(3_000, 200, 5, 1.0, noise_scale=2.0).expected_error
    # Intervals are of least squares: more of the scores is clipped, or hidden by noise.
    wide = [plan(20_000, 20, 5, 1.0, typical_noise=typical).interval_width for typical in (1.0, 0.75, 0.4)]
    assert wide == sorted(wide)
    assert "noise 2, typically 1.5" in str(tails[1])
    for estimand, typical in (("typical", 1.0), ("mean", 0.0), ("mean", math.inf)):
        with pytest.raises(ValueError, match="typical_noise="):
            plan(3_000, 200, 5, 1.0, estimand=estimand, typical_noise=typical)


def test_a_table_too_small_loses_all_at_once():
    """What is lost hides the rest: from next to none of the effects to most of them it takes 5 / 3 as many records."""
    small, large, double = (plan(n, 500, 15, 1.0, units_known=True, estimand="typical") for n in (600, 1_000, 2_000))
    assert small.expected_error > 0.8 * math.sqrt(15)
    assert large.expected_error < 0.3 * math.sqrt(15)
    assert small.expected_error / large.expected_error > double.expected_error / large.expected_error
    # Further on errors fall as those of one estimate do.
    assert large.expected_error / double.expected_error < 2**2


def test_correlated_neighbours_of_unknown_units_stand_in_for_small_effects_in_any_table():
    smallest = {r: plan(200_000, 100, 5, 1.0, correlation=r).smallest_effect for r in (0.0, 0.45, 0.6, 0.8)}
    assert smallest[0.45] < 1.5 * smallest[0.0] < 0.1 < smallest[0.6] < 0.5 < smallest[0.8] < 1.2
    for known, sparsity in ((True, 5), (False, 1)):
        apart, near = (plan(200_000, 100, sparsity, 1.0, units_known=known, correlation=r) for r in (0.0, 0.8))
        assert near.smallest_effect < 2 * apart.smallest_effect


def test_neighbours_inflate_a_variance_as_the_inverse_of_their_correlations_does():
    rng, correlation, d = np.random.default_rng(0), 0.6, 60
    whole = correlation ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    assert np.diag(np.linalg.inv(whole))[d // 2] == pytest.approx(mean_inflation(correlation, 1.0))
    draws = [rng.choice(d, 20, replace=False) for _ in range(400)]
    drawn = np.mean([np.diag(np.linalg.inv(whole[np.ix_(each, each)])).mean() for each in draws])
    assert drawn == pytest.approx(mean_inflation(correlation, 20 / d), rel=0.05)


@pytest.mark.slow
def test_table_and_plot():
    base = plan(10_000, 1_000, 5, 0.7)
    text = str(base)
    assert "0.7" in text
    assert len(base.table([0.5, 1.0]).splitlines()) == 4
    import matplotlib

    matplotlib.use("Agg")
    axes = base.plot()
    assert axes.get_xlabel() == "epsilon"
    assert len(axes.lines) == 3
    over_n = base.plot(over="n")
    errors, _, here = over_n.lines
    assert over_n.get_xlabel() == "records"
    assert here.get_xdata()[0] == base.n
    assert errors.get_ydata()[10] == base.expected_error
    with pytest.raises(ValueError, match="over='d' must be"):
        base.plot(over="d")


@pytest.mark.parametrize(
    ("arguments", "options", "name"),
    [
        ((0, 10, 2, 1.0), {}, "n=0"),
        ((10, 0, 2, 1.0), {}, "d=0"),
        ((10, 10, 0, 1.0), {}, "sparsity=0"),
        ((10, 10, 2, 1.0), {"estimand": "median"}, "estimand='median'"),
        ((10, 10, 2, 1.0), {"noise_scale": 0}, "noise_scale=0"),
        ((10, 10, 2, 1.0), {"correlation": 1.0}, "correlation=1.0"),
    ],
)
def test_bad_numbers_are_named(arguments, options, name):
    with pytest.raises(ValueError, match=name):
        plan(*arguments, **options)


def test_bad_guarantees_are_named():
    with pytest.raises(ValueError, match="epsilon=0"):
        assert plan(100, 10, 2, 0).expected_error


@pytest.mark.parametrize(("adjacency", "calibration"), [("replace-one", "tight"), ("zero-out-one", "paper")])
def test_peeling_limits_are_those_of_a_fit(adjacency, calibration):
    n, d, step = 60, 40, 0.5
    rng = np.random.default_rng(0)
    model = DPIHTH(
        sparsity=3, epsilon=0.5, step=step, adjacency=adjacency, calibration=calibration, random_state=0
    ).fit(rng.standard_normal((n, d)), rng.standard_normal(n))
    limits = peeling_limits(n, d, 3, 0.5, adjacency=adjacency, calibration=calibration)
    # A coordinate of the step is tau K step at most, 127 * 2^16 per record in integers; a part has n // T records.
    release = model.privacy_.releases[0]
    unit = limits.largest_signal / (127 * 2**16) / (n // model.n_iter_)
    assert limits.noise_scale == pytest.approx(release.scale * unit, rel=1e-9)


@pytest.mark.slow
def test_no_data_beat_the_bound_on_selection():
    # One feature at the largest signal in all records, all others at 0: the best case for it.
    n, d = 40, 60
    X, y = np.zeros((n, d)), np.full(n, 1e6)
    X[:, 7] = 1e6
    limits = peeling_limits(n, d, 2, 0.3)
    runs = 1500
    selected = sum(7 in DPIHTH(sparsity=2, epsilon=0.3, random_state=seed).fit(X, y).support_ for seed in range(runs))
    # Three standard errors: a false alarm in about one of 700 seeds, and the seeds are fixed.
    error = 3 * math.sqrt(limits.pick_probability / runs)
    assert limits.random_pick_probability + 0.01 < selected / runs < limits.pick_probability + error < 0.5


def test_rows_of_people_tell_less_the_more_alike_they_are():
    # All of them take the last step.
    one = plan(4_000, 40, 5, 1.0)
    alike = [plan(4_000, 40, 5, 1.0, rows_per_person=5, row_correlation=r) for r in (0.0, 0.3, 0.8, 1.0)]
    errors = [each.expected_error for each in alike]
    assert errors == sorted(errors)
    assert errors[0] < 0.6 * one.expected_error
    # Copies of a row tell what the row does.
    assert errors[-1] == pytest.approx(one.expected_error, rel=0.2)
    assert "people" in plan(200, 40, 5, 0.5, rows_per_person=2).caveat
    # As in a fit, ids leave nothing to a promise of at most so many.
    with pytest.raises(ValueError, match="leave it out where rows_per_person is given"):
        plan(200, 40, 5, 0.5, rows_per_person=2, records_per_person=3)

import math

import pytest

from dpsparse import plan


def test_more_privacy_costs_and_more_records_pay():
    base = plan(10_000, 1_000, 5, 0.5)
    for better in (plan(20_000, 1_000, 5, 0.5), plan(10_000, 1_000, 5, 1.0), plan(10_000, 1_000, 3, 0.5)):
        assert better.expected_error < base.expected_error
        assert better.smallest_effect < base.smallest_effect
        assert better.interval_width < base.interval_width
    assert plan(10_000, 1_000, 5, 0.5, correlation=0.8).expected_error > base.expected_error
    assert plan(10_000, 1_000, 5, 0.5, records_per_person=2).expected_error > base.expected_error


def test_forecasts_are_in_the_units_of_the_noise():
    one, thousand = plan(5_000, 100, 4, 1.0), plan(5_000, 100, 4, 1.0, noise_scale=1_000.0)
    assert thousand.expected_error == pytest.approx(1_000 * one.expected_error)
    assert thousand.smallest_effect == pytest.approx(1_000 * one.smallest_effect)
    assert thousand.interval_width == pytest.approx(1_000 * one.interval_width)


def test_the_error_never_exceeds_that_of_missing_everything():
    assert plan(30, 10_000, 5, 0.1).expected_error <= math.sqrt(5)


def test_records_and_epsilon_for_a_target():
    base = plan(2_000, 1_000, 5, 0.5)
    n = base.n_for_error(0.05)
    assert plan(n, 1_000, 5, 0.5).expected_error <= 0.05 < plan(int(0.99 * n), 1_000, 5, 0.5).expected_error
    n = base.n_for_effect(0.1)
    assert plan(n, 1_000, 5, 0.5).smallest_effect <= 0.1
    epsilon = base.epsilon_for_effect(0.2)
    assert plan(2_000, 1_000, 5, epsilon).smallest_effect == pytest.approx(0.2, rel=0.01)
    assert base.epsilon_for_effect(1e-6) == math.inf


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


@pytest.mark.parametrize(
    ("arguments", "options", "name"),
    [
        ((0, 10, 2, 1.0), {}, "n=0"),
        ((10, 0, 2, 1.0), {}, "d=0"),
        ((10, 10, 0, 1.0), {}, "sparsity=0"),
        ((10, 10, 2, 1.0), {"noise_scale": 0}, "noise_scale=0"),
        ((10, 10, 2, 1.0), {"correlation": 1.0}, "correlation=1.0"),
    ],
)
def test_bad_numbers_are_named(arguments, options, name):
    with pytest.raises(ValueError, match=name):
        plan(*arguments, **options)


def test_bad_promises_are_named():
    with pytest.raises(ValueError, match="epsilon=0"):
        assert plan(100, 10, 2, 0).expected_error

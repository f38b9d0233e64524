"""`plan` for a yes/no response."""

import json
import math

import numpy as np
import pytest
from scipy.special import expit

from dpsparse import NotPrivateWarning, PrivateSparseClassifier, plan
from dpsparse.cli import main
from dpsparse.data.public_units import STANDARDIZED


def test_more_privacy_costs_and_more_records_pay():
    base = plan(10_000, 100, 5, 0.5, share_of_yes=0.2)
    others = [
        plan(20_000, 100, 5, 0.5, share_of_yes=0.2),
        plan(10_000, 100, 5, 1.0, share_of_yes=0.2),
        plan(10_000, 100, 3, 0.5, share_of_yes=0.2),
        plan(10_000, 100, 5, 0.5, share_of_yes=0.4),
    ]
    for better in others:
        assert better.expected_error < base.expected_error
        assert better.smallest_effect < base.smallest_effect
        assert better.interval_width < base.interval_width
    assert plan(10_000, 100, 5, 0.5, share_of_yes=0.2, units_known=True).smallest_effect < base.smallest_effect
    assert plan(10_000, 100, 5, 0.5, share_of_yes=0.2, correlation=0.8).expected_error > base.expected_error
    # Yes and no are alike.
    assert plan(10_000, 100, 5, 0.5, share_of_yes=0.8).smallest_effect == pytest.approx(base.smallest_effect)


def test_without_privacy_the_standard_error_is_that_of_logistic_regression():
    """1 / sqrt(n p (1 - p)) for a small effect of a feature of standard deviation 1."""
    forecast = plan(10**7, 20, 1, 5.0, share_of_yes=0.3)
    assert forecast.interval_width == pytest.approx(2 * 1.96 / math.sqrt(10**7 * 0.3 * 0.7), rel=0.05)


def test_targets_are_reached():
    forecast = plan(5_000, 50, 3, 0.5, share_of_yes=0.1)
    n, epsilon = forecast.n_for_effect(math.log(1.3)), forecast.epsilon_for_effect(0.4)
    assert plan(n, 50, 3, 0.5, share_of_yes=0.1).smallest_odds_ratio <= 1.3
    assert plan(int(0.98 * n), 50, 3, 0.5, share_of_yes=0.1).smallest_odds_ratio > 1.3
    assert plan(5_000, 50, 3, epsilon, share_of_yes=0.1).smallest_effect == pytest.approx(0.4, rel=0.01)
    assert forecast.epsilon_for_effect(1e-6) == math.inf
    assert (forecast.has_intervals, forecast.caveat, forecast.estimand) == (True, "", "log odds")
    assert forecast.share_for_effect(forecast.effect_for_share(0.2)) == pytest.approx(0.2)


@pytest.mark.slow
def test_too_many_effects_have_no_intervals():
    small = plan(1_000, 20, 20, 1.0, share_of_yes=0.4)
    assert (small.has_intervals, small.interval_width) == (False, math.inf)
    n = small.n_for_intervals
    assert f"20 log odds together have no intervals with 1,000 records at epsilon 1: that takes about {n:,}" in str(
        small
    ).replace("\n", " ")
    assert plan(n, 20, 20, 1.0, share_of_yes=0.4).has_intervals
    assert plan(1_000, 20, 20, small.epsilon_for_intervals, share_of_yes=0.4).has_intervals


# No constant was fitted on these.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "share", "known"),
    [
        ((6_000, 40, 3, 1.0), 0.35, True),
        ((6_000, 40, 3, 1.0), 0.35, False),
        ((12_000, 150, 4, 0.7), 0.15, True),
        ((9_000, 6, 6, 1.0), 0.25, True),
        ((25_000, 30, 2, 0.5), 0.06, False),
    ],
)
def test_fits_are_as_accurate_as_forecast(shape, share, known):
    n, d, sparsity, epsilon = shape
    forecast, rng = plan(*shape, share_of_yes=share, units_known=known), np.random.default_rng(n)
    errors, found = [], {0.7: [], 1.4: []}
    for seed in range(12):
        for factor, hits in found.items():
            effects = np.full(sparsity, factor * forecast.smallest_effect)
            X = rng.standard_normal((n, d))
            y = rng.random(n) < expit(math.log(share / (1 - share)) + X[:, :sparsity] @ effects)
            units = STANDARDIZED if known else {}
            with pytest.warns(NotPrivateWarning):
                model = PrivateSparseClassifier(sparsity=sparsity, epsilon=epsilon, random_state=seed, **units).fit(
                    X, y
                )
            hits += np.isin(np.arange(sparsity), model.support_).tolist()
            errors += model.coef_se_[:sparsity][np.isfinite(model.coef_se_[:sparsity])].tolist()
    width = 2 * 1.96 * np.median(errors)
    assert 1 / 1.4 < forecast.interval_width / width < 1.4
    if d > sparsity:
        # The effect that is found in 80 % lies within a factor of 1.4, up to two standard errors of so few shares.
        slack = 2 * math.sqrt(0.8 * 0.2 / len(found[1.4]))
        assert np.mean(found[1.4]) > 0.8 - slack
        assert np.mean(found[0.7]) < 0.8 + slack


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, math.nan])
def test_a_share_lies_between_0_and_1(share):
    with pytest.raises(ValueError, match=r"share_of_yes=.* must lie strictly between 0 and 1"):
        plan(1_000, 10, 2, 1.0, share_of_yes=share)


@pytest.mark.slow
def test_odds_ratios_are_of_yes_and_no():
    with pytest.raises(ValueError, match="give share_of_yes"):
        plan(1_000, 10, 2, 1.0).smallest_odds_ratio  # noqa: B018
    text = str(plan(1_000, 10, 2, 1.0, share_of_yes=0.2))
    assert "log odds of yes, which 0.2 of the responses are" in text
    assert "odds ratio" in text
    assert "Log odds per scaled feature" in text
    assert "odds ratio" not in str(plan(1_000, 10, 2, 1.0))


def test_a_fit_that_cannot_find_anything_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 30)), rng.random(200) < 0.5
    with pytest.warns(UserWarning, match=r"only odds ratios above .* can be detected"):
        PrivateSparseClassifier(sparsity=5, epsilon=0.3).fit(X, y)


def test_the_command(capsys):
    asked = ["plan", "--n", "10000", "--d", "60", "--sparsity", "5", "--epsilon", "1", "--yes", "0.2"]
    main(asked)
    shown = capsys.readouterr().out
    assert "odds ratio" in shown
    assert "errors and effects are log odds per standard deviation of a feature" in " ".join(shown.split())
    main([*asked, "--json"])
    content = json.loads(capsys.readouterr().out)
    expected = plan(10_000, 60, 5, 1.0, share_of_yes=0.2)
    assert (content["estimand"], content["share_of_yes"]) == ("log odds", 0.2)
    assert content["forecasts"][0]["smallest_odds_ratio"] == expected.smallest_odds_ratio

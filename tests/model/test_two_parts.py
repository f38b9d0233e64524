"""A model in two parts: average marginal effects by the delta method, predictions, words, and the model file."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from dpsparse import PrivateSparseTwoPartRegressor, compare_models, load_model, save_model
from dpsparse.algorithms.overall_level import ERROR_GROWTH, GROWTH_DOUBT, OFF_ONCE_SET, Level
from dpsparse.estimators._two_part_fit import two_part_model
from dpsparse.model.effect import Effect, Verdict
from dpsparse.model.two_parts import TILT, TwoParts, at_level
from dpsparse.report.fit_page import fit_page
from dpsparse.report.report_summary import publishable, verdicts
from dpsparse.schema import FileError

LEVEL = Level(
    clipped_mean=40.0, mean_noise=0.8, spread=100.0, prediction=36.0, prediction_noise=0.2, unshrunk=38.0,
    share=0.3, share_noise=0.004, slope=20.0, slope_noise=0.3, variance=0.2, n_records=10_000.0,
    range=(0.0, 600.0),
)  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4_000, 4))
    some = rng.random(4_000) < expit(X[:, 1])
    cost = some * np.maximum(100 + 40 * X[:, 2], 5) * rng.exponential(1.0, 4_000)
    options = {"sparsity": 2, "epsilon": 3.0, "feature_center": 0, "feature_scale": 1, "random_state": 0}
    return PrivateSparseTwoPartRegressor(**options).fit(X, cost), X


def parts_with(fitted, odds, amounts):
    """The fitted parts with some effects, at a level."""
    whether, how_much = fitted.released_.parts.whether, fitted.released_.parts.how_much
    return TwoParts(replace(whether, effects=odds), replace(how_much, effects=amounts), LEVEL)


def test_the_level_sets_the_offset():
    off = 0.4 * 40
    weight = off**2 / (off**2 + 0.8**2)
    assert LEVEL.mean == pytest.approx(36 + 4 * weight)
    growth = (LEVEL.mean / 36) ** 2
    assert LEVEL.growth == pytest.approx(growth)
    # The mean of p mu, once mu has grown, is the mean response.
    assert growth * 36 + LEVEL.offset * 0.3 == pytest.approx(LEVEL.mean)
    # So it is of effects that are not shrunk, which have an offset of their own.
    own = (LEVEL.mean - growth * 38) / 0.3
    assert LEVEL.mean_slope == pytest.approx(growth * 20 + own * 0.2)
    tilt = 20 - 38 / 0.3 * 0.2
    errors = (
        growth * 0.3,
        growth * LEVEL.unshrunk_noise / 0.3 * 0.2,
        LEVEL.growth_error * tilt,
        LEVEL.mean_error / 0.3 * 0.2,
    )
    assert LEVEL.mean_slope_error == pytest.approx(math.hypot(*errors))
    # The error of the better of two estimates, by their precisions, beside that of sampling.
    assert LEVEL.mean_error == pytest.approx(math.hypot((1 / (0.8**-2 + off**-2)) ** 0.5, 1.0))
    assert replace(LEVEL, mean_noise=0.0).mean == pytest.approx(40)
    assert replace(LEVEL, prediction=0.0).mean == pytest.approx(40 * weight)


@pytest.mark.parametrize(
    ("prediction", "growth"), [(0.0, 1.0), (1.0, 4.0), (50.0, 1.0)], ids=["none", "far too small", "too large"]
)
def test_effects_grow_where_predictions_are_too_small_alone(prediction, growth):
    level = replace(LEVEL, prediction=prediction)
    assert level.growth == growth
    assert (level.growth_error > 0) == (growth > 1)
    assert level.growth * prediction + level.offset * level.share == pytest.approx(level.mean)


def test_a_second_offset_makes_up_for_what_is_predicted_then():
    noise = 0.5
    off = math.hypot(LEVEL.growth * LEVEL.prediction_noise, OFF_ONCE_SET * LEVEL.mean) ** 2
    again = LEVEL.set_by(LEVEL.mean + 2, noise)
    assert (again.offset - LEVEL.offset) * LEVEL.share == pytest.approx(-2 * off / (off + noise**2))
    assert again.moved(50.0) == pytest.approx(LEVEL.growth * 50 + again.offset)
    # Effects on the overall mean are those of the mean response, whatever is predicted.
    assert (again.mean, again.mean_slope, again.growth) == (LEVEL.mean, LEVEL.mean_slope, LEVEL.growth)
    assert abs(LEVEL.set_by(LEVEL.mean + 2, 1e6).second_offset) < 1e-4
    nothing = replace(LEVEL, clipped_mean=0.0, mean_noise=0.0, prediction=0.0, prediction_noise=0.0)
    assert nothing.set_by(0.0, 0.0).second_offset == 0


def test_a_column_keeps_its_name_at_the_beginning_of_a_sentence(fitted):
    page = fit_page(replace(fitted[0].released_, target="drugcost"))
    assert re.search(r"About \d+ % of the records have drugcost above 0, and its mean over all of them is about", page)
    assert "Drugcost" not in page


@pytest.mark.filterwarnings("ignore:epsilon=")
def test_predictions_have_the_level_where_many_amounts_are_predicted_as_0():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20_000, 2))
    cost = np.where(rng.random(20_000) < 0.5, np.exp(1.5 * X[:, 0]) * rng.exponential(100.0, 20_000), 0.0)
    options = {"sparsity": 2, "epsilon": 100.0, "feature_center": 0, "feature_scale": 1, "random_state": 0}
    model = PrivateSparseTwoPartRegressor(**options).fit(X, cost)
    predicted, level = model.predict(X), model.released_.parts.level
    assert (predicted == 0).mean() > 0.15
    assert level.second_offset < 0
    assert predicted.mean() == pytest.approx(level.mean, rel=0.03)


def test_the_error_of_the_growth_is_no_more_than_the_growth():
    level = replace(LEVEL, prediction=39.9)
    assert level.growth > 1
    assert level.growth_error <= (level.growth - 1) * math.hypot(1, GROWTH_DOUBT)
    # What is far from 1 beside its noise has the derivative's error, and doubt.
    exact = replace(LEVEL, prediction=25.0, mean_noise=0.01, prediction_noise=0.02)
    noise = 2 * exact.growth * math.hypot(0.01 / exact.mean, 0.02 / 25)
    assert exact.growth_error == pytest.approx(math.hypot(noise, GROWTH_DOUBT * (exact.growth - 1)))


def test_marginal_effects_are_the_delta_method_s(fitted):
    odds, amounts = Effect("1", 0.5, 0.6, 0.05), Effect("1", 20.0, 25.0, 4.0)
    slope, share = LEVEL.mean_slope, LEVEL.share
    (effect,) = parts_with(fitted[0], (odds,), (amounts,)).effects()
    assert effect.estimate == pytest.approx(slope * 0.6 + share * 25)
    assert effect.coef == pytest.approx(slope * 0.5 + share * 20)
    # Numerical derivatives of slope g + share b, at independent errors.
    of_slope = math.hypot(LEVEL.mean_slope_error, TILT * LEVEL.variance * 4.0)
    of_share = math.hypot(0.004, math.sqrt(0.3 * 0.7 / 10_000))
    at, errors = np.array([0.6, 25.0, slope, share]), np.array([0.05, 4.0, of_slope, of_share])
    mean = lambda x: x[2] * x[0] + x[3] * x[1]  # noqa: E731
    slopes = [(mean(at + 1e-6 * step) - mean(at - 1e-6 * step)) / 2e-6 for step in np.eye(4)]
    assert effect.standard_error == pytest.approx(math.sqrt(((np.array(slopes) * errors) ** 2).sum()), rel=1e-5)
    assert effect.verdict is Verdict.SIGNIFICANT


def test_the_covariance_is_the_delta_method_s(fitted):
    whether, how_much = fitted[0].released_.parts.whether, fitted[0].released_.parts.how_much
    odds = (Effect("1", 0.5, 0.6, 0.05), Effect("2", 0.2, 0.3, 0.04))
    amounts = (Effect("2", 20.0, 25.0, 4.0), Effect("0", 5.0, 6.0, 3.0))
    parts = TwoParts(
        replace(whether, effects=odds, correlations=((), (0.5,))),
        replace(how_much, effects=amounts, correlations=((), (-0.25,))),
        LEVEL,
    )
    model = replace(fitted[0].released_, effects=parts.effects(), parts=parts)
    covariance = model.vcov()
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), model.effects_.std_error, rtol=1e-12)
    assert covariance.index.tolist() == ["2", "0", "1"]
    slope, share = LEVEL.mean_slope, LEVEL.share
    assert covariance.loc["0", "1"] == 0
    expected = slope**2 * 0.5 * 0.05 * 0.04 + parts.slope_error**2 * 0.6 * 0.3
    assert covariance.loc["1", "2"] == pytest.approx(expected)
    expected = share**2 * -0.25 * 4.0 * 3.0 + parts.share_error**2 * 25.0 * 6.0
    assert covariance.loc["0", "2"] == pytest.approx(expected)
    assert np.linalg.eigvalsh(covariance).min() > 0
    doubtful = replace(parts, whether=replace(whether, effects=(replace(odds[0], trusted=False),), correlations=()))
    partly = replace(model, effects=doubtful.effects(), parts=doubtful).vcov()
    assert partly.loc["1"].isna().all()
    assert partly.loc["0", "2"] == pytest.approx(expected)


def test_parts_stand_beside_the_overall_mean(fitted):
    table = compare_models([fitted[0]])
    assert table.headings == ("Overall mean", "Whether above 0", "How much")
    assert table.measures == ("effect", "odds ratio", "effect")
    assert {len(line.cells) for line in (*table.lines, *table.facts)} == {3}
    assert not any("together" in note for note in table.notes)
    assert any(note.startswith("Beside them: odds ratios of y being above 0") for note in table.notes)
    # Beside another model there is room for the overall mean alone.
    assert len(compare_models([fitted[0], fitted[0]]).headings) == 2


def test_a_feature_of_one_part_has_no_effect_in_the_other(fitted):
    odds, amounts = Effect("1", 0.5, 0.6, 0.05), Effect("2", 20.0, 25.0, 4.0)
    first, second = parts_with(fitted[0], (odds,), (amounts,)).effects()
    assert (first.feature, second.feature) == ("2", "1")
    assert first.estimate == pytest.approx(LEVEL.share * 25)
    assert second.estimate == pytest.approx(LEVEL.mean_slope * 0.6)


def test_what_one_part_leaves_out_and_the_other_has_is_not_left_out(fitted):
    parts = parts_with(fitted[0], (), (Effect("1", 20.0),))
    out = replace(parts.whether, left_out={"1": "hardly varies", "3": "unit wrong"})
    parts = TwoParts(out, parts.how_much, LEVEL)
    assert two_part_model(fitted[0], parts).left_out == {"3": "unit wrong"}


def test_an_effect_that_cannot_be_trusted_in_a_part_is_not_trusted(fitted):
    odds, amounts = Effect("1", 0.5, 0.6, 0.05), Effect("1", 20.0, trusted=False, doubt="no mean")
    (effect,) = parts_with(fitted[0], (odds,), (amounts,)).effects()
    assert (effect.interval, effect.doubt, effect.clear) == (None, "no mean", False)


def test_predictions_are_the_product_and_never_below_0(fitted):
    model, X = fitted
    parts = model.released_.parts
    far = np.vstack([X, 100 * X[:5], -100 * X[:5]])
    expected = parts.whether.predict(far) * np.maximum(parts.how_much.predict(far), 0)
    np.testing.assert_array_equal(model.predict(far), expected)
    np.testing.assert_array_equal(model.released_.predict(far), expected)
    assert (model.predict(far) >= 0).all()
    assert model.released_.intercept == pytest.approx(model.predict(np.zeros((1, 4)))[0])
    with pytest.raises(ValueError, match="predicts the mean"):
        model.released_.predict(X, "median")


def test_the_offset_moves_amounts(fitted):
    how_much = fitted[0].released_.parts.how_much
    moved, growth = at_level(how_much, LEVEL), LEVEL.growth
    assert moved.intercept == pytest.approx(growth * how_much.intercept + LEVEL.offset)
    assert moved.prediction_range == pytest.approx((LEVEL.offset, growth * 600 + LEVEL.offset))
    for before, after in zip(how_much.effects, moved.effects, strict=True):
        assert (after.coef, after.estimate) == pytest.approx((growth * before.coef, growth * before.estimate))
        own, of_growth = growth**ERROR_GROWTH * before.standard_error, LEVEL.growth_error * before.estimate
        assert after.standard_error == pytest.approx(math.hypot(own, of_growth))
    bare = at_level(replace(how_much, effects=(Effect("1", 20.0),)), LEVEL).effects[0]
    assert bare == Effect("1", growth * 20.0)


def test_the_attributes_of_a_part_are_those_of_its_grown_model(fitted):
    part = fitted[0].how_much_
    effects, places = part.released_.effects, [int(each.feature) for each in part.released_.effects]
    np.testing.assert_allclose(part.coef_[places], [each.coef for each in effects], rtol=1e-6)
    np.testing.assert_array_equal(part.coef_se_[places], [each.standard_error for each in effects])
    np.testing.assert_array_equal(part.pvalues_[places], [each.p_value for each in effects])
    assert (part.intercept_, part.noise_floor_) == (part.released_.intercept, part.released_.noise_floor)
    assert part.prediction_range_ == part.released_.prediction_range


def test_summary_and_page_have_both_parts_and_the_level(fitted):
    model = fitted[0].released_
    for text in (model.summary(), fit_page(model), model.as_html()):
        assert "Whether y is above 0" in text
        assert "How much y is where it is above 0" in text
        assert "verage marginal effects" in text
    assert f"{model.constant_prediction:.3g}"[:3] in model.summary()


def test_a_model_file_holds_it(fitted, tmp_path):
    model, X = fitted
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again == model.released_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.effects == again.parts.effects()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda parts: parts.pop("level"), "lacks 'level'"),
        (lambda parts: parts["level"].update(share=1.5), "must not be above 1"),
        (lambda parts: parts["level"].update(n_records=0), "above 0"),
        (lambda parts: parts["level"].update(mean_noise=-1), "mean_noise"),
        (lambda parts: parts["level"].update(more=1), "unknown entry"),
        (lambda parts: parts.update(more={}), "unknown entry"),
        (lambda parts: parts["how_much"].update(classes=["0", "1"]), "'how_much' none"),
        (lambda parts: parts["whether"]["effects"][0].update(feature="none such"), "none of the features"),
        (lambda parts: parts["whether"].update(privacy={}), "unknown entry"),
    ],
)
def test_a_file_with_other_parts_is_refused(fitted, tmp_path, change, words):
    path = tmp_path / "model.json"
    save_model(fitted[0], path)
    content = json.loads(path.read_text())
    change(content["parts"])
    path.write_text(json.dumps(content))
    with pytest.raises(FileError, match=words):
        load_model(path)


def test_the_paragraph_to_publish_says_that_means_are_overall(fitted):
    model = fitted[0].released_
    told = publishable(replace(model, privacy=replace(model.privacy, private=True)))
    assert "by a sparse two-part regression on 4 features" in told
    assert "associations of overall means, those without any included" in told


def test_the_summary_of_a_report_names_the_significant_effects_of_each_part(fitted):
    """No effect on the overall mean is significant, and one on whether there is any cost at all is."""
    fitted, _ = fitted
    none = replace(fitted.released_.effects[0], clear=False)
    odds = tuple(replace(each, clear=True) for each in fitted.released_.parts.whether.effects[:1])
    model = replace(fitted.released_, effects=(none,), parts=parts_with(fitted, odds, ()))
    told = " ".join(verdicts(model))
    assert "No effect on the overall mean is significant." in told
    assert f"These effects on whether {model.target} is above 0 are significant:" in told
    assert f"times the odds that {model.target} is above 0 (between" in told
    assert "These effects on how much" not in told

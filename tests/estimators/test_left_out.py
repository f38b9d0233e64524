"""Selected features without an effect: which they are and why, in every output and from releases alone."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpsparse import PrivateSparseRegressor, load_model, read_table, save_model
from dpsparse.report.fit_page import fit_page

WRONG = "'0', whose released centre or scale is clearly wrong (public numbers, more records or a larger epsilon"
CONSTANT = "of the selected features '0', where nearly all records have the same value."


def table(n, first):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) * 10
    X[:, 0] = first(rng, n)
    return X, 3 * X[:, 1] / 10 + rng.standard_normal(n)


def words(text):
    return " ".join(text.split())


def nearly_constant(rng, n):
    return np.where(rng.random(n) < 1e-4, 9.0, 7.0)


def test_a_column_that_hardly_varies_is_named():
    X, y = table(20_000, nearly_constant)
    model = PrivateSparseRegressor(sparsity=3, epsilon=4.0, random_state=0).fit(X, y)
    assert model.released_.left_out == {"0": "hardly varies"}
    assert 0 not in model.support_
    assert f"Left out: {CONSTANT}" in words(model.summary())
    assert f"Left out: {CONSTANT}".replace("'", "&#x27;") in fit_page(model.released_)


def test_without_an_intercept_a_constant_column_takes_its_place():
    X, y = table(20_000, nearly_constant)
    model = PrivateSparseRegressor(sparsity=3, epsilon=2.0, random_state=0, fit_intercept=False).fit(X, y + 7)
    assert model.released_.left_out == {}
    assert 0 in model.support_
    assert "Left out" not in model.summary()


@pytest.fixture(scope="module")
def astray():
    """A fit without an intercept on few records, one of whose units noise chose: the first of twenty such fits."""
    X, y = table(450, lambda rng, n: 1e10 * rng.standard_normal(n))
    for seed in range(20):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "With n=", UserWarning)  # Few records are what this is about.
            model = PrivateSparseRegressor(
                sparsity=3, estimand="typical", epsilon=1.0, random_state=seed, fit_intercept=False
            ).fit(X, y)
        if model.released_.left_out:
            return model
    raise AssertionError("no unit went astray: make the table smaller")


def test_a_feature_whose_unit_is_wrong_has_no_effect(astray):
    assert astray.released_.left_out == {"0": "unit wrong"}
    assert astray.support_.tolist() == [1, 2]
    assert astray.coef_[0] == 0
    assert not astray.clear_[0]
    assert np.isnan(astray.conf_int()[0]).all()
    assert set(astray.units_) == {"1", "2"}
    # Nor does its error count among those that make the noise floor: that of a Bonferroni test of three features.
    errors = [astray.coef_se_[place] * astray.units_[str(place)][1] for place in (1, 2)]
    assert np.isfinite(errors).all()
    assert astray.noise_floor_ == pytest.approx(stats.norm.isf(0.05 / 2 / 3) * np.median(errors), rel=1e-9)
    for text in (astray.summary(), astray._repr_html_(), fit_page(astray.released_)):
        assert "e+18" not in text
        assert "Left out" in text
    assert f"Left out: of the selected features {WRONG} would help)." in words(astray.summary())


def test_a_model_file_keeps_it_and_earlier_ones_do_without(astray, tmp_path):
    save_model(astray, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json") == astray.released_
    content = json.loads((tmp_path / "model.json").read_text())
    del content["left_out"]
    (tmp_path / "model.json").write_text(json.dumps(content))
    earlier = load_model(tmp_path / "model.json")
    assert earlier.left_out == {}
    assert "Left out" not in earlier.summary()


def test_both_causes_make_one_sentence(astray):
    model = replace(astray.released_, left_out={"2": "hardly varies", "0": "unit wrong", "1": "hardly varies"})
    sentence = f"of the selected features '2', '1', where nearly all records have the same value; and {WRONG}"
    assert sentence in words(model.summary())
    # Where nothing was learned, units are noise, and say nothing of the features.
    assert "Left out" not in replace(model, response_scale_known=False).summary()


def test_a_category_that_its_unit_shows_has_an_interval():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 15, 2_500), "arm": rng.choice(["a", "b"], 2_500)})
    frame["cost"] = 10 * frame.age + 300 * (frame.arm == "b") + 100 * rng.standard_t(3, 2_500)
    for seed in (0, 1):
        model = PrivateSparseRegressor(sparsity=2, epsilon=1.0, random_state=seed).fit(read_table(frame, "cost"))
        (arm,) = (each for each in model.released_.effects if each.feature.startswith("arm="))
        assert arm.interval is not None
        assert abs(arm.estimate) == pytest.approx(300, rel=0.3)

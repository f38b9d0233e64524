"""What a fit says by itself about how good it is: the spread explained, and the constant to compare with."""

from dataclasses import replace

import numpy as np
import pytest

from dpsparse import PrivateSparseRegressor
from dpsparse.data.public_units import STANDARDIZED

N = 20_000


def made(kind="normal", signal=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 6))
    errors = {
        "normal": lambda: rng.normal(size=N),
        "t": lambda: rng.standard_t(2.5, N),
        "skewed": lambda: rng.lognormal(sigma=1.2, size=N),
        "lump": lambda: rng.normal(size=N),
        "lump off the grid": lambda: rng.normal(size=N),
    }[kind]()
    y = 7 + signal * (X @ [1.0, 0.7, 0, 0, 0, 0]) + errors
    lumps = {"lump": np.maximum(y - 7.5, 0.0), "lump off the grid": np.maximum(y, 8.0)}
    return X, lumps.get(kind, y)


def fitted(X, y, **options):
    settings = {"sparsity": 2, "epsilon": 2.0, "estimand": "typical", "random_state": 0, **options}
    return PrivateSparseRegressor(**settings).fit(X, y).released_


@pytest.mark.parametrize("kind", ["normal", "t"])
@pytest.mark.parametrize("public", [{}, STANDARDIZED], ids=["learned", "public"])
def test_the_spread_explained_is_that_of_median_distances(kind, public):
    X, y = made(kind)
    model = fitted(X, y, **public)
    residuals = y - model.predict(X)
    plain = 1 - np.median(np.abs(residuals - np.median(residuals))) / np.median(np.abs(y - np.median(y)))
    assert model.spread_explained == pytest.approx(plain, abs=0.04)
    assert f"about {100 * model.spread_explained:.0f} % of the spread" in " ".join(model.summary().split())


def test_nothing_explained_is_zero_and_not_praised():
    X, y = made(signal=0.0)
    model = fitted(X, y)
    assert model.spread_explained < 0.03
    if not model.explains:
        assert "of the spread" not in model.summary()


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (made("lump"), {}),
        (made("lump off the grid"), {}),
        (made(), {"response_scale": 1.0, "response_center": 7.0}),
        (tuple(each[:800] for each in made()), {"epsilon": 0.5}),
        (made("skewed", signal=0.3), {}),
        (made(), {"estimand": "mean"}),
    ],
    ids=["a lump", "a lump elsewhere", "a given scale", "few records", "skewed", "of a mean"],
)
@pytest.mark.filterwarnings("ignore:With n=800")
def test_it_is_left_out_where_releases_do_not_tell(table, options):
    assert fitted(*table, **options).spread_explained is None


@pytest.mark.parametrize("public", [{}, {"feature_center": 0.0, "feature_scale": 1.0}], ids=["learned", "off by 3"])
def test_the_constant_is_near_the_mean_wherever_the_features_are_centred(public):
    X, y = made("t")
    model = fitted(X + 3, y, **public)
    assert model.constant == pytest.approx(y.mean(), abs=0.15)
    assert model.constant_prediction == model.constant
    assert np.abs(y - model.constant).mean() < 1.01 * np.abs(y - np.median(y)).mean()


def test_without_effects_the_constant_is_what_is_predicted():
    X, _ = made()
    model = fitted(X, np.random.default_rng(1).normal(size=N))
    if not model.explains:
        assert model.predict(X[:3]).tolist() == [model.constant] * 3


def test_without_an_intercept_the_constant_is_zero():
    X, y = made()
    assert fitted(X, y - 7, fit_intercept=False, **STANDARDIZED).constant == 0.0


def test_a_model_without_a_released_constant_predicts_at_the_public_centres():
    model = replace(fitted(*made()), constant=None)
    assert model.constant_prediction == model.intercept


def test_effects_of_a_nearly_exact_fit_are_tested():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 5))
    model = PrivateSparseRegressor(sparsity=3, estimand="typical", epsilon=1.0).fit(X, 3 * X[:, 0] + X[:, 1])
    assert "the fit is nearly exact" in model.released_.reason
    assert model.released_.nearly_exact
    assert model.clear_[:2].all()
    assert "Nearly exact: " in model.summary()
    assert "Nothing learned" not in model.summary()

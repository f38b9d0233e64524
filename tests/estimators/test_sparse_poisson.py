"""`PrivateSparsePoissonRegressor`: scikit-learn's checks, statsmodels' GLM, exposures and hostile tables."""

import re

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import OnDisk, PrivateSparsePoissonRegressor, PrivateSparseRegressor, load_model, read_table, save_model
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine.refusals import NOT_COUNTS

pytestmark = [
    pytest.mark.filterwarnings("ignore:epsilon="),
    pytest.mark.filterwarnings("ignore:With n="),
    pytest.mark.filterwarnings("ignore:random_state"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([PrivateSparsePoissonRegressor(sparsity=2, **STANDARDIZED)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def table(n=4_000, d=6, mean=2.0, seed=0):
    rng = np.random.default_rng(seed)
    X, exposure = rng.standard_normal((n, d)), rng.uniform(0.2, 5.0, n)
    X[:, 2] = X[:, 2] > 0.5
    rate = np.exp(X @ np.array([0.4, -0.3, 0.5, *[0.0] * (d - 3)]))
    return X, exposure, rng.poisson(exposure * rate * mean / (exposure * rate).mean())


@pytest.mark.parametrize(
    "options", [{"sparsity": 3, **STANDARDIZED}, {"sparsity": 6}], ids=["units known", "all features"]
)
@pytest.mark.parametrize("exposed", [pytest.param(False, marks=pytest.mark.slow), True])
def test_without_privacy_to_speak_of_it_is_statsmodels_glm(options, exposed):
    sm = pytest.importorskip("statsmodels.api", reason="extra bench")
    X, exposure, y = table()
    given = {"exposure": exposure} if exposed else {}
    model = PrivateSparsePoissonRegressor(epsilon=1_000.0, random_state=0, **options).fit(X, y, **given)
    chosen = np.sort(model.support_)
    assert set(chosen) >= {0, 1, 2}
    design = sm.add_constant(X[:, chosen])
    reference = sm.GLM(y, design, family=sm.families.Poisson(), **given).fit(cov_type="HC0")
    middles = model.conf_int(0.9)[chosen].mean(axis=1)
    np.testing.assert_allclose(middles, reference.params[1:], atol=0.25 * reference.bse[1:].max())
    np.testing.assert_allclose(model.coef_se_[chosen], reference.bse[1:], rtol=0.3)
    predicted = model.predict(X) * (exposure if exposed else 1.0)
    assert predicted.mean() == pytest.approx(y.mean(), rel=0.01)


def test_the_unit_of_the_response_is_no_matter():
    """Costs in cents have the same effects as in dollars, up to the grid on which a size is looked for."""
    X, _, y = table(n=2_000)
    dollars, cents = (
        PrivateSparsePoissonRegressor(sparsity=2, epsilon=300.0, random_state=0, **STANDARDIZED).fit(X, y * unit)
        for unit in (1.0, 100.0)
    )
    np.testing.assert_allclose(dollars.coef_, cents.coef_, atol=0.02)
    assert cents.intercept_ - dollars.intercept_ == pytest.approx(np.log(100), abs=0.02)


def test_an_exposure_may_be_a_column_by_its_place_or_its_name_or_an_array(tmp_path):
    X, exposure, y = table(n=1_500)
    Z = np.column_stack([X, exposure])
    asked = {"sparsity": 2, "epsilon": 5.0, "random_state": 0}
    by_place = PrivateSparsePoissonRegressor(**asked, exposure=-1).fit(Z, y)
    frame = pd.DataFrame(Z, columns=[*"abcdef", "years"])
    by_name = PrivateSparsePoissonRegressor(**asked).fit(frame, y, exposure="years")
    np.testing.assert_array_equal(by_place.coef_, by_name.coef_)
    np.testing.assert_array_equal(by_place.predict(Z), by_name.predict(frame))
    assert 6 not in by_place.support_
    assert by_name.released_.exposure == "years"
    assert "the rate of y per unit of years" in by_name.summary()
    # The exposure is no feature: verdicts are over the other six.
    assert (by_name.n_features_in_, by_name.released_.n_features, by_name.glance().n_features[0]) == (7, 6, 6)
    assert "family-wise level over 6 features" in " ".join(by_name.summary().split())
    with_gaps = PrivateSparsePoissonRegressor(**asked, missing="center").fit(frame, y, exposure="years")
    assert with_gaps.released_.n_features == 12
    other = PrivateSparsePoissonRegressor(**asked).fit(frame.rename(columns={"a": "exposure"}), y, exposure=exposure)
    assert (other.released_.exposure, other.released_.n_features) == ("the exposure", 7)
    save_model(by_name, tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(frame), by_name.predict(frame))
    beside = PrivateSparsePoissonRegressor(**asked).fit(X, y, exposure=exposure)
    np.testing.assert_allclose((beside.predict(X) * exposure).mean(), y.mean(), rtol=0.1)
    with pytest.raises(ValueError, match="no column 'yeers'; did you mean 'years'"):
        PrivateSparsePoissonRegressor(exposure="yeers").fit(frame, y)
    with pytest.raises(ValueError, match="one for each of the 1500 rows"):
        PrivateSparsePoissonRegressor().fit(X, y, exposure=exposure[:-1])


@pytest.mark.slow
def test_the_same_bits_in_memory_on_disk_sparse_and_in_partitions():
    X, exposure, y = table(n=1_203)
    Z = np.column_stack([X, exposure])
    asked = {"sparsity": 2, "epsilon": 3.0, "random_state": 0, "exposure": 6}
    first = PrivateSparsePoissonRegressor(**asked).fit(Z, y)
    for other in (OnDisk(Z), sparse.csr_matrix(Z), da.from_array(Z, chunks=(400, -1))):
        of_other = da.from_array(y, chunks=400) if isinstance(other, da.Array) else y
        again = PrivateSparsePoissonRegressor(**asked).fit(other, of_other)
        np.testing.assert_array_equal(again.coef_, first.coef_)
        assert again.intercept_ == first.intercept_


def test_a_table_of_cells_with_an_exposure_and_gaps():
    X, exposure, y = table(n=3_000)
    frame = pd.DataFrame(X[:, :3], columns=["age", "income", "poor"]).assign(years=exposure, visits=y)
    frame.loc[::50, "years"] = np.nan
    frame.loc[::60, "visits"] = -1
    data = read_table(frame, "visits", exposure="years")
    assert data.columns == ["age", "income", "poor"]
    model = PrivateSparsePoissonRegressor(sparsity=2, epsilon=10.0).fit(data)
    assert "years" in model.released_.columns_needed
    assert "years" not in model.released_.columns_selected
    there = frame["years"].notna() & (frame["visits"] >= 0)
    predicted = model.predict(frame)
    assert predicted[there].mean() == pytest.approx(frame["visits"][there].mean(), rel=0.1)
    assert np.isnan(predicted[~frame["years"].notna()]).all()
    with pytest.raises(ValueError, match="exposure is for PrivateSparsePoissonRegressor"):
        PrivateSparseRegressor().fit(data)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("values", [(0.0, 0.0), (0.0, 1e300), (1e-300, 3e-300), (0.0, 1.0)])
def test_any_responses_end_in_finite_numbers(epsilon, values):
    rng = np.random.default_rng(0)
    for n in (2, 300):
        X, y = rng.standard_normal((n, 3)), rng.choice(values, n)
        model = PrivateSparsePoissonRegressor(sparsity=2, epsilon=epsilon, delta=1e-5, random_state=0).fit(X, y)
        assert np.isfinite([*model.coef_, model.intercept_]).all()
        assert np.isfinite(model.predict(X)).all()


def test_responses_below_0_are_refused_by_one_sentence():
    X, _, y = table(n=200)
    y = y.astype(float)
    y[3] = -1
    with pytest.raises(ValueError, match=re.escape(NOT_COUNTS) + "$"):
        PrivateSparsePoissonRegressor().fit(X, y)


def test_rate_ratios_are_exponentials_of_effects():
    X, _, y = table(n=2_000)
    model = PrivateSparsePoissonRegressor(sparsity=2, epsilon=20.0, **STANDARDIZED).fit(X, y)
    for name, (ratio, low, high) in model.rate_ratios().items():
        np.testing.assert_allclose(np.log([low, high]), model.conf_int()[int(name)])
        assert low <= ratio <= high
    assert model.score(X, y) > 0.1

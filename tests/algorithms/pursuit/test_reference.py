"""The step to a reference estimator: what is planned for it, and where it leads."""

import math
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dpsparse import PrivateSparseRegressor
from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit_constants import MOST_BINS
from dpsparse.algorithms.pursuit.reference_budget import pursuit_share
from dpsparse.algorithms.pursuit.schedule import Schedule, schedule_for
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine.people import ONE_ROW, People, RowsPerPerson
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS
from dpsparse.families.estimands import ESTIMANDS
from dpsparse.families.poisson import Poisson
from dpsparse.families.robust_linear import RobustLinear
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.release import GaussianMechanism
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.protection import ADJACENCIES

facts = st.builds(
    PublicFacts,
    n=st.integers(2_000, 10**7),
    d=st.integers(1, 10**5),
    sparsity=st.integers(1, 100),
    rho=st.floats(1e-3, 50),
    units_known=st.sampled_from(["all", "none", "some"]),
    fit_intercept=st.booleans(),
    missing=st.booleans(),
    family=st.sampled_from([RobustLinear(estimand=each) for each in ESTIMANDS.values()]),
)


def schedule_of(numbers):
    share = pursuit_share(numbers)
    return Schedule(replace(numbers, rho=share * numbers.rho), reference_rho=(1 - share) * numbers.rho)


def of_step(schedule):
    names = {each.name for each in schedule.planned if each.of_reference}
    return [slot for slot in schedule.slots() if slot.name in names]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(facts)
def test_the_step_and_the_pursuit_share_the_budget(numbers):
    schedule = schedule_of(numbers)
    assert math.fsum(slot.rho for slot in schedule.slots()) <= numbers.rho
    assert bool(of_step(schedule)) == decisions.reaches_reference(numbers)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(facts, st.sampled_from(ADJACENCIES))
def test_a_slot_pays_for_the_largest_histogram_and_matrix(numbers, adjacency):
    schedule = schedule_of(numbers)
    most = decisions.most_columns(schedule.facts, schedule.reference_rho)
    # The columns that a pursuit keeps, and the constant.
    assert most >= numbers.sparsity + 1
    changes = {
        MOST_BINS: VECTOR_LEVELS * sensitivity.histograms(1, adjacency),
        most * (most + 1) // 2: sensitivity.gram(GRAM_LEVELS, adjacency, most),
        most: sensitivity.bounded_norm_sum(VECTOR_LEVELS, adjacency),
    }
    for slot in of_step(schedule):
        if isinstance(slot.mechanism, GaussianMechanism):
            for size, change in changes.items():
                made = GaussianMechanism.drawn(scale=change / math.sqrt(2 * slot.rho), size=size, rho=slot.rho)
                if slot.name not in ("residual sizes", "mean residual") or size == MOST_BINS:
                    assert slot.mechanism.covers(made), slot.name


@pytest.mark.slow
@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_the_account_holds_the_guarantee(estimand):
    guarantee = Guarantee(1.0, 1e-6)
    for n in (1_000, 10_000, 1_000_000):
        for intercept in (True, False):
            family = RobustLinear(estimand=ESTIMANDS[estimand])
            schedule = schedule_for(guarantee, n, 30, 5, family=family, fit_intercept=intercept)
            assert schedule.commitment.composed.is_within(guarantee)
            assert bool(of_step(schedule)) == (n > 1_000)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8_000, 3))
    return X, 2 + X @ [1.0, -0.5, 0.0] + np.exp(0.4 * X[:, 0]) * (rng.exponential(size=8_000) - 1)


# That so large an epsilon guarantees little.
weak = pytest.mark.filterwarnings("ignore:epsilon:UserWarning")


def fitted(X, y, person=None, **options):
    return PrivateSparseRegressor(
        **({"sparsity": 3, "epsilon": 200.0, "random_state": 0} | STANDARDIZED | options)
    ).fit(X, y, person=person)


def reference(X, y, estimand, intercept=True):
    X = sm.add_constant(X) if intercept else X
    model = sm.OLS(y, X) if estimand == "mean" else sm.RLM(y, X, sm.robust.norms.HuberT())
    return model.fit()


@weak
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_with_little_noise_it_leads_to_the_reference(table, estimand, intercept):
    model, expected = fitted(*table, estimand=estimand, fit_intercept=intercept), reference(*table, estimand, intercept)
    ends = model.conf_int()
    own = np.asarray(expected.params)[int(intercept) :]
    assert ((ends[:, 0] <= own) & (own <= ends[:, 1])).all()
    # As narrow as without privacy, nearly.
    assert (model.coef_se_ < 1.3 * np.asarray(expected.bse)[int(intercept) :] + 0.02).all()


@weak
@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_where_a_few_people_have_most_rows_it_leads_to_the_reference_of_weighted_rows(estimand):
    """Their residuals are alike, and features have means: scores are of features about these."""
    rng = np.random.default_rng(1)
    people = People.of(np.repeat(np.arange(4_000), np.repeat([1, 100], [3_900, 100])))
    person, n = people.number, len(people.order)
    assert decisions.scores_about_means(PublicFacts(4_000, 3, 3, 10.0, family=RobustLinear(), rows=people.rows))
    X = rng.standard_normal((n, 3)) + np.array([0.5, -0.5, 0.0])
    y = 2 + X @ [1.0, -0.5, 0.0] + rng.standard_normal(4_000)[person] + 0.3 * rng.standard_normal(n)
    model = fitted(X, y, estimand=estimand, person=person)
    weighted = sm.WLS(y, sm.add_constant(X), weights=people.weights[person]).fit()
    # Residuals are normal: both references are of the same effects.
    assert (np.abs(model.coef_ - np.asarray(weighted.params)[1:]) < 0.02).all()
    assert (model.coef_se_ < 0.02).all()


def test_scores_are_about_means_of_uneven_rows_and_beside_an_intercept_alone():
    facts = PublicFacts(4_000, 3, 3, 1.0, family=RobustLinear(), rows=RowsPerPerson(5.0, 2.0, 1.5))
    assert decisions.scores_about_means(facts)
    others = {
        "as many rows for everybody": replace(facts, rows=RowsPerPerson(5.0, 2.2)),
        "one row each": replace(facts, rows=ONE_ROW),
        "no intercept": replace(facts, fit_intercept=False),
        "counts": replace(facts, family=Poisson()),
    }
    for name, other in others.items():
        assert not decisions.scores_about_means(other), name


def test_the_two_references_differ_there(table):
    assert np.abs(reference(*table, "mean").params - reference(*table, "typical").params).max() > 0.1


def cut(table, share):
    """The table, its responses cut so that a share of them is 0."""
    X, y = table
    return X, np.maximum(y - np.quantile(y, share), 0.0)


@weak
@pytest.mark.parametrize("share", [0.3, 0.45, 0.6])
def test_where_many_responses_are_equal_it_leads_to_hubers_effects_and_scale(table, share):
    X, y = cut(table, share)
    model, expected = fitted(X, y, estimand="typical"), reference(X, y / y.std(), "typical")
    effects, scale = np.asarray(expected.params)[1:] * y.std(), expected.scale * y.std()
    ends = model.conf_int()
    assert ((ends[:, 0] <= effects) & (effects <= ends[:, 1])).all()
    assert (np.abs(model.coef_ - effects) < 0.1 * np.abs(effects) + 0.01).all()
    assert model.equation_.tau == pytest.approx(1.345 * scale, rel=0.1)


@weak
def test_where_most_are_equal_there_is_no_interval_and_a_reason(table):
    model = fitted(*cut(table, 0.8), estimand="typical")
    assert np.isnan(model.conf_int()).all()
    assert {effect.doubt for effect in model.released_.effects} <= {"on a lump", "nothing learned"}


@weak
def test_few_rows_that_are_far_longer_than_others_do_not_lead_astray(table):
    """Residuals of such rows are beyond the clip at first: they count in a mean score, and not in its derivative."""
    X, y = table
    X = X.copy()
    X[::50, 1] = 15.0
    ends = fitted(X, y, estimand="typical", epsilon=50.0).conf_int()
    effects = np.asarray(reference(X, y / y.std(), "typical").params)[1:] * y.std()
    assert ((ends[:, 0] <= effects) & (effects <= ends[:, 1])).all()


@pytest.mark.slow
@pytest.mark.parametrize("estimand", ESTIMANDS)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_every_table_has_a_result(table, estimand, adjacency):
    """Constant, collinear, huge, tiny and missing: warnings are errors here."""
    X, y = table[0][:3_000], table[1][:3_000]
    huge, tiny, gaps = X.copy(), 1e-300 * X, X.copy()
    huge[:5, 0], huge[5:9, 1] = 1e300, -1e300
    gaps[::7, 1] = np.nan
    blank = y.copy()
    blank[::11] = np.nan
    tables = {
        "constant": (np.column_stack([X[:, 0], np.ones(3_000), np.zeros(3_000)]), y, {}),
        "collinear": (np.column_stack([X[:, 0], X[:, 0], 2 * X[:, 0]]), y, {}),
        "huge": (huge, np.where(np.arange(3_000) < 3, 1e300, y), {}),
        "tiny": (tiny, y, {"feature_scale": None, "feature_center": None}),
        "missing": (gaps, blank, {"missing": "center"}),
        "sparse": (sparse.csr_matrix(np.where(np.abs(X) < 1, 0, X)), y, {}),
        "one column": (X[:, :1], y, {"sparsity": 1, "fit_intercept": False}),
        "responses all equal": (X, np.full(3_000, 3.0), {}),
        "largest unit": (X, 1e100 * y, {"response_center": 0.0, "response_scale": 1e100}),
        "smallest unit": (X, 1e-100 * y, {"response_center": 0.0, "response_scale": 1e-100}),
        "units unknown": (1e6 * X, 1e-6 * y, {"feature_scale": None, "feature_center": None}),
    }
    for name, (features, responses, options) in tables.items():
        model = fitted(features, responses, estimand=estimand, adjacency=adjacency, epsilon=8.0, **options)
        assert "mean score" in {release.name for release in model.privacy_.releases}, name
        assert np.isfinite([*model.coef_, model.intercept_]).all(), name
        assert model.privacy_.epsilon <= 8

"""`fit(X, y)` on frames with text: the same fit as `read_table` makes, from declared types alone."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsparse import (
    DPIHTH,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    PrivateSparseTwoPartRegressor,
    evaluate,
    fit_and_evaluate,
    read_table,
    tune,
)
from dpsparse.data.as_table import frame_with_text
from dpsparse.data.object_tables import as_objects
from dpsparse.data.raw_data import join_response
from dpsparse.data.validation import name_of_response
from dpsparse.io.bounds import Bounds
from dpsparse.model.json_file import as_dict

RNG = np.random.default_rng(0)
N = 2_000
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(50, 15, N),
        "smoker": RNG.random(N) < 0.2,
        "region": RNG.choice(["north", "south", "east"], N),
        "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 700, N), unit="D"),
    }
)
FRAME.loc[:20, "age"] = np.nan
FRAME.loc[10:30, "region"] = None
COST = pd.Series(9_000 * FRAME.smoker + 4_000 * (FRAME.region == "east") + RNG.normal(0, 500, N), name="cost")
ILL = np.where(RNG.random(N) < 0.2 + 0.6 * FRAME.smoker, "ill", "well")
pytestmark = pytest.mark.filterwarnings("ignore:random_state", "ignore:With n=")


def regressor(**options):
    return PrivateSparseRegressor(sparsity=2, epsilon=4.0, estimand="typical", random_state=0, **options)


def published(estimator):
    content = as_dict(estimator.released_)
    return {name: each for name, each in content.items() if name not in ("context", "target")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (FRAME, COST),
        (FRAME.astype({"region": "category"}), COST.to_numpy()),
        (FRAME.set_index(np.arange(N)[::-1]), COST),
        (pl.from_pandas(FRAME), pl.from_pandas(COST)),
        (pa.Table.from_pandas(FRAME), pa.chunked_array([COST.to_numpy()])),
        (FRAME, COST.to_frame()),
    ],
    ids=["pandas", "categories", "labels of rows", "polars", "arrow", "one column"],
)
def test_a_frame_and_its_responses_are_fitted_as_read_table_reads_them(X, y):
    expected = regressor().fit(read_table(FRAME.assign(cost=COST), "cost"))
    fitted = regressor().fit(X, y)
    assert published(fitted) == published(expected)
    np.testing.assert_array_equal(fitted.predict(X), expected.predict(FRAME))


@pytest.mark.parametrize(
    "last", [None, "none", 3.5, True, decimal.Decimal(3), 10**400, pd.NaT, pd.Timestamp("2024-01-01"), 1j, [1.0, 2.0]]
)
@pytest.mark.parametrize("first", [1.0, True, pd.Timestamp("2024-01-01"), "7"])
@pytest.mark.parametrize("given", [list, tuple, as_objects])
def test_what_declares_no_type_has_none_whatever_the_responses_are(first, last, given):
    """That the kind of the responses is not voted on would tell of each of them."""
    data = join_response(FRAME.iloc[:4], given([first] * 3 + [last]), Bounds())
    assert data.declared.keys() == {"age", "smoker", "seen"}
    same = join_response(FRAME.iloc[:4], given([first] * 4), Bounds())
    assert data.table.texts("y")[:3] == same.table.texts("y")[:3]


def test_a_mask_is_no_gap():
    with pytest.raises(TypeError, match="masked arrays"):
        regressor().fit(FRAME, np.ma.masked_invalid(COST))


@pytest.mark.slow
def test_a_list_is_fitted_as_objects_are():
    expected = regressor().fit(read_table(FRAME.assign(cost=COST.astype(object)), "cost"))
    assert published(regressor().fit(FRAME, COST.tolist())) == published(expected)


@pytest.mark.filterwarnings("ignore:With n=")
@pytest.mark.parametrize("estimator", [PrivateSparseRegressor, PrivateSparseTwoPartRegressor, DPIHTH])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_responses_keep_their_name_beside_numbers(estimator, frame):
    table = frame({"age": np.arange(300.0), "cost": np.arange(300.0)})
    released = estimator(sparsity=1).fit(table[["age"]], table["cost"]).released_
    assert released.target == "cost"
    assert released.parts is None or released.parts.whether.target == "cost"


@pytest.mark.parametrize(
    ("y", "name"),
    [
        (pd.Series([1.0], name="age"), "y"),
        (pd.Series([1.0], name="a\nb"), "y"),
        (pd.Series([1.0], name=3), "y"),
        (np.ones(1), "y"),
    ],
)
def test_other_responses_have_none(y, name):
    assert name_of_response(y, ["age"]) == name
    assert name_of_response(y, ["age", "y"]) == "response"


def test_responses_have_a_name_that_no_column_has():
    assert regressor().fit(FRAME, COST).released_.target == "cost"
    assert regressor().fit(FRAME, COST.to_numpy()).released_.target == "y"
    assert regressor().fit(FRAME.rename(columns={"age": "y"}), COST.rename("seen")).released_.target == "response"


@pytest.mark.parametrize(
    ("y", "positive", "classes"),
    [(ILL, "ill", ["not ill", "ill"]), (ILL == "ill", None, [0, 1]), (np.where(ILL == "ill", 7, 3), 7, ["not 7", "7"])],
    ids=["text", "truths", "numbers"],
)
def test_a_classifier_reads_labels_of_any_type(y, positive, classes):
    model = PrivateSparseClassifier(sparsity=1, epsilon=4.0, positive=positive, random_state=0).fit(FRAME, y)
    assert model.classes_.tolist() == classes
    assert {effect.feature for effect in model.released_.effects} == {"smoker"}
    assert model.score(FRAME, y) > 0.7


def test_only_declared_types_decide():
    numbers = FRAME[["age", "smoker"]]
    assert not frame_with_text(numbers)
    assert not frame_with_text(numbers.to_numpy())
    assert not frame_with_text(pl.from_pandas(numbers))
    assert not frame_with_text(pa.Table.from_pandas(numbers))
    for name in ("region", "seen"):
        assert frame_with_text(FRAME[[name]])
        assert frame_with_text(pl.from_pandas(FRAME[[name]]))
        assert frame_with_text(pa.Table.from_pandas(FRAME[[name]]))
    # No cell is looked at.
    assert frame_with_text(FRAME.iloc[:0])


def test_what_is_public_and_wrong_is_refused_before_anything_is_spent():
    with pytest.raises(ValueError, match="read_table"):
        regressor(feature_scale=1.0).fit(FRAME, COST)
    with pytest.raises(ValueError, match="same number of rows"):
        regressor().fit(FRAME, COST[:-1])
    with pytest.raises(ValueError, match="y is missing"):
        regressor().fit(FRAME)


def test_row_wise_steps_may_come_first():
    def with_decade(frame):
        return frame.assign(decade=(frame.age // 10).astype(object))

    pipeline = make_pipeline(FunctionTransformer(with_decade), regressor()).fit(FRAME, COST)
    assert "decade" in {feature.column for feature in pipeline[-1].released_.features}
    assert pipeline.predict(FRAME).shape == (N,)


@pytest.mark.slow
def test_evaluations_and_tuning_take_such_frames():
    fitted = fit_and_evaluate(regressor(), FRAME, COST)
    assert fitted.evaluation.improvement.low > 0
    assert evaluate(regressor().fit(FRAME, COST), FRAME, COST, epsilon=1.0).improvement.low > 0
    assert tune([regressor(), regressor().set_params(sparsity=1)], FRAME, COST).estimator.sparsity in (1, 2)


@pytest.mark.parametrize(
    "fit",
    [
        lambda m, X, ids: m.fit(X, COST, person=ids),
        lambda m, X, ids: m.fit(X.assign(cost=COST), formula="cost ~ .", person=ids),
    ],
)
def test_ids_beside_a_frame_are_those_of_a_column(fit):
    # No column of the frame gives its name away to the ids.
    frame, who = FRAME.assign(person=FRAME.iloc[:, 0]), np.arange(N) // 2
    by_name = fit(regressor(), frame.assign(who=[f"p{k}" for k in who]), "who").released_
    for ids in (who, [(k, "p") for k in who], pd.Series(who).astype("category")):
        by_ids = fit(regressor(), frame, ids).released_
        assert by_ids.features == by_name.features
        assert (by_ids.coef == by_name.coef).all()
        assert (by_ids.privacy.n_records, by_ids.privacy.guarantee.rows) == (N // 2, N)
    with pytest.raises(ValueError, match="2 ids and X"):
        fit(regressor(), frame, [1, 2])


def test_people_and_exposures_are_columns_of_the_frame():
    rows = FRAME.assign(who=np.arange(N) // 2, years=1.0 + np.arange(N) % 2)
    by_person = regressor().fit(rows, COST, person="who").released_
    assert (by_person.privacy.n_records, by_person.privacy.guarantee.rows) == (N // 2, N)
    assert "who" not in {feature.column for feature in by_person.features}
    visits = RNG.poisson(rows.years * np.exp(1.0 * rows.smoker))
    counts = PrivateSparsePoissonRegressor(sparsity=1, epsilon=4.0, exposure="years", random_state=0)
    assert counts.fit(rows, visits).released_.exposure == "years"
    with pytest.raises(ValueError, match="exposure must be the name of a column"):
        PrivateSparsePoissonRegressor().fit(FRAME, visits, exposure=rows.years.to_numpy())


def test_two_parts_read_such_frames():
    parts = PrivateSparseTwoPartRegressor(sparsity=1, epsilon=4.0, random_state=0).fit(FRAME, COST.clip(lower=0))
    assert parts.released_.parts is not None
    assert set(parts.effects_.variable.tolist()[:1]) <= {"smoker", "region"}
    assert parts.vcov().shape == (len(parts.effects_),) * 2

"""Formulas of row-wise terms: what they give, and that a record's row depends on this record alone."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.interpolate import BSpline

from dpsparse import PrivateSparseRegressor, formula_frame
from dpsparse.data.formulas import LEARNING

RNG = np.random.default_rng(0)
N = 200
DATA = pd.DataFrame(
    {
        "age": RNG.uniform(20, 90, N),
        "income": RNG.exponential(1.0, N),
        "smoker": RNG.random(N) < 0.3,
        "grade": RNG.integers(1, 4, N),
        "region": RNG.choice(["north", "south"], N),
        "sex": RNG.choice(["m", "f"], N),
        "cost": RNG.normal(size=N),
    },
    index=np.arange(N)[::-1],
)
FORMULA = (
    "cost ~ age*smoker + region + C(grade) + sqrt(income) + I((age - 50) / 15) + I(age >= 65)"
    " + age:I(sex == 'm') + bs(age, knots=[30, 50, 70], lower=0, upper=110)"
)


def test_terms_are_what_they_say():
    X, y = formula_frame(FORMULA, DATA)
    assert list(X.columns)[:9] == [
        *("age", "smoker", "age:smoker", "region", "grade", "sqrt(income)", "I((age - 50) / 15)", "I(age >= 65)"),
        "age:I(sex == 'm')",
    ]
    pd.testing.assert_series_equal(y, DATA.cost)
    pd.testing.assert_series_equal(X.region, DATA.region)
    np.testing.assert_array_equal(X["age:smoker"], DATA.age * DATA.smoker)
    np.testing.assert_array_equal(X["sqrt(income)"], np.sqrt(DATA.income))
    np.testing.assert_array_equal(X["I((age - 50) / 15)"], (DATA.age - 50) / 15)
    np.testing.assert_array_equal(X["I(age >= 65)"], DATA.age >= 65)
    np.testing.assert_array_equal(X["age:I(sex == 'm')"], DATA.age * (DATA.sex == "m"))
    assert set(X.grade) == {"level 1", "level 2", "level 3"}
    assert X.index.equals(DATA.index)


def test_a_spline_has_public_knots_and_limits():
    X, _ = formula_frame("cost ~ bs(age, knots=[30, 50, 70], lower=0, upper=110)", DATA)
    knots = [0] * 4 + [30, 50, 70] + [110] * 4
    expected = BSpline.design_matrix(DATA.age.to_numpy(), knots, 3).toarray()[:, 1:]
    np.testing.assert_allclose(X, expected)
    far = DATA.assign(age=np.where(np.arange(N) % 2, -1e9, 1e9))
    beyond, _ = formula_frame("cost ~ bs(age, knots=[30, 50, 70], lower=0, upper=110)", far)
    assert set(np.unique(beyond)) == {0.0, 1.0}


def test_a_row_depends_on_its_own_record_alone():
    whole, _ = formula_frame(FORMULA, DATA)
    other = DATA.sample(frac=1.0, random_state=1).assign(age=1e6, income=-5.0, grade=9, region="moon", sex=None)
    mixed = pd.concat([DATA.iloc[:50], other.iloc[:150]])
    part, _ = formula_frame(FORMULA, mixed)
    pd.testing.assert_frame_equal(part.iloc[:50], whole.iloc[:50], check_dtype=False)


def test_gaps_stay_gaps():
    gaps = DATA.astype({"smoker": "boolean", "grade": "Int64"}).copy()
    gaps.iloc[0] = [np.nan, np.nan, pd.NA, pd.NA, None, None, np.nan]
    X, _ = formula_frame(FORMULA, gaps)
    assert X.iloc[0].isna().all()
    assert X.iloc[1:].notna().all().all()


@pytest.mark.parametrize("name", [*LEARNING, "mean", "print"])
def test_what_is_not_row_wise_is_refused_by_name(name):
    for term in (f"{name}(age)", f"I(age - {name}(age))", f"age:{name}(age)"):
        with pytest.raises(ValueError, match=rf"{name}\(\.\.\.\)") as refused:
            formula_frame(f"cost ~ income + {term}", DATA)
        assert "\n" not in str(refused.value)
        if name in LEARNING:
            assert str(refused.value).endswith(LEARNING[name])


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("age + income", "must have a response"),
        ("cost ~ ", "must have a response"),
        ("cost ~ hieght", "no column 'hieght'"),
        ("cost ~ age +", "cannot be read"),
        ("cost ~ age - 1", "a term of a formula"),
        ("cost ~ log(region)", "no column of numbers by its type"),
        ("cost ~ age:region", "no column of numbers by its type"),
        ("cost ~ bs(age)", "bs needs public numbers"),
        ("cost ~ bs(age, df=4)", "bs needs public numbers"),
        ("cost ~ bs(age, knots=[70, 50], lower=0, upper=110)", "increase"),
        ("cost ~ bs(age, knots=[income], lower=0, upper=110)", "bs needs public numbers"),
        ("cost ~ age:C(grade)", "stands alone"),
        ("cost ~ I(age.mean())", "row-wise"),
        ("cost ~ I([age])", "a term of a formula"),
        ("bs(cost, knots=[1], lower=0, upper=2) ~ age", "one column"),
    ],
)
def test_mistakes_are_named(formula, message):
    with pytest.raises(ValueError, match=message):
        formula_frame(formula, DATA)


def test_new_records_need_no_response_and_other_libraries_are_read():
    X, y = formula_frame("cost ~ age + region", pl.from_pandas(DATA.drop(columns="cost")))
    assert y is None
    assert list(X.columns) == ["age", "region"]


def as_arrow(last):
    types = {
        "grade": pa.int64(),
        "smoker": pa.bool_(),
        "joined": pa.date32(),
        "region": pa.string(),
        "cost": pa.bool_(),
    }
    cells = {name: pa.array([None] * 4 + [last.get(name)], type_) for name, type_ in types.items()}
    return pa.table(cells)


@pytest.mark.parametrize("library", [lambda table: table, pl.from_arrow], ids=["arrow", "polars"])
def test_types_are_the_declared_ones_whatever_the_cells_are(library):
    """A type that follows the cells decides how all of them are read, for which no release pays."""
    last = {"grade": 2, "smoker": True, "joined": 10**7, "region": "north", "cost": True}
    formula = "cost ~ smoker + C(grade) + grade + joined + region + I(region == 'north')"
    frames = [formula_frame(formula, library(as_arrow(cells))) for cells in ({}, last)]
    types = [[*X.dtypes, y.dtype] for X, y in frames]
    assert types[0] == types[1]
    assert frames[0][0].isna().all().all()
    assert frames[1][0].notna().iloc[-1].all()


@pytest.mark.parametrize("dtype", ["float64", "Int64", "boolean"])
def test_levels_have_one_type_also_without_any(dtype):
    frames = [pd.DataFrame({"grade": pd.Series([None, one], dtype=dtype), "cost": 1.0}) for one in (None, 1)]
    types = [formula_frame("cost ~ C(grade)", frame)[0].dtypes.tolist() for frame in frames]
    assert types == [[np.dtype(object)]] * 2


@pytest.mark.filterwarnings("ignore:random_state", "ignore:With n=")
def test_a_formula_is_fitted_and_predicts():
    model = PrivateSparseRegressor(sparsity=1, epsilon=2.0, random_state=0)
    X, y = formula_frame("cost ~ region + log1p(income)", DATA)
    assert model.fit(X, y).predict(formula_frame("cost ~ region + log1p(income)", DATA.head())[0]).shape == (5,)
    assert model.released_.target == "cost"

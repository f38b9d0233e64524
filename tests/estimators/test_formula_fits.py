"""Fits by a formula: one variable for a number times a category and for a spline, and predictions of new records."""

import html
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.formula.api as smf

from dpsparse import (
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    PrivateSparseTwoPartRegressor,
    fit_and_evaluate,
    load_model,
    read_table,
    save_model,
)
from dpsparse.data.public_schema import read_schema
from dpsparse.io.cells.grammar import Kind
from dpsparse.model.plots import scaled_effects
from dpsparse.report.deployment import unprotected
from dpsparse.report.fit_page import fit_page

RNG = np.random.default_rng(0)
N = 6_000
PEOPLE = pd.DataFrame(
    {
        "age": RNG.normal(50, 15, N),
        "sex": RNG.choice(["f", "m"], N),
        "region": pd.Categorical(RNG.choice(["north", "south", "east"], N, p=[0.5, 0.3, 0.2])),
        "years": RNG.uniform(0.5, 2.0, N),
        "note": [f"patient {k}" for k in range(N)],
    }
)
SLOPE = 50.0 + 150 * (PEOPLE.region == "south") - 100 * (PEOPLE.region == "east")
PEOPLE["cost"] = SLOPE * (PEOPLE.age - 50) + 2_000 * (PEOPLE.sex == "m") + RNG.normal(0, 1_000, N)
PEOPLE["curved"] = 40 * np.abs(PEOPLE.age - 50) + RNG.normal(0, 100, N)
PRODUCTS = "cost ~ age*region + sex"
SPLINE = "curved ~ bs(age, knots=[30, 50, 70], lower=0, upper=110) + sex + region"
pytestmark = pytest.mark.filterwarnings("ignore:random_state", "ignore:With n=")


def regressor(**options):
    return PrivateSparseRegressor(**{"sparsity": 2, "epsilon": 6.0, "random_state": 0} | options)


@pytest.fixture(scope="module")
def products():
    return regressor().fit(PEOPLE, formula=PRODUCTS)


def test_a_number_times_a_category_is_one_variable_with_its_own_terms(products):
    effects = products.effects_.set_index("term")
    assert effects.variable.loc[["age:region=south", "age:region=east"]].tolist() == ["age:region"] * 2
    # What it is relative to comes with it.
    assert {"age", "region=south", "region=east"} <= {*effects.index}
    tested = {variable.name: variable for variable in products.released_.variables}
    assert tested["age:region"].clear
    assert not tested["region"].clear
    for text in ("'age:region': 2 effects against 'north'", "age:region=south is age less its centre"):
        assert text in products.summary().replace("\n", " ")


def test_a_product_is_drawn_for_a_step_of_its_number(products):
    steps = {each.effect.feature: each.scale for each in scaled_effects(products.released_)}
    assert steps["age:region=south"] == pytest.approx(products.units_["age"][1])
    assert steps["region=south"] == 1.0


def test_a_table_for_a_paper_says_what_the_product_is(products):
    table = products.to_markdown()
    assert "| age:region " in table
    assert "age:region=south is age less its centre" in table


def test_its_effects_are_those_of_least_squares(products):
    ols = smf.ols("cost ~ age*C(region, Treatment('north')) + sex", PEOPLE).fit()
    effects = products.effects_.set_index("term")
    for level in ("south", "east"):
        ours, theirs = effects.loc[f"age:region={level}"], f"age:C(region, Treatment('north'))[T.{level}]"
        assert abs(ours.estimate - ols.params[theirs]) < 4 * ours.std_error
        assert ours.std_error < 10 * ols.bse[theirs]
    predicted = products.predict(PEOPLE)
    assert np.mean((predicted - ols.fittedvalues) ** 2) < 0.02 * PEOPLE.cost.var()


def test_a_saved_model_makes_the_terms_of_new_records(products, tmp_path):
    save_model(products, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again == products.released_
    assert again.columns_needed == products.released_.columns_needed
    new = PEOPLE[["region", "age", "sex"]]
    new.to_csv(tmp_path / "new.csv", index=False)
    expected = products.predict(PEOPLE)
    for same in (new, pl.from_pandas(new), str(tmp_path / "new.csv")):
        np.testing.assert_array_equal(again.predict(same), expected)
    with pytest.raises(ValueError, match="columns go by name"):
        again.predict(new[["age"]].to_numpy())
    with pytest.raises(ValueError, match="no column 'age'; the model needs"):
        again.predict(new.drop(columns="age"))


def test_a_report_says_the_formula_and_how_to_fit_it_again(products):
    page = html.unescape(fit_page(products.released_))
    assert "terms of the formula cost ~ age + region + age:region + sex" in page
    assert "age:region=south is age less its centre" in page
    assert ".fit(X, formula='cost ~ age + region + age:region + sex')" in page
    private = replace(products.released_, privacy=replace(products.privacy_, private=True))
    assert "--formula 'cost ~ age + region + age:region + sex'" in html.unescape(fit_page(private))
    assert "the formula (cost ~ age + region + age:region + sex)" in unprotected(private)


def test_what_is_missing_or_new_has_the_effects_of_the_rest(products):
    effect = {each.feature: each.coef for each in products.released_.effects}
    rows = pd.DataFrame(
        {"age": [40.0, 60.0] * 2 + [np.nan] * 2, "sex": "f", "region": ["south"] * 2 + ["north"] * 2 + ["south", None]}
    )
    south, north, gap = (np.diff(products.predict(rows)[k : k + 2])[0] for k in (0, 2, 4))
    np.testing.assert_allclose(north, 20 * effect["age"] * products.calibration_slope_)
    np.testing.assert_allclose(south, 20 * (effect["age"] + effect["age:region=south"]) * products.calibration_slope_)
    # At the centre a product adds nothing.
    np.testing.assert_allclose(gap, -effect["region=south"] * products.calibration_slope_)


@pytest.mark.slow
def test_a_spline_is_one_variable():
    model = regressor(sparsity=1).fit(PEOPLE, formula=SPLINE)
    assert set(model.effects_.variable) == {"bs(age)"}
    assert model.effects_.level.tolist() == [f"[{k}]" for k in range(1, 7)]
    (variable,) = model.released_.variables
    assert variable.clear
    near, far = model.predict(pd.DataFrame({"age": [50.0, 20.0], "sex": "f", "region": "north"}))
    assert far - near > 600


@pytest.mark.slow
def test_public_categories_and_units_are_used():
    known = {"region": PEOPLE.region.cat.categories.dtype and PEOPLE.region.dtype, "sex": ["f", "m"]}
    model = regressor().fit(PEOPLE, formula=PRODUCTS, schema=known)
    assert {"age:region=south", "age:region=north"} <= {*model.effects_.term}
    assert model.released_.baselines["region"] == "east"


@pytest.mark.slow
def test_other_estimators_take_formulas():
    yes = PEOPLE.assign(ill=np.where(RNG.random(N) < 0.2 + 0.6 * (PEOPLE.sex == "m"), "ill", "well"))
    for formula, positive in (("ill ~ age + sex", "ill"), ("I(ill == 'ill') ~ age + sex", None)):
        model = PrivateSparseClassifier(sparsity=1, epsilon=4.0, positive=positive, random_state=0)
        assert model.fit(yes, formula=formula).effects_.variable.tolist() == ["sex"]
        assert model.predict_proba(yes.drop(columns="ill")).shape == (N, 2)
    visits = PEOPLE.assign(visits=RNG.poisson(PEOPLE.years * np.exp(1.0 * (PEOPLE.sex == "m"))))
    counts = PrivateSparsePoissonRegressor(sparsity=1, epsilon=4.0, exposure="years", random_state=0)
    assert counts.fit(visits, formula="visits ~ age + sex").released_.exposure == "years"
    parts = PrivateSparseTwoPartRegressor(sparsity=1, epsilon=6.0, random_state=0)
    positive = PEOPLE.assign(cost=PEOPLE.cost.clip(lower=0))
    assert parts.fit(positive, formula="cost ~ I(age / 10) + sex").predict(positive).shape == (N,)
    by_person = regressor(sparsity=1).fit(
        PEOPLE.assign(who=np.arange(N) // 2), formula="cost ~ sex + age", person="who"
    )
    assert by_person.released_.privacy.guarantee.rows == N


@pytest.mark.slow
def test_an_evaluation_takes_what_read_table_gives():
    fitted = fit_and_evaluate(regressor(), read_table(PEOPLE, formula=PRODUCTS))
    assert fitted.evaluation.improvement.low > 0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((PEOPLE, PEOPLE.cost), {"formula": PRODUCTS}, "y must be left out"),
        ((PEOPLE[["age"]].to_numpy(),), {"formula": "cost ~ age"}, "formula needs a data frame"),
        (("people.csv",), {"formula": "cost ~ age"}, r"read_table\(path, formula=...\)"),
        ((read_table(PEOPLE, "cost"),), {"formula": PRODUCTS}, "give it to read_table"),
        ((PEOPLE,), {"formula": "cost ~ hieght"}, "no column 'hieght'"),
        (
            (PEOPLE, PEOPLE.cost),
            {"schema": {"ages": "number"}},
            "schema: there is no column 'ages'; did you mean 'age'",
        ),
        ((PEOPLE, PEOPLE.cost), {"schema": {"age": "numbre"}}, "schema: 'age' is 'numbre'; it must be one of"),
        ((PEOPLE, PEOPLE.cost), {"schema": {"sex": ["f"]}}, "at least two different texts"),
        ((PEOPLE, PEOPLE.cost), {"schema": {"sex": complex}}, "it must be one of"),
        ((PEOPLE, "cost ~ age"), {}, "give a formula as formula="),
        ((pl.from_pandas(PEOPLE).lazy(), PEOPLE.cost), {}, r"X.collect\(\)"),
        ((PEOPLE, PEOPLE.cost), {"schema": ["age"]}, "schema must be a dict"),
        ((PEOPLE, PEOPLE.cost), {"progress": "yes"}, "progress='yes' must be True"),
    ],
)
def test_mistakes_are_refused_before_anything_is_spent(arguments, options, message):
    with pytest.raises(ValueError, match=message) as refused:
        regressor().fit(*arguments, **options)
    assert "\n" not in str(refused.value)


def test_a_schema_takes_types_of_any_library():
    types = {
        **{"age": float, "sex": "category", "region": pd.CategoricalDtype(["north", "south"]), "years": pl.Float64},
        **{"note": "string", "cost": np.dtype("float64"), "curved": pa.float32()},
    }
    kinds, known = read_schema(types, list(types))
    assert {name: kind.value for name, kind in kinds.items()} == {
        **dict.fromkeys(("age", "years", "cost", "curved"), "number"),
        **dict.fromkeys(("sex", "region", "note"), "text"),
    }
    assert {name: each.categories for name, each in known.items()} == {"region": ("north", "south")}
    assert read_schema({"on": pl.Date, "at": pa.timestamp("us"), "ill": bool}, ["on", "at", "ill"])[0] == {
        **{"on": Kind.date_ymd, "at": Kind.date_ymd, "ill": Kind.boolean}
    }


def test_units_of_all_columns_and_formulas_exclude_each_other():
    with pytest.raises(ValueError, match="give public units in the bounds"):
        regressor(feature_scale=1.0).fit(PEOPLE, formula=PRODUCTS)
    with pytest.raises(ValueError, match="write the label of yes in the formula"):
        PrivateSparseClassifier(positive=7).fit(PEOPLE, formula="age ~ sex")

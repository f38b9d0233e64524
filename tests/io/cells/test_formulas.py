"""Formulas of row-wise terms: what they make of a table, and that a record's row depends on this record alone."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.interpolate import BSpline

from dpsparse import read_table
from dpsparse.io.cells.column_cells import BLANK
from dpsparse.io.cells.formula_table import FormulaTable
from dpsparse.io.cells.formula_terms import LEARNING
from dpsparse.io.cells.formulas import Product, read_formula
from dpsparse.io.cells.grammar import CellClass, Kind
from dpsparse.io.cells.raw_table import CsvTable

RNG = np.random.default_rng(0)
N = 200
DATA = pd.DataFrame(
    {
        "age": RNG.uniform(20, 90, N),
        "annual income": RNG.exponential(1.0, N),
        "smoker": RNG.random(N) < 0.3,
        "grade": RNG.integers(1, 4, N),
        "region": RNG.choice(["north", "south"], N),
        "sex": RNG.choice(["m", "f"], N),
        "cost": RNG.normal(size=N),
    },
    index=np.arange(N)[::-1],
)
SPLINE = "bs(age, knots=[30, 50, 70], lower=0, upper=110)"
FORMULA = (
    "np.log(cost) ~ age*smoker + region + sex + C(region):C(sex) + C(grade) + sqrt(`annual income`)"
    f" + I((age - 50) / 15) + I(age >= 65) + age:I(sex == 'm') + age:region + {SPLINE}"
)


def numbers_of(data, *columns):
    return data.table.numbers(columns, [Kind.number] * len(columns)).T


def test_terms_are_what_they_say():
    data = read_table(DATA, formula=FORMULA)
    splines = [f"bs(age)[{k}]" for k in range(1, 7)]
    assert data.columns == [
        *("age", "smoker", "age:smoker", "region", "sex", "region:sex", "grade", "sqrt(`annual income`)"),
        *("I((age - 50) / 15)", "I(age >= 65)", "age:I(sex == 'm')", *splines),
    ]
    assert list(data.products) == [Product("age", "region")]
    assert data.target == "np.log(cost)"
    made = dict(
        zip(
            ("age:smoker", "sqrt(`annual income`)", "I((age - 50) / 15)", "I(age >= 65)", "age:I(sex == 'm')"),
            numbers_of(
                data, "age:smoker", "sqrt(`annual income`)", "I((age - 50) / 15)", "I(age >= 65)", "age:I(sex == 'm')"
            ),
            strict=True,
        )
    )
    np.testing.assert_array_equal(made["age:smoker"], DATA.age * DATA.smoker)
    np.testing.assert_array_equal(made["sqrt(`annual income`)"], np.sqrt(DATA["annual income"]))
    np.testing.assert_array_equal(made["I((age - 50) / 15)"], (DATA.age - 50) / 15)
    np.testing.assert_array_equal(made["I(age >= 65)"], DATA.age >= 65)
    np.testing.assert_array_equal(made["age:I(sex == 'm')"], DATA.age * (DATA.sex == "m"))
    assert data.table.texts("region:sex") == (DATA.region + ":" + DATA.sex).tolist()
    # A number below 0 has no logarithm: the response is missing there.
    np.testing.assert_array_equal(np.isnan(numbers_of(data, "np.log(cost)")[0]), DATA.cost <= 0)
    assert {name: data.declared[name] for name in ("grade", "region", "region:sex")} == dict.fromkeys(
        ("grade", "region", "region:sex"), Kind.text
    )


def test_a_spline_has_public_knots_and_limits_and_is_one_variable():
    data = read_table(DATA, formula=f"cost ~ {SPLINE}")
    knots = [0] * 4 + [30, 50, 70] + [110] * 4
    expected = BSpline.design_matrix(DATA.age.to_numpy(), knots, 3).toarray()[:, 1:]
    np.testing.assert_allclose(numbers_of(data, *data.columns).T, expected)
    far = read_table(DATA.assign(age=np.where(np.arange(N) % 2, -1e9, 1e9)), formula=f"cost ~ {SPLINE}")
    assert set(np.unique(numbers_of(far, *data.columns))) == {0.0, 1.0}
    assert {*data.formula.variables.values()} == {"bs(age)"}
    # Its units are those of evenly spread numbers, whatever the data are.
    assert data.formula.units == far.formula.units


def test_a_row_depends_on_its_own_record_alone():
    whole = read_table(DATA, formula=FORMULA)
    other = DATA.sample(frac=1.0, random_state=1).assign(age=1e6, grade=9, region="moon", sex=None, cost=-5.0)
    part = read_table(pd.concat([DATA.iloc[:50], other.iloc[:150]]), formula=FORMULA)
    numbers = [name for name in whole.columns if whole.declared[name] != Kind.text]
    np.testing.assert_array_equal(numbers_of(part, *numbers)[:, :50], numbers_of(whole, *numbers)[:, :50])
    assert part.table.texts("region:sex")[:50] == whole.table.texts("region:sex")[:50]


def test_gaps_stay_gaps():
    gaps = DATA.astype({"smoker": "boolean", "grade": "Int64"}).copy()
    gaps.iloc[0] = [np.nan, np.nan, pd.NA, pd.NA, None, None, np.nan]
    data = read_table(gaps, formula=FORMULA)
    for name in data.columns:
        counts = data.table.class_counts([name])[0]
        assert (counts[CellClass.EMPTY], counts.sum()) == (1, N)


def test_a_blank_record_of_a_file_is_blank_in_every_term(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,sex,region,cost\n31,f,north,1\n47,m\n,m,south,3\n")
    formula = "cost ~ I(age**2) + C(sex):C(region) + bs(age, knots=[30], lower=0, upper=90)"
    table = FormulaTable(CsvTable(path), read_formula(formula, ["age", "sex", "region", "cost"], {}))
    for name in ("I(age ** 2)", "sex:region", "bs(age)[1]"):
        classes = np.concatenate([table.cells(block, [name])[0].classes() for block in table.blocks])
        assert (classes == BLANK).tolist() == [False, True, False]
    assert table.numbers(["I(age ** 2)"], [Kind.number])[0, 0] == 31**2
    assert table.texts("sex:region") == ["f:north", "", "m:south"]


def test_numbers_of_a_file_may_have_commas(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('fee,cost\n"1,200",1\n30,2\n')
    assert numbers_of(read_table(path, formula="cost ~ I(fee / 10)"), "I(fee / 10)")[0].tolist() == [120.0, 3.0]
    comma = read_table(path, formula="cost ~ I(fee / 10)", schema={"fee": "number_comma"})
    assert numbers_of(comma, "I(fee / 10)")[0].tolist() == [0.12, 3.0]


@pytest.mark.parametrize("name", [*LEARNING, "mean", "print"])
def test_what_is_not_row_wise_is_refused_by_name(name):
    for term in (f"{name}(age)", f"I(age - {name}(age))", f"age:{name}(age)"):
        with pytest.raises(ValueError, match=rf"{name}\(\.\.\.\)") as refused:
            read_table(DATA, formula=f"cost ~ smoker + {term}")
        assert "\n" not in str(refused.value)
        if name in LEARNING:
            assert str(refused.value).endswith(LEARNING[name])


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("age + smoker", "must have a response"),
        ("cost ~ ", "must have a response"),
        ("cost ~ 1", "must have a response"),
        (7, "must have a response"),
        ("cost ~ hieght", "no column 'hieght'"),
        ("coast ~ age", "did you mean 'cost'"),
        ("cost ~ log(hieght)", "no column 'hieght'"),
        ("cost ~ age +", "cannot be read"),
        ("cost ~ I(age", "cannot be read"),
        ("cost ~ age - 1", "fit_intercept=False"),
        ("cost ~ 0 + age", "fit_intercept=False"),
        ("cost ~ age + 2:sex", "a number alone"),
        ("cost ~ log(region)", "no column of numbers by its type"),
        ("cost ~ I(3)", "names no column"),
        ("cost ~ bs(age)", "bs needs public numbers"),
        ("cost ~ bs(age, df=4)", "bs needs public numbers"),
        ("cost ~ bs(age, knots=[70, 50], lower=0, upper=110)", "increase"),
        ("cost ~ bs(age, knots=[smoker], lower=0, upper=110)", "bs needs public numbers"),
        (f"cost ~ age + region:{SPLINE}", "no products"),
        ("cost ~ age:C(grade)", "needs age as a term beside it.*write age"),
        ("cost ~ age + age:region", "needs region"),
        ("cost ~ grade + C(grade)", "a number in one term"),
        ("cost ~ C(grade, levels=[1])", "takes one column"),
        ("cost ~ I(C(grade))", "cannot be a part of arithmetic"),
        ("cost ~ I(age.mean())", "row-wise"),
        ("cost ~ I([age])", "a term has columns"),
        ('cost ~ Q("annual income")', "in backticks"),
        ("cost ~ age + offset(log(age))", "exposure="),
        ("cost ~ factor(sex)", "name of a column of text alone, or C"),
        ("cost ~ cost + age", "response, and cannot be a feature"),
        ("C(grade) ~ age", "the response is one column"),
        ("cost + age ~ sex", "the response is one column"),
    ],
)
def test_mistakes_are_named_in_one_line(formula, message):
    with pytest.raises(ValueError, match=message) as refused:
        read_table(DATA, formula=formula)
    assert "\n" not in str(refused.value)


def test_in_a_file_nothing_tells_numbers_from_categories(tmp_path):
    DATA.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(ValueError, match=r"C\(\.\.\.\) for categories, and I\(age \* sex\) for numbers"):
        read_table(tmp_path / "people.csv", formula="cost ~ age*sex")
    for formula, schema in (("cost ~ age*C(sex)", None), ("cost ~ age*sex", {"age": "number", "sex": ["f", "m"]})):
        assert list(read_table(tmp_path / "people.csv", formula=formula, schema=schema).products) == [
            Product("age", "sex")
        ]


def test_in_a_frame_texts_are_categories_beside_numbers():
    texts = DATA.astype(str)
    for formula in ("cost ~ age*sex", "cost ~ age*C(sex)", "cost ~ sex:region"):
        with pytest.raises(ValueError, match=r"and schema=\{.*: 'number'\} for numbers"):
            read_table(texts, formula=formula)
    for data, schema in (
        (DATA, None),
        (texts, {"age": "number"}),
        (texts.astype({"sex": "category"}), {"age": "number"}),
    ):
        assert list(read_table(data, formula="cost ~ age*sex", schema=schema).products) == [Product("age", "sex")]
    both = texts.astype({"sex": "category", "region": "category"})
    for data in (DATA, both, pl.from_pandas(both), pa.Table.from_pandas(both)):
        assert read_table(data, formula="cost ~ sex:region").columns == ["sex:region"]


def test_all_other_columns_are_a_dot_and_frames_of_polars_are_read():
    data = read_table(pl.from_pandas(DATA), formula="cost ~ . - sex")
    assert data.columns == ["age", "annual income", "smoker", "grade", "region"]
    # The formula that a model keeps names them, whatever columns new records have.
    assert data.formula.text == "cost ~ age + `annual income` + smoker + grade + region"
    # A column that says whose record it is has been named, and is not among the others.
    assert "grade" not in read_table(DATA, formula="cost ~ .", person="grade").columns


def test_people_and_exposures_are_no_terms():
    for beside in ("person", "exposure"):
        with pytest.raises(ValueError, match="leave them out"):
            read_table(DATA, formula="cost ~ age + grade", **{beside: "grade"})
    with pytest.raises(ValueError, match="response of the formula"):
        read_table(DATA, "age", formula="cost ~ grade")


def as_arrow(last):
    types = {
        "grade": pa.int64(),
        "smoker": pa.bool_(),
        "joined": pa.date32(),
        "region": pa.string(),
        "cost": pa.bool_(),
    }
    return pa.table({name: pa.array([None] * 4 + [last.get(name)], kind) for name, kind in types.items()})


@pytest.mark.parametrize("library", [lambda table: table, pl.from_arrow], ids=["arrow", "polars"])
def test_kinds_are_the_declared_ones_whatever_the_cells_are(library):
    """A kind that follows the cells decides how all of them are read, for which no release pays."""
    last = {"grade": 2, "smoker": True, "joined": 10**7, "region": "north", "cost": True}
    formula = "cost ~ smoker*region + C(grade):C(region) + joined + I(grade**2) + I(region == 'north')"
    empty, full = (read_table(library(as_arrow(cells)), formula=formula) for cells in ({}, last))
    assert (empty.declared, empty.columns, empty.formula) == (full.declared, full.columns, full.formula)
    for name in empty.columns:
        assert (empty.table.class_counts([name])[0, 0], full.table.class_counts([name])[0, 0]) == (5, 4)

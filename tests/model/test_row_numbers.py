from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpsparse import PrivateSparseRegressor, read_table
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect
from dpsparse.model.row_numbers import row_numbers
from dpsparse.report.fit_page import fit_page

N = 4_000


def table(name):
    """A column that numbers the rows, in a file whose order goes with the response."""
    rng = np.random.default_rng(0)
    made = pd.DataFrame({name: np.arange(1, N + 1), "age": rng.normal(50, 15, N), "visits": rng.poisson(2.0, N)})
    return made.assign(cost=0.05 * made[name] + made.age + 9 * rng.standard_t(3, N))


@pytest.fixture(scope="module")
def model():
    fitted = PrivateSparseRegressor(sparsity=2, epsilon=3.0, random_state=0).fit(read_table(table("case"), "cost"))
    assert {effect.feature for effect in fitted.released_.effects} == {"case", "age"}
    return fitted.released_


def test_a_column_that_numbers_the_rows_is_remarked_on_by_its_released_unit(model):
    text = row_numbers(model)
    assert text.startswith("perhaps 'case', whose released centre and scale are like those of the numbers 1 to 4,000")
    assert "age" not in text
    assert text.endswith("leave it out of the next fit (--drop case, or drop in a bounds file)")
    assert row_numbers(replace(model, response_scale_known=False)) == ""
    assert "Row numbers: perhaps 'case'" in " ".join(model.summary().split())
    assert "Row numbers: perhaps &#x27;case&#x27;" in fit_page(model).replace("&#39;", "&#x27;")


def test_a_column_with_another_centre_numbers_nothing(model):
    (effect,) = [each for each in model.effects if each.feature == "case"]
    for share, remarked in ((0.5, True), (0.53, True), (0.6, False), (0.35, False)):
        assert bool(row_numbers(replace(model, effects=(replace(effect, center=share * N),)))) == remarked


def test_or_by_its_name(model):
    (effect,) = [each for each in model.effects if each.feature == "case"]
    given = replace(effect, center=None, scale=None)
    assert row_numbers(replace(model, effects=(given,))) == ""
    features = (Feature("row.names", kind="number"), Feature("row.names", kind="number", missing=True))
    effects = (replace(given, feature="row.names"), replace(given, feature="row.names (gap)"))
    named = replace(model, features=features, effects=effects)
    assert row_numbers(named).startswith("perhaps 'row.names', by the name. If")
    assert row_numbers(replace(named, effects=effects[1:])) == ""


def test_nothing_else_is_remarked_on(model):
    effects = tuple(each for each in model.effects if each.feature == "age")
    assert row_numbers(replace(model, effects=effects)) == ""
    assert row_numbers(replace(model, effects=())) == ""
    dates = (Feature("joined", kind="date_ymd"),)
    effects = (Effect("joined", 1.0, 1.0, 0.1, clear=True, center=2_000.0, scale=1_500.0),)
    assert row_numbers(replace(model, features=dates, effects=effects)) == ""

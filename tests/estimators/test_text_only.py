"""Raw tables whose features are all publicly text: there is no number to split, and a fit is one of categories."""

import numpy as np
import pandas as pd
import pytest

from dpsparse import PrivateSparseRegressor, read_table, tune
from dpsparse.io.bounds import Bounds, ColumnBounds

TEXT = {"schema": {"region": "text", "sex": "text"}}
CATEGORIES = {
    "bounds": Bounds(
        columns={
            "region": ColumnBounds(kind="text", categories=("north", "south", "west")),
            "sex": ColumnBounds(kind="text", categories=("f", "m")),
        }
    )
}
MIXED = {"bounds": Bounds(columns={"region": CATEGORIES["bounds"].columns["region"]}), "schema": {"sex": "text"}}
PUBLIC = {"declared as text": TEXT, "public categories": CATEGORIES, "one of each": MIXED}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng, n = np.random.default_rng(0), 6_000
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame({"region": region, "sex": rng.choice(["f", "m"], n)})
    frame["cost"] = 100.0 + 50 * (region == "west") + 10 * rng.standard_t(3, n)
    path = tmp_path_factory.mktemp("text") / "people.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.filterwarnings("ignore:random_state is set")
@pytest.mark.parametrize("public", PUBLIC)
def test_effects_of_categories_are_found_without_any_number(people, public):
    model = PrivateSparseRegressor(epsilon=2.0, sparsity=2, random_state=0)
    model.fit(read_table(people, "cost", **PUBLIC[public]))
    (west,) = [effect for effect in model.released_.effects if effect.feature == "region=west"]
    # West is 50 above all others; the baseline is north, and south is as north.
    assert west.estimate == pytest.approx(50, abs=10)


@pytest.mark.filterwarnings("ignore:random_state is set")
def test_identifiers_leave_a_constant(tmp_path):
    n = 2_000
    frame = pd.DataFrame({"id": [f"P{place}" for place in range(n)], "cost": np.resize([9.0, 10.0, 11.0], n)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    model = PrivateSparseRegressor(epsilon=2.0, random_state=0)
    model.fit(read_table(tmp_path / "people.csv", "cost", schema={"id": "text"}))
    assert model.intercept_ == pytest.approx(10, abs=2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:random_state is set")
@pytest.mark.parametrize("public", PUBLIC)
def test_tune_takes_such_tables(people, public):
    candidates = [PrivateSparseRegressor(epsilon=4.0, sparsity=sparsity, random_state=0) for sparsity in (1, 2)]
    chosen = tune(candidates, read_table(people, "cost", **PUBLIC[public])).estimator
    assert "region=west" in {effect.feature for effect in chosen.released_.effects}

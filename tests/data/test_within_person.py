"""Deviations from a person's own mean: functions of that person's rows alone."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpsparse import PrivateSparseRegressor, evaluate, fit_and_evaluate, read_table, tune
from dpsparse.data.within_person import NO_IDS, deviations, rows_of_several
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.sparse_rows import SparseRows
from dpsparse.engine.disk.disk_rows import DiskRows
from dpsparse.engine.disk.feature_sources import ArraySource
from dpsparse.engine.people import People
from dpsparse.model.json_file import load_model, save_model
from dpsparse.privacy.noise import NotPrivateWarning

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{NotPrivateWarning.__module__}.NotPrivateWarning", "ignore:With n=", "ignore:within"
)
N = 400


def table(seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.standard_t(2, (N, 3)).astype(dtype), rng.standard_t(2, N), rng.integers(0, 90, N)


def test_the_rounding_of_a_mean_is_no_deviation():
    """Otherwise the unit of what is constant within people would be that of the rounding."""
    person = np.repeat(np.arange(50), np.arange(1, 51))
    constant = (0.1 + 1.1 * np.arange(50))[person]
    found = deviations(DenseRows(constant[:, None], 1e9 * constant), People.of(person), fill=False)
    assert not found.X.any()
    assert not found.y.any()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [4, 9])
def test_a_year_that_all_people_share_has_an_effect(rows):
    """Rows that meet in a pair are of other years; with first rows against first ones years would never differ."""
    rng = np.random.default_rng(3)
    person, year = np.repeat(np.arange(3_000), rows), np.tile(np.arange(rows), 3_000)
    begun = rng.integers(0, 9, 3_000)[person]
    table = pd.DataFrame({"person": person, "experience": year + begun, "dose": rng.normal(size=len(year))})
    table["wage"] = 0.06 * table.experience + 0.1 * table.dose + 0.4 * rng.normal(size=len(year))
    model = PrivateSparseRegressor(sparsity=2, epsilon=4.0, within=True, random_state=1)
    effects = model.fit(read_table(table, "wage", person="person")).effects_
    by_name = effects.set_index("term")["estimate"]
    assert by_name["experience"] == pytest.approx(0.06, abs=0.03)
    assert by_name["dose"] == pytest.approx(0.1, abs=0.03)


def test_they_are_those_of_a_table_by_hand():
    X, y, person = table()
    X[3, 1], y[5] = np.nan, np.nan
    found = deviations(DenseRows(X, y), People.of(person), fill=False)
    frame = pd.DataFrame(X).assign(y=y)
    known = frame.where(frame.y.notna())
    expected = frame - known.groupby(person).transform("mean")
    np.testing.assert_allclose(found.X, expected[[0, 1, 2]], atol=1e-12)
    np.testing.assert_allclose(found.y, expected.y, atol=1e-12)
    filled = deviations(DenseRows(X, y), People.of(person), fill=True)
    assert filled.X[3, 1] == 0
    assert np.isnan(filled.y[5])


def test_a_person_s_depend_on_that_person_s_rows_to_the_last_bit(monkeypatch):
    X, y, person = table()
    whole = deviations(DenseRows(X, y), People.of(person), fill=False)
    for rows in (7, 50):
        monkeypatch.setattr("dpsparse.data.within_person._ROWS", rows)
        again = deviations(DenseRows(X, y), People.of(person), fill=False)
        assert (again.X == whole.X).all()
        assert (again.y == whole.y).all()
    others = person != person[0]
    changed, responses = X.copy(), y.copy()
    changed[others], responses[others] = 1e308, -1e308
    moved = deviations(DenseRows(changed, responses), People.of(person), fill=False)
    assert (moved.X[~others] == whole.X[~others]).all()
    assert (moved.y[~others] == whole.y[~others]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_values_stay_finite(dtype):
    X, y, person = table(dtype=dtype)
    most = np.finfo(dtype).max
    X[:] = np.where(np.arange(N)[:, None] % 2, most, -most)
    y[:] = np.where(np.arange(N) % 2, 1e308, -1.7e308)
    found = deviations(DenseRows(X, y), People.of(person), fill=False)
    assert np.isfinite(found.X).all()
    assert np.isfinite(found.y).all()
    assert found.X.dtype == dtype


def test_every_storage_has_the_same():
    X, y, person = table()
    X[abs(X) < 0.5] = 0.0
    people = People.of(person)
    first = deviations(DenseRows(X, y), people, fill=False)
    for rows in (
        DenseRows(np.asfortranarray(X), y),
        SparseRows.of(sparse.csr_matrix(X), y),
        DiskRows(ArraySource([X[:100], X[100:]]), y),
    ):
        assert (deviations(rows, people, fill=False).X == first.X).all()


def test_people_with_one_row_are_left_out_with_a_word_of_public_numbers():
    with pytest.warns(UserWarning, match="1 of 3 people have one row"):
        assert rows_of_several(People.of(np.array([0, 1, 0, 2, 2]))).tolist() == [0, 2, 3, 4]


def panel(n_people=1_500, rows=4, alone=0):
    """Effects within people of 1 and -0.5; between them the first one has the opposite sign."""
    rng = np.random.default_rng(0)
    person = np.concatenate([np.repeat(np.arange(n_people), rows), n_people + np.arange(alone)])
    level = rng.standard_normal(n_people + alone)
    X = rng.standard_normal((len(person), 4))
    X[:, 0] += 2 * level[person]
    return X, X[:, 0] - 0.5 * X[:, 1] - 4 * level[person] + rng.standard_normal(len(person)), person


@pytest.mark.parametrize("how", ["array", "name", "raw", "text"])
def test_effects_are_within_people(how, tmp_path):
    X, y, person = panel(alone=50)
    model = PrivateSparseRegressor(sparsity=2, epsilon=6.0, within=True, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(who=person)
    if how == "array":
        model.fit(X, y, person=person)
    elif how == "name":
        model.fit(frame, y, person="who")
    elif how == "raw":
        model.fit(read_table(frame.assign(y=y), "y", person="who"))
    else:
        model.fit(frame.assign(sex=np.where(person % 2, "m", "f")), y, person="who")
    effects = {effect.feature[-1]: effect.coef for effect in model.released_.effects}
    first, second = ("0", "1") if how == "array" else "ab"
    assert abs(effects[first] - 1) < 0.2
    assert abs(effects[second] + 0.5) < 0.2
    assert model.privacy_.n_records == 1_500
    assert "less their person's own mean" in " ".join(model.summary().split())
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").within


def test_what_has_no_meaning_within_people_is_refused():
    X, y, person = panel(50)
    within = PrivateSparseRegressor(sparsity=1, within=True)
    for call in (
        lambda: within.fit(X, y),
        lambda: within.fit(read_table(pd.DataFrame(X, columns=list("abcd")).assign(y=y), "y")),
    ):
        with pytest.raises(ValueError, match=NO_IDS[:30]):
            call()
    with pytest.raises(ValueError, match="whose centre is 0"):
        PrivateSparseRegressor(within=True, feature_center=5.0).fit(X, y, person=person)
    with pytest.raises(ValueError, match="0 people have several rows"):
        within.fit(X, y, person=np.arange(len(y)))
    with pytest.raises(ValueError, match="tune holds out single rows"):
        tune([within], X, y, person=person)
    with pytest.raises(ValueError, match="fit_and_evaluate holds out"):
        fit_and_evaluate(within, X, y, person=person)
    with pytest.raises(ValueError, match="evaluate holds out"):
        evaluate(within.fit(X, y, person=person), X, y, epsilon=1.0, person=person)

"""Fits on raw tables: text, gaps, dates, identifiers and separators, with nothing typed."""

import numpy as np
import pandas as pd
import pytest

from dpsparse import (
    BudgetExceeded,
    PrivacyLedger,
    PrivateSparseRegressor,
    evaluate,
    fit_and_evaluate,
    load_model,
    read_table,
    save_model,
    tune,
)
from dpsparse.estimators import tuning
from dpsparse.io.bounds import Bounds, ColumnBounds
from dpsparse.privacy.accounting.compose import compose_gdp
from dpsparse.privacy.accounting.meter import Meter

N = 8_000
EFFECTS = {"age": 300.0, "region=east": 8_000.0, "region=west": -5_000.0, "member": 4_000.0, "income": 0.2}


def people(seed=0, n=N):
    """Records as people have them; the response follows `EFFECTS`, with t3 noise."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "east", "west", "centre"], size=n, p=[0.4, 0.25, 0.15, 0.15, 0.05])
    age, income, member = rng.normal(45, 12, n), np.exp(rng.normal(10, 0.6, n)), rng.random(n) < 0.3
    cost = 20_000 + 300 * (age - 45) + 8_000 * (region == "east") - 5_000 * (region == "west")
    cost += 0.2 * (income - 30_000) + 4_000 * member + 5_000 * rng.standard_t(3, n)
    frame = pd.DataFrame(
        {
            "id": [f"P{place:06d}" for place in range(n)],
            "age": age.round(1),
            "income": [f"{value:,.0f}" for value in income],
            "region": region,
            "member": np.where(member, "yes", "no"),
            "note": [f"said {value}" for value in rng.integers(1e9, size=n)],
            "constant": 1,
            "joined": pd.date_range("2015-01-01", periods=3_000)[rng.integers(3_000, size=n)].strftime("%d/%m/%Y"),
            "cost": cost.round(2),
        }
    )
    for column, share in (("age", 0.1), ("region", 0.05), ("cost", 0.02)):
        frame.loc[rng.random(n) < share, column] = np.nan
    return frame


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    people().to_csv(folder / "people.csv", index=False)
    people(seed=1, n=2_000).to_csv(folder / "new.csv", index=False)
    return folder


def regressor(**options):
    return PrivateSparseRegressor(**{"epsilon": 2.0, "delta": 1e-6, "random_state": 0} | options)


@pytest.fixture(scope="module")
def fitted(files):
    with pytest.warns(UserWarning, match="random_state"):
        return regressor().fit(read_table(files / "people.csv", "cost"))


def test_nothing_is_typed_and_everything_is_found(fitted):
    model = fitted.released_
    coefs = {effect.feature: effect.coef for effect in model.effects}
    assert {effect.feature for effect in model.effects if effect.clear} == EFFECTS.keys()
    # A selected category brings the others of its column.
    assert {"region=centre", "region=south"} < coefs.keys()
    for name, effect in EFFECTS.items():
        assert coefs[name] == pytest.approx(effect, rel=0.2)
    assert model.target == "cost"
    assert model.baselines == {"region": "north"}
    # Identifiers and free text have no feature, and whether a column is missing is one where it has gaps.
    assert not {feature.column for feature in model.features} & {"id", "note"}
    assert {feature.column for feature in model.features if feature.missing} == {"age", "region"}


def test_public_categories_stand_beside_learned_text(files, tmp_path):
    bounds = tmp_path / "bounds.toml"
    bounds.write_text('[columns.region]\ncategories = ["north", "south", "east", "west", "centre"]\n')
    with pytest.warns(UserWarning, match="random_state"):
        model = regressor().fit(read_table(files / "people.csv", "cost", bounds=bounds)).released_
    assert {"region=east", "region=west"} <= {effect.feature for effect in model.effects}
    assert model.baselines["region"] == "north"


def test_public_units_do_not_decide_how_cells_are_written(files, tmp_path):
    bounds = tmp_path / "bounds.toml"
    bounds.write_text("[columns.member]\nshare = 0.3\n[columns.income]\nlow = 6000\nhigh = 73000\n")
    with pytest.warns(UserWarning, match="random_state"):
        model = regressor().fit(read_table(files / "people.csv", "cost", bounds=bounds)).released_
    coefs = {effect.feature: effect.coef for effect in model.effects}
    for name in ("member", "income"):
        assert coefs[name] == pytest.approx(EFFECTS[name], rel=0.15)


def test_columns_with_public_units_are_no_text(files):
    known = {"note": ColumnBounds(0.0, 1.0), "i*": ColumnBounds(0.0, 1.0)}
    data = read_table(files / "people.csv", "cost", bounds=Bounds(columns=known))
    assert data.numeric == {"note"}
    assert data.declared == {"id": "number", "income": "number"}
    assert not {"note", "id", "income"} & set(data.maybe_text)
    declared = read_table(files / "people.csv", "cost", bounds=Bounds(columns=known), schema={"note": "text"})
    assert "note" in declared.maybe_text


def test_predictions_read_the_columns_that_are_needed(fitted, files, tmp_path):
    frame = pd.read_csv(files / "new.csv", dtype=str, keep_default_na=False)
    save_model(fitted, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    of_file = again.predict(files / "new.csv")
    np.testing.assert_array_equal(of_file, fitted.predict(frame))
    np.testing.assert_array_equal(of_file, again.predict(frame[again.columns_needed[::-1]]))
    cost = pd.to_numeric(frame["cost"]).to_numpy()
    there = ~np.isnan(cost)
    of_constant = np.abs(cost - np.nanmedian(cost))[there].mean()
    assert np.abs(cost - of_file)[there].mean() < 0.85 * of_constant
    with pytest.raises(ValueError, match="no column 'age'"):
        again.predict(frame.drop(columns="age"))


@pytest.mark.slow
def test_a_person_alone_is_not_named(files, tmp_path):
    """A category of one person is in no result, however often it is fitted."""
    frame = people()
    frame.loc[17, "region"] = "the moon"
    frame.to_csv(tmp_path / "people.csv", index=False)
    for seed in range(3):
        with pytest.warns(UserWarning, match="random_state"):
            model = regressor(epsilon=8.0, random_state=seed).fit(read_table(tmp_path / "people.csv", "cost"))
        save_model(model, tmp_path / "model.json")
        assert "moon" not in (tmp_path / "model.json").read_text()


@pytest.mark.filterwarnings("ignore:random_state")
def test_declared_kinds_are_used(files):
    declared = {
        "age": "number",
        "income": "number_grouped",
        "region": "text",
        "member": "boolean",
        "joined": "date_dmy",
    }
    declared |= {"id": "text", "note": "text", "constant": "number", "cost": "number", "joined": "date_dmy"}
    model = regressor().fit(read_table(files / "people.csv", "cost", schema=declared))
    assert set(EFFECTS) <= {effect.feature for effect in model.released_.effects}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:random_state")
def test_held_out_records_are_evaluated_in_the_same_guarantee(files):
    model, evaluation = fit_and_evaluate(regressor(), read_table(files / "people.csv", "cost"))
    assert model.privacy_ == evaluation.privacy
    assert evaluation.privacy.n_records == N
    assert {release.part for release in evaluation.privacy.releases} == {0, 1}
    assert evaluation.improvement.low > 0
    frame = people(seed=1, n=2_000)
    again = evaluate(model, frame, frame["cost"], epsilon=2.0, random_state=0)
    assert again.improvement.low > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:random_state")
def test_tune_learns_what_the_columns_are_once(files):
    candidates = [regressor(sparsity=sparsity) for sparsity in (1, 5)]
    tuned = tune(candidates, read_table(files / "people.csv", "cost"))
    assert tuned.index == 1
    assert tuned.privacy.epsilon <= 2.0
    names = [release.name for release in tuned.privacy.releases]
    for once in ("table: kinds", "table: distinct values", "table: categories", "table: names"):
        assert names.count(once) == 1
    about = ("responses", "response size", "response centre", "response scale", "unit ")
    units = [name for name in names if name.rpartition(": ")[2].startswith(about)]
    assert units[:2] == ["units: responses", "units: response size"]
    assert "units: unit size 1" in units
    assert len(units) == len(set(units))
    assert all(name.startswith("units: ") for name in units)
    assert {effect.feature for effect in tuned.estimator.released_.effects} >= set(EFFECTS)
    # The rows that are not held out pay for the table, the units and both fits: nothing is left over.
    training = [release.mechanism for release in tuned.privacy.releases if release.part == 0]
    assert compose_gdp(training) > 0.99 * tuned.privacy.guarantee.mu_per_record


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:random_state", "ignore:With n=")
@pytest.mark.parametrize("sparsities", [(2,), (1, 2)])
def test_candidates_are_compared_by_their_errors_on_every_fifth_record(files, monkeypatch, sparsities):
    seen, choose = [], tuning._choose
    monkeypatch.setattr(tuning, "_choose", lambda errors, *how: seen.append(errors) or choose(errors, *how))
    tuned = tune([regressor(sparsity=sparsity) for sparsity in sparsities], read_table(files / "new.csv", "cost"))
    held_out = people(seed=1, n=2_000)[4::5]
    assert tuned.privacy.n_records == 2_000
    for model, errors in zip(tuned.candidates, seen[0], strict=True):
        expected = np.abs(held_out["cost"] - model.predict(held_out))
        np.testing.assert_allclose(errors, expected, rtol=1e-9)


@pytest.mark.slow
def test_a_ledger_is_charged_before_anything_is_released(files, tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "budget.db")
    ledger.grant("people", epsilon=1.2, delta=1e-6)
    spent = []
    charge = Meter.charge

    def noted(meter, *releases):
        charge(meter, *releases)
        spent.append(ledger.balance("people").epsilon_spent)

    monkeypatch.setattr(Meter, "charge", noted)
    options = {"epsilon": 1.0, "random_state": None, "ledger": tmp_path / "budget.db", "dataset": "people"}
    regressor(**options).fit(read_table(files / "people.csv", "cost"))
    assert min(spent) > 0.9
    with pytest.raises(BudgetExceeded, match="epsilon="):
        regressor(**options).fit(read_table(files / "people.csv", "cost"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "price"}, "no column 'price'"),
        ({"target": "cost", "schema": {"ages": "number"}}, "no column 'ages'"),
        ({"target": "cost", "schema": {"age": "numbers"}}, "'numbers'"),
    ],
)
def test_faults_are_found_before_anything_is_spent(files, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(files / "people.csv", **options)


def test_y_belongs_to_the_table(files):
    with pytest.raises(ValueError, match="y must be left out"):
        PrivateSparseRegressor().fit(read_table(files / "people.csv", "cost"), np.ones(N))


@pytest.mark.parametrize("others", [True, False])
def test_other_values_come_with_a_category_if_there_are_any(others):
    """Too few records have each of them, so that nothing told before whether there are any; together they matter."""
    rng, n = np.random.default_rng(5), 8_000
    values = np.array(["north", "south", *"abcdefghij"])
    region = rng.choice(values, size=n, p=[0.5, 0.4, *[0.01] * 10]) if others else rng.choice(values[:2], size=n)
    y = 3.0 * (region == "south") + 9.0 * np.isin(region, values[2:]) + rng.standard_normal(n)
    frame = pd.DataFrame({"region": region, "age": rng.integers(18, 90, n), "cost": y})
    with pytest.warns(UserWarning, match="random_state"):
        model = PrivateSparseRegressor(sparsity=1, epsilon=2.0, random_state=1).fit(read_table(frame, "cost"))
    effects = {effect.feature: effect.coef for effect in model.released_.effects}
    assert any("=" in name for name in effects)
    assert ("region (another value)" in effects) == others
    if others:
        assert effects["region (another value)"] > 5


def test_more_variables_than_columns_are_those_of_all_columns():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.standard_normal(3_000) for name in "abc"})
    frame["cost"] = frame.a + rng.standard_normal(3_000)
    all_of_them, more = (
        PrivateSparseRegressor(sparsity=sparsity, random_state=0).fit(read_table(frame, "cost")).released_
        for sparsity in (3, 40)
    )
    assert more.summary() == all_of_them.summary()

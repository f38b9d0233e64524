"""Fits by person: the same as without ids where each person has one row, and a guarantee to people otherwise."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

from dpsparse import (
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    PrivateSparseTwoPartRegressor,
    evaluate,
    fit_and_evaluate,
    read_table,
    tune,
)
from dpsparse.audit.checks.check_replay import cached_schedules, replay_runs
from dpsparse.audit.harness.fits import HeldOutPursuit, at_size
from dpsparse.audit.harness.many_rows import ids_of, rows_of
from dpsparse.audit.harness.neighbors import partners_of_person, training_rows
from dpsparse.audit.harness.tape import recorded
from dpsparse.io.bounds import Bounds
from dpsparse.model.json_file import load_model, save_model
from dpsparse.privacy.ledger.ledger import PrivacyLedger
from dpsparse.privacy.noise import NotPrivateWarning

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{NotPrivateWarning.__module__}.NotPrivateWarning", "ignore:With n=", "ignore:delta="
)


def panel(n_people=300, rows=4, seed=0):
    rng = np.random.default_rng(seed)
    person = np.tile(np.arange(n_people), rows)
    X = rng.standard_normal((len(person), 6))
    y = X[:, 0] - 0.5 * X[:, 1] + rng.standard_normal(n_people)[person] + rng.standard_normal(len(person))
    return X, y, person


def same(first, second):
    return all((getattr(first, name) == getattr(second, name)).all() for name in ("coef_", "support_"))


@pytest.mark.parametrize("ids", [np.arange(800)[::-1], [None] * 800, [f"p{k}" for k in range(800)]])
def test_with_one_row_a_person_nothing_changes(ids):
    X, y, _ = panel(800, 1)
    options = {"sparsity": 2, "epsilon": 4.0, "random_state": 0}
    plain, by_person = (
        PrivateSparseRegressor(**options).fit(X, y),
        PrivateSparseRegressor(**options).fit(X, y, person=ids),
    )
    assert same(plain, by_person)
    assert plain.privacy_.releases == by_person.privacy_.releases
    assert by_person.privacy_.n_records == 800


def test_the_places_of_rows_and_the_ids_themselves_do_not_matter():
    X, y, person = panel()
    order = np.argsort(person, kind="stable")
    fits = [
        PrivateSparseRegressor(sparsity=2, epsilon=4.0, random_state=0).fit(X[rows], y[rows], person=ids)
        for rows, ids in ((slice(None), person), (order, [f"person {k}" for k in person[order]]))
    ]
    assert same(*fits)


def test_the_record_speaks_of_people_and_survives_a_file(tmp_path):
    X, y, person = panel()
    model = PrivateSparseRegressor(sparsity=2, epsilon=4.0).fit(X, y, person=person)
    assert model.privacy_.n_records == 300
    said = model.privacy_.statement()
    assert "had all rows of one person held any other values" in said
    assert (
        "a guarantee to each of the 300 people, whatever number of rows they have; the numbers of people, 300" in said
    )
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").privacy == model.privacy_


def test_a_column_of_a_frame_has_the_ids_and_is_no_feature():
    X, y, person = panel()
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(id=person)
    options = {"sparsity": 2, "epsilon": 4.0, "random_state": 0}
    by_name = PrivateSparseRegressor(**options).fit(frame, y, person="id")
    assert same(by_name, PrivateSparseRegressor(**options).fit(X, y, person=person))
    assert by_name.feature_names_in_.tolist() == list("abcdef")


def test_a_classifier_by_person():
    X, y, person = panel()
    model = PrivateSparseClassifier(sparsity=2, epsilon=8.0, random_state=0).fit(X, (y > 0).astype(int), person=person)
    assert set(model.support_) == {0, 1}


@pytest.mark.parametrize("exposure", [None, "years", "beside"])
def test_counts_by_person(exposure):
    X, _, person = panel()
    rng = np.random.default_rng(1)
    years = rng.uniform(0.5, 2, len(X))
    visits = rng.poisson(years * np.exp(0.5 * X[:, 0]))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.insert(0, "id", person)
    if exposure == "years":
        # The place of the exposure counts among the features.
        frame["years"] = years
    options = {"sparsity": 1, "epsilon": 8.0, "random_state": 0, "exposure": "years" if exposure == "years" else None}
    model = PrivateSparsePoissonRegressor(**options)
    model.fit(frame, visits, person="id", **({"exposure": years} if exposure == "beside" else {}))
    assert model.support_.tolist() == [0]
    assert abs(model.coef_[0] - 0.5) < 0.2
    assert model.privacy_.n_records == 300


@pytest.mark.parametrize(("rows", "warns"), [(1, True), (10, False)])
def test_a_warning_about_counts_knows_of_the_rows_of_people(rows, warns):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120 * rows, 20)), rng.poisson(1.0, 120 * rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PrivateSparsePoissonRegressor(sparsity=3, epsilon=1.0)
        model.fit(X, y, person=np.arange(len(y)) % 120)
    assert any("rate ratios above" in str(each.message) for each in caught) == warns


def test_what_contradicts_ids_is_refused():
    X, y, person = panel()
    with pytest.raises(ValueError, match="records_per_person is for tables without ids"):
        PrivateSparseRegressor(records_per_person=4).fit(X, y, person=person)
    with pytest.raises(ValueError, match="1 person; a fit needs at least 2"):
        PrivateSparseRegressor().fit(X, y, person=np.zeros(len(y)))
    with pytest.raises(ValueError, match="one id for each row"):
        PrivateSparseRegressor().fit(X, y, person=person[:5])


def frame_of(X, y, person):
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y, id=[f"p{k}" for k in person])
    return frame.assign(sex=np.where(frame.a > 0, "m", "f"))


def test_a_raw_table_by_person():
    X, y, person = panel()
    data = read_table(frame_of(X, y, person), "y", person="id")
    assert (data.n_people, data.n_rows) == (300, 1200)
    assert "id" not in data.columns
    model = PrivateSparseRegressor(sparsity=2, epsilon=10.0).fit(data)
    assert (model.privacy_.n_records, model.privacy_.guarantee.rows) == (300, 1200)
    assert set(model.released_.columns_needed) <= set("abcdef") | {"sex"}
    assert "300 responses, one of each person, are numbers" in " ".join(model.summary().split())
    calls = [PrivateSparseRegressor().fit, partial(fit_and_evaluate, PrivateSparseRegressor())]
    for call in (*calls, partial(tune, [PrivateSparseRegressor()])):
        with pytest.raises(ValueError, match="name the column of ids in read_table"):
            call(data, person=person)
        with pytest.raises(ValueError, match="names its response"):
            call(data, y)


def test_a_part_of_a_raw_table_has_whole_people():
    X, y, person = panel()
    data = read_table(frame_of(X, y, person), "y", person="id")
    first, second = data.part(3, [0, 2]), data.part(3, [1])
    ids = [set(part.table.names_of("id")) for part in (first, second)]
    assert not ids[0] & ids[1]
    assert (len(ids[0]), len(ids[1]), second.table.n_records) == (200, 100, 400)
    # A part of a part.
    assert set(first.part(2, [0]).table.names_of("id")) < ids[0]


@pytest.mark.parametrize("raw", [False, True])
def test_evaluate_holds_out_people(raw):
    X, y, person = panel()
    estimator = PrivateSparseRegressor(sparsity=2, epsilon=10.0)
    given = (read_table(frame_of(X, y, person), "y", person="id"),) if raw else (X, y)
    model, evaluation = fit_and_evaluate(estimator, *given, **({} if raw else {"person": person}))
    assert evaluation.scores.n_records == 60
    assert model.privacy_ == evaluation.privacy
    assert (evaluation.privacy.n_records, evaluation.privacy.guarantee.rows) == (300, 1200)


def test_an_evaluation_by_person_has_one_record_of_each():
    X, y, person = panel()
    model = PrivateSparseRegressor(sparsity=2, epsilon=8.0).fit(X, y, person=person)
    evaluation = evaluate(model, X, y, epsilon=8.0, person=person)
    assert (evaluation.scores.n_records, evaluation.privacy.guarantee.rows) == (300, 1200)
    with pytest.raises(ValueError, match="at least 2 people"):
        evaluate(model, X, y, epsilon=8.0, person=np.zeros(len(y)))


def test_an_evaluation_warns_where_the_fit_was_by_person_and_nobody_is_named(tmp_path):
    X, y, person = panel()
    model = PrivateSparseRegressor(sparsity=2).fit(X, y, person=person)
    ledger = PrivacyLedger(tmp_path / "ledger.db")
    ledger.grant("panel", epsilon=5.0, delta=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"fitted by person.*name the column of people \(person, --person\)"):
            evaluate(model, X, y, epsilon=1.0, ledger=ledger, dataset="panel")
        assert ledger.balance("panel").epsilon_spent == 0
        evaluate(model, X, y, epsilon=1.0, person=person)
        evaluate(model, X, y, epsilon=1.0, records_per_person=4)
        evaluate(PrivateSparseRegressor(sparsity=2).fit(X, y), X, y, epsilon=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("raw", [False, True])
def test_tune_chooses_by_other_people(raw):
    X, y, person = panel()
    candidates = [PrivateSparseRegressor(sparsity=s, epsilon=10.0) for s in (1, 2)]
    given = (read_table(frame_of(X, y, person), "y", person="id"),) if raw else (X, y)
    tuned = tune(candidates, *given, **({} if raw else {"person": person}))
    assert (tuned.privacy.n_records, tuned.privacy.guarantee.rows) == (300, 1200)


@pytest.mark.slow
def test_with_one_row_a_person_tuning_and_evaluating_change_nothing():
    X, y, _ = panel(600, 1)
    options = {"epsilon": 8.0, "random_state": 0}
    ids = [f"p{k}" for k in range(600)]
    candidates = [PrivateSparseRegressor(sparsity=s, **options) for s in (1, 2)]
    plain, by_person = tune(candidates, X, y), tune(candidates, X, y, person=ids)
    assert plain.index == by_person.index
    assert same(plain.estimator, by_person.estimator)
    plain, by_person = (
        fit_and_evaluate(candidates[1], X, y, **how).evaluation.improvement for how in ({}, {"person": ids})
    )
    assert plain == by_person


def test_a_ledger_is_charged_for_people(tmp_path):
    X, y, person = panel()
    ledger = PrivacyLedger(tmp_path / "ledger.db")
    ledger.grant("panel", epsilon=5.0, delta=1e-3, records_per_person=4)
    options = {"sparsity": 2, "epsilon": 2.0, "delta": 1e-4, "ledger": ledger, "dataset": "panel"}
    with pytest.raises(ValueError, match="up to 4 records"):
        PrivateSparseRegressor(**options).fit(X, y)
    PrivateSparseRegressor(**options).fit(X, y, person=person)
    last = [event for event in ledger.state().events if event.kind == "reserve"][-1]
    assert (last.details["n_records"], last.details["rows"]) == (300, 1200)


@pytest.mark.slow
def test_a_person_may_be_anybody():
    """Whatever one person's rows hold, the others' released effects stay in place."""
    X, y, person = panel(1_500, 5)
    X[person == 3], y[person == 3] = 1e6, -1e9
    model = PrivateSparseRegressor(sparsity=2, epsilon=4.0, random_state=0).fit(X, y, person=person)
    assert set(model.support_) == {0, 1}
    assert np.abs(model.coef_[:2] - [1.0, -0.5]).max() < 0.2


WEAK = {"epsilon": 400.0, "delta": 1e-2}
N_PEOPLE = 30
MODELS = {
    "fit": lambda: at_size(2_000)(sparsity=2, **WEAK),
    "within": lambda: at_size(2_000)(sparsity=2, within=True, **WEAK),
    "held out": lambda: HeldOutPursuit(sparsity=1, **WEAK),
}


def cells_of_people(seed):
    """One row of cells for each person, as text."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"amount": rng.normal(20, 10, N_PEOPLE).round(2), "grade": rng.choice(list("AB"), N_PEOPLE)})
    frame["day"] = rng.choice(["2020-01-05", "2021-02-03"], N_PEOPLE)
    return frame.assign(y=(frame.amount + rng.standard_normal(N_PEOPLE)).round(2)).astype(str)


ODD = {
    "another kind in every cell": ["many", "7.5", "never", "12"],
    "huge": ["1e308", "Z", "1999-01-01", "-1e308"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cells", ODD.values(), ids=ODD)
@pytest.mark.parametrize("person", [0, 4])
def test_of_a_raw_table_a_person_moves_no_release_by_more_than_is_declared(name, cells, person):
    whose, _ = rows_of(N_PEOPLE)

    def read(companions, version):
        frame = cells_of_people(companions)
        # Whoever may be paired with the person is the same among all companions.
        partners = [
            other
            for people in (range(N_PEOPLE), training_rows(N_PEOPLE))
            for other in partners_of_person(person, people)
        ]
        frame.iloc[partners] = cells_of_people(0).iloc[partners]
        frame.iloc[person] = cells if version else cells_of_people(0).iloc[person]
        return read_table(frame.iloc[whose].assign(id=ids_of(whose)).reset_index(drop=True), "y", person="id")

    def run_on(companions, version, script):
        return recorded(MODELS[name](), lambda: (read(companions, version),), script)

    with cached_schedules():
        violation, shares = replay_runs(run_on)
    assert violation is None
    assert max(shares.values()) <= 1


@pytest.mark.parametrize("raw", [False, True])
def test_records_per_person_warns_where_a_column_is_called_as_ids_are(raw):
    X, y, person = panel()
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(patient_id=person)

    def fit(estimator, frame):
        return estimator.fit(read_table(frame.assign(y=y), "y")) if raw else estimator.fit(frame, y)

    with pytest.warns(UserWarning, match="16 times the rho; if the column 'patient_id' says whose row it is"):
        fit(PrivateSparseRegressor(records_per_person=4), frame)
    fit(PrivateSparseRegressor(records_per_person=4), frame.rename(columns={"patient_id": "visits"}))


@pytest.mark.parametrize("raw", [False, True])
def test_a_fit_by_row_warns_where_a_feature_is_called_as_ids_are(raw):
    X, y, person = panel()
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(patient_id=person, y=y)

    def fit(estimator, frame, **known):
        return estimator.fit(read_table(frame, "y", **known)) if raw else estimator.fit(frame.drop(columns="y"), y)

    with pytest.warns(UserWarning, match="for a row: if the column 'patient_id' says whose row it is, name it as"):
        fit(PrivateSparseRegressor(), frame)
    # A student may be a person, or say whether somebody is one.
    fit(PrivateSparseRegressor(), frame.rename(columns={"patient_id": "student"}))
    if raw:
        fit(PrivateSparseRegressor(), frame, person="patient_id")
        fit(PrivateSparseRegressor(), frame, bounds=Bounds(drop=("patient_id",)))


@pytest.mark.parametrize("how", ["array", "name", "raw", "text"])
def test_two_parts_by_person(how):
    rng = np.random.default_rng(0)
    person = np.tile(np.arange(3_000), 3)
    x = rng.standard_normal(len(person))
    cost = (rng.random(len(x)) < 1 / (1 + np.exp(-x))) * (10 + 3 * x).clip(1) * rng.exponential(1.0, len(x))
    frame = pd.DataFrame({"who": person, "x": x, "z": rng.standard_normal(len(x))})
    model = PrivateSparseTwoPartRegressor(sparsity=1, epsilon=8.0, random_state=0)
    if how == "array":
        model.fit(frame[["x", "z"]].to_numpy(), cost, person=person)
    elif how == "name":
        model.fit(frame, cost, person="who")
    elif how == "text":
        model.fit(frame.assign(sex=np.where(person % 2, "m", "f")), cost, person="who")
    else:
        model.fit(read_table(frame.assign(cost=cost), "cost", person="who"))
    assert (model.privacy_.n_records, model.privacy_.guarantee.rows) == (3_000, 9_000)
    level = model.released_.parts.level
    assert abs(level.mean / cost.mean() - 1) < 0.15
    assert "x" in model.released_.columns_needed or 0 in model.support_


def test_a_two_part_evaluation_holds_out_people():
    X, y, person = panel()
    estimator = PrivateSparseTwoPartRegressor(sparsity=1, epsilon=10.0)
    model, evaluation = fit_and_evaluate(estimator, X, y.clip(0), person=person)
    assert (evaluation.scores.n_records, model.privacy_.guarantee.rows) == (60, 1200)


def test_two_parts_with_one_row_a_person_are_those_without_ids():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 2))
    cost = (X[:, 0] > 0) * rng.exponential(1.0, 800)
    fits = [
        PrivateSparseTwoPartRegressor(sparsity=1, epsilon=8.0, random_state=0).fit(X, cost, **how)
        for how in ({}, {"person": np.arange(800)})
    ]
    assert same(*fits)

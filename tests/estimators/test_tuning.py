"""`tune`: one guarantee for all candidates and the choice, one reservation, disjoint rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpsparse import (
    DPIHTH,
    BudgetExceeded,
    NotPrivateWarning,
    PrivacyLedger,
    PrivateSparseRegressor,
    load_model,
    read_table,
    save_model,
    tune,
)
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.estimators._tuning_plan import n_held_out
from dpsparse.estimators.tuning import HELD_OUT_EVERY
from dpsparse.privacy.noise import SecureSource

X, Y, COEF = make_heavy_tailed(3_000, 10, 3, coef_scale=3.0, random_state=0)
HELD_OUT = np.arange(len(Y)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1


def candidates(**options):
    return [
        PrivateSparseRegressor(**{"sparsity": s, "epsilon": 2.0, "delta": 1e-6, **STANDARDIZED, **options})
        for s in (1, 3)
    ]


@pytest.mark.slow
def test_the_candidate_that_predicts_better_is_chosen_and_all_is_one_account():
    tuned = tune(candidates(random_state=0), X, Y)
    assert tuned.index == 1
    assert tuned.estimator is tuned.candidates[1]
    assert set(tuned.estimator.support_) == set(np.flatnonzero(COEF))
    assert tuned.privacy.n_records == 3_000
    assert all(model.privacy_ == tuned.privacy for model in tuned.candidates)
    assert 1.98 < tuned.privacy.epsilon <= 2.0
    assert tuned.estimator.get_params() == candidates(random_state=0)[1].get_params()


def test_the_record_lists_every_fit_and_the_choice():
    record = tune(candidates(), X, Y).privacy
    assert record.private
    names = [(release.name.split(": ")[0], release.part) for release in record.releases]
    # The response's units are learned first; the candidate with more features comes before the other.
    in_order = list(dict.fromkeys(names))
    assert in_order == [("units", 0), ("candidate 1", 0), ("candidate 0", 0), ("held out", 1)]
    assert names == sorted(names, key=in_order.index)
    last = [release.name for release in record.releases if release.part == 1]
    assert last == ["held out: size of regrets", "held out: choice"]


@pytest.mark.parametrize("count", [1, 4])
def test_shares_of_any_number_of_candidates_fill_the_guarantee(count):
    models = [PrivateSparseRegressor(sparsity=2, epsilon=0.7, delta=1e-5, records_per_person=2, **STANDARDIZED)] * count
    record = tune(models, X, Y).privacy
    assert 0.69 < record.epsilon <= 0.7


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:With n=160", "ignore:delta=", "ignore:epsilon=")
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-6, 0.2), (0.01, 1e-9), (8.0, 0.2), (200.0, 1e-9)])
def test_strong_and_weak_guarantees(epsilon, delta):
    record = tune(candidates(epsilon=epsilon, delta=delta), X[:200], Y[:200]).privacy
    assert record.epsilon <= epsilon
    assert record.rho > 0.5 * record.guarantee.rho_per_record


@pytest.mark.slow
@pytest.mark.parametrize("units", [STANDARDIZED, {}])
def test_candidates_may_take_all_features(units):
    every = X.shape[1]
    models = [
        PrivateSparseRegressor(sparsity=sparsity, epsilon=8.0, random_state=0, **units)
        for sparsity in (every, every - 1, "auto")
    ]
    tuned = tune(models, X, Y)
    assert all(3 <= len(model.support_) <= every for model in tuned.candidates)
    assert set(np.flatnonzero(COEF)) <= set(tuned.estimator.support_)


@pytest.mark.slow
def test_a_weak_guarantee_warns():
    with pytest.warns(UserWarning, match="above 1/n"):
        tune(candidates(delta=0.01), X, Y)


@pytest.mark.slow
def test_fits_read_the_training_rows_and_the_choice_the_others():
    def seeded(y):
        return tune(candidates(random_state=3), X, y)

    base, held_out, training = seeded(Y), seeded(np.where(HELD_OUT, 1e6 - Y, Y)), seeded(np.where(HELD_OUT, Y, -Y))
    assert not base.privacy.private
    for model, other, third in zip(base.candidates, held_out.candidates, training.candidates, strict=True):
        np.testing.assert_array_equal(model.coef_, other.coef_)
        assert not np.array_equal(model.coef_, third.coef_)
    # With responses turned round on the rows held out, the model that says less is the better one there.
    assert seeded(np.where(HELD_OUT, -Y, Y)).index == 0


def test_a_seed_warns_once_and_is_repeatable():
    with pytest.warns(NotPrivateWarning):
        first, second = (tune(candidates(random_state=1), X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.estimator.coef_, second.estimator.coef_)


@pytest.mark.slow
def test_data_frames_sparse_matrices_and_lists():
    names = [f"x{j}" for j in range(10)]
    by_name = {"feature_center": dict.fromkeys(names, 0.0)}
    tuned = tune(candidates(**by_name), pd.DataFrame(X, columns=names), pd.Series(Y))
    assert tuned.estimator.feature_names_in_.tolist() == names
    for storage in (sparse.csr_matrix, sparse.coo_matrix, np.ndarray.tolist, np.float32):
        assert tune(candidates(random_state=0), storage(X), Y.tolist()).index == 1


@pytest.mark.slow
def test_a_ledger_is_charged_once_for_the_whole(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("trial-7", epsilon=2.0, delta=1e-6)
    tuned = tune(candidates(ledger=ledger, dataset="trial-7"), X, Y)
    assert [event.kind for event in ledger.history()] == ["grant", "reserve", "charge"]
    details = ledger.history()[1].details
    assert (details["estimator"], details["candidates"], details["epsilon"]) == ("tune", 2, 2.0)
    assert tuned.estimator.ledger == ledger
    with pytest.raises(BudgetExceeded, match="no useful epsilon would fit"):
        tune(candidates(ledger=ledger, dataset="trial-7"), X, Y)


def test_bad_data_are_refunded_and_a_crash_is_not(tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("trial-7", epsilon=2.0, delta=1e-6)
    with pytest.raises(ValueError, match="NaN or infinity"):
        tune(candidates(ledger=ledger, dataset="trial-7"), X, np.where(HELD_OUT, np.nan, Y))
    assert [event.kind for event in ledger.history()][-1] == "refund"
    good, bad = candidates(ledger=ledger, dataset="trial-7")
    with pytest.raises(ValueError, match="feature_center has shape"):
        tune([good, bad.set_params(feature_center=[0.0, 1.0])], X, Y)
    assert [event.kind for event in ledger.history()][-1] == "refund"

    def crash(self, count):
        assert [event.kind for event in ledger.history()][-1] == "charge"
        raise OSError("no entropy")

    monkeypatch.setattr(SecureSource, "bits", crash)
    with pytest.raises(OSError, match="no entropy"):
        tune(candidates(ledger=ledger, dataset="trial-7"), X, Y)
    assert [event.kind for event in ledger.history()][-1] == "charge"


def test_the_chosen_model_is_saved_with_the_whole_record(tmp_path):
    tuned = tune(candidates(), X, Y)
    save_model(tuned.estimator, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").privacy == tuned.privacy


@pytest.mark.parametrize(
    ("models", "rows", "message"),
    [
        ([], 100, "one or more PrivateSparseRegressor"),
        ([DPIHTH()], 100, "one or more PrivateSparseRegressor"),
        ([PrivateSparseRegressor(), PrivateSparseRegressor(epsilon=2)], 100, "the same epsilon"),
        ([PrivateSparseRegressor(), PrivateSparseRegressor(sparsity=0)], 100, "sparsity=0"),
        ([PrivateSparseRegressor(ledger="b.db")], 100, "ledger and dataset go together"),
        ([PrivateSparseRegressor(), PrivateSparseRegressor(fit_intercept=False)], 100, "the same fit_intercept"),
        ([PrivateSparseRegressor(), PrivateSparseRegressor(missing="center")], 100, "the same missing"),
        (candidates(), 9, "at least 10"),
    ],
)
def test_mistakes_name_the_remedy(models, rows, message):
    with pytest.raises(ValueError, match=message):
        tune(models, X[:rows], Y[:rows])


def test_a_table_that_names_its_response_takes_no_other():
    table = read_table(pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40.0)}), target="y")
    with pytest.raises(ValueError, match=r"^y must be left out: the table from read_table names its response$"):
        tune([PrivateSparseRegressor(sparsity=1)], table, np.arange(40.0))


@pytest.mark.parametrize("n", [10, 11, 14, 15, 16, 3_000])
def test_the_plan_counts_the_rows_that_are_held_out(n):
    assert n_held_out(n) == np.count_nonzero(np.arange(n) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1)

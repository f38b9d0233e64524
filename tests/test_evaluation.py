"""`evaluate` and `fit_and_evaluate`: what they read, what they charge, what they refuse."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpsparse import (
    DPIHTH,
    AdaHuber,
    BudgetExceeded,
    LedgerError,
    NotPrivateWarning,
    OnDisk,
    PrivacyLedger,
    PrivateSparseRegressor,
    evaluate,
    fit_and_evaluate,
    load_model,
    save_model,
)
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.held_out import held_out_rows
from dpsparse.html import number
from dpsparse.privacy.ledger.ledger import Reservation
from dpsparse.privacy.noise import SecureSource

X, Y, COEF = make_heavy_tailed(6_000, 8, 2, coef_scale=3.0, random_state=0)
TRAIN, TEST = slice(0, 4_000), slice(4_000, None)
PUBLIC = {"sparsity": 2, "epsilon": 2.0, "delta": 1e-6, **STANDARDIZED}
MODEL = PrivateSparseRegressor(**PUBLIC, random_state=0).fit(X[TRAIN], Y[TRAIN])


def seeded(model=MODEL, x=X[TEST], y=Y[TEST], **options):
    with pytest.warns(NotPrivateWarning):
        return evaluate(model, x, y, **{"epsilon": 1.0, "delta": 1e-6, "random_state": 0, **options})


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("test", epsilon=1, delta=1e-6)
    return ledger


def kinds(ledger):
    return [event.kind for event in ledger.history()][1:]


def test_a_good_model_is_said_to_be_better_than_its_constant():
    found = evaluate(MODEL, X[TEST], Y[TEST], epsilon=1.0, delta=1e-6)
    assert found.privacy.private
    assert found.privacy.epsilon <= 1.0
    assert found.privacy.n_records == 2_000
    errors = np.abs(Y[TEST] - MODEL.predict(X[TEST]))
    # Privacy noise alone, since the records are given: far within eight standard errors.
    plain = np.minimum(errors, found.cut).mean()
    assert abs(found.model.value - plain) < 8 * found.model.standard_error
    assert found.improvement.low > 0
    # The constant is the mean of the training records, by a release of the fit.
    assert "better than the mean" in found.summary()
    assert f"min(|error|, {number(found.cut)}), mean {number(found.constant_prediction)}" in found.summary()
    assert found.constant_prediction == pytest.approx(Y[TRAIN].mean(), abs=0.2 * Y[TRAIN].std())


def test_a_model_without_effects_is_not_said_to_be_better():
    model = PrivateSparseRegressor(**PUBLIC, random_state=0).fit(
        X[TRAIN], np.random.default_rng(0).permutation(Y[TRAIN])
    )
    found = seeded(model)
    assert found.improvement.low <= 0 or found.improvement.value < 0.1 * found.constant.value
    wrong = MODEL.released_
    flipped = seeded(wrong, -X[TEST], Y[TEST])
    assert "worse than the mean" in flipped.summary()


@pytest.mark.parametrize(
    "storage",
    [np.asfortranarray, sparse.csr_matrix, lambda x: pd.DataFrame(x), lambda x: x.tolist(), sparse.csc_array],
    ids=["Fortran", "CSR", "frame", "list", "CSC"],
)
def test_the_same_bits_from_every_storage(storage):
    one, other = seeded(), seeded(x=storage(X[TEST]))
    assert one == other


def test_files_are_evaluated_where_they_lie(tmp_path):
    np.save(tmp_path / "x.npy", X[TEST])
    one, other = seeded(), seeded(x=OnDisk(tmp_path / "x.npy"))
    assert one.model.value == pytest.approx(other.model.value, rel=1e-6)


def test_an_estimator_its_released_model_and_its_file_are_the_same(tmp_path):
    save_model(MODEL, tmp_path / "model.json")
    assert seeded(MODEL) == seeded(MODEL.released_) == seeded(load_model(tmp_path / "model.json"))


def test_r2_is_that_of_errors_up_to_the_cut():
    found = evaluate(MODEL, X[TEST], Y[TEST], epsilon=4.0, delta=1e-6)
    errors = np.abs(Y[TEST] - MODEL.predict(X[TEST])), np.abs(Y[TEST] - found.constant_prediction)
    of_model, of_mean = (np.mean(np.minimum(each, found.cut) ** 2) for each in errors)
    # Privacy noise alone, since the records are given.
    assert abs(found.r2.value - (1 - of_model / of_mean)) < 8 * found.r2.standard_error < 0.3
    assert 0 < found.r2.low < found.r2.value < found.r2.high <= 1
    for text in (found.summary(), found.as_html()):
        assert f"R², errors up to {number(found.cut)}" in text
        assert "over those of the training mean" in " ".join(text.split())
        assert "95 % interval" in text
    assert json.loads(json.dumps(found.to_dict()))["scores"]["r2"]["low"] == found.r2.low


def test_only_a_released_mean_is_called_one():
    typical = PrivateSparseRegressor(**PUBLIC, estimand="typical", random_state=0).fit(X[TRAIN], Y[TRAIN])
    found = seeded(typical)
    assert (seeded().constant_name, found.constant_name) == ("mean", "constant")
    assert "than the constant" in found.summary()
    assert "over those of the constant" in " ".join(found.summary().split())


def test_too_few_records_have_no_r2():
    found = seeded(x=X[TEST][:60], y=Y[TEST][:60], epsilon=0.1)
    assert found.r2 is None
    assert "Squared errors are too noisy for an R²." in " ".join(found.summary().split())
    assert "R², errors" not in found.as_html()


def test_a_method_without_intercept_is_compared_with_zero():
    model = DPIHTH(sparsity=2, epsilon=2.0, delta=1e-6, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert model.released_.constant_prediction == 0.0
    assert model.released_.constant_name == "constant"
    assert seeded(model).constant_prediction == 0.0


def test_missing_responses_are_blank_and_their_number_is_noisy():
    gaps = Y[TEST].copy()
    gaps[::4] = np.nan
    found = seeded(y=gaps)
    assert found.n_responses == pytest.approx(1_500, abs=60)
    assert found.n_responses != 1_500
    frame = pd.Series(gaps).astype("Float64")
    assert seeded(y=frame) == found
    # Predictions for blank records are of no consequence.
    other = X[TEST].copy()
    other[::4] = 1e6
    assert seeded(x=other, y=gaps) == found


def test_what_is_published_round_trips_and_reads_well():
    found = evaluate(MODEL, X[TEST], Y[TEST], epsilon=1.0, delta=1e-6)
    content = json.loads(json.dumps(found.to_dict()))
    assert content["scores"]["improvement"]["low"] == found.improvement.low
    assert content["privacy"]["epsilon"] == found.privacy.epsilon
    text = found.summary()
    assert "min(|error|," in text
    assert "differentially private" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "<table>" in found.as_html()
    assert "improvement" in repr(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon=0 must be a number"),
        ({"epsilon": "1"}, "epsilon='1' must be a number"),
        ({"delta": 2.0}, "delta=2.0 must lie strictly between"),
        ({"adjacency": "none"}, "adjacency='none' must be one of"),
        ({"records_per_person": 0}, "records_per_person=0 must be a whole number"),
        ({"dataset": "test"}, "ledger and dataset go together"),
        ({"x": X[TEST, :3]}, "X has 3 features"),
        ({"x": X[TEST][0]}, "2D array"),
        ({"x": X[:1], "y": Y[:1]}, "at least 2"),
        ({"y": Y[:7]}, r"y has shape \(7,\)"),
        ({"y": None}, "y is None"),
        ({"y": np.array(["secret"] * 2_000)}, "y could not be converted to numbers"),
        ({"x": np.full((2_000, 8), np.nan)}, "must be finite"),
        ({"model": PrivateSparseRegressor()}, "only a fitted private estimator or a loaded model"),
        ({"model": AdaHuber(lam=0.1).fit(X[:50], Y[:50])}, "only a fitted private estimator or a loaded model"),
    ],
)
def test_bad_input_is_refused_with_its_remedy(change, message):
    options = {"model": MODEL, "x": X[TEST], "y": Y[TEST], "epsilon": 1.0, **change}
    with pytest.raises(ValueError, match=message):
        evaluate(options.pop("model"), options.pop("x"), options.pop("y"), **options)


def test_a_weak_guarantee_warns():
    with pytest.warns(UserWarning, match="above 1/n"):
        evaluate(MODEL, X[TEST], Y[TEST], epsilon=1.0, delta=0.01)


def test_names_must_be_the_models():
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = PrivateSparseRegressor(**PUBLIC, random_state=0).fit(frame[TRAIN], Y[TRAIN])
    assert seeded(model, frame[TEST]) == seeded(model.released_, frame[TEST])
    with pytest.raises(ValueError, match="feature names"):
        evaluate(model, frame[TEST].rename(columns={"a": "z"}), Y[TEST], epsilon=1.0)


# The ledger.


def test_the_cost_is_reserved_charged_and_then_refused(ledger):
    found = evaluate(MODEL, X[TEST], Y[TEST], epsilon=1.0, delta=1e-6, ledger=ledger, dataset="test")
    assert kinds(ledger) == ["reserve", "charge"]
    details = ledger.history()[1].details
    assert (details["estimator"], details["n_records"], details["epsilon"]) == ("evaluate", 2_000, 1.0)
    assert ledger.balance("test").epsilon_spent >= found.privacy.epsilon * (1 - 1e-6)
    with pytest.raises(BudgetExceeded, match="no useful epsilon would fit"):
        evaluate(MODEL, X[TEST], Y[TEST], epsilon=1.0, delta=1e-6, ledger=ledger, dataset="test")
    assert kinds(ledger) == ["reserve", "charge"]


def test_bad_records_are_refunded(ledger):
    for x, y in ((np.where(X[TEST] > 2, np.nan, X[TEST]), Y[TEST]), (X[TEST], Y), (X[TEST], np.array(["a"] * 2_000))):
        with pytest.raises(ValueError, match=r"finite|shape|numbers"):
            evaluate(MODEL, x, y, epsilon=1.0, delta=1e-6, ledger=ledger, dataset="test")
    assert kinds(ledger) == ["reserve", "refund"] * 3


def _interrupted(*_):
    raise KeyboardInterrupt


def test_the_charge_is_durable_before_anything_is_drawn(ledger, monkeypatch):
    for name in ("gaussian", "laplace", "bits"):
        monkeypatch.setattr(SecureSource, name, _interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluate(MODEL, X[TEST], Y[TEST], epsilon=1.0, delta=1e-6, ledger=ledger, dataset="test")
    assert kinds(ledger) == ["reserve", "charge"]
    ledger.verify()


def test_nothing_is_drawn_where_the_charge_fails(ledger, monkeypatch):
    def fail(_):
        raise LedgerError("no space")

    monkeypatch.setattr(Reservation, "charge", fail)
    for name in ("gaussian", "laplace", "bits"):
        monkeypatch.setattr(SecureSource, name, _interrupted)
    with pytest.raises(LedgerError, match="no space"):
        evaluate(MODEL, X[TEST], Y[TEST], epsilon=1.0, delta=1e-6, ledger=ledger, dataset="test")
    assert kinds(ledger) == ["reserve"]


@pytest.mark.slow
def test_a_process_killed_before_its_result_has_paid(ledger, tmp_path):
    save_model(MODEL, tmp_path / "model.json")
    program = f"""
        import os, signal
        from dpsparse import evaluate, load_model
        from dpsparse.datasets import make_heavy_tailed
        from dpsparse.privacy.noise import SecureSource
        X, y, _ = make_heavy_tailed(200, 8, 2, random_state=0)
        SecureSource.gaussian = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        evaluate(load_model({str(tmp_path / "model.json")!r}), X, y, epsilon=1.0, delta=1e-6,
                 ledger={str(tmp_path / "b.db")!r}, dataset="test")
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    killed = subprocess.run(command, capture_output=True, check=False, timeout=240)
    assert killed.returncode == -9
    assert kinds(ledger) == ["reserve", "charge"]
    ledger.verify()


# Records held out of a fit.

ESTIMATOR = PrivateSparseRegressor(**PUBLIC)


def test_a_fit_and_its_evaluation_are_one_account():
    model, evaluation = fit_and_evaluate(ESTIMATOR, X, Y)
    assert model.privacy_ == evaluation.privacy
    assert 1.98 < evaluation.privacy.epsilon <= 2.0
    assert evaluation.privacy.n_records == 6_000
    assert model.released_.scores == evaluation.scores
    assert evaluation.scores.n_records == 1_200
    parts = {(release.name.split(": ")[0], release.part) for release in evaluation.privacy.releases}
    assert parts == {("fit", 0), ("held out", 1)}
    assert evaluation.improvement.low > 0
    assert not hasattr(ESTIMATOR, "coef_")


def test_the_fit_reads_the_training_rows_and_the_evaluation_the_others():
    held_out = held_out_rows(len(Y), 0.2)

    def found(x, y):
        with pytest.warns(NotPrivateWarning):
            return fit_and_evaluate(PrivateSparseRegressor(**PUBLIC, random_state=3), x, y)

    base = found(X, Y)
    other = found(np.where(held_out[:, None], 9 - X, X), np.where(held_out, 1e6 - Y, Y))
    np.testing.assert_array_equal(base.estimator.coef_, other.estimator.coef_)
    assert base.estimator.released_.constant == other.estimator.released_.constant
    assert base.evaluation.scores != other.evaluation.scores
    alone = PrivateSparseRegressor(**PUBLIC).fit(X[~held_out], Y[~held_out])
    assert set(alone.support_) == set(base.estimator.support_)


def test_frames_and_sparse_tables_are_divided_too():
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    by_storage = []
    for x in (X, sparse.csr_matrix(X), frame):
        with pytest.warns(NotPrivateWarning):
            by_storage.append(fit_and_evaluate(PrivateSparseRegressor(**PUBLIC, random_state=1), x, Y))
    assert by_storage[0].evaluation == by_storage[1].evaluation
    assert by_storage[0].evaluation.scores == by_storage[2].evaluation.scores
    assert list(by_storage[2].estimator.feature_names_in_) == list("abcdefgh")


def test_a_holdout_is_charged_once(ledger):
    ledger.grant("more", epsilon=2, delta=1e-6)
    options = {"ledger": ledger, "dataset": "more"}
    fit_and_evaluate(PrivateSparseRegressor(**PUBLIC, **options), X, Y)
    assert kinds(ledger)[-2:] == ["reserve", "charge"]
    assert ledger.history()[-2].details["estimator"] == "fit_and_evaluate"
    with pytest.raises(BudgetExceeded):
        fit_and_evaluate(PrivateSparseRegressor(**PUBLIC, **options), X, Y)


def test_a_model_with_scores_survives_its_file(tmp_path):
    model, evaluation = fit_and_evaluate(ESTIMATOR, X, Y)
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again == model.released_
    assert again.scores == evaluation.scores
    assert "min(|error|," in again.summary()
    assert "min(|error|," in again.as_html()


@pytest.mark.parametrize("share", [0.2, 0.25, 0.1, 1 / 3, 0.5, 0.37])
def test_rows_held_out_are_spread_evenly(share):
    held_out = held_out_rows(1_000, share)
    assert abs(held_out.sum() - 1_000 * share) <= 1
    counts = np.add.reduceat(held_out, np.arange(0, 1_000, 100))
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"holdout": 0}, "holdout=0 must lie strictly between 0 and 1"),
        ({"holdout": "half"}, "holdout='half' must lie"),
        ({"holdout": 0.001}, "must leave at least 2"),
        ({"estimator": DPIHTH(sparsity=2)}, "needs a PrivateSparseRegressor"),
        ({"y": Y[:7]}, "inconsistent numbers"),
    ],
)
def test_a_holdout_that_cannot_be_is_refused(change, message):
    options = {"estimator": ESTIMATOR, "x": X[:100], "y": Y[:100], **change}
    with pytest.raises(ValueError, match=message):
        fit_and_evaluate(options.pop("estimator"), options.pop("x"), options.pop("y"), **options)


def test_files_are_not_divided(tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(TypeError, match="fit_and_evaluate reads X in memory"):
        fit_and_evaluate(ESTIMATOR, OnDisk(tmp_path / "x.npy"), Y)


# Gaps.


def with_gaps():
    rng = np.random.default_rng(0)
    x, y = X.copy(), Y.copy()
    x[rng.random(x.shape) < 0.1] = np.nan
    y[rng.random(len(y)) < 0.1] = np.nan
    return x, y


@pytest.mark.parametrize("storage", [np.asarray, pd.DataFrame, sparse.csr_matrix], ids=["array", "frame", "CSR"])
def test_a_model_that_knows_of_gaps_is_evaluated_on_records_with_gaps(storage):
    x, y = with_gaps()
    options = {**PUBLIC, "missing": "center", "random_state": 0}
    model = PrivateSparseRegressor(**options).fit(x[TRAIN], y[TRAIN])
    found = seeded(model, storage(x[TEST]), y[TEST])
    assert found.n_responses == pytest.approx(np.isfinite(y[TEST]).sum(), abs=60)
    assert found.improvement.low > 0
    errors = np.abs(y[TEST] - model.predict(x[TEST]))
    plain = np.minimum(errors[np.isfinite(errors)], found.cut).mean()
    assert abs(found.model.value - plain) < 4 * found.model.standard_error
    with pytest.warns(NotPrivateWarning):
        _, evaluation = fit_and_evaluate(PrivateSparseRegressor(**options), storage(x), y)
    assert evaluation.improvement.low > 0


def test_a_model_that_refuses_gaps_refuses_them_here_too():
    x, _ = with_gaps()
    with pytest.raises(ValueError, match='missing="center"'):
        evaluate(MODEL, x[TEST], Y[TEST], epsilon=1.0)
    with pytest.raises(ValueError, match='missing="center"'):
        fit_and_evaluate(ESTIMATOR, x, Y)

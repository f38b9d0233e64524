"""`evaluate` and `fit_and_evaluate` where responses are yes or no."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from dpsparse import (
    BudgetExceeded,
    NotPrivateWarning,
    PrivacyLedger,
    PrivateSparseClassifier,
    evaluate,
    fit_and_evaluate,
    load_model,
    read_table,
    save_model,
)
from dpsparse.data.given_values import responses_of
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.model.evaluation_result import in_sentences
from dpsparse.report.details import held_out
from dpsparse.report.forecast_section import forecast
from dpsparse.schema import FileError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8_000, 6))
Y = RNG.random(8_000) < expit(-1 + 1.5 * X[:, 1] - X[:, 4])
WORDS = np.where(Y, "yes", "no")
TRAIN, TEST = slice(0, 5_000), slice(5_000, None)
PUBLIC = {"sparsity": 2, "epsilon": 2.0, "delta": 1e-6, **STANDARDIZED}
MODEL = PrivateSparseClassifier(**PUBLIC, random_state=0).fit(X[TRAIN], Y[TRAIN])


def seeded(model=MODEL, x=X[TEST], y=Y[TEST], **options):
    with pytest.warns(NotPrivateWarning):
        return evaluate(model, x, y, **{"epsilon": 2.0, "delta": 1e-6, "random_state": 0, **options})


def test_scores_are_near_those_of_scikit_learn():
    found = evaluate(MODEL, X[TEST], Y[TEST], epsilon=2.0, delta=1e-6)
    assert found.privacy.private
    assert found.privacy.epsilon <= 2.0
    p = MODEL.predict_proba(X[TEST])[:, 1]
    pairs = {
        found.model: brier_score_loss(Y[TEST], p),
        found.log_loss: log_loss(Y[TEST], p),
        found.auc: roc_auc_score(Y[TEST], p),
    }
    for estimate, plain in pairs.items():
        # Privacy noise alone, since the records are given: far within eight standard errors.
        assert abs(estimate.value - plain) < 8 * estimate.standard_error < 0.3
    assert found.improvement.low > 0
    assert found.constant_prediction == pytest.approx(Y[TRAIN].mean(), abs=0.02)
    assert (found.constant_name, found.r2, found.cut, found.bound) == ("share of yes", None, 1.0, 1.0)


@pytest.mark.parametrize("storage", [np.asfortranarray, sparse.csr_matrix, pd.DataFrame, lambda x: x.tolist()])
def test_the_same_bits_from_every_storage(storage):
    assert seeded() == seeded(x=storage(X[TEST]))


@pytest.mark.parametrize(
    "labels",
    [
        Y[TEST].astype(float),
        Y[TEST].astype(int).tolist(),
        pd.Series(Y[TEST]).astype("boolean"),
        Y[TEST].astype(object),
    ],
)
def test_labels_of_any_type_are_the_same_responses(labels, tmp_path):
    save_model(MODEL, tmp_path / "model.json")
    assert seeded(y=labels) == seeded(load_model(tmp_path / "model.json")) == seeded()


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        (["a", "b", None, 3], ("not a", "a"), [1, 0, np.nan, 0]),
        ([2, 7, np.nan, np.inf], ("not 2", "2"), [1, 0, np.nan, np.nan]),
        ([True, False], ("True", "False"), [0, 1]),
        (np.array([1, None, 0, 1.0], dtype=object), ("0", "1"), [1, np.nan, 0, 1]),
        ([object(), "x"], ("not x", "x"), [0, 1]),
    ],
)
def test_the_label_of_yes_is_yes_and_every_other_one_is_no(labels, classes, expected):
    assert np.array_equal(responses_of(labels, len(labels), classes), expected, equal_nan=True)


def test_missing_responses_are_blank_and_their_number_is_noisy():
    gaps = Y[TEST].astype(float)
    gaps[::4] = np.nan
    found = seeded(y=gaps)
    assert found.n_responses == pytest.approx(2_250, abs=60)
    assert found.n_responses != 2_250
    other = X[TEST].copy()
    other[::4] = 1e6
    assert seeded(x=other, y=gaps) == found


def test_a_model_that_is_wrong_is_said_to_be_worse():
    assert "Probabilities are worse than the share of yes" in seeded(x=-X[TEST]).summary()
    some = seeded(x=X[TEST][:100], y=Y[TEST][:100], epsilon=0.1)
    assert "do not show whether probabilities are better" in some.summary()


def test_what_is_published_reads_well_and_round_trips(tmp_path):
    with pytest.warns(NotPrivateWarning):
        model, found = fit_and_evaluate(
            PrivateSparseClassifier(**PUBLIC, positive="yes", random_state=0), X, WORDS, holdout=0.25
        )
    assert model.classes_.tolist() == ["not yes", "yes"]
    assert found.scores.n_records == 2_000
    text = found.summary()
    for part in ("Brier score, model", "log loss, share of yes", "AUC", "95 % interval", "predicted probability"):
        assert part in text
        assert part in found.as_html()
    assert max(map(len, text.splitlines())) <= 100
    assert "AUC" in model.summary()
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again == model.released_
    assert again.evaluation == found
    content = json.loads(json.dumps(found.to_dict()))
    assert content["scores"]["calibration"][0]["observed"]["low"] == found.calibration[0].observed.low
    shown = "".join(held_out(again))
    assert "Predicted probabilities and what came of them" in shown
    # A dot of the picture for each row of the table.
    assert shown.count("<circle") == len(found.calibration)
    assert "have a Brier score of" in in_sentences(found)
    told = "".join(forecast(again))
    assert "log odds of yes, which 0.3" in told
    assert "Errors and effects are log odds per scaled feature" in told


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 1.5}, "'level' must lie between"),
        ({"auc": 7}, "must be a table"),
        ({"calibration": [{"predicted": 2}]}, "lacks 'share'"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_file_with_wrong_scores_is_refused(tmp_path, change, message):
    with pytest.warns(NotPrivateWarning):
        model, _ = fit_and_evaluate(PrivateSparseClassifier(**PUBLIC, random_state=0), X, Y)
    save_model(model, tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    content["scores"] |= change
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(FileError, match=message):
        load_model(tmp_path / "model.json")


def test_a_part_is_fitted_as_it_is_alone():
    """Labels that are texts reach the fit of the training part as they are."""
    with pytest.warns(NotPrivateWarning):
        by_words, _ = fit_and_evaluate(PrivateSparseClassifier(**PUBLIC, positive="yes", random_state=3), X, WORDS)
    with pytest.warns(NotPrivateWarning):
        by_truth, _ = fit_and_evaluate(PrivateSparseClassifier(**PUBLIC, random_state=3), X, Y)
    assert np.array_equal(by_words.coef_, by_truth.coef_)
    assert abs(by_words.coef_[1] - 1.5) < 0.4


def test_raw_tables():
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(out=WORDS)
    with pytest.warns(NotPrivateWarning):
        model, found = fit_and_evaluate(
            PrivateSparseClassifier(sparsity=2, epsilon=4.0, random_state=0), read_table(frame, "out", positive="yes")
        )
    assert found.auc.low > 0.7
    again = seeded(model, frame[TEST].drop(columns="out"), frame["out"][TEST])
    p = model.predict_proba(frame[TEST])[:, 1]
    assert abs(again.model.value - brier_score_loss(Y[TEST], p)) < 8 * again.model.standard_error


def test_the_ledger_is_charged_once(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("test", epsilon=1, delta=1e-6)
    evaluate(MODEL, X[TEST], Y[TEST], epsilon=1.0, delta=1e-6, ledger=ledger, dataset="test")
    assert [event.kind for event in ledger.history()][1:] == ["reserve", "charge"]
    with pytest.raises(BudgetExceeded):
        evaluate(MODEL, X[TEST], Y[TEST], epsilon=1.0, delta=1e-6, ledger=ledger, dataset="test")


def test_the_constant_is_the_share_of_yes_of_the_fit():
    assert expit(MODEL.released_.constant_prediction) == pytest.approx(Y[TRAIN].mean(), abs=0.02)

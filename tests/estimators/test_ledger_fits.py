"""Every private estimator spends from a ledger: reserve, validate, charge, release, in this order."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from dpsparse import (
    DPIHTH,
    DPIHTL,
    DPSLR,
    BudgetExceeded,
    LedgerError,
    NotPrivateWarning,
    PrivacyLedger,
    PrivateSparseRegressor,
)
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.estimators._spending import _largest_epsilon
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.ledger.ledger import Reservation
from dpsparse.privacy.noise import SecureSource

X, Y, _ = make_heavy_tailed(1_000, 8, 2, random_state=0)
ESTIMATORS = [PrivateSparseRegressor, DPIHTH, DPIHTL, DPSLR]
PUBLIC = {"sparsity": 2, "epsilon": 1.0, "delta": 1e-6}


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("trial-7", epsilon=1, delta=1e-6)
    return ledger


def kinds(ledger):
    return [event.kind for event in ledger.history()][1:]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_grant_of_one_admits_one_fit_of_one_and_says_what_would_fit(estimator, ledger, tmp_path, units_of):
    model = estimator(**PUBLIC, **units_of(estimator), ledger=str(tmp_path / "b.db"), dataset="trial-7")
    model.fit(X, Y)
    assert model.privacy_.private
    assert kinds(ledger) == ["reserve", "charge"]
    details = ledger.history()[1].details
    assert (details["estimator"], details["n_records"], details["epsilon"]) == (estimator.__name__, 1_000, 1.0)
    with pytest.raises(BudgetExceeded, match=r"'trial-7' has epsilon \S+ of 1 left .* no useful epsilon would fit$"):
        model.fit(X, Y)
    assert len(kinds(ledger)) == 2


@pytest.mark.slow
def test_a_delta_above_the_grants_is_told_what_to_give(ledger):
    model = PrivateSparseRegressor(epsilon=1.0, delta=1e-4, sparsity=2, ledger=ledger, dataset="trial-7")
    with pytest.raises(BudgetExceeded, match=r"more would fit with delta=1e-06, the grant's: give that$"):
        model.fit(X, Y)


def test_without_a_delta_a_fit_takes_the_grants_if_it_is_smaller(ledger):
    model = PrivateSparseRegressor(epsilon=0.7, sparsity=2, ledger=ledger, dataset="trial-7", **STANDARDIZED)
    assert model.fit(X, Y).privacy_.guarantee.delta == 1e-6
    # At a larger delta it would count as more.
    assert ledger.balance("trial-7").epsilon_spent <= 0.7 + 1e-9
    ledger.grant("trial-8", epsilon=1, delta=1e-2)
    model.set_params(dataset="trial-8")
    assert model.fit(X, Y).privacy_.guarantee.delta == 1_000**-1.1


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_epsilon_that_is_said_to_fit_does(estimator, ledger, units_of):
    model = estimator(**{**PUBLIC, "epsilon": 0.8}, **units_of(estimator), ledger=ledger, dataset="trial-7").fit(X, Y)
    with pytest.raises(BudgetExceeded, match="would fit") as refused:
        model.fit(X, Y)
    epsilon = float(str(refused.value).split("epsilon=")[-1].split()[0])
    with pytest.raises(BudgetExceeded):
        clone(model).set_params(epsilon=1.02 * epsilon).fit(X, Y)
    clone(model).set_params(epsilon=epsilon).fit(X, Y)
    assert ledger.balance("trial-7").epsilon_spent <= 1


@pytest.mark.parametrize(
    ("left", "within", "epsilon"),
    [
        (0.1234, lambda epsilon: True, 0.123),
        (5.0, lambda epsilon: True, 1.99),
        (0.002, lambda epsilon: True, 0.002),
        # A thousandth of what was asked for is the least that is useful.
        (0.001999, lambda epsilon: True, 0.0),
        # What is admitted must also be within its guarantee, and so must what is said, which is rounded.
        (0.1234, lambda epsilon: False, 0.0),
        (0.1234, lambda epsilon: epsilon != 0.123, 0.0),
    ],
)
def test_what_is_said_to_fit_is_the_largest_to_three_digits(left, within, epsilon):
    def commitment_for(guarantee):
        return SimpleNamespace(is_within=lambda its: within(its.epsilon), cost=lambda its: guarantee.epsilon)

    balance = SimpleNamespace(admits=lambda cost: cost <= left)
    assert _largest_epsilon(balance, Guarantee(2.0, 1e-6), commitment_for) == epsilon


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_only_a_failed_validation_is_refunded(estimator, ledger, monkeypatch, units_of):
    model = estimator(**PUBLIC, **units_of(estimator), ledger=ledger, dataset="trial-7")
    broken = X.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="must be finite"):
        model.fit(broken, Y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.fit(X, Y[:-1])
    assert kinds(ledger) == ["reserve", "refund"] * 2
    for name in ("gaussian", "laplace", "bits"):
        monkeypatch.setattr(SecureSource, name, _interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert kinds(ledger) == ["reserve", "refund"] * 2 + ["reserve", "charge"]
    with pytest.raises(BudgetExceeded):
        model.fit(broken, Y)
    ledger.verify()


def _interrupted(*_):
    raise KeyboardInterrupt


def test_nothing_is_drawn_where_the_charge_fails(ledger, monkeypatch):
    def fail(_):
        raise LedgerError("no space")

    monkeypatch.setattr(Reservation, "charge", fail)
    for name in ("gaussian", "laplace", "bits"):
        monkeypatch.setattr(SecureSource, name, _interrupted)
    with pytest.raises(LedgerError, match="no space"):
        DPIHTH(**PUBLIC, ledger=ledger, dataset="trial-7").fit(X, Y)
    assert kinds(ledger) == ["reserve"]


def test_warnings_turned_into_errors_waste_nothing(ledger):
    with pytest.raises(UserWarning, match="more than the 8 features"):
        DPIHTH(epsilon=1.0, delta=1e-6, sparsity=9, ledger=ledger, dataset="trial-7").fit(X, Y)
    assert kinds(ledger) == ["reserve", "refund"]


def test_a_refund_that_fails_is_told_beside_the_mistake(ledger, monkeypatch):
    def fail(_):
        raise LedgerError("no space")

    monkeypatch.setattr(Reservation, "refund", fail)
    with pytest.raises(ValueError, match="inconsistent numbers") as refused:
        DPIHTH(**PUBLIC, ledger=ledger, dataset="trial-7").fit(X, Y[:-1])
    assert refused.value.__notes__ == ["The reservation could not be refunded and stays spent: no space"]
    assert kinds(ledger) == ["reserve"]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_that_do_not_go_together(estimator, ledger, tmp_path, units_of):
    with pytest.raises(ValueError, match=r"ledger and dataset go together: give both, .*\(--ledger\).*\(--dataset\)"):
        estimator(**PUBLIC, **units_of(estimator), ledger=ledger).fit(X, Y)
    with pytest.raises(ValueError, match="ledger and dataset go together"):
        estimator(**PUBLIC, **units_of(estimator), dataset="trial-7").fit(X, Y)
    with pytest.raises(ValueError, match="ledger with random_state"):
        estimator(**PUBLIC, **units_of(estimator), ledger=ledger, dataset="trial-7", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="dataset='trial-9' has no budget"):
        estimator(**PUBLIC, **units_of(estimator), ledger=ledger, dataset="trial-9").fit(X, Y)
    with pytest.raises(ValueError, match="granted for adjacency='replace-one'"):
        estimator(**PUBLIC, **units_of(estimator), ledger=ledger, dataset="trial-7", adjacency="zero-out-one").fit(X, Y)
    with pytest.raises(LedgerError, match="there is no ledger at"):
        estimator(**PUBLIC, **units_of(estimator), ledger=tmp_path / "none.db", dataset="trial-7").fit(X, Y)
    assert kinds(ledger) == []


def test_a_seeded_fit_without_a_ledger_is_as_before():
    with pytest.warns(NotPrivateWarning):
        assert not DPIHTH(**PUBLIC, random_state=0).fit(X, Y).privacy_.private


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clones_pickles_and_reprs(estimator, ledger):
    model = estimator(ledger=ledger, dataset="trial-7")
    assert clone(model).ledger is ledger
    assert pickle.loads(pickle.dumps(model)).ledger == ledger
    path = estimator(ledger="some/b.db", dataset="trial-7")
    assert path.get_params()["ledger"] == "some/b.db"
    url = "postgresql://me:secret@host/db"
    secret = estimator(ledger=url, dataset="trial-7")
    for kept in (secret, estimator(dataset="trial-7").set_params(ledger=url), clone(secret)):
        assert kept.ledger == PrivacyLedger(url)
        for text in (repr(kept), repr(make_pipeline(kept)), kept._repr_html_(), str(kept.get_params())):
            assert "secret" not in text
        assert b"secret" not in pickle.dumps(kept)
    assert pickle.loads(pickle.dumps(secret)).ledger.url == "postgresql+psycopg://me@host/db"

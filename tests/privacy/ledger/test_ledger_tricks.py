"""Ways to spend a budget twice, or to read what should be hidden, that reviewers tried."""

import os
import pickle
import sqlite3

import numpy as np
import pytest
from children import end_within

from dpsparse import DPIHTH, BudgetExceeded, LedgerError, PrivacyLedger, PrivateSparseRegressor
from dpsparse.privacy.accounting.filter import Cost
from dpsparse.privacy.accounting.meter import Commitment, Meter, MeterShare
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, Release, Slot
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.ledger import ledger as ledgers
from dpsparse.privacy.ledger.location import check_new_name
from dpsparse.privacy.noise import SecureSource

HALF = Cost(0.5, 0.0)
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((200, 4)), RNG.standard_normal(200)


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("d", epsilon=1, delta=1e-6)
    return ledger


LOOK_LIKE_TRIAL = {
    "case": "Trial",
    "blank": "tri al",
    "Cyrillic alone": "\u0430",
    "no-break blank": "trial\u00a0",
    "zero width": "tri\u200bal",
    "variation selector": "trial\ufe0f",
    "Hangul filler": "trial\u3164",
    "Cyrillic a": "tri\u0430l",
    "Greek iota": "tr\u03b9al",
    "control": "trial\x07",
}


@pytest.mark.parametrize("name", LOOK_LIKE_TRIAL.values(), ids=LOOK_LIKE_TRIAL)
def test_names_that_look_alike_get_no_second_budget(tmp_path, name):
    ledger = PrivacyLedger(tmp_path / "b.db")
    for each in ("trial", "a"):
        ledger.grant(each, epsilon=1, delta=1e-6)
    with pytest.raises(ValueError, match="dataset"):
        ledger.grant(name, epsilon=1, delta=1e-6)
    assert list(ledger.state().filters) == ["trial", "a"]


def test_a_refused_name_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match="Cyrillic and Latin"):
        PrivacyLedger(tmp_path / "b.db").grant("tri\u0430l", epsilon=1, delta=1e-6)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [" d", "d ", "\uff44"])
def test_spellings_of_a_name_share_its_budget(ledger, name):
    ledger.grant(name, epsilon=1, delta=1e-6)
    for spelling in ("d", name):
        DPIHTH(sparsity=1, epsilon=0.5, delta=1e-7, ledger=ledger, dataset=spelling).fit(X, Y)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(name, HALF, adjacency="replace-one")
    assert {event.dataset for event in ledger.history(name)} == {"d"} == set(ledger.state().filters)


@pytest.mark.parametrize("name", ["trial ", "tri\u0430l", "trial  7", "trial\ufe0f"])
def test_ledgers_that_hold_such_names_still_open(tmp_path, monkeypatch, name):
    ledger = PrivacyLedger(tmp_path / "b.db")
    with monkeypatch.context() as earlier:
        earlier.setattr(ledgers, "granted_name", lambda dataset, granted: dataset)
        earlier.setattr(ledgers, "check_new_name", lambda name: None)
        ledger.grant(name, epsilon=1, delta=1e-6)
    head = ledger.verify()
    ledger.grant(name, epsilon=1, delta=1e-6)
    assert ledger.verify() == head
    ledger.reserve(name, HALF, adjacency="replace-one").charge()
    assert [event.dataset for event in ledger.history(name)] == [name] * 3
    with pytest.raises(ValueError, match="is written like"):
        ledger.grant("trial 7" if "7" in name else "trial", epsilon=1, delta=1e-6)


# Letters that look like a Latin o, a, A, b, O or the like.
OF_ALPHABETS = {
    "Greek": "\u03bf",
    "Cyrillic": "\u0430",
    "Armenian": "\u0585",
    "Cherokee": "\u13aa",
    "Coptic": "\u2c9f",
    "Lisu": "\ua4d0",
    "Gothic": "\U00010330",
    "Deseret": "\U00010404",
}


@pytest.mark.parametrize("alphabet", OF_ALPHABETS)
def test_no_name_mixes_letters_that_look_alike(alphabet):
    first, second = sorted((alphabet, "Latin"))
    with pytest.raises(ValueError, match=f"mixes {first} and {second} letters"):
        check_new_name("tri" + OF_ALPHABETS[alphabet])
    check_new_name(OF_ALPHABETS[alphabet] + " 7")


def test_names_in_other_alphabets_are_names(tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    names = [
        "\u043e\u043f\u044b\u0442 7",
        "\u8a66\u9a13 A",
        "\u00e9tude-7",
        "\u0939\u093f\u0902\u0926\u0940",
        "trial_7.b",
    ]
    for name in names:
        ledger.grant(name, epsilon=1, delta=1e-6)
    assert list(ledger.state().filters) == names


def test_a_copy_of_the_file_holds_all_that_was_spent(ledger, tmp_path):
    with ledger._store._engine.connect() as reader:
        reader.exec_driver_sql("SELECT 1")
        ledger.reserve("d", HALF, adjacency="replace-one").charge()
        (tmp_path / "copy.db").write_bytes((tmp_path / "b.db").read_bytes())
    assert PrivacyLedger(tmp_path / "copy.db").verify() == ledger.verify()


def test_a_persons_records_are_part_of_the_grant(tmp_path):
    ledger = PrivacyLedger(tmp_path / "p.db")
    ledger.grant("visits", epsilon=1, delta=1e-6, records_per_person=3)
    with pytest.raises(ValueError, match="3 records per person; a budget changed later"):
        ledger.grant("visits", epsilon=1, delta=1e-6)
    spent = {"epsilon": 0.4, "delta": 1e-6, "sparsity": 1, "ledger": ledger, "dataset": "visits"}
    with pytest.raises(ValueError, match="up to 3 records; records_per_person=1 guarantees them less"):
        DPIHTH(**spent).fit(X, Y)
    DPIHTH(**spent, records_per_person=4).fit(X, Y)
    (reserved,) = (event for event in ledger.history("visits") if event.kind == "reserve")
    assert reserved.details["records_per_person"] == 4


def test_facts_for_the_history_cannot_replace_the_cost(ledger):
    ledger.reserve("d", HALF, adjacency="replace-one", epsilon=0.1).charge()
    assert ledger.balance("d").epsilon_spent == 0.5


@pytest.mark.parametrize("key", ["password", "sslpassword", "passfile"])
def test_no_password_hides_in_a_query(key):
    with pytest.raises(ValueError, match="no password in the URL's query") as caught:
        PrivacyLedger(f"postgresql://host/db?user=u&{key}=SECRET")
    assert "SECRET" not in str(caught.value)


def test_an_sqlite_url_names_a_file_and_nothing_else(tmp_path):
    with pytest.raises(ValueError, match="takes no query"):
        PrivacyLedger(f"sqlite:///{tmp_path}/b.db?cache=shared&uri=true")


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
may_have_threads = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def in_child(work):
    """What a forked child says: the message of the RuntimeError that work raises, or nothing."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        end_within(60)
        try:
            work()
        except RuntimeError as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        outcome = pipe.read().decode()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return outcome


@forks
@may_have_threads
def test_a_forked_reservation_cannot_be_charged_twice(ledger):
    reservation = ledger.reserve("d", HALF, adjacency="replace-one")
    refused = "LedgerError: a reservation is settled only by the process that made it; reserve again in the other one"
    assert in_child(reservation.charge) == in_child(reservation.refund) == refused
    reservation.charge()
    assert in_child(reservation.charge) == refused
    reservation.charge()


@forks
@may_have_threads
@pytest.mark.parametrize("with_ledger", [True, False])
@pytest.mark.parametrize("estimator", [DPIHTH, PrivateSparseRegressor])
def test_a_fit_forked_after_its_first_charge_goes_on_in_one_process(ledger, with_ledger, estimator, units_of):
    """The child would have other noise for the same charge."""
    options = units_of(estimator) | ({"ledger": ledger, "dataset": "d"} if with_ledger else {})
    model, began, child, here = estimator(sparsity=1, epsilon=0.5, delta=1e-6, **options), os.getpid(), [], os.pipe()

    def fork_once(done, total):
        if done >= 1 and not child:
            child.append(os.fork())
            if child == [0]:
                end_within(60)

    try:
        model.fit(X, Y, progress=fork_once)
        outcome = "fitted"
    except Exception as error:
        outcome = f"{type(error).__name__}: {error}"
    finally:
        if os.getpid() != began:
            os.write(here[1], outcome.encode())
            os._exit(0)
    os.close(here[1])
    with open(here[0], "rb") as pipe:
        assert pipe.read().decode().startswith("RuntimeError: a fit is charged only in the process that began it")
    assert os.waitstatus_to_exitcode(os.waitpid(child[0], 0)[1]) == 0
    assert outcome == "fitted"
    assert len(model.coef_) == X.shape[1]
    if with_ledger:
        assert [event.kind for event in ledger.history()] == ["grant", "reserve", "charge"]


@forks
@may_have_threads
def test_meters_and_their_shares_are_charged_where_they_were_opened():
    whole = Meter(Guarantee(1.0, 1e-5), 100, SecureSource())
    share = MeterShare(whole, Guarantee(0.5, 1e-6), 80, part=0, name="first")
    release = Release("r", GaussianMechanism(0.001), 1.0, 1e9)
    share.charge(release)

    def opened_there():
        MeterShare(whole, Guarantee(0.5, 1e-6), 80, part=0, name="second").charge(release)

    for charge in (lambda: whole.charge(release), lambda: share.charge(release), opened_there):
        assert in_child(charge).startswith("RuntimeError: a fit is charged only in the process that began it")
    share.charge(release)
    assert len(whole.record().releases) == 2


@forks
@may_have_threads
def test_a_grandchild_with_the_number_of_the_process_is_another(monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 1)
    meter = Meter(Guarantee(1.0, 1e-5), 100, SecureSource())
    release = Release("r", ExponentialMechanism(0.001), 1, 1)
    assert "only in the process that began it" in in_child(lambda: meter.charge(release))
    meter.commit(Commitment((Slot("r", ExponentialMechanism(0.001)),)))
    assert "only in the process that began it" in in_child(lambda: meter.skip("r"))
    meter.skip("r")


def test_deltas_too_small_to_divide_are_refused(ledger):
    with pytest.raises(ValueError, match="delta=1e-321 must be at least"):
        ledger.grant("tiny", epsilon=1, delta=1e-321)
    ledger.grant("tiny", epsilon=1, delta=1e-100)
    ledger.reserve("tiny", HALF, adjacency="replace-one").charge()
    assert ledger.balance("tiny").epsilon_spent == 0.5


def test_a_trigger_that_swallows_events_is_noticed(ledger):
    reservation = ledger.reserve("d", HALF, adjacency="replace-one")
    with ledger._store._engine.connect() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER t BEFORE INSERT ON dpsparse_events WHEN NEW.kind = 'charge' BEGIN SELECT RAISE(IGNORE); END"
        )
        connection.commit()
    with pytest.raises(LedgerError, match="did not take an event"):
        reservation.charge()


def test_damaged_text_is_not_quoted(ledger):
    with sqlite3.connect(ledger._url.database) as connection:
        (table,) = connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%digest%' LIMIT 1").fetchone()
        connection.execute(f"UPDATE {table} SET digest = CAST(X'73656372657421FF' AS TEXT)")
    with pytest.raises(LedgerError, match="text in it is damaged") as caught:
        ledger.balance("d")
    assert "secret" not in str(caught.value)


def test_a_pickled_ledger_is_the_same_ledger(ledger):
    assert pickle.loads(pickle.dumps(ledger)).verify() == ledger.verify()

"""`--witness FILE` of the commands that use a ledger."""

import shutil

import pytest

from dpsparse import PrivacyLedger
from dpsparse.cli import main

LEDGER = ["--ledger", "ledger.db", "--dataset", "people", "--witness", "elsewhere.head"]


@pytest.fixture
def granted(folder, capsys):
    """A ledger made with a witness, which holds its head."""
    main(
        ["budget", "grant", "ledger.db", "people", "--epsilon", "9", "--delta", "0.001", "--witness", "elsewhere.head"]
    )
    assert (folder / "elsewhere.head").read_text().strip() == PrivacyLedger("ledger.db").verify()
    capsys.readouterr()
    return folder


def test_a_fit_renews_its_witness_and_an_old_ledger_spends_nothing(granted, fit, failed, capsys):
    shutil.copy("ledger.db", "old.db")
    fit("people.csv", "--bounds", "bounds.toml", "--out", "model.json", *LEDGER)
    capsys.readouterr()
    head = PrivacyLedger("ledger.db").verify()
    assert (granted / "elsewhere.head").read_text().strip() == head
    shutil.copy("old.db", "ledger.db")
    again = ["people.csv", "--target", "cost", "--epsilon", "1", "--out", "more.json", *LEDGER]
    assert "does not contain the head in elsewhere.head" in failed("fit", *again)
    evaluate = ["model.json", "people.csv", "--epsilon", "1", *LEDGER]
    assert "does not contain the head in elsewhere.head" in failed("evaluate", *evaluate)
    grant = ["budget", "grant", "ledger.db", "others", "--epsilon", "1", "--delta", "0.001"]
    assert "does not contain the head" in failed(*grant, "--witness", "elsewhere.head")
    assert len(PrivacyLedger("ledger.db").history()) == 1
    assert not (granted / "more.json").exists()
    assert (granted / "elsewhere.head").read_text().strip() == head


def test_a_ledger_that_is_gone_is_not_made_anew(granted, failed):
    (granted / "ledger.db").unlink()
    grant = ["budget", "grant", "ledger.db", "people", "--epsilon", "9", "--delta", "0.001"]
    assert "there is no ledger at" in failed(*grant, "--witness", "elsewhere.head")
    assert not (granted / "ledger.db").exists()


def test_a_witness_is_renewed_after_an_error_too(granted, fit, monkeypatch):
    """What was charged before it stays spent."""

    def broken(*_):
        raise OSError("no space")

    monkeypatch.setattr("dpsparse.model.json_file.write_model", broken)
    with pytest.raises(SystemExit):
        fit("people.csv", "--bounds", "bounds.toml", "--out", "model.json", *LEDGER)
    assert [event.kind for event in PrivacyLedger("ledger.db").history()] == ["grant", "reserve", "charge"]
    assert (granted / "elsewhere.head").read_text().strip() == PrivacyLedger("ledger.db").verify()


def test_a_witness_needs_a_ledger(folder, fit, capsys):
    with pytest.raises(SystemExit):
        fit("people.csv", "--out", "model.json", "--witness", "elsewhere.head")
    assert "--witness keeps the head of a ledger" in capsys.readouterr().err
    assert not (folder / "model.json").exists()

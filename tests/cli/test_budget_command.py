import json
import os
import sqlite3
import stat
import traceback
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from dpsparse import DPIHTH, LedgerError, PrivacyLedger, PrivateSparseRegressor, load_model, plot_budget
from dpsparse.cli import main
from dpsparse.datasets import make_heavy_tailed
from dpsparse.model.context import spending


@pytest.fixture
def ledger(tmp_path, capsys):
    path = str(tmp_path / "b.db")
    main(["budget", "grant", path, "trial-[7]", "--epsilon", "2", "--delta", "1e-6"])
    X, y, _ = make_heavy_tailed(500, 5, 2, random_state=0)
    DPIHTH(sparsity=2, epsilon=1.0, delta=1e-6, ledger=path, dataset="trial-[7]").fit(X, y)
    capsys.readouterr()
    return path


def told(capsys, *arguments):
    main(["budget", *arguments])
    return capsys.readouterr().out


def test_the_option_of_other_commands_is_refused_with_the_remedy(capsys, ledger):
    for arguments in (["show"], ["history"], ["verify"], ["grant", "trial", "--epsilon", "1", "--delta", "1e-6"]):
        with pytest.raises(SystemExit) as stopped:
            main(["budget", *arguments, "--ledger", ledger])
        assert stopped.value.code == 2
        remedy = f"the ledger stands without --ledger here: dpsparse budget {arguments[0]} {ledger}"
        assert remedy in capsys.readouterr().err


def refusal(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["budget", *arguments])
    assert stopped.value.code == 1
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    return error


def edit(path, statement):
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


def test_show_has_a_table_a_bar_and_a_head(ledger, capsys):
    shown = told(capsys, "show", ledger)
    assert max(map(len, shown.splitlines())) <= 100
    text = " ".join(shown.split())
    for word in ("trial-[7]", "granted", "spent", "share left", "basic", "replace-one", "█", "░"):
        assert word in text
    assert "Left: the largest epsilon of one more fit" in text
    assert "'Spent' and 'left' do not add up to the grant" in text
    found = json.loads(told(capsys, "show", ledger, "trial-[7]", "--json"))
    assert found["head"] in text
    (balance,) = found["datasets"]
    assert balance["epsilon_spent"] == pytest.approx(1.0)
    assert 0 < balance["epsilon_left"] < 2
    assert balance["fits"] == 1


def test_show_draws_what_was_spent_over_time(ledger, capsys, tmp_path):
    picture = tmp_path / "spent.png"
    told(capsys, "show", ledger, "trial-[7]", "--out", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    axes = plot_budget(ledger, "trial-[7]")
    spent, granted = axes.lines
    assert spent.get_ydata().tolist() == pytest.approx([0.0, 1.0])
    assert list(granted.get_ydata()) == [2.0, 2.0]
    plt.close(axes.figure)
    state = PrivacyLedger(ledger).state()
    assert [spent for _, spent in spending(state, "trial-[7]")] == pytest.approx([0.0, 1.0])
    (day, spent), *_ = spending(state, "trial-[7]", by_day=True)[::-1]
    assert spent == pytest.approx(1.0)
    assert len(day) == 10
    with pytest.raises(SystemExit):
        main(["budget", "show", ledger, "--out", str(picture)])
    assert "--out needs a DATASET" in capsys.readouterr().err


def test_history_lists_every_event(ledger, capsys):
    text = " ".join(told(capsys, "history", ledger).split())
    for word in ("grant", "reserve", "charge", "DPIHTH", "'charge' makes it final and costs nothing more"):
        assert word in text
    events = json.loads(told(capsys, "history", ledger, "trial-[7]", "--json"))
    assert [event["kind"] for event in events] == ["grant", "reserve", "charge"]
    assert events[1]["payload"]["n_records"] == 500


def test_a_grant_tells_what_it_made(tmp_path, capsys):
    path = str(tmp_path / "b.db")
    grant = ("grant", path, "a", "--epsilon", "1", "--delta", "1e-6", "--adjacency", "zero-out-one")
    first = json.loads(told(capsys, *grant, "--json"))
    assert first["datasets"][0]["adjacency"] == "zero-out-one"
    assert json.loads(told(capsys, *grant, "--json")) == first


def test_a_spelling_with_blanks_is_the_same_dataset(tmp_path, capsys):
    for spelling in ("trial 7", " trial  7 "):
        main(["budget", "grant", str(tmp_path / "b.db"), spelling, "--epsilon", "1", "--delta", "1e-6"])
        main(["budget", "show", str(tmp_path / "b.db"), spelling])
        assert "trial 7" in capsys.readouterr().out
    main(["budget", "show", str(tmp_path / "b.db"), "--json"])
    assert [each["dataset"] for each in json.loads(capsys.readouterr().out)["datasets"]] == ["trial 7"]


def test_verify_passes_and_fails_in_one_line(ledger, capsys):
    assert told(capsys, "verify", ledger).startswith("intact: 3 events, head ")
    head = json.loads(told(capsys, "verify", ledger, "--json"))["head"]
    assert told(capsys, "verify", ledger, "--head", head)
    edit(ledger, "DELETE FROM dpsparse_events WHERE number = 3")
    assert told(capsys, "verify", ledger).startswith("intact: 2 events")
    assert "does not contain this head" in refusal(capsys, "verify", ledger, "--head", head)
    edit(ledger, "UPDATE dpsparse_events SET dataset = 'other' WHERE number = 2")
    for options in ((), ("--json",), ("--head", head)):
        assert "event 2 does not match its digest" in refusal(capsys, "verify", ledger, *options)


def test_a_witness_notices_an_old_copy(ledger, tmp_path, capsys):
    witness, copy = tmp_path / "elsewhere.head", Path(ledger).read_bytes()
    verify = ("verify", ledger, "--witness", str(witness))
    for dataset in ("b", "c"):
        told(capsys, "grant", ledger, dataset, "--epsilon", "1", "--delta", "1e-6")
        assert told(capsys, *verify).endswith(witness.read_text())
    newest = witness.read_text()
    assert told(capsys, *verify).endswith(newest)
    if os.name == "posix":
        assert stat.S_IMODE(witness.stat().st_mode) == 0o600
    Path(ledger).write_bytes(copy)
    assert told(capsys, "verify", ledger)
    error = refusal(capsys, *verify)
    assert f"the ledger {ledger} does not contain the head in {witness}" in error
    assert witness.read_text() == newest
    witness.write_text("my notes")
    assert "holds no head" in refusal(capsys, *verify)
    assert witness.read_text() == "my notes"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "none.db"], "there is no ledger at"),
        (["grant", "no/such/b.db", "a", "--epsilon", "1", "--delta", "1e-6"], "could not be written"),
        (["grant", "b.db", "a", "--epsilon", "-1", "--delta", "1e-6"], "epsilon=-1.0 must be"),
        (["grant", "b.db", "a", "--epsilon", "1", "--delta", "1e-6", "--adjacency", "none"], "adjacency='none'"),
        (["show", "nosuch://me:secret@host/db"], "not known"),
        (["verify", "postgresql://me:secret@127.0.0.1:1/db"], "Connection refused"),
    ],
)
def test_errors_take_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = refusal(capsys, *arguments)
    assert message in error
    assert "secret" not in error
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_command_fit_spends_from_the_ledger(ledger, tmp_path, capsys):
    table, model = tmp_path / "t.csv", tmp_path / "m.json"
    X, y, _ = make_heavy_tailed(300, 3, 1, random_state=0)
    lines = [",".join(map(repr, map(float, (*row, value)))) for row, value in zip(X, y, strict=True)]
    table.write_text("\n".join(["a,b,c,y", *lines]))
    command = ["fit", str(table), "--target", "y", "--sparsity", "1", "--ledger", ledger, "--dataset", "trial-[7]"]
    main([*command, "--epsilon", "0.5", "--delta", "1e-6", "--out", str(model)])
    assert model.exists()
    printed = capsys.readouterr().out
    (balance,) = json.loads(told(capsys, "show", ledger, "--json"))["datasets"]
    # Two fits at the grant's own delta, in the basic account.
    assert balance["epsilon_left"] == 0
    assert "trial-[7] in b.db: 2 fits together have spent epsilon" in printed
    assert "granted (delta 1e-06); nothing is left at that delta" in printed
    kept = load_model(model).context.budget
    assert (kept.ledger, kept.dataset, kept.epsilon, kept.fits) == ("b.db", "trial-[7]", 2.0, 2)
    assert kept.epsilon_left == 0
    kinds = [event["kind"] for event in json.loads(told(capsys, "history", ledger, "--json"))]
    assert kinds == ["grant", "reserve", "charge", "reserve", "charge"]
    model.unlink()
    with pytest.raises(SystemExit):
        main([*command, "--epsilon", "2", "--delta", "1e-6", "--out", str(model)])
    assert "would fit" in capsys.readouterr().err
    assert not model.exists()


URL = "postgresql://me:hunter two@127.0.0.1:1/db"


def table_of(folder):
    table = folder / "t.csv"
    table.write_text("a,b,y\n" + "1.0,2.0,3.0\n" * 20)
    return str(table)


@pytest.mark.parametrize("verbose", [[], ["-v"]])
@pytest.mark.parametrize("url", [URL, URL.replace("postgresql", "postgresql+psycopg"), "b.db"])
def test_ctrl_c_in_a_fit_names_the_ledger_without_its_password(tmp_path, capsys, monkeypatch, verbose, url):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PrivateSparseRegressor, "fit", interrupted)
    options = ["--target", "y", "--epsilon", "1", "--ledger", url, "--dataset", "trial-7", "--out", "model.json"]
    with pytest.raises(SystemExit) as stopped:
        main([*verbose, "fit", table_of(tmp_path), *options])
    assert stopped.value.code == 130
    told = capsys.readouterr()
    place = tmp_path / "b.db" if url == "b.db" else "postgresql+psycopg://me:***@127.0.0.1:1/db"
    assert told.err.split("\n") == [
        f"dpsparse: what was reserved or charged stays spent; see: dpsparse budget history {place}",
        "",  # click ends the line of the ^C
        "dpsparse: interrupted",
        "",
    ]
    assert told.out == ""


@pytest.mark.parametrize(
    ("where", "settled", "sentence"),
    [
        # In the first read of a raw table, which comes before the first release; and while noise is drawn for one.
        ("dpsparse.learning.kinds.release_counts", "refund", "nothing was released, and nothing is spent"),
        ("dpsparse.privacy.noise.SecureSource.gaussian", "charge", "what was reserved or charged stays spent"),
    ],
)
def test_ctrl_c_gives_back_what_was_reserved_as_long_as_nothing_was_released(
    tmp_path, capsys, monkeypatch, where, settled, sentence
):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    told(capsys, "grant", "b.db", "trial-7", "--epsilon", "2", "--delta", "1e-3")
    monkeypatch.setattr(where, interrupted)
    options = ["--target", "y", "--epsilon", "1", "--delta", "1e-3", "--ledger", "b.db", "--dataset", "trial-7"]
    with pytest.raises(SystemExit) as stopped:
        main(["fit", table_of(tmp_path), *options, "--out", "model.json"])
    assert stopped.value.code == 130
    assert f"dpsparse: {sentence}; see: dpsparse budget history {tmp_path / 'b.db'}\n" in capsys.readouterr().err
    kinds = [event["kind"] for event in json.loads(told(capsys, "history", "b.db", "--json"))]
    assert kinds == ["grant", "reserve", settled]
    told(capsys, "verify", "b.db")


@pytest.mark.parametrize("verbose", [[], ["-v"]])
@pytest.mark.parametrize(
    "arguments",
    [
        ["budget", URL, "show"],
        [URL],
        ["budget", "show", "b.db", "trial-7", URL],
        ["budget", "show", "b.db", "--jsn", URL],
        ["budget", "show", "b.db", f"--{URL}"],
        ["budget", "show", "b.db", URL],
        ["budget", "grant", "b.db", URL, "--epsilon", "1", "--delta", "1e-6"],
        ["budget", "grant", "b.db", "a", "--epsilon", URL, "--delta", "1e-6"],
        ["budget", "grant", URL, "a", "--epsilon", "1", "--delta", "1e-6"],
        *(["budget", "verify", URL.replace("hunter", f"a@hunter{more}")] for more in ("", "/", "?", ":", "?b=")),
        ["budget", "verify", URL.replace("me", "me@corp"), "b"],
        ["budget", "history", URL.replace("127.0.0.1:1", "host:port")],
        ["budget", "show", "postgresql://host/db?user=me&password=hunter%20two"],
        ["fit", URL, "--target", "y", "--epsilon", "1"],
        ["fit", "t.csv", "--target", "y", "--epsilon", "1", "--out", "m", "--ledger", URL, "--dataset", "a"],
        ["fit", "t.csv", "--target", "y", "--epsilon", "1", "--out", "m", "--ledger", "b.db", "--dataset", URL],
        ["fit", "t.csv", "--target", "y", "--epsilon", "1", "--out", URL],
        ["inspect", f"{URL}?sslpassword=two"],
    ],
)
def test_no_message_has_a_password(tmp_path, capsys, monkeypatch, verbose, arguments):
    monkeypatch.chdir(tmp_path)
    table_of(tmp_path)
    with pytest.raises((SystemExit, ValueError, LedgerError)) as stopped:
        main([*verbose, *arguments])
    told = "".join(capsys.readouterr())
    if not isinstance(stopped.value, SystemExit):
        # With -v Python prints it.
        told += "".join(traceback.format_exception(stopped.value))
    assert told
    assert "hunter" not in told
    assert "two" not in told

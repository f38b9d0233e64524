"""Spending: once for each confirmation, never without a charge, and nothing that was paid for is lost."""

import ast
import json
import os
import re
import runpy
import socket
import sqlite3
import threading

import docx
import pytest
from client import Client

from dpsparse import load_model
from dpsparse.app.jobs import CANCELLED, DONE, LOST, Job, Jobs
from dpsparse.app.settings import Settings
from dpsparse.app.spending_pages import COST, DOWNLOADS
from dpsparse.app.workspace import Workspace
from dpsparse.estimators._raw_fit import PreparedTable
from dpsparse.io.bounds_file import read_bounds
from dpsparse.learning.preparation import Preparation


def events(work, kind):
    return [event for event in work.ledger.history() if event.kind == kind]


@pytest.fixture
def hold(monkeypatch):
    """Stop fits before or after their first release; gives the events "reached" and "go"."""

    def stop(where):
        reached, go = threading.Event(), threading.Event()
        owner, name = {"before": (Preparation, "run"), "after": (PreparedTable, "pursue")}[where]
        method = getattr(owner, name)

        def waiting(self, *arguments, **options):
            reached.set()
            assert go.wait(60)
            return method(self, *arguments, **options)

        monkeypatch.setattr(owner, name, waiting)
        return reached, go

    return stop


@pytest.mark.slow
def test_from_a_raw_table_to_everything_that_is_taken_home(client, work, ended, data, tmp_path, monkeypatch):
    client.choose("people.csv")
    client.columns("cost", {"age": ("range", "20 to 80")}, drop=["id"])
    client.grant()
    client.plan(epsilon="1", sparsity="3", holdout="0.2")
    report = ended(client.spend())
    assert "<h1>The report</h1>" in report.text
    assert "What matters" in report.text
    assert "1 fit has spent epsilon 1 of 3 granted" in report.text
    assert len(events(work, "charge")) == 1
    # The response is a number, which has no calibration.
    assert client.ask("GET", f"{report.path}/calibration.png").status == 404
    files = {name: client.get(f"{report.path}/{name}") for name in DOWNLOADS if name != "calibration.png"}
    assert all(reply.status == 200 and "attachment" in reply.headers["content-disposition"] for reply in files.values())
    home = tmp_path / "at_home"
    home.mkdir()
    for name, reply in files.items():
        (home / name).write_bytes(reply.content)
    model = load_model(home / "model.json")
    assert model.privacy.private
    assert model.privacy.guarantee.epsilon == 1.0
    assert model.scores is not None
    assert model == load_model(work.jobs.all()[0].path)
    assert files["report.html"].text == client.get(f"{report.path}/report").text
    assert files["table.md"].text == model.to_markdown()
    assert files["table.tex"].text == model.to_latex()
    assert docx.Document(home / "table.docx").tables
    for name, begins in (("effects.png", b"\x89PNG"), ("effects.pdf", b"%PDF"), ("forecast.png", b"\x89PNG")):
        assert files[name].content.startswith(begins)
        assert f"/{name}" in report.text
    assert read_bounds(home / "bounds.toml").of("age").center == 50.0
    assert "epsilon" in files["entry.yaml"].text
    # The script and the notebook run where the table is, and spend anew.
    (home / "people.csv").write_bytes((data / "people.csv").read_bytes())
    assert "SPENDS epsilon 1 ONCE MORE" in files["fit_again.py"].text
    monkeypatch.chdir(home)
    runpy.run_path("fit_again.py")
    assert len(events(work, "charge")) == 2
    assert load_model(home / "model-again.json").scores.n_records == model.scores.n_records
    notebook = json.loads(files["fit_again.ipynb"].text)
    (home / "model-again.json").unlink()
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    exec(compile(code, "notebook", "exec"), {})
    assert len(events(work, "charge")) == 3
    assert (home / "model-again.json").exists()
    # The settings lead to the same fit again.
    loaded = client.post("/settings", {"settings": ("s.json", files["dpsparse-settings.json"].content)})
    assert loaded.path == "/accuracy"
    assert work.draft.settings.target == "cost"


@pytest.mark.parametrize("ledger", [None, "postgresql://me:secret@host/budgets"])
def test_the_script_and_the_notebook_carry_the_ledger_without_its_password(tmp_path, data, ledger):
    work = Workspace(tmp_path / "home", data, ledger)
    work.close()
    settings = Settings(target="cost", dataset="trial", epsilon=0.5, delta=1e-6)
    job = Job("0" * 32, tmp_path, "people.csv", settings, "2026-01-31T00:00:00+00:00")
    script, notebook = (DOWNLOADS[f"fit_again.{kind}"][1](job, work) for kind in ("py", "ipynb"))
    file = os.path.realpath(tmp_path / "home" / "budget.db")
    place = file if ledger is None else "postgresql+psycopg://me@host/budgets"
    (call,) = (
        node for node in ast.walk(ast.parse(script)) if getattr(node, "keywords", None) and len(node.keywords) > 3
    )
    given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert given["ledger"] == place
    assert (given["dataset"], given["epsilon"], given["delta"]) == ("trial", 0.5, 1e-6)
    assert ("password is not in here" in script) == (ledger is not None)
    for text in (script, notebook):
        assert "SPENDS epsilon 0.5 ONCE MORE" in text
        assert "secret" not in text
        assert "***" not in text
    assert json.dumps(given["ledger"]) in "".join(json.loads(notebook)["cells"][2]["source"])


@pytest.mark.slow
def test_the_same_confirmation_twice_is_one_fit(client, work, ended):
    client.ready()
    shown = client.get("/spend")
    sent = {"ticket": shown.hidden("ticket"), "seen": shown.hidden("seen"), "sure": "on"}
    first = client.post("/spend", **sent)
    again = [client.post("/spend", **sent) for _ in range(3)]
    ended(first)
    again.append(client.post("/spend", **sent))
    assert {reply.path for reply in again} == {first.path}
    assert len(events(work, "reserve")) == len(events(work, "charge")) == 1
    # A new confirmation spends anew, and says so.
    shown = client.get("/spend")
    assert "This spends anew" in shown.text
    assert shown.hidden("ticket") != sent["ticket"]


@pytest.mark.slow
def test_tabs_that_race_with_one_confirmation_spend_once(url, client, work, ended):
    client.ready()
    shown = client.get("/spend")
    sent = {"ticket": shown.hidden("ticket"), "seen": shown.hidden("seen"), "sure": "on"}
    tabs, replies = [Client(url) for _ in range(6)], []
    for tab in tabs:
        tab.get("/spend")
    threads = [threading.Thread(target=lambda tab=tab: replies.append(tab.post("/spend", **sent))) for tab in tabs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {reply.path for reply in replies} == {f"/fits/{sent['ticket']}"}
    ended(replies[0])
    assert len(events(work, "reserve")) == 1


@pytest.mark.slow
def test_the_last_of_the_budget_is_spent_once(client, work, ended):
    client.choose("people.csv")
    client.columns("cost", drop=["id"])
    client.grant(epsilon="1")
    client.plan(epsilon="1")
    ended(client.spend())
    assert "Too little is left" in client.get("/spend").text
    second = ended(client.spend())
    assert "The fit failed" in second.text
    assert "left at delta" in second.error
    assert "Nothing was spent" in second.text
    assert len(events(work, "charge")) == 1


def test_choices_that_changed_in_another_tab_are_not_spent(client, work):
    client.ready(epsilon="0.5")
    shown = client.get("/spend")
    client.plan(epsilon="3")
    sent = {"ticket": shown.hidden("ticket"), "seen": shown.hidden("seen")}
    refused = client.post("/spend", **sent, sure="on")
    assert refused.status == 422
    assert "changed meanwhile" in refused.error
    assert "Spend epsilon 3 of 3" in refused.text
    # The table itself changes: delta, which follows from the number of records, is another one.
    shown = client.get("/spend")
    with open(work.draft.path, "a") as file:
        file.write("\n")
    sent = {"ticket": shown.hidden("ticket"), "seen": shown.hidden("seen")}
    assert "changed meanwhile" in client.post("/spend", **sent, sure="on").error
    refused = client.spend(sure=None)
    assert "tick the box" in refused.error
    assert client.spend(ticket="0" * 32).status == 422
    assert work.jobs.all() == []
    assert events(work, "reserve") == []


def test_a_fit_can_be_cancelled_before_its_first_release(client, work, hold, ended):
    reached, go = hold("before")
    client.ready()
    running = client.spend()
    assert reached.wait(60)
    state = client.state(running.path)
    assert (state["state"], state["cancellable"]) == ("started", True)
    assert re.search(r'action="[^"]*/cancel">', client.get(running.path).text)
    assert [fit.state for fit in work.ledger.state().fits.values()] == ["reserved"]
    # One fit at a time.
    assert "one runs at a time" in client.spend().error
    client.post(f"{running.path}/cancel")
    go.set()
    shown = ended(running)
    assert "The fit was cancelled" in shown.text
    assert "Nothing was spent: its reservation was given back" in shown.text
    assert [fit.state for fit in work.ledger.state().fits.values()] == ["refunded"]
    assert work.balance()["epsilon_left"] == 3.0


def test_after_its_first_release_a_fit_goes_on(client, work, hold, ended):
    reached, go = hold("after")
    client.ready()
    running = client.spend()
    assert reached.wait(60)
    assert not client.state(running.path)["cancellable"]
    assert re.search(r'action="[^"]*/cancel" hidden>', client.get(running.path).text)
    refused = client.post(f"{running.path}/cancel")
    assert "the first release was made" in refused.error
    go.set()
    assert "The report" in ended(running).text
    assert len(events(work, "charge")) == 1


def test_a_model_that_cannot_be_saved_is_not_lost(client, work, ended, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpsparse.model.json_file.write_model", full)
    client.ready()
    shown = ended(client.spend())
    monkeypatch.undo()
    assert "could not be saved here" in shown.error
    assert "download it before you end" in shown.error
    assert json.loads(client.get(f"{shown.path}/model.json").text)["target"] == "cost"
    assert not work.jobs.all()[0].path.exists()


def test_an_error_of_the_fit_says_what_it_cost(client, work, ended, monkeypatch):
    def broken(self, *_, **__):
        raise ValueError("out of luck")

    monkeypatch.setattr(PreparedTable, "pursue", broken)
    client.ready()
    shown = ended(client.spend())
    assert shown.error == "out of luck"
    assert "Its charge stands: epsilon 1 is spent" in shown.text


@pytest.mark.slow
@pytest.mark.parametrize(("every", "ends"), [(1, "The fit failed"), (3, "The report")])
def test_responses_that_could_not_be_read_are_said_or_fail_the_fit(client, work, ended, data, seeded, every, ends):
    header, *lines = (data / "people.csv").read_text().splitlines()
    place = header.split(",").index("cost")
    for at in range(0, len(lines), every):
        cells = lines[at].split(",")
        lines[at] = ",".join([*cells[:place], "a lot", *cells[place + 1 :]])
    (data / "words.csv").write_text("\n".join([header, *lines]) + "\n")
    client.choose("words.csv")
    client.columns("cost", {}, drop=["id"])
    client.grant()
    client.plan(epsilon="2", sparsity="2")
    shown = ended(client.spend())
    assert ends in shown.text
    assert re.search(rf"of {len(lines):,} \(give or take [\d,]+\) responses are numbers", shown.text)
    assert [job.path.exists() for job in work.jobs.all()] == [every > 1]
    assert len(events(work, "charge")) == 1


def test_the_model_is_on_disk_before_the_page_hears_of_it(client, work, ended, monkeypatch):
    seen, save = [], Job.save

    def watched(job):
        seen.append((job.state, job.path.exists()))
        save(job)

    monkeypatch.setattr(Job, "save", watched)
    client.ready()
    ended(client.spend())
    assert seen == [("started", False), ("done", True)]


@pytest.mark.slow
def test_a_restart_finds_what_was_done_and_what_was_lost(client, work, ended, tmp_path):
    client.ready()
    done = work.jobs.get(ended(client.spend()).path.rpartition("/")[2])
    lost = work.jobs.get(ended(client.spend()).path.rpartition("/")[2])
    # As a kill leaves them: after the model was written, and before.
    for job in (done, lost):
        job.state = "started"
        job.save()
    lost.path.unlink()
    again = Jobs(work.folder / "fits", lambda: work.ledger)
    assert again.get(done.name).state == DONE
    assert again.get(lost.name).state == LOST
    assert again.charge_of(again.get(lost.name)) == "charged"
    (work.folder / "fits" / lost.name / "job.json").write_text("{}")
    assert Jobs(work.folder / "fits", lambda: work.ledger).get(lost.name) is None


def test_a_fit_killed_before_its_first_release_still_counts(client, work, hold, ended):
    reached, go = hold("before")
    client.ready()
    running = client.spend()
    assert reached.wait(60)
    # What a program that starts now would find.
    again = Jobs(work.folder / "fits", lambda: work.ledger)
    lost = again.get(running.path.rpartition("/")[2])
    assert (lost.state, again.charge_of(lost)) == (LOST, "reserved")
    assert "still counts as spent" in COST["reserved"]
    go.set()
    ended(running)


def test_the_end_of_the_program_waits_for_a_fit_that_is_paid_for(client, work, hold, ended):
    reached, go = hold("after")
    client.ready()
    running = client.spend()
    assert reached.wait(60)
    ending = threading.Thread(target=work.jobs.close)
    ending.start()
    ending.join(0.1)
    assert ending.is_alive()
    go.set()
    ending.join(60)
    assert work.jobs.get(running.path.rpartition("/")[2]).state == DONE


def test_the_end_of_the_program_cancels_a_fit_that_released_nothing(client, work, hold):
    reached, go = hold("before")
    client.ready()
    running = client.spend()
    assert reached.wait(60)
    ending = threading.Thread(target=work.jobs.close)
    ending.start()
    go.set()
    ending.join(60)
    assert work.jobs.get(running.path.rpartition("/")[2]).state == CANCELLED
    assert work.balance()["fits"] == 0


def test_nothing_leaves_the_machine(client, work, ended, monkeypatch):
    connect, called = socket.socket.connect, []

    def watched(self, address):
        called.append(address)
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    client.ready()
    client.get("/preview/report")
    ended(client.spend())
    assert {address[0] for address in called} == {"127.0.0.1"}


def test_grants_history_and_verification(client, work, ended, tmp_path):
    client.ready()
    ended(client.spend())
    shown = client.get("/budget?verify=1")
    assert f"Intact: 3 events, head {work.ledger.verify()}" in shown.text
    assert "PrivateSparseRegressor" in shown.text
    assert client.get("/budget/head").text.strip() == work.ledger.verify()
    sent = {"dataset": "trial", "grant_epsilon": "9", "grant_delta": "1e-6", "records_per_person": "1", "sure": "on"}
    assert "a budget changed later is no guarantee" in client.post("/budget/grant", **sent).error
    assert client.post("/budget/grant", **(sent | {"dataset": "others", "others": "on"})).path == "/budget"
    assert work.ledger.balance("others").grant.epsilon == 9.0
    # Someone edits the ledger: every page says so, and nothing is spent.
    with sqlite3.connect(str(work.ledger)) as connection:
        connection.execute("UPDATE dpsparse_events SET payload = replace(payload, '9.0', '8.0')")
    connection.close()
    assert "changed by hand" in client.get("/budget").error
    assert "changed by hand" in client.get("/spend").error
    sent = {"ticket": work.ticket, "seen": "", "sure": "on"}
    assert "changed by hand" in client.post("/spend", **sent).error


def test_a_ledger_given_by_url_and_one_beside(tmp_path, data):
    work = Workspace(tmp_path / "home", data, f"sqlite:///{tmp_path}/other.db")
    try:
        work.ledger.grant("trial", epsilon=2, delta=1e-6)
        work.change(settings=work.draft.settings.__class__(dataset=" trial "))
        assert work.balance()["epsilon_left"] == 2.0
    finally:
        work.close()
    with pytest.raises(ValueError, match="ledger"):
        Workspace(tmp_path / "home", data, "nowhere://x")
    assert os.path.exists(tmp_path / "other.db")

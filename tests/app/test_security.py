"""Who is let in, and what the page may reach."""

import http.client
import os
import re
import signal
import stat
import threading
from pathlib import Path

import pytest
from client import Client

from dpsparse.app.gate import Gate
from dpsparse.app.server import serve
from dpsparse.schema import FileError

PAGES = ("/file", "/columns", "/accuracy", "/preview", "/spend", "/results", "/budget", "/glossary", "/nothing")


def test_nobody_gets_in_without_the_token(url):
    address, _, token = url.partition("?token=")
    for wrong in (f"{address}?token=", f"{address}?token={token[:-1]}", f"{address}?token={token}x", address):
        stranger = Client(wrong)
        assert stranger.entered.status == 403
        assert stranger.cookie is None
        for page in (*PAGES, "/", "/forecast?epsilon=1", "/settings", "/static/app.js", "/preview/report"):
            assert stranger.get(page).status == 403
        assert "dpsparse app" in stranger.get("/").text


def test_the_token_is_bought_once_and_never_shown_again(url, client):
    token = url.partition("?token=")[2]
    assert re.search("httponly", client.entered.headers["set-cookie"], re.I)
    assert re.search("samesite=strict", client.entered.headers["set-cookie"], re.I)
    assert all(token not in client.get(page).text for page in PAGES)
    assert token not in client.cookie


def test_another_host_is_refused(client):
    port = client.host.partition(":")[2]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", f"0.0.0.0:{port}", ""):
        assert client.ask("GET", "/file", Host=host).status in (400, 421)
        assert client.ask("GET", "/enter?token=x", Host=host).status in (400, 421)


def test_a_form_of_another_origin_changes_nothing(client, work):
    before = work.draft
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    sent = f"csrf={client.csrf}&path=people.csv&dataset=trial&records_per_person=1"
    ours = f"http://{client.host}"
    for origin in (None, "null", "http://evil.example", ours.replace("http", "https"), f"{ours}.evil.example"):
        assert client.ask("POST", "/file", sent, Origin=origin, **kind).status == 403
        assert work.draft == before
    assert client.ask("POST", "/file", sent, Origin=ours, **kind).status == 303
    assert work.draft != before


def test_another_site_cannot_even_look(client):
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert client.ask("GET", "/file", **{"Sec-Fetch-Site": site}).status == status


def test_a_form_needs_its_secret(client, work):
    client.ready()
    before, events = work.draft, len(work.ledger.history())
    for form in ("/file", "/columns", "/accuracy", "/spend", "/budget/grant", "/settings", "/upload/forget"):
        for csrf in (None, "", "wrong"):
            refused = client.post(form, csrf=csrf, epsilon="2", sparsity="3", sure="on", ticket=work.ticket)
            assert refused.status == 403
    assert work.draft == before
    assert len(work.ledger.history()) == events
    assert work.jobs.all() == []


def test_every_answer_has_a_strict_policy(client):
    client.ready()
    for page in (*PAGES, "/preview/report", "/settings", "/static/app.css", "/forecast?epsilon=1&sparsity=2"):
        headers = client.get(page).headers
        policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert "unsafe" not in headers["content-security-policy"]
        assert "http" not in headers["content-security-policy"]
        assert policy["base-uri"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_no_address_leads_out(client):
    for path in (
        *("/static/../settings.py", "/static/..%2f..%2fcli/app.py", "/static/%2e%2e/server.py", "/fits/..%2f..%2flock"),
        *("/fits/00000000000000000000000000000000/model.json", "/fits/x/../../draft.json", "//etc/passwd"),
    ):
        assert client.ask("GET", path).status == 404


def test_of_a_fit_only_its_downloads_can_be_had(client, ended):
    client.ready()
    job = ended(client.spend()).path
    for name in ("job.json", "..%2fjob.json", "model.json.tmp", ".."):
        assert client.ask("GET", f"{job}/{name}").status in (404, 303)


def test_a_path_outside_what_was_opened_is_refused(client, work, data, csv):
    (data.parent / "other.csv").write_text(csv)
    os.symlink(data.parent / "other.csv", data / "link.csv")
    (data / "folder").mkdir()
    for path in (f"{data.parent}/other.csv", "../other.csv", "link.csv", "~/other.csv", "folder/../../other.csv"):
        refused = client.choose(path)
        assert refused.status == 422
        assert "lies outside" in refused.error
        assert "--data FOLDER" in refused.error
        assert work.draft.path is None


def test_an_upload_is_its_owners_alone_and_goes_with_the_page(client, work, csv):
    reply = client.post("/file", {"upload": ("../../people.csv", csv.encode())}, dataset="t", records_per_person="1")
    assert reply.path == "/columns"
    (path,) = work.uploads.folder.glob("*/*")
    assert path.name == "people.csv"
    assert path.read_text() == csv
    for place, mode in ((work.uploads.folder, 0o700), (path.parent, 0o700), (path, 0o600)):
        assert stat.S_IMODE(place.stat().st_mode) == mode
    # Another table takes its place.
    assert client.choose("people.csv").path == "/columns"
    assert not path.exists()
    client.post("/file", {"upload": ("again.csv", csv.encode())}, dataset="t", records_per_person="1", path="")
    assert client.post("/upload/forget").path == "/file"
    assert list(work.uploads.folder.iterdir()) == []
    client.post("/file", {"upload": ("third.csv", csv.encode())}, dataset="t", records_per_person="1")
    work.close()
    assert not work.uploads.folder.exists()


def test_other_machines_are_let_in_only_if_asked_twice(tmp_path):
    for host, expose in (("192.0.2.1", False), ("0.0.0.0", False), ("0.0.0.0", True), ("::", True)):
        with pytest.raises(FileError, match="--host"):
            serve(tmp_path, host=host, expose=expose)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_has_one_program(work):
    from dpsparse.app.workspace import Workspace

    with pytest.raises(FileError, match="is running already"):
        Workspace(work.folder)


@pytest.mark.slow
def test_ctrl_c_ends_an_idle_page_at_once(program, capfd):
    running = program(script=Path(__file__).parent / "last_words.py")
    # A browser keeps its connection, and may open one that it does not use yet.
    asked, unused = (http.client.HTTPConnection(Client(running.url).host, timeout=60) for _ in range(2))
    asked.request("GET", "/")
    asked.getresponse().read()
    unused.connect()
    assert running.end(signal.SIGINT) == 0
    # Nothing was waited for in vain: uvicorn would say so.
    shown = capfd.readouterr()
    assert shown.err == "The page has ended.\n"
    skips, searches = map(int, re.search(r"skips (\d+), searches (\d+)", running.last_words).groups())
    # A search of some thousand objects takes no time that a person would notice; the page has loaded tens of thousands.
    assert searches < 5_000 < skips
    asked.close()
    unused.close()


def test_a_fit_is_either_cancelled_or_goes_on():
    for _ in range(200):
        gate, results = Gate(), {}
        barrier = threading.Barrier(2, timeout=60)

        def run(name, act, barrier=barrier, results=results):
            barrier.wait()
            results[name] = act()

        threads = [threading.Thread(target=run, args=each) for each in (("cancel", gate.close), ("go", gate.enter))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert results["cancel"] != results["go"]
        assert (gate.close(), gate.enter()) == (results["cancel"], results["go"])

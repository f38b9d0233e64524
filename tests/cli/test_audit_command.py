import html
import json

import pytest

from dpsparse.audit.finding import Finding
from dpsparse.audit.run import ABOUT, CHECKS, Audit, audit_page
from dpsparse.cli import main


def test_a_good_audit_prints_a_table_and_writes_a_page(tmp_path, capsys):
    page = tmp_path / "audit.html"
    main(["audit", "--only", "accounts", "--out", str(page)])
    told = capsys.readouterr().out
    for word in ("mechanism", "claimed", "found", "verdict", "Every verdict is good"):
        assert word in told
    text = page.read_text()
    assert "every verdict is good" in text
    assert "rho of (1, 1e-05)" in text


def test_a_bad_audit_has_status_1_and_says_where(tmp_path, capsys, monkeypatch):
    page = tmp_path / "audit.html"
    monkeypatch.setitem(CHECKS, "accounts", lambda: [Finding("a curve", "2", "3", False)])
    with pytest.raises(SystemExit) as stopped:
        main(["audit", "--only", "accounts", "--json", "--out", str(page)])
    assert stopped.value.code == 1
    told = json.loads(capsys.readouterr().out)
    assert not told["good"]
    assert {finding["check"] for finding in told["findings"]} == {"accounts"}
    assert not all(finding["good"] for finding in told["findings"])
    assert "BAD" in page.read_text()


def test_a_wrong_name_lists_the_checks(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["audit", "--only", "everything"])
    assert stopped.value.code == 2
    assert "'replay of raw tables'" in capsys.readouterr().err.replace("\n", " ")


def test_the_page_explains_every_check():
    assert set(ABOUT) == set(CHECKS)
    findings = {name: [Finding("m", "c", "f", True)] for name in CHECKS}
    page = html.unescape(audit_page(Audit(findings)))
    assert all(about in page for about in ABOUT.values())

"""Every check is good. `tests/planted` shows that they notice bugs."""

import json
from functools import partial

import pytest

from dpsparse.audit import run
from dpsparse.audit.checks import check_raw_parts, check_raw_tables
from dpsparse.audit.checks.check_games import fit_game
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.raw_shapes import raw_shapes
from dpsparse.audit.run import ABOUT, CHECKS, Audit, run_check
from dpsparse.privacy.protection import ADJACENCIES

pytestmark = pytest.mark.slow

# Those that others cover line by line: measuring the coverage would double their time.
UNMEASURED = ("rows out of reach", "replay of configurations", "mechanism games")
# Those whose games or replays are tests of their own, here and in `checks`.
ELSEWHERE = (
    *("fit games", "replay of pursuits", "replay of reference steps", "replay of all features", "replay of loops"),
    *("replay of classifiers", "replay of people", "replay of counts", "replay of two parts", "replay of tuning"),
    *("replay of evaluations", "outputs of raw tables"),
)
# What CI makes smaller: pairs of each configuration, trials of the games.
SMALLER = {"replay of configurations": 1, "mechanism games": 2_000, "secure games": 500}
# Of the tables that have nothing in common CI takes one in so many.
SHARE = 4
CHECKED = [
    pytest.param(name, marks=pytest.mark.no_cover if name in UNMEASURED else ())
    for name in CHECKS
    if name not in ELSEWHERE
]


@pytest.fixture
def smaller(monkeypatch):
    """Every check with its whole code, on fewer tables, pairs and trials, raw tables under one relation."""
    usual = {"usual", *(which for *_, which in check_raw_parts.PARTED.values())}
    tables = {name: table for at, (name, table) in enumerate(raw_shapes().items()) if at % SHARE == 0 or name in usual}
    monkeypatch.setattr(check_raw_parts, "raw_shapes", lambda: tables)
    monkeypatch.setattr(check_raw_tables, "ADJACENCIES", ADJACENCIES[:1])
    for name, size in SMALLER.items():
        monkeypatch.setitem(CHECKS, name, partial(CHECKS[name], size))


@pytest.mark.parametrize("name", CHECKED)
def test_nothing_is_found(name, smaller):
    findings = list(run_check(name))
    assert findings
    assert [finding for finding in findings if not finding.good] == []
    assert json.loads(json.dumps(Audit({name: findings}).to_dict()))["good"] is True


@pytest.mark.long
def test_the_whole_audit_finds_nothing():
    """All that `dpsparse audit` does; the other tests here and in `checks` do a part of it."""
    findings = run.run_audit().findings
    assert {*findings} == {*CHECKS}
    assert [finding for each in findings.values() for finding in each if not finding.good] == []


@pytest.mark.no_cover
@pytest.mark.parametrize(("estimator", "least"), [("DPIHTH", 0.5), ("DPSLR", 0.5)])
def test_a_whole_fit_keeps_its_guarantee_and_the_attack_sees_something(estimator, least):
    finding = fit_game(estimator, 600)
    assert finding.good
    assert float(finding.found.split()[4]) > least


def test_one_bad_verdict_spoils_an_audit():
    good, bad = Finding("m", "c", "f", True), Finding("m", "c", "f", False)
    assert Audit({"terms": [good]}).good
    assert not Audit({"terms": [good, bad]}).good
    assert Audit({"terms": [bad]}).to_dict()["findings"][0]["check"] == "terms"


def test_every_check_is_run_and_told(monkeypatch):
    done: list = []
    made = {name: [Finding(name, "c", "f", True)] for name in CHECKS}
    monkeypatch.setattr(run, "delayed", lambda _: lambda name, long: (lambda: (name, made[name]), (), {}))
    monkeypatch.setattr(run, "cpu_count", lambda: 1)
    assert run.run_audit(progress=done.append).findings == made
    assert sorted(done) == sorted(CHECKS)
    assert {*run.LONGEST} < {*ABOUT} == {*CHECKS}

"""Every check is good. `tests/planted` shows that they notice bugs."""

import json

import pytest

from dpsparse.audit import run
from dpsparse.audit.audit_page import ABOUT
from dpsparse.audit.checks.check_games import fit_game
from dpsparse.audit.finding import Finding
from dpsparse.audit.run import CHECKS, Audit, run_check

pytestmark = pytest.mark.slow

# Those that others cover line by line: measuring the coverage would double their time.
UNMEASURED = (
    "rows out of reach",
    "replay of all features",
    "replay of classifiers",
    "replay of tuning",
    "replay of configurations",
    "mechanism games",
)
# Those whose games or replays are tests of their own, here and in `checks`.
ELSEWHERE = ("fit games", "replay of pursuits", "replay of reference steps", "outputs of raw tables")
CHECKED = [
    pytest.param(name, marks=pytest.mark.no_cover if name in UNMEASURED else ())
    for name in CHECKS
    if name not in ELSEWHERE
]


@pytest.mark.parametrize("name", CHECKED)
def test_nothing_is_found(name):
    findings = list(run_check(name))
    assert findings
    assert [finding for finding in findings if not finding.good] == []
    assert json.loads(json.dumps(Audit({name: findings}).to_dict()))["good"] is True


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

"""Every check is good, and notices every planted bug."""

import json
import zlib

import pytest

from dpsparse.audit.bugs.all import MUTATIONS, NEWEST
from dpsparse.audit.checks.games import fit_game
from dpsparse.audit.finding import Finding
from dpsparse.audit.run import CHECKS, Audit, Catch, hunt, run_check, steps

pytestmark = pytest.mark.slow

# CI hunts one planted bug in eight, by a hash of its name, and all of the newest; `pytest -m long` hunts the others.
ONE_IN = 8


def _in_ci(mutation):
    return mutation in NEWEST or zlib.crc32(mutation.name.encode()) % ONE_IN == 0


HUNTED = [
    pytest.param(mutation, id=mutation.name, marks=() if _in_ci(mutation) else pytest.mark.long)
    for mutation in MUTATIONS
]
# Those that others cover line by line: measuring the coverage would double their time.
UNMEASURED = (
    "replay of pursuits",
    "replay of all features",
    "replay of tuning",
    "replay of configurations",
    "mechanism games",
)
CHECKED = [
    pytest.param(name, marks=pytest.mark.no_cover if name in UNMEASURED else ())
    for name in CHECKS
    if name != "fit games"
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


@pytest.mark.no_cover
@pytest.mark.parametrize("mutation", HUNTED)
def test_every_planted_bug_is_caught_where_expected(mutation):
    assert hunt(mutation).check == mutation.check


def test_there_are_enough_bugs_of_different_names():
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 250


def test_one_bad_verdict_or_one_unnoticed_bug_spoils_an_audit():
    good, bad = Finding("m", "c", "f", True), Finding("m", "c", "f", False)
    assert Audit({"terms": [good]}, [Catch("bug", "terms", "")]).good
    assert not Audit({"terms": [good, bad]}).good
    assert not Audit({"terms": [good]}, [Catch("bug", None, "")]).good
    assert Audit({"terms": [bad]}).to_dict()["findings"][0]["check"] == "terms"


def test_progress_is_counted():
    assert steps() == len(CHECKS) + len(MUTATIONS)
    assert steps("terms") == 1
    assert steps("planted bugs") == len(MUTATIONS)

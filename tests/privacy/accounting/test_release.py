"""Mechanisms, slots and releases, and their form in model files."""

import json
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from dpsparse.model.privacy_json import read_record
from dpsparse.privacy.accounting.gdp import with_pick
from dpsparse.privacy.accounting.meter import Commitment, Meter
from dpsparse.privacy.accounting.release import (
    MECHANISMS,
    ExponentialMechanism,
    GaussianMechanism,
    LaplacePeeling,
    PartitionSelection,
    Release,
    RepeatedPicks,
    Slot,
)
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SecureSource
from dpsparse.schema import Fields, FileError

PICK = ExponentialMechanism(0.001, 0.09, words="exponential-mechanism pick")
RELEASES = [
    Release("pick 1", PICK, 2, 30.0),
    Release("mean", GaussianMechanism.drawn(scale=1e9, size=3, rho=0.002, words="Gaussian noise"), 5.0, 1e9, size=3),
    Release("step 1", LaplacePeeling(0.003, 0.2, words="Laplace peeling of 2"), 7.0, 90.0, 4, 4),
    Release(
        "names",
        PartitionSelection.drawn(scale=1e8, size=900, rho=0.001, failure_probability=1e-12, words="partitions"),
        2.0,
        1e8,
        size=900,
    ),
]


def as_numbers(release):
    return {key: float("inf") if value is None and key != "part" else value for key, value in release.to_dict().items()}


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.kind)
def test_releases_come_back_from_their_numbers(release):
    assert Release.from_dict(as_numbers(release)) == release
    assert list(release.to_dict())[:3] == ["name", "kind", "mechanism"]
    assert release.to_dict()["kind"] in ("pick", "gaussian", "laplace", "partitions")


def test_the_slack_of_gaussian_noise_follows_from_its_scale_and_size():
    fine, coarse = (GaussianMechanism.drawn(scale=scale, size=3, rho=0.1).tv_slack for scale in (1e9, 1e3))
    assert 0 < fine < coarse
    assert GaussianMechanism.drawn(scale=5.0, size=1, rho=0.1).tv_slack == float("inf")
    assert GaussianMechanism.drawn(scale=0.0, size=0, rho=0.1).tv_slack == 0


def test_a_slot_pays_for_its_own_release_alone():
    slot = Slot("a", ExponentialMechanism(0.01, 0.3), 2)
    release = Release("a", ExponentialMechanism(0.01, 0.2), 1, 1, 2)
    assert slot.pays_for(release)
    for other in (
        replace(release, name="b"),
        replace(release, part=None),
        replace(release, mechanism=ExponentialMechanism(0.01, 0.4)),
        replace(release, mechanism=ExponentialMechanism(0.009, 0.2)),
        replace(release, mechanism=GaussianMechanism(0.01, 0.2)),
        replace(release, mechanism=ExponentialMechanism(0.01, 0.2, tv_slack=1e-9)),
    ):
        assert not slot.pays_for(other)


def spent(*slots):
    """A record in which the second slot is skipped."""
    meter = Meter(Guarantee(1.0, 1e-5), 100, SecureSource())
    meter.commit(Commitment(slots))
    for k, slot in enumerate(slots):
        if k == 1:
            meter.skip(slot.name)
        else:
            meter.charge(Release(slot.name, slot.mechanism, 1.0, 1e9, slot.part))
    return meter.record()


def test_a_record_with_a_skipped_slot_survives_a_model_file():
    fine = GaussianMechanism.drawn(scale=1e9, size=1, rho=0.003, words="Gaussian noise")
    record = spent(Slot("a", PICK), Slot("b", fine), Slot("c", fine))
    back = read_record(Fields(record.to_dict(), "model.json"))
    assert back == record
    assert (back.rho, back.mu, back.epsilon) == (record.rho, record.mu, record.epsilon)
    assert record.rho == pytest.approx(0.007)


def test_a_record_with_partitions_comes_back_with_its_failure_probability():
    selection = PartitionSelection(0.001, failure_probability=1e-7, words="partition selection")
    # The second slot is skipped: it stays paid, and so does its failure.
    record = spent(Slot("names 1", selection), Slot("names 2", selection), Slot("c", PICK))
    assert record.to_dict()["releases"][0]["failure_probability"] == 1e-7
    assert record.epsilon == record.guarantee.epsilon_spent(record.rho, failure_probability=2e-7)
    made = Release("names 1", selection, 1.0, 1e9, size=500)
    numbers = {"rho": 0.001, "failure_probability": 1e-7, "words": "partition selection"}
    drawn = replace(made, mechanism=PartitionSelection.drawn(scale=1e9, size=500, **numbers))
    record = replace(record, releases=(drawn, *record.releases[1:]))
    back = read_record(Fields(json.loads(record.to_json()), "model.json"))
    assert back == record
    assert back.epsilon == record.epsilon
    assert back.releases[0].mechanism.tv_slack > 0


@pytest.mark.parametrize("failure", [0.0, 1.0, 7.0])
def test_partitions_without_a_failure_probability_are_refused(failure):
    with pytest.raises(ValueError, match="failure probability"):
        PartitionSelection(0.001, failure_probability=failure)
    record = spent(Slot("names", PartitionSelection(0.001, failure_probability=1e-9, words="names"))).to_dict()
    record["releases"][0]["failure_probability"] = failure
    with pytest.raises(FileError, match="failure probability"):
        read_record(Fields(record, "model.json"))


@dataclass(frozen=True)
class TopK(ExponentialMechanism):
    """A kind whose own field enters its price in the Gaussian account."""

    kind: ClassVar[str] = "top-k"
    count: int = 1

    def mu_squared(self, later, *, certify=True):
        return later + self.count * 2 * self.rho


def test_a_slot_pays_for_no_release_that_differs_in_a_field_of_its_kind():
    slot = Slot("largest", TopK(0.001, count=2))
    assert slot.pays_for(Release("largest", TopK(0.001, count=2), 1, 30.0))
    assert not slot.pays_for(Release("largest", TopK(0.001, count=3), 1, 30.0))


def test_several_picks_step_as_often_as_there_are_picks():
    one = ExponentialMechanism(0.002)
    several = RepeatedPicks(0.01, count=5)
    expected = 0.03
    for _ in range(5):
        expected = one.mu_squared(expected)
    assert several.mu_squared(0.03) == pytest.approx(expected, rel=1e-12)
    assert several.mu_squared(math.inf) == math.inf


@pytest.mark.parametrize("picks", [ExponentialMechanism, RepeatedPicks])
def test_a_pick_without_a_certificate_has_no_mu_unless_that_is_asked_for(picks):
    """Beyond e0 = 8 nothing is certified."""
    mechanism = picks(9.0**2 / 8)
    assert mechanism.mu_squared(0.0) == math.inf
    assert mechanism.mu_squared(0.0, certify=False) < math.inf


@pytest.mark.parametrize("count", [5_000, 20_000])
def test_the_steps_of_very_many_picks_are_bounded_from_above(count):
    later = 1e-4
    for _ in range(count):
        later = with_pick(later, 0.01 / count)
    bounded = RepeatedPicks(0.01, count=count).mu_squared(1e-4)
    assert later <= bounded <= later * (1 + 1e-5)


@pytest.mark.parametrize("count", [0, -1, 1.5, math.nan, math.inf, 2**31])
def test_a_release_of_no_whole_number_of_picks_is_refused(count):
    with pytest.raises(ValueError, match="whole number"):
        RepeatedPicks(0.01, count=count)
    record = spent(Slot("splits", RepeatedPicks(0.001, count=3, words="picks"))).to_dict()
    record["releases"][0]["count"] = count
    with pytest.raises(FileError):
        read_record(Fields(record, "model.json"))


def test_several_picks_come_back_from_a_file():
    record = spent(Slot("splits", RepeatedPicks(0.001, count=3, words="picks")), Slot("c", PICK))
    back = read_record(Fields(json.loads(record.to_json()), "model.json"))
    assert back == record
    assert back.mu == record.mu
    # A slot planned with a whole number pays for a release read with a float.
    assert Slot("splits", RepeatedPicks(0.001, count=3, words="picks")).pays_for(back.releases[0])
    assert not Slot("splits", RepeatedPicks(0.001, count=4)).pays_for(back.releases[0])


def test_a_skipped_slot_keeps_its_price_and_its_slack():
    slot = Slot("b", GaussianMechanism.drawn(scale=1e6, size=3, rho=0.001))
    skipped = slot.skipped().mechanism
    assert (skipped.rho, skipped.tv_slack) == (slot.mechanism.rho, slot.mechanism.tv_slack)
    assert skipped.tv_slack > 0


def test_a_skipped_slot_drew_nothing():
    skipped = Slot("b", GaussianMechanism.drawn(scale=1e6, size=3, rho=0.001), 2).skipped()
    assert (skipped.name, skipped.part) == ("b", 2)
    assert (skipped.sensitivity, skipped.scale, skipped.size) == (0, 0, 0)


@pytest.mark.parametrize("mechanism", [PICK, RELEASES[1].mechanism])
def test_a_skipped_slot_comes_back_with_its_slack_or_with_none(mechanism):
    skipped = Slot("a", mechanism).skipped()
    assert Release.from_dict(as_numbers(skipped)) == skipped


def test_the_slack_of_gaussian_noise_is_that_of_half_its_scale():
    """Off-diagonal entries of a Gram matrix have less noise than the scale says."""
    assert GaussianMechanism.drawn(scale=8.0, size=3, rho=0.1).tv_slack == pytest.approx(math.sqrt(3) / (24 * 4.0**2))
    assert PartitionSelection.drawn(scale=8.0, size=3, rho=0.1, failure_probability=1e-9).tv_slack == pytest.approx(
        math.sqrt(3) / (24 * 8.0**2)
    )


def test_one_pick_of_several_is_a_pick():
    for later in (0.0, 0.01, 1.0, math.inf):
        assert RepeatedPicks(0.01).mu_squared(later) == ExponentialMechanism(0.01).mu_squared(later)


def test_very_many_picks_cost_no_less_than_they_add():
    """Steps too small to change a float are counted: together they add at least 2 rho."""
    many = RepeatedPicks(1e-4, count=10**5)
    assert 1e9 + 2e-4 <= many.mu_squared(1e9) <= 1e9 + 0.1
    assert many.mu_squared(math.inf) == math.inf


def test_kinds_have_the_names_that_model_files_hold():
    assert set(MECHANISMS) == {"pick", "picks", "gaussian", "laplace", "partitions"}

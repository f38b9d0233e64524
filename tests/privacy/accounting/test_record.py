import dataclasses
import json
import math

import pytest

from dpsparse.privacy.accounting.meter import BudgetExceeded, Meter
from dpsparse.privacy.accounting.record import Release
from dpsparse.privacy.guarantee import Guarantee, rho_from_epsilon
from dpsparse.privacy.noise import SecureSource, SeededSource


def gaussian(rho, part=None):
    return Release("g", "gaussian", "Gaussian", 1.0, 1.0, rho, part=part)


def spent(*releases, guarantee=None, source=None):
    meter = Meter(guarantee or Guarantee(1.0, 1e-6), 500, source or SecureSource())
    for release in releases:
        meter.charge(release)
    return meter.record()


def test_sequential_releases_add_and_disjoint_parts_cost_the_dearest():
    record = spent(gaussian(0.001), gaussian(0.002, 0), gaussian(0.004, 1), gaussian(0.003, 0))
    assert record.rho == pytest.approx(0.001 + 0.005)


def test_the_whole_budget_can_be_spent_and_not_a_bit_more():
    guarantee = Guarantee(0.7, 1e-5)
    meter = Meter(guarantee, 10, SecureSource())
    meter.charge(gaussian(guarantee.rho_per_record))
    assert meter.record().epsilon <= 0.7
    with pytest.raises(BudgetExceeded, match="'g' needs rho"):
        meter.charge(gaussian(1e-12))
    assert len(meter.record().releases) == 1


def test_pure_accounting_admits_what_it_covers():
    guarantee = Guarantee(5.0, 1e-12)
    pure = Release("l", "laplace", "Laplace", 1.0, 0.2, rho=12.5, pure_epsilon=5.0)
    assert rho_from_epsilon(5.0, 1e-12) < 12.5
    assert spent(pure, guarantee=guarantee).epsilon == 5.0
    meter = Meter(guarantee, 10, SecureSource())
    meter.charge(pure)
    with pytest.raises(BudgetExceeded):
        meter.charge(gaussian(1e-9))


def test_a_group_pays_for_all_its_records():
    guarantee = Guarantee(1.0, 1e-6, records_per_person=4)
    record = spent(gaussian(guarantee.rho_per_record), guarantee=guarantee)
    assert record.epsilon == pytest.approx(1.0, rel=1e-9)
    assert record.rho == pytest.approx(rho_from_epsilon(1.0, 1e-6) / 16)
    assert "at most 4 records a person" in record.statement()


def test_json_holds_everything():
    record = spent(gaussian(0.001), Release("p", "pick", "pick", 2.0, 3.0, 0.002, 0.1))
    found = json.loads(record.to_json())
    assert found["private"] is True
    assert found["epsilon"] == record.epsilon
    assert found["asked"] == {
        "epsilon": 1.0,
        "delta": 1e-6,
        "adjacency": "replace-one",
        "records_per_person": 1,
    }
    assert [r["pure_epsilon"] for r in found["releases"]] == [None, 0.1]
    assert found["n_records"] == 500


def test_plain_words_name_the_relation_and_the_promise():
    text = str(spent(gaussian(0.001)))
    assert "differentially private" in text
    assert "replace-one" in text
    assert "500" in text
    assert "blanked" in str(spent(gaussian(0.001), guarantee=Guarantee(1.0, 1e-6, "zero-out-one")))


def test_seeded_records_say_so_first():
    record = spent(gaussian(0.001), source=SeededSource(0))
    assert not record.private
    assert str(record).startswith("NOT PRIVATE")
    assert "differentially private:" not in str(record)


def test_records_cannot_be_changed():
    record = spent(gaussian(0.001))
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.private = True
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.releases[0].rho = 0.0


def test_nothing_spent_is_nothing_promised_away():
    assert spent().rho == 0.0
    assert spent().epsilon == 0.0
    assert math.isinf(gaussian(1.0).pure_epsilon)

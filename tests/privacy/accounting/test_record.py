import dataclasses
import json
import math
import re

import pytest

from dpsparse.model.privacy_html import record_html
from dpsparse.privacy.accounting.compose import compose_gdp
from dpsparse.privacy.accounting.gdp import epsilon_from_mu
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.record import PrivacyRecord, _one_in
from dpsparse.privacy.accounting.release import ExponentialMechanism, GaussianMechanism, LaplacePeeling, Release
from dpsparse.privacy.accounting.zcdp import rho_from_epsilon
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SecureSource, SeededSource


def gaussian(rho, part=None):
    return noisy(rho=rho, scale=1.0, part=part)


def noisy(scale=1e8, rho=0.001, size=1, part=None):
    mechanism = GaussianMechanism.drawn(scale=scale, size=size, rho=rho, words="Gaussian noise")
    return Release("g", mechanism, 1.0, scale, part, size)


def picked(rho=0.001):
    return Release("p", ExponentialMechanism(rho, 0.1, words="pick"), 2.0, 3.0)


def record_of(*releases, guarantee=None):
    return PrivacyRecord(guarantee or Guarantee(1.0, 1e-6), 100, releases, "test", True)


def test_notebooks_are_given_elements_that_html_knows():
    opened = re.findall(r"<([^ />]+)", record_html(record_of(picked(), noisy())))
    known = {"div", "p", "strong", "details", "summary", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert set(opened) == known
    assert opened[0] == "div"


def spent(*releases, guarantee=None, source=None):
    meter = Meter(guarantee or Guarantee(1.0, 1e-6), 500, source or SecureSource())
    for release in releases:
        meter.charge(release)
    return meter.record()


def test_sequential_releases_add_and_disjoint_parts_cost_the_most_costly():
    record = spent(gaussian(0.001), gaussian(0.002, 0), gaussian(0.004, 1), gaussian(0.003, 0))
    assert record.rho == pytest.approx(0.001 + 0.005)


def test_a_group_pays_for_all_its_records():
    guarantee = Guarantee(1.0, 1e-6, records_per_person=4)
    record = spent(gaussian(guarantee.rho_per_record), guarantee=guarantee)
    assert record.epsilon == pytest.approx(1.0, rel=1e-9)
    assert record.rho == pytest.approx(rho_from_epsilon(1.0, 1e-6) / 16)
    assert "at most 4 records per person" in record.statement()


def test_json_holds_everything():
    record = spent(gaussian(0.001), picked(0.002))
    stored = json.loads(record.to_json())
    assert stored["private"] is True
    assert stored["epsilon"] == record.epsilon
    assert stored["asked"] == {
        "epsilon": 1.0,
        "delta": 1e-6,
        "adjacency": "replace-one",
        "records_per_person": 1,
        "rows": None,
    }
    assert [r["pure_epsilon"] for r in stored["releases"]] == [None, 0.1]
    assert stored["n_records"] == 500
    assert stored["releases"][1] == {
        "name": "p",
        "kind": "pick",
        "mechanism": "pick",
        "sensitivity": 2.0,
        "scale": 3.0,
        "rho": 0.002,
        "pure_epsilon": 0.1,
        "part": None,
        "size": 1,
    }


def test_plain_words_name_the_relation_and_the_guarantee():
    text = str(spent(gaussian(0.001)))
    assert "differentially private" in text
    assert "replace-one" in text
    assert "500" in text
    assert "blanked" in str(spent(gaussian(0.001), guarantee=Guarantee(1.0, 1e-6, "zero-out-one")))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_plain_words_state_the_posterior(epsilon):
    """Two versions at odds of 1:1, and a likelihood ratio of at most e^epsilon: 50 % would mean nothing was learned."""
    record = spent(gaussian(rho_from_epsilon(epsilon, 1e-6)), guarantee=Guarantee(epsilon, 1e-6))
    odds = math.exp(record.epsilon)
    assert f"at most {100 * odds / (1 + odds):.3g} % sure" in record.plain_words()
    assert "about 1 in 1,000,000." in record.plain_words()


def test_seeded_records_say_so_first():
    record = spent(gaussian(0.001), source=SeededSource(0))
    assert not record.private
    assert str(record).startswith("NOT PRIVATE")
    assert "differentially private:" not in str(record)
    assert record.plain_words() == "Nothing is guaranteed to anybody: this is a simulation."


def test_records_cannot_be_changed():
    record = spent(gaussian(0.001))
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.private = True
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.releases[0].name = "h"


def test_nothing_spent_costs_nothing():
    assert spent().rho == 0.0
    assert spent().epsilon == 0.0
    assert math.isinf(gaussian(1.0).pure_epsilon)


def test_a_record_of_fine_gaussians_and_picks_has_a_mu():
    record = record_of(picked(), noisy())
    assert record.mu == compose_gdp([ExponentialMechanism(0.001), GaussianMechanism(0.001)])
    assert record.epsilon < record_of(picked(), noisy(scale=1.0)).epsilon


@pytest.mark.parametrize(
    "other",
    [
        Release("l", LaplacePeeling(0.001, 0.1), 1.0, 30.0),
        noisy(scale=7.9),
        noisy(scale=1e3),
        noisy(scale=3e4, size=1000),
    ],
)
def test_a_record_falls_back_to_zcdp_where_the_gaussian_account_does_not_apply(other):
    record = record_of(noisy(), other)
    assert record.mu == math.inf
    assert record.epsilon == record.guarantee.epsilon_spent(record.rho)


def test_a_group_of_records_pays_m_times_mu():
    record = record_of(noisy(), guarantee=Guarantee(1.0, 1e-6, records_per_person=3))
    assert record.epsilon == epsilon_from_mu(3 * record.mu, 0.999e-6)


def test_an_empty_record_costs_nothing():
    assert record_of().epsilon == 0


def test_mechanisms_print_as_words():
    release = noisy()
    assert f"{release.mechanism:>16}" == "  Gaussian noise"
    assert str(release.mechanism) == "Gaussian noise"


def test_notebooks_are_given_the_price_of_each_kind_of_release():
    lines = record_of(picked(0.001), noisy(rho=0.003), noisy(rho=0.004))._repr_markdown_().splitlines()
    assert lines[-2:] == ["| p | 1 | 12.5% | 0.001 |", "| g | 2 | 87.5% | 0.007 |"]
    assert record_of(picked(0.0)).price((picked(0.0),)) == ("-", "0")


def test_how_many_records_a_person_has_is_said():
    assert "; one record per person;" in record_of(noisy()).statement()
    two = record_of(noisy(), guarantee=Guarantee(1.0, 1e-6, records_per_person=2))
    assert "; at most 2 records per person;" in two.statement()


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (1e-9, "1 in 1,000,000,000"),
        (1.5e-9, "1 in 670,000,000"),
        (9e-10, "9e-10"),
        (1e-12, "1e-12"),
        (0.1, "1 in 10"),
        (0.15, "0.15"),
        (1 / 3e5, "1 in 300,000"),
    ],
)
def test_small_probabilities_are_said_as_one_in_many(probability, words):
    assert _one_in(probability) == words


def test_an_event_for_another_accountant_has_every_release_of_the_most_costly_part():
    guarantee = Guarantee(1.0, 1e-6, records_per_person=3)
    record = record_of(gaussian(0.001), gaussian(0.002, 0), gaussian(0.004, 1), picked(0.0005), guarantee=guarantee)
    assert [event.rho for event in record.to_dp_event().events] == pytest.approx([0.009, 0.036, 0.0045])
    seeded = dataclasses.replace(record, private=False)
    assert type(seeded.to_dp_event()).__name__ == "NonPrivateDpEvent"

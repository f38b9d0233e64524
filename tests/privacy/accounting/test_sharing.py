"""Shares of one account, and the tight account over disjoint parts of the rows."""

import pytest

from dpsparse.audit.exact_curve import exact_delta
from dpsparse.privacy.accounting.commitment import Commitment, Price, releases_per_record
from dpsparse.privacy.accounting.gdp import gaussian_curve, mu_of_sequence
from dpsparse.privacy.accounting.meter import BudgetExceeded, Meter
from dpsparse.privacy.accounting.record import Release
from dpsparse.privacy.accounting.sharing import MeterShare, in_part
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SeededSource

PROMISE = Guarantee(1.0, 1e-5)
PRICES = (Price("gaussian", 0.01), Price("pick", 0.004, 0.2), Price("gaussian", 0.01))


def release(price, name="r"):
    return Release(name, price.kind, "", 1.0, 1e9, price.rho, price.pure_epsilon)


def test_a_record_pays_for_its_own_part_and_for_what_reads_all_rows():
    prices = (Price("pick", 0.001), *in_part(Commitment(PRICES), 0), *in_part(Commitment(PRICES[:1]), 1))
    whole = Commitment(prices)
    assert [len(seen) for seen in releases_per_record(prices)] == [4, 2]
    last = Price("pick", 0.001)
    assert [seen[-1] for seen in releases_per_record((*prices, last))] == [last, last]
    assert whole.mu == mu_of_sequence([("pick", 0.001), *((price.kind, price.rho) for price in PRICES)])
    assert whole.rho == pytest.approx(0.025)
    exact, errors = exact_delta([("pick", 0.001), *((price.kind, price.rho) for price in PRICES)], [0.1, 0.5])
    assert all(t <= gaussian_curve(whole.mu, x) + 2 * e for t, e, x in zip(exact, errors, [0.1, 0.5], strict=True))


def test_a_part_with_laplace_noise_has_its_own_account():
    mixed = Commitment((Price("laplace", 0.01, 0.1, part=0), Price("pick", 0.001, 0.1, part=1)))
    assert mixed.mu == Commitment((Price("laplace", 0.01, 0.1),)).mu
    assert Commitment((Price("laplace", 0.01, 0.1), Price("pick", 0.001, 0.1, part=1))).mu == float("inf")


def test_a_share_charges_the_whole_under_its_own_name_and_part():
    whole = Meter(PROMISE, 100, SeededSource(0))
    whole.commit(Commitment(in_part(Commitment(PRICES), 3), 1e-12))
    share = MeterShare(whole, Guarantee(0.5, 1e-6), 80, part=3, name="first")
    for price in PRICES:
        share.charge(release(price))
    assert [(r.name, r.part) for r in whole.record().releases] == [("first: r", 3)] * 3
    assert [(r.name, r.part) for r in share.record().releases] == [("r", None)] * 3
    assert share.record().n_records == 80
    with pytest.raises(BudgetExceeded):
        share.charge(release(PRICES[0]))
    assert len(share.record().releases) == 3


def test_a_share_cannot_spend_what_the_whole_did_not_commit_to():
    whole = Meter(PROMISE, 100, SeededSource(0))
    whole.commit(Commitment(in_part(Commitment(PRICES), 0), 1e-12))
    for part, price in ((1, PRICES[0]), (0, PRICES[1]), (0, Price("gaussian", 0.02))):
        with pytest.raises(BudgetExceeded):
            MeterShare(whole, PROMISE, 80, part=part, name="first").charge(release(price))
    assert whole.record().releases == ()


def test_a_fit_in_parts_cannot_be_a_part():
    with pytest.raises(ValueError, match="divides its rows"):
        in_part(Commitment((Price("laplace", 0.1, part=0),)), 0)

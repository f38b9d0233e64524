"""Prices and slots of what is learned, and the ledger."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.learning.categories import release_buckets
from dpsparse.learning.table_prices import SLOTS, names_failure, preparation_shares, preparation_slot
from dpsparse.privacy.accounting.filter import ACCOUNTS, PrivacyFilter
from dpsparse.privacy.accounting.meter import Commitment, Meter
from dpsparse.privacy.accounting.release import GaussianMechanism, Slot
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.partition import release_names
from dpsparse.privacy.noise import ZeroSource
from dpsparse.privacy.protection import ADJACENCIES


@given(
    st.integers(50, 10**8),
    st.floats(1e-6, 10),
    st.integers(1, 500),
    st.integers(0, 500),
    st.integers(1, 50),
)
def test_preparation_leaves_most_of_the_budget(n, rho, n_columns, n_maybe_text, sparsity):
    shares = preparation_shares(n, rho, n_columns, n_maybe_text, sparsity)
    assert set(shares) == {*SLOTS, "names"}
    assert all(share >= 0 for share in shares.values())
    assert sum(shares.values()) <= 0.15
    assert shares["kinds"] > 0
    assert all((shares[name] == 0) == (n_maybe_text == 0) for name in ("distinct values", "categories", "names"))


def commitment(guarantee, n=20_000, failure=None):
    """A fit that uses all of a guarantee: what is learned, names, and Gaussian releases for the rest."""
    rho = guarantee.mu_per_record**2 / 2 * (1 - 1e-9)
    shares = preparation_shares(n, rho, 20, 19, 5)
    failure = names_failure(guarantee) if failure is None else failure
    slots = [preparation_slot(name, share * rho, n, failure) for name, share in shares.items()]
    rest = rho * (1 - sum(shares.values()))
    # As coarse as the vectors of a fit: 100 releases of 21 numbers in steps of 2^-20.
    filler = [
        Slot(f"gradient {k}", GaussianMechanism.drawn(scale=2**20 / (2 * rest / 100) ** 0.5, size=21, rho=rest / 100))
        for k in range(100)
    ]
    return Commitment((*slots[:-1], *filler, slots[-1]))


def admitted(grant, cost, most=20):
    ledger = PrivacyFilter(grant)
    while len(ledger.costs) < most and ledger.admits(cost):
        ledger = PrivacyFilter(grant, (*ledger.costs, cost), ledger.account_with(cost))
    return len(ledger.costs), ledger.account


@pytest.mark.parametrize(
    ("epsilon", "grant", "fits"), [(1.0, 3.0, 7), (0.5, 1.5, None), (0.3, 0.3, 1), (2.0, 6.0, None)]
)
@pytest.mark.parametrize("m", [1, 3])
def test_names_take_no_fit_from_a_grant(epsilon, grant, fits, m):
    guarantee, whole = Guarantee(epsilon, 1e-6, records_per_person=m), Guarantee(grant, 1e-6)
    plan = commitment(guarantee)
    assert not plan.composed.is_within_by_sums(guarantee)
    assert plan.is_within(guarantee)
    cost = plan.cost(guarantee)
    assert cost.failure_probability == names_failure(guarantee) > 0
    unfailing = replace(cost, failure_probability=0.0, tv_slack=cost.tv_slack - cost.failure_probability)
    assert admitted(whole, cost) == admitted(whole, unfailing)
    if fits:
        assert admitted(whole, cost) == (fits, "gaussian")
    # In the zCDP account the failures of all fits are taken from the grant's delta.
    shares = [ACCOUNTS["zcdp"].share(whole, [each] * 7) for each in (cost, unfailing)]
    assert shares[1] < shares[0] < 1.001 * shares[1]


def test_a_failure_as_large_as_one_fit_allows_would_take_fits_from_a_grant():
    guarantee = Guarantee(1.0, 1e-6)
    plan = commitment(guarantee, failure=2e-4 * guarantee.delta)
    assert plan.is_within(guarantee)
    fits, account = admitted(Guarantee(3.0, 1e-6), plan.cost(guarantee))
    assert fits < 7 or account != "gaussian"


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("columns", [1, 3, 50])
@pytest.mark.parametrize("rho", [1e-7, 1e-4, 0.3])
def test_a_slot_pays_for_its_release_however_many_columns_take_part(adjacency, columns, rho):
    guarantee = Guarantee(5.0, 1e-3, adjacency)
    slots = [preparation_slot("categories", rho, 900), preparation_slot("names", rho, 900, 1e-9)]
    meter = Meter(guarantee, 900, ZeroSource())
    meter.commit(Commitment(tuple(slots)))
    release_buckets(meter, slots[0], [np.zeros(900, dtype=np.int16)] * columns)
    release_names(meter, [{"north": 900}] * columns, rho=rho, failure=1e-9, name="names")
    assert len(meter.record().releases) == 2
    assert meter.record().epsilon <= guarantee.epsilon

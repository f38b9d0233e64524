"""`PrivacyRecord.to_dp_event` against dp-accounting's own accountant."""

import sys

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant

from dpsparse import DPIHTH, PrivateSparseRegressor, tune
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.privacy.accounting.zcdp import epsilon_from_rho

X, Y, _ = make_heavy_tailed(1_000, 8, 2, random_state=0)
ORDERS = 1 + np.geomspace(1e-2, 1e4, 4_000)
FITS = {
    "pursuit": lambda **o: PrivateSparseRegressor(sparsity=2, **STANDARDIZED, **o).fit(X, Y).privacy_,
    "loop in parts": lambda **o: DPIHTH(sparsity=2, **o).fit(X, Y).privacy_,
    "tune in parts": lambda **o: (
        tune([PrivateSparseRegressor(sparsity=s, **STANDARDIZED, **o) for s in (1, 2)], X, Y).privacy
    ),
}


def epsilon(record, relation):
    accountant = RdpAccountant(ORDERS, neighboring_relation=relation)
    return accountant.compose(record.to_dp_event()).get_epsilon(record.delta)


@pytest.mark.slow
@pytest.mark.parametrize("records_per_person", [1, 3])
@pytest.mark.parametrize("name", FITS)
def test_dp_accounting_gives_an_upper_bound_close_to_ours(name, records_per_person):
    record = FITS[name](epsilon=1.0, delta=1e-6, records_per_person=records_per_person)
    relations = dp_accounting.NeighboringRelation
    by_dp_accounting = epsilon(record, relations.REPLACE_ONE)
    assert by_dp_accounting == epsilon(record, relations.ADD_OR_REMOVE_ONE)
    assert record.epsilon <= by_dp_accounting
    by_zcdp = epsilon_from_rho(records_per_person**2 * record.rho, record.delta)
    assert by_dp_accounting == pytest.approx(by_zcdp, rel=1e-4)
    if name != "loop in parts":
        assert by_dp_accounting <= 1.12 * record.epsilon


def test_a_seeded_fit_has_no_privacy():
    record = FITS["pursuit"](epsilon=1.0, delta=1e-6, random_state=0)
    assert epsilon(record, dp_accounting.NeighboringRelation.REPLACE_ONE) == np.inf


def test_without_dp_accounting_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match=r"dpsparse\[accounting\]"):
        FITS["pursuit"](epsilon=1.0).to_dp_event()

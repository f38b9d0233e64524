"""The pursuit's account and results; its releases are attacked in `tests/audit`."""

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.algorithms.pursuit.pursuit import Pursuit
from dpsparse.algorithms.pursuit.schedule import make_schedule, schedule_for
from dpsparse.data.as_table import as_table
from dpsparse.datasets import make_heavy_tailed
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import SecureSource, SeededSource, ZeroSource

GUARANTEE = Guarantee(1.0, 1e-5)


def pursued(X, y, meter, sparsity):
    """What a pursuit finds."""
    return Pursuit(as_table(X).rows(y), meter, schedule_for(GUARANTEE, *X.shape, sparsity), sparsity=sparsity).run()


@pytest.mark.slow
@pytest.mark.parametrize("sparsity", [1, 2, 7])
@pytest.mark.parametrize("size", [(50, 9), (2_000, 30)])
def test_the_account_is_right_by_an_independent_accountant(sparsity, size):
    X, y, _ = make_heavy_tailed(*size, sparsity, random_state=0)
    meter = Meter(GUARANTEE, len(y), SecureSource())
    pursued(X, y, meter, sparsity)
    record = meter.record()
    accountant = RdpAccountant(1 + np.geomspace(1, 1e3, 20_001))
    for release in record.releases:
        ratio = release.sensitivity / release.scale
        rho = (2 * ratio) ** 2 / 8 if release.kind == "pick" else ratio**2 / 2
        assert rho <= release.rho * (1 + 1e-12)
        accountant.compose(dp_event.ZCDpEvent(rho))
    assert 0.999 < record.epsilon <= 1.0
    # By zCDP the same releases cost a tenth of epsilon more at most: the saving of the Gaussian account.
    assert 1.0 < accountant.get_epsilon(1e-5) < 1.12
    slots = list(schedule_for(GUARANTEE, *size, sparsity).slots())
    assert [(r.name, r.rho) for r in record.releases] == [(slot.name, slot.rho) for slot in slots]
    assert all(slot.pays_for(release) for slot, release in zip(slots, record.releases, strict=True))


@pytest.mark.parametrize("center_known", [True, False])
@pytest.mark.parametrize("scale_known", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@settings(max_examples=25, deadline=None)
@given(st.integers(2, 10**6), st.integers(1, 10**6), st.integers(1, 40), st.floats(1e-8, 50))
def test_schedules_spend_all_and_no_more(center_known, scale_known, fit_intercept, n, d, sparsity, rho):
    plan = make_schedule(
        n, d, sparsity, rho, center_known=center_known, scale_known=scale_known, fit_intercept=fit_intercept
    )
    total = math.fsum(slot.rho for slot in plan.slots())
    assert total <= rho
    assert total == pytest.approx(rho, rel=1e-9)


def test_without_noise_it_recovers_the_truth():
    X, y, coef = make_heavy_tailed(20_000, 40, 4, df=3, random_state=2)
    result = pursued(X, y + 3.0, Meter(GUARANTEE, len(y), ZeroSource()), 4)
    estimate = np.zeros(40)
    estimate[result.support] = result.effects
    np.testing.assert_allclose(estimate, coef, atol=0.05)
    assert result.intercept == pytest.approx(3.0, abs=0.05)


def test_features_are_picked_once():
    X, y, _ = make_heavy_tailed(300, 6, 2, random_state=0)
    result = pursued(X, y, Meter(GUARANTEE, 300, SeededSource(0)), 6)
    assert sorted(result.support) == list(range(6))

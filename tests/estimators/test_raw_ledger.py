"""Fits on raw tables, which name values, and the ledger."""

import numpy as np
import pandas as pd
import pytest

from dpsparse import BudgetExceeded, PrivacyLedger, PrivateSparseRegressor, read_table
from dpsparse.estimators._raw_fit import raw_schedule
from dpsparse.learning.table_prices import names_failure
from dpsparse.privacy.accounting.filter import PrivacyFilter
from dpsparse.privacy.guarantee import Guarantee


def table(n, columns=6):
    generator = np.random.default_rng(0)
    regions = {f"region {k}": generator.choice(["north", "south", "west"], n) for k in range(columns)}
    effect = 5.0 * (regions["region 0"] == "south")
    return pd.DataFrame(regions | {"y": (effect + generator.normal(size=n)).round(3).astype(str)})


@pytest.mark.parametrize("n", [1_000, 50_000])
@pytest.mark.parametrize("m", [1, 3])
def test_a_grant_of_3_admits_seven_fits_of_1_with_names(n, m):
    guarantee, grant = Guarantee(1.0, 1e-6, records_per_person=m), Guarantee(3.0, 1e-6)
    model = PrivateSparseRegressor(sparsity=5, epsilon=1.0, delta=1e-6, records_per_person=m)
    plan = raw_schedule(model, read_table(table(n), "y"), guarantee).commitment
    assert plan.composed.failure_probability == names_failure(guarantee) > 0
    cost, ledger = plan.cost(guarantee), PrivacyFilter(grant)
    for fits in range(7):
        assert ledger.admits(cost), fits
        ledger = PrivacyFilter(grant, (*ledger.costs, cost), ledger.account_with(cost))
    assert ledger.account == "gaussian"
    assert not ledger.admits(cost)


@pytest.mark.slow
def test_seven_fits_on_a_ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "budget.db")
    ledger.grant("people", epsilon=3.0, delta=1e-6)
    data = read_table(table(20_000), "y")
    model = PrivateSparseRegressor(sparsity=1, epsilon=1.0, delta=1e-6, ledger=ledger, dataset="people")
    for _ in range(7):
        model.fit(data)
        record = model.privacy_
        assert record.epsilon <= 1.0
        assert [release.kind for release in record.releases].count("partitions") == 1
    with pytest.raises(BudgetExceeded):
        model.fit(data)

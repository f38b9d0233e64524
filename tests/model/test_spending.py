"""What a budget's picture and a published model show of a ledger: what fits have spent, and nothing of refused data."""

import numpy as np
import pytest

from dpsparse import PrivacyLedger, PrivateSparseRegressor
from dpsparse.model.context import spending
from dpsparse.privacy.ledger.events import LedgerState


@pytest.mark.filterwarnings("ignore:With n=")
def test_a_fit_whose_data_were_refused_is_nowhere(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60.0)
    ledger = PrivacyLedger(tmp_path / "ledger.db")
    ledger.grant("trial-7", epsilon=9.0, delta=1e-2)
    options = {"sparsity": 1, "delta": 1e-4, "ledger": ledger, "dataset": "trial-7"}
    PrivateSparseRegressor(**options).fit(X, y)
    before = spending(ledger.state(), "trial-7")
    with pytest.raises(ValueError, match="finite"):
        PrivateSparseRegressor(**options).fit(X, np.full(60, np.nan))
    assert ledger.history("trial-7")[-1].kind == "refund"
    assert spending(ledger.state(), "trial-7") == before
    # Neither does a refund on a later day than its reservation show.
    state = LedgerState(ledger.state().events)
    details = next(event.details for event in state.events if event.kind == "reserve")
    for day, fit, kind in (("01", "a", "reserve"), ("02", "b", "reserve"), ("03", "a", "refund")):
        at = {"at": f"2999-02-{day}T12:00:00+00:00"}
        state.write("trial-7", fit, kind, details | at if kind == "reserve" else at)
    (_, first), (day, last) = spending(state, "trial-7", by_day=True)
    assert day == "2999-02-02"
    assert first < last == state.filters["trial-7"].epsilon_spent

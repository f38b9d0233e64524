"""Effects on the typical response are those of Huber's estimator where mean and bulk differ."""

import numpy as np

from dpsparse import PrivateSparseRegressor


def huber(x, y, tuning=1.345):
    """Huber's slope with an intercept, the scale by the median size of residuals, until nothing moves."""
    A = np.column_stack([np.ones(len(x)), x])
    effects = np.linalg.lstsq(A, y, rcond=None)[0]
    for _ in range(300):
        residuals = np.abs(y - A @ effects)
        weights = np.minimum(1, tuning * np.median(residuals) / 0.6745 / np.maximum(residuals, 1e-12))
        before, effects = effects, np.linalg.solve((A * weights[:, None]).T @ A, A.T @ (weights * y))
        if np.allclose(effects, before, rtol=1e-9, atol=0):
            return effects[1]
    raise ArithmeticError


def test_the_step_starts_from_the_bulk():
    held = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.uniform(20, 80, 20_000)
        y = 2 * x + x * rng.lognormal(0, 1, 20_000)
        model = PrivateSparseRegressor(sparsity=1, estimand="typical", random_state=seed).fit(x[:, None], y)
        ((low, high),) = model.conf_int(0.9)
        held += low <= huber(x, y) <= high
    # From predictions of a mean it was none of them.
    assert held >= 5

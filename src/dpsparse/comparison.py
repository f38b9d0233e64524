"""The private methods compared on synthetic data of a given shape: public numbers alone are needed."""

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from dpsparse import DPIHTH, DPIHTL, DPSLR, PrivateSparseRegressor, plan
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.planning import Plan

# With the options of each. The synthetic features are standardised, which the paper's methods take for granted, and the
# noise is symmetric: effects on the typical response are the coefficients, as those on the mean are.
METHODS: dict[Any, dict[str, Any]] = {
    PrivateSparseRegressor: {"estimand": "typical", **STANDARDIZED},
    DPIHTH: {},
    DPIHTL: {},
    DPSLR: {},
}
# Tables larger than this are not made: 4 GB.
MOST_CELLS = 5 * 10**8


@dataclass(frozen=True)
class Outcome:
    """The results of one method, one number for each repeat."""

    method: str
    errors: list[float]  # l2 errors of the coefficients
    hits: list[int]  # true features selected


@dataclass(frozen=True)
class Comparison:
    """Outcomes, the error of all zeros, and the forecast of `plan` for PrivateSparseRegressor."""

    outcomes: list[Outcome]
    zero_errors: list[float]
    forecast: Plan

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain numbers and strings."""
        return {
            "forecast_error": self.forecast.expected_error,
            "forecast_smallest_effect": self.forecast.smallest_effect,
            "delta": self.forecast.guarantee.delta,
            "zero_errors": self.zero_errors,
            "methods": [asdict(outcome) for outcome in self.outcomes],
        }


def compare(
    n: int,
    d: int,
    sparsity: int,
    epsilon: float,
    delta: float | None = None,
    *,
    df: float = 3.0,
    correlation: float = 0.0,
    repeats: int = 5,
    progress: Callable[[str], object] = lambda name: None,
) -> Comparison:
    """Fit every private method, with its defaults, to synthetic tables of this shape with standardised features.

    Every method is given the sparsity. `df` are the degrees of freedom of the noise, Student's t; `correlation` is that
    of neighbouring features. The tables have the seeds 0, 1, ...; privacy noise takes no seed. `progress` is called
    before each fit with the name of its method.

    Examples
    --------
    >>> comparison = compare(2_000, 20, 2, 2.0, repeats=1)
    >>> ours = comparison.outcomes[0]
    >>> ours.method, ours.errors[0] < comparison.zero_errors[0]
    ('PrivateSparseRegressor', True)
    """
    # 1.48 times the median size of the noise, as `plan` takes it.
    noise = float(stats.t(df).ppf(0.75) / stats.norm.ppf(0.75)) if df > 0 else 1.0
    forecast = plan(
        n,
        d,
        sparsity,
        epsilon,
        delta,
        estimand="typical",
        units_known=True,
        noise_scale=noise,
        correlation=correlation,
    )
    forecast.guarantee  # noqa: B018  an impossible guarantee is refused before any work
    if repeats < 1:
        raise ValueError(f"repeats={repeats!r} must be at least 1")
    if n * d > MOST_CELLS:
        raise ValueError(f"n times d must be at most {MOST_CELLS:,}: compare on fewer records, and see `plan` for more")
    outcomes = [Outcome(method.__name__, [], []) for method in METHODS]
    zero_errors = []
    for seed in range(repeats):
        X, y, coef = make_heavy_tailed(n, d, sparsity, df=df, correlation=correlation, random_state=seed)
        zero_errors.append(float(np.linalg.norm(coef)))
        for (method, options), outcome in zip(METHODS.items(), outcomes, strict=True):
            progress(outcome.method)
            model = method(sparsity=sparsity, epsilon=epsilon, delta=delta, **options)
            with warnings.catch_warnings():
                # Fits warn that they can detect little under this guarantee: the table shows it.
                warnings.simplefilter("ignore", UserWarning)
                model.fit(X, y)
            outcome.errors.append(float(np.linalg.norm(model.coef_ - coef)))
            outcome.hits.append(int(np.count_nonzero(coef[model.support_])))
    return Comparison(outcomes, zero_errors, forecast)

"""A report on made-up records: what the real one will look like, from public numbers alone."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpsparse.estimators._pursuit import PursuitEstimator
    from dpsparse.families.estimands import EstimandName
    from dpsparse.fitting import FamilyName

# Enough to look real, little enough to take a second.
_MOST_RECORDS, _MOST_COLUMNS = 20_000, 200
MADE_UP = "(made up)"


@lru_cache(maxsize=4)
def preview_page(
    names: Sequence[str],
    target: str,
    n: int,
    sparsity: int,
    epsilon: float,
    delta: float,
    people: int,
    known: bool,
    family: "FamilyName" = "linear",
    estimand: "EstimandName" = "mean",
) -> str:
    """The report of a fit on made-up records.

    Only the names of the columns are used. The page is marked as a preview. An estimand is of numbers, the family
    "linear".
    """
    from dpsparse.datasets import make_heavy_tailed
    from dpsparse.estimators.sparse_classifier import PrivateSparseClassifier
    from dpsparse.estimators.sparse_poisson import PrivateSparsePoissonRegressor
    from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor
    from dpsparse.estimators.two_part_regressor import PrivateSparseTwoPartRegressor
    from dpsparse.io.table_features import Feature
    from dpsparse.report.fit_page import marked_page

    names = names[:_MOST_COLUMNS]
    sparsity = min(sparsity, len(names))
    X, y, _ = make_heavy_tailed(max(100, min(n, _MOST_RECORDS)), len(names), sparsity, random_state=0)
    units: dict[str, Any] = {"feature_center": 0.0, "feature_scale": 1.0} if known else {}
    shared: dict[str, Any] = {"sparsity": sparsity, "epsilon": epsilon, "delta": delta, "records_per_person": people}
    estimator: PursuitEstimator
    if family == "poisson":
        estimator = PrivateSparsePoissonRegressor(**shared, **units).fit(X, _counts(y))
    elif family == "binomial":
        estimator = PrivateSparseClassifier(**shared, **units).fit(X, (y > 0).astype(int))
    elif family == "two-part":
        estimator = PrivateSparseTwoPartRegressor(**shared, **units).fit(X, y)
    else:
        estimator = PrivateSparseRegressor(**shared, **units, estimand=estimand).fit(X, y)
    model = estimator.released_.on_columns([Feature(name) for name in names], f"{target} {MADE_UP}")
    return marked_page(model)


def _counts(y: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Counts of about 3 that go with some numbers."""
    import numpy as np

    return np.asarray(np.floor(3 * np.exp(np.clip(y / (4 * np.std(y)), -1.0, 1.0))))

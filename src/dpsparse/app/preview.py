"""A report on made-up records: what the real one will look like, from public numbers alone."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsparse.estimators._pursuit import PursuitEstimator
    from dpsparse.families.estimands import EstimandName

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
    estimand: "EstimandName | None" = "mean",
) -> str:
    """The report of a fit on made-up records.

    Only the names of the columns are used. The page is marked as a preview. An estimand of None is for a response that
    is yes or no.
    """
    from dpsparse.datasets import make_heavy_tailed
    from dpsparse.estimators.sparse_classifier import PrivateSparseClassifier
    from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor
    from dpsparse.io.table_features import Feature
    from dpsparse.report.fit_page import marked_page

    names = names[:_MOST_COLUMNS]
    sparsity = min(sparsity, len(names))
    X, y, _ = make_heavy_tailed(max(100, min(n, _MOST_RECORDS)), len(names), sparsity, random_state=0)
    units: dict[str, Any] = {"feature_center": 0.0, "feature_scale": 1.0} if known else {}
    shared: dict[str, Any] = {"sparsity": sparsity, "epsilon": epsilon, "delta": delta, "records_per_person": people}
    estimator: PursuitEstimator
    if estimand is None:
        estimator = PrivateSparseClassifier(**shared, **units).fit(X, (y > 0).astype(int))
    else:
        estimator = PrivateSparseRegressor(**shared, **units, estimand=estimand).fit(X, y)
    model = estimator.released_.on_columns([Feature(name) for name in names], f"{target} {MADE_UP}")
    return marked_page(model)

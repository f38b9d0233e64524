"""A pursuit that plans as if its table were larger, so that a small table has every release there is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse import PrivateSparseRegressor
from dpsparse.algorithms.pursuit import facts
from dpsparse.audit.harness.patching import replaced


def at_size(size: int, estimator: type[Any] = PrivateSparseRegressor) -> type[Any]:
    """A class of estimators that plan for one N = n sqrt(rho), the size of a table as privacy sees it.

    N decides which releases there are and how a budget is shared among them. The budget is that of the guarantee
    all the same, and so are the number of records, every sensitivity and every scale of noise.
    """

    def fit(self: Any, X: Any, y: NDArray[np.float64] | None = None) -> Any:
        with replaced(facts.PublicFacts, size=property(lambda _: float(size))):
            return estimator.fit(self, X, y)

    return type(f"{estimator.__name__}At{size}", (estimator,), {"fit": fit})

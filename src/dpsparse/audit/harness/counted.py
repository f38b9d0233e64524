"""Poisson regressions on the audit's tables, whose responses are numbers of either sign."""

from typing import Any, Self

import numpy as np

from dpsparse import PrivateSparsePoissonRegressor


class CountPursuit(PrivateSparsePoissonRegressor):
    """A regression to which a response below 0 is 0; those that are not finite stay what they are."""

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Fit on numbers."""
        numbers = np.asarray(y, dtype=np.float64)
        return super().fit(X, np.where(numbers < 0, 0.0, numbers), **options)

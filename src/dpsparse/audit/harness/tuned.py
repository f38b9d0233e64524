"""`tune` as an estimator, so that the attacks on a fit also run on it."""

from typing import Any, Self

from dpsparse import PrivateSparseRegressor, tune


class TunedPursuit(PrivateSparseRegressor):
    """Chooses among candidates that differ in scales and sparsity, and keeps everything that `tune` publishes.

    The second one selects more, leads, and releases the units; the first one gives its own scale of the response.
    """

    def fit(self, X: Any, y: Any = None, *, person: Any = None, progress: Any = None, **_: Any) -> Self:
        """Tune, and take over the candidate chosen."""
        options: list[dict[str, Any]] = [
            {"response_scale": 2.0, "feature_scale": 0.5},
            {"sparsity": int(self.sparsity) + 1},
        ]
        tuned = tune([PrivateSparseRegressor(**{**self.get_params(), **option}) for option in options], X, y)
        fitted = {name: value for name, value in vars(tuned.estimator).items() if name not in self.get_params()}
        self.__dict__.update(fitted)
        self.index_ = tuned.index
        for k, candidate in enumerate(tuned.candidates):
            setattr(self, f"coef_of_{k}_", candidate.coef_)
        return self

"""`tune` as an estimator, so that the attacks on a fit also run on it."""

from typing import Any, ClassVar, Self

from dpsparse import PrivateSparseRegressor, PrivateSparseTwoPartRegressor, tune


class _Tuned:
    """Chooses among candidates of a class that differ in some options, and keeps everything that `tune` publishes."""

    _candidate: ClassVar[Any]

    def _options(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, *, person: Any = None, progress: Any = None, **_: Any) -> Self:
        """Tune, and take over the candidate chosen."""
        own = self.get_params()  # type: ignore[attr-defined]  # of the estimator beside it
        tuned = tune([self._candidate(**{**own, **option}) for option in self._options()], X, y)
        self.__dict__.update({name: value for name, value in vars(tuned.estimator).items() if name not in own})
        self.index_ = tuned.index
        for k, candidate in enumerate(tuned.candidates):
            setattr(self, f"coef_of_{k}_", candidate.coef_)
        return self


class TunedPursuit(_Tuned, PrivateSparseRegressor):
    """Candidates that differ in scales and sparsity.

    The second one selects more, leads, and releases the units; the first one gives its own scale of the response.
    """

    _candidate = PrivateSparseRegressor

    def _options(self) -> list[dict[str, Any]]:
        return [{"response_scale": 2.0, "feature_scale": 0.5}, {"sparsity": int(self.sparsity) + 1}]


class TunedTwoParts(_Tuned, PrivateSparseTwoPartRegressor):
    """Candidates in two parts, which share nothing but the guarantee."""

    _candidate = PrivateSparseTwoPartRegressor

    def _options(self) -> list[dict[str, Any]]:
        return [{"feature_scale": 0.5}, {"sparsity": int(self.sparsity) + 1}]

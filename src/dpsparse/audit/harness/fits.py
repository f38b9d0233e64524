"""The estimators that attacks run on: those of users, made to fit the audit's tables.

`tune`, `evaluate` and `fit_and_evaluate` are estimators here, so that the attacks on a fit also run on them. Responses
become counts or labels.
"""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpsparse import (
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    PrivateSparseTwoPartRegressor,
    evaluate,
    fit_and_evaluate,
    tune,
)
from dpsparse.algorithms.pursuit import facts
from dpsparse.audit.harness.patching import replaced
from dpsparse.data.raw_data import RawData
from dpsparse.io.cells.grammar import bucket
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect
from dpsparse.model.released import LinearModel
from dpsparse.model.table_predictions import ModelTable
from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.privacy.guarantee import Guarantee


def public_model(n_features: int, **facts: Any) -> LinearModel:
    """A model that nobody's data made: two effects, a constant and a range."""
    return LinearModel(
        estimator="public",
        target="y",
        features=tuple(Feature(str(place)) for place in range(n_features)),
        effects=(Effect("0", 1.0), Effect("2", -0.5)),
        intercept=0.25,
        noise_floor=None,
        response_scale_known=True,
        privacy=PrivacyRecord(Guarantee(1.0, 0.01), 100, (), "no noise (tests only)", False),
        constant=0.25,
        **facts,
    )


def public_model_of_cells() -> LinearModel:
    """A model of a raw table's columns that nobody's data made: a number, a text and whether a cell is missing."""
    north = Feature("region", kind="text", buckets=(bucket("north"),), label="north")
    features = (Feature("amount", kind="number_grouped"), north, Feature("grade", kind="text", missing=True))
    effects = tuple(Effect(feature.name, coef) for feature, coef in zip(features, (0.5, -2.0, 1.0), strict=True))
    plain = public_model(0, prediction_range=(-40.0, 40.0), target_kind="number_grouped")
    return replace(plain, features=features, effects=effects)


class EvaluatedModel(PrivateSparseRegressor):
    """Evaluates a public model, and keeps everything that `evaluate` publishes."""

    facts: dict[str, Any] = {"response_scale": 1.0, "prediction_range": (-40.0, 40.0)}  # noqa: RUF012

    def fit(self, X: Any, y: Any = None, *, person: Any = None, progress: Any = None, **_: Any) -> Self:
        """Evaluate."""
        return self._evaluate(public_model(X.shape[1], **self.facts), X, y)

    def _evaluate(self, model: LinearModel, X: Any, y: Any) -> Self:
        guarantee = {name: getattr(self, name) for name in ("epsilon", "delta", "adjacency", "records_per_person")}
        self.evaluation_ = evaluate(model, X, y, **guarantee)
        self.privacy_, self.support_ = self.evaluation_.privacy, np.array(model._places[:2])
        return self


class EvaluatedInAnyUnit(EvaluatedModel):
    """Evaluates a model that knows neither the response's scale nor a range."""

    facts: dict[str, Any] = {}  # noqa: RUF012


class EvaluatedOutcomes(EvaluatedModel):
    """Evaluates a public model of a yes/no response, which every response becomes by its sign."""

    facts: dict[str, Any] = {"classes": ("0", "1")}  # noqa: RUF012

    def fit(self, X: Any, y: Any = None, *, person: Any = None, progress: Any = None, **_: Any) -> Self:
        """Evaluate."""
        return super().fit(X, np.where(np.isnan(y), np.nan, np.asarray(y) > 0))


class EvaluatedMeans(EvaluatedModel):
    """Evaluates a public model of the log of a mean, with a column of any numbers as the exposure."""

    facts: dict[str, Any] = {"estimand": "log mean", "prediction_range": (-40.0, 4.0), "exposure": "1"}  # noqa: RUF012


class EvaluatedCells(EvaluatedModel):
    """Evaluates a public model on a raw table."""

    def fit(self, X: Any, y: Any = None, *, person: Any = None, progress: Any = None, **_: Any) -> Self:
        """Evaluate."""
        model = public_model_of_cells()
        return self._evaluate(model, X.table, ModelTable(model, X.table).responses())


class HeldOutPursuit(PrivateSparseRegressor):
    """Fits and evaluates, and keeps everything that `fit_and_evaluate` publishes."""

    holdout = 0.2

    def fit(self, X: Any, y: Any = None, *, person: Any = None, progress: Any = None, **_: Any) -> Self:
        """Fit on some rows, evaluate on the others, and take over both results."""
        estimator, self.evaluation_ = fit_and_evaluate(
            PrivateSparseRegressor(**self.get_params()), X, y, holdout=self.holdout, person=person
        )
        fitted = {name: value for name, value in vars(estimator).items() if name not in self.get_params()}
        self.__dict__.update(fitted)
        return self


class CountPursuit(PrivateSparsePoissonRegressor):
    """A regression to which a response below 0 is 0; those that are not finite stay what they are."""

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Fit on numbers."""
        numbers = np.asarray(y, dtype=np.float64)
        return super().fit(X, np.where(numbers < 0, 0.0, numbers), **options)


def at_size(size: int, estimator: type[Any] = PrivateSparseRegressor) -> type[Any]:
    """A class of estimators that plan for one N = n sqrt(rho), the size of a table as privacy sees it.

    N decides which releases there are and how a budget is shared among them. The budget is that of the guarantee
    all the same, and so are the number of records, every sensitivity and every scale of noise.
    """

    def fit(self: Any, X: Any, y: NDArray[np.float64] | None = None) -> Any:
        planned = property(lambda _: float(size))
        with replaced(facts.PublicFacts, size=planned, counted_size=planned):
            return estimator.fit(self, X, y)

    return type(f"{estimator.__name__}At{size}", (estimator,), {"fit": fit})


class YesNoPursuit(PrivateSparseClassifier):
    """A classifier to which a response above 0 is yes; those that are not finite are texts among numbers."""

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Fit on numbers."""
        labels = [float(number > 0) if np.isfinite(number) else str(number) for number in y]
        return super().fit(X, labels, **options)


class YesNoCells(PrivateSparseClassifier):
    """A classifier of raw tables whose response is a column of text, of which one is yes."""

    target: str = "member"
    yes: str | None = "yes"

    def fit(self, X: RawData, y: Any = None, **options: Any) -> Self:
        """Fit on cells."""
        return super().fit(replace(X, target=self.target, positive=self.yes), y, **options)


class TruthCells(YesNoCells):
    """The same by the words for true and false, which are learned to be that."""

    yes = None


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

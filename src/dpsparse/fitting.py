"""A fit on a file, from what was asked to the released model: what `dpsparse fit`, `tune` and `app` run."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from dpsparse.algorithms.progress import Progress
from dpsparse.data.inputs import Given, open_input
from dpsparse.engine.refusals import NOT_FINITE, NOT_FINITE_IN_FILE
from dpsparse.estimators._pursuit import PursuitEstimator
from dpsparse.estimators.sparse_classifier import PrivateSparseClassifier
from dpsparse.estimators.sparse_poisson import PrivateSparsePoissonRegressor
from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor
from dpsparse.estimators.tuning import tune
from dpsparse.estimators.two_part_regressor import PrivateSparseTwoPartRegressor
from dpsparse.families.estimands import EstimandName
from dpsparse.held_out import fit_and_evaluate
from dpsparse.model.released import LinearModel
from dpsparse.model.unread_responses import refuse_unread
from dpsparse.schema import FileError

FamilyName = Literal["linear", "binomial", "poisson", "two-part"]
NO_ESTIMAND = (
    "--estimand is for numbers: a yes/no response has odds, and the mean of a count or a cost has ratios; leave it "
    "out, or fit numbers with --family linear; nothing was spent"
)
IS_YES_OR_NO = (
    "--family linear: a label of yes is given (--positive, or positive of the bounds file or the store), so the "
    "response is yes or no; leave one of the two out; nothing was spent"
)
NO_RESPONSE_UNITS = (
    "the bounds have a centre or a scale of the response, which only --family linear uses: delete them there, or fit "
    "numbers with it; nothing was spent"
)
NO_LABEL = (
    "--family poisson: a label of yes is given (--positive, or positive of the bounds file or the store), so the "
    "response is yes or no; leave one of the two out; nothing was spent"
)
NO_EXPOSURE = "--exposure is for counts and costs: give --family poisson, or leave it out; nothing was spent"
WITHIN = "--within needs --person, which says whose row it is, and no --holdout; nothing was spent"
WITHIN_NUMBERS = "--within is for numbers: leave it out for other families; nothing was spent"
NOT_IN_TWO_PARTS = {
    "estimand": "--estimand is for one part, and two parts have the mean: leave it out; nothing was spent",
    "positive": "--positive is for yes/no responses, and in two parts a response above 0 is a yes: leave it out, also "
    "of the bounds or the store; nothing was spent",
    "units": "the bounds have a centre or a scale of the response, and a response in two parts has none: delete them "
    "there; nothing was spent",
}


@dataclass(frozen=True)
class FileFit:
    r"""A fit on a file, as it was asked for.

    `data` is a table, or the folder of a store, which knows its target. The `family` says what the response is: a
    number, "linear", or yes or no, "binomial"; None is the latter where a label of yes is given, by `positive`, the
    bounds or the store; a count or a cost, "poisson", may have an `exposure`, a column; a cost that is mostly 0 may be
    "two-part". A `formula` names the target and the terms that features are made of. `drop` names further columns to
    leave out, as the bounds file does, `person` the column that says whose record it is, with `within` rows are taken
    less their person's mean, and `holdout` is the share of the records to hold out. The others are as in
    `PrivateSparseRegressor`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("age,cost\n" + "31,400\n47,900\n" * 500)
    ...     asked = FileFit(path, "cost", epsilon=1.0, sparsity=1)
    ...     model, notes = asked.fit(asked.open())
    >>> model.target, model.privacy.n_records
    ('cost', 1000)
    """

    data: Any
    target: str | None
    epsilon: float
    sparsity: int | Literal["auto"] = 5
    estimand: EstimandName | None = None  # the mean of a number, unless another is named
    family: FamilyName | None = None
    positive: str | None = None
    exposure: str | None = None
    formula: str | None = None
    delta: float | None = None
    bounds: Any = None
    drop: Sequence[str] = ()
    separator: str | None = None
    encoding: str = "utf-8"
    person: str | None = None
    within: bool = False
    records_per_person: int = 1
    ledger: Any = None
    dataset: str | None = None
    holdout: float | None = None

    def open(self) -> Given:
        """The input; names are read and checked, values are not. Options that exclude each other are refused here."""
        given = open_input(
            self.data,
            self.target,
            self.bounds,
            drop=self.drop,
            positive=self.positive,
            exposure=self.exposure,
            formula=self.formula,
            person=self.person,
            separator=self.separator,
            encoding=self.encoding,
        )
        if self.within and (self.person is None or self.holdout is not None):
            raise FileError(WITHIN)
        if self.within and (self.family not in (None, "linear") or given.positive is not None):
            raise FileError(WITHIN_NUMBERS)
        if self.family != "poisson" and self.exposure is not None:
            raise FileError(NO_EXPOSURE)
        if self.family == "two-part":
            self._require_parts(given)
            return given
        if self.family == "linear" and given.positive is not None:
            raise FileError(IS_YES_OR_NO)
        if self.family == "poisson" and given.positive is not None:
            raise FileError(NO_LABEL)
        has_ratios = self._is_yes_or_no(given) or self.family == "poisson"
        if has_ratios and self.estimand is not None:
            raise FileError(NO_ESTIMAND)
        if has_ratios and given.has_response_units:
            raise FileError(NO_RESPONSE_UNITS)
        return given

    def _require_parts(self, given: Given) -> None:
        """Refuse what a response in two parts has not."""
        had = {
            "estimand": self.estimand,
            "positive": given.positive,
            "units": given.has_response_units or None,
        }
        for name, value in had.items():
            if value is not None:
                raise FileError(NOT_IN_TWO_PARTS[name])

    def _is_yes_or_no(self, given: Given) -> bool:
        return self.family == "binomial" or given.positive is not None

    def fit(self, given: Given, progress: Progress = None) -> tuple[LinearModel, list[str]]:
        """Spend the whole of epsilon on an opened input.

        Returns the released model, in the columns' own units, and what the user should know before relying on it.
        Raises ResponsesUnread where by released numbers most responses that are not empty could not be read; what was
        charged stays so.
        """
        notes: list[str] = []
        X, y = given.read()
        with collected(notes), explained(self.data):
            estimator = self._estimator(given, self.sparsity)
            if self.holdout is None:
                estimator.fit(X, y, progress=progress)
            else:
                estimator, _ = fit_and_evaluate(estimator, X, y, holdout=self.holdout, progress=progress)
        return self._published(given, estimator), notes

    def tune(self, given: Given, candidates: Sequence[int | Literal["auto"]]) -> tuple[LinearModel, int, list[str]]:
        """Spend the whole of epsilon on several fits and a choice among them.

        Returns the released model of the chosen one, its place among the candidates, and what the user should know
        before relying on it.
        """
        notes: list[str] = []
        X, y = given.read()
        with collected(notes), explained(self.data):
            tuned = tune([self._estimator(given, sparsity) for sparsity in candidates], X, y)
        return self._published(given, tuned.estimator), tuned.index, notes

    @staticmethod
    def _published(given: Given, estimator: PursuitEstimator) -> LinearModel:
        model: LinearModel = given.model(estimator.released_)
        refuse_unread(model)
        return model

    def _estimator(self, given: Given, sparsity: int | Literal["auto"]) -> PursuitEstimator:
        shared: dict[str, Any] = {
            "sparsity": sparsity,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "records_per_person": self.records_per_person,
            "ledger": self.ledger,
            "dataset": self.dataset,
        }
        if self.family == "two-part":
            return PrivateSparseTwoPartRegressor(**shared, **given.parameters)
        if self._is_yes_or_no(given):
            return PrivateSparseClassifier(**shared, **given.parameters)
        if self.family == "poisson":
            return PrivateSparsePoissonRegressor(**shared, **given.parameters)
        return PrivateSparseRegressor(
            **shared, **given.parameters, estimand=self.estimand or "mean", within=self.within
        )


@contextmanager
def collected(notes: list[str], tell: Callable[[str], object] | None = None) -> Iterator[None]:
    """Put the estimators' warnings, which tell public facts, in a list of notes; leave out those of other projects.

    `tell` is called with each at once, which may be before anything is spent.
    """

    def take(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if category is UserWarning:
            notes.append(str(message))
            if tell is not None:
                tell(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = take
        yield


@contextmanager
def explained(data: str | os.PathLike[str]) -> Iterator[None]:
    """Say what a cell that is no number looks like in a file."""
    try:
        yield
    except ValueError as error:
        if str(error) != NOT_FINITE:
            raise
        raise ValueError(NOT_FINITE_IN_FILE.format(path=data)) from None

"""A fit on a file, from what was asked to the released model: what `dpsparse fit`, `tune` and `app` run."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from dpsparse.algorithms.progress import Progress
from dpsparse.data.inputs import Given, open_input
from dpsparse.engine.refusals import NOT_FINITE, NOT_FINITE_IN_FILE
from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor
from dpsparse.estimators.tuning import tune
from dpsparse.evaluation import fit_and_evaluate
from dpsparse.families.estimands import EstimandName
from dpsparse.model.released import LinearModel
from dpsparse.model.unread_responses import refuse_unread


@dataclass(frozen=True)
class FileFit:
    r"""A fit on a file, as it was asked for.

    `data` is a table, or the folder of a store, which knows its target. `drop` names further columns to leave out, as
    the bounds file does, and `holdout` is the share of the records to hold out. The others are as in
    `PrivateSparseRegressor`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dpsparse.fitting import FileFit
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
    estimand: EstimandName = "mean"
    delta: float | None = None
    bounds: Any = None
    drop: Sequence[str] = ()
    separator: str | None = None
    encoding: str = "utf-8"
    records_per_person: int = 1
    ledger: Any = None
    dataset: str | None = None
    holdout: float | None = None

    def open(self) -> Given:
        """The input; names are read and checked, values are not."""
        return open_input(
            self.data, self.target, self.bounds, drop=self.drop, separator=self.separator, encoding=self.encoding
        )

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
    def _published(given: Given, estimator: PrivateSparseRegressor) -> LinearModel:
        model: LinearModel = given.model(estimator.released_)
        refuse_unread(model)
        return model

    def _estimator(self, given: Given, sparsity: int | Literal["auto"]) -> PrivateSparseRegressor:
        return PrivateSparseRegressor(
            sparsity=sparsity,
            estimand=self.estimand,
            epsilon=self.epsilon,
            delta=self.delta,
            **given.parameters,
            records_per_person=self.records_per_person,
            ledger=self.ledger,
            dataset=self.dataset,
        )


@contextmanager
def collected(notes: list[str]) -> Iterator[None]:
    """Put the estimators' warnings, which tell public facts, in a list of notes; leave out those of other projects."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes += [str(warning.message) for warning in caught if warning.category is UserWarning]


@contextmanager
def explained(data: str | os.PathLike[str]) -> Iterator[None]:
    """Say what a cell that is no number looks like in a file."""
    try:
        yield
    except ValueError as error:
        if str(error) != NOT_FINITE:
            raise
        raise ValueError(NOT_FINITE_IN_FILE.format(path=data)) from None

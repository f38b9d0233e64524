"""A fit on a file, from what was asked to the released model: what `dpsparse fit` and `dpsparse app` both run."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from dpsparse.algorithms.progress import Progress
from dpsparse.data.inputs import Given, open_input
from dpsparse.engine.refusals import NOT_FINITE, NOT_FINITE_IN_FILE
from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor
from dpsparse.evaluation import fit_and_evaluate
from dpsparse.model.released import LinearModel


@dataclass(frozen=True)
class FileFit:
    r"""A fit on a file, as it was asked for.

    `data` is a table, or the folder of a store, which knows its target. The others are as in `PrivateSparseRegressor`,
    and `holdout` is the share of the records to hold out.

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
    delta: float | None = None
    bounds: Any = None
    separator: str | None = None
    encoding: str = "utf-8"
    records_per_person: int = 1
    ledger: Any = None
    dataset: str | None = None
    holdout: float | None = None

    def open(self) -> Given:
        """The input; names are read and checked, values are not."""
        result: Given = open_input(self.data, self.target, self.bounds, separator=self.separator, encoding=self.encoding)
        return result

    def fit(self, given: Given, progress: Progress | None = None) -> tuple[LinearModel, list[str]]:
        """Spend the whole of epsilon on an opened input.

        Returns the released model, in the columns' own units, and what the user should know before relying on it.
        """
        notes: list[str] = []
        X, y = given.read()
        with collected(notes), explained(self.data):
            estimator = PrivateSparseRegressor(
                sparsity=self.sparsity,
                epsilon=self.epsilon,
                delta=self.delta,
                **given.parameters,
                records_per_person=self.records_per_person,
                ledger=self.ledger,
                dataset=self.dataset,
            )
            if self.holdout is None:
                estimator.fit(X, y, progress=progress)
            else:
                estimator, _ = fit_and_evaluate(estimator, X, y, holdout=self.holdout, progress=progress)
        return given.model(estimator.released_), notes


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

"""A fit on a file, from what was asked to the released model: what `dpsparse fit`, `tune` and `app` run."""

import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dpsparse.data.inputs import open_input
from dpsparse.engine.refusals import NOT_FINITE, NOT_FINITE_IN_FILE
from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor
from dpsparse.estimators.tuning import tune
from dpsparse.evaluation import fit_and_evaluate
from dpsparse.model.responses import refuse_unread


@dataclass(frozen=True)
class FileFit:
    r"""A fit on a file, as it was asked for.

    Parameters
    ----------
    data : str or path
        A table, or the folder of a store.
    target : str or None
        The column of responses; a store knows it.
    epsilon : float
        The guarantee.
    sparsity : int or "auto"
        Features to select.
    delta : float or None
        The guarantee's failure probability; None for n**-1.1.
    bounds : str, path or None
        The bounds file.
    drop : sequence of str
        Further columns to leave out, as its `drop` names them.
    separator, encoding : str or None
        Of a CSV file.
    records_per_person : int
        The most rows one person has.
    ledger, dataset : PrivacyLedger and str, or None
        Where the budget is kept, and its name there.
    holdout : float or None
        The share of the records to hold out.

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
    sparsity: int | str = 5
    delta: float | None = None
    bounds: Any = None
    drop: Sequence[str] = ()
    separator: str | None = None
    encoding: str = "utf-8"
    records_per_person: int = 1
    ledger: Any = None
    dataset: str | None = None
    holdout: float | None = None

    def open(self):
        """The input; names are read and checked, values are not."""
        dialect = {"separator": self.separator, "encoding": self.encoding}
        return open_input(self.data, self.target, self.bounds, drop=self.drop, **dialect)

    def fit(self, given, progress=None):
        """Spend the whole of epsilon on an opened input.

        Parameters
        ----------
        given : RawInput, TableInput or StoreInput
            What `open` gave.
        progress : callable or None
            As in `PrivateSparseRegressor.fit`.

        Returns
        -------
        model : LinearModel
            The released model, in the columns' own units.
        notes : list of str
            What the user should know before relying on it.

        Raises
        ------
        ResponsesUnread
            Where by a released number most responses are missing or could not be read. What was charged stays so.
        """
        notes = []
        X, y = given.read()
        with collected(notes), explained(self.data):
            estimator = self._estimator(given, self.sparsity)
            if self.holdout is None:
                estimator.fit(X, y, progress=progress)
            else:
                estimator, _ = fit_and_evaluate(estimator, X, y, holdout=self.holdout, progress=progress)
        return self._published(given, estimator), notes

    def tune(self, given, candidates):
        """Spend the whole of epsilon on several fits and a choice among them.

        Parameters
        ----------
        given : RawInput, TableInput or StoreInput
            What `open` gave.
        candidates : list of int or "auto"
            Numbers of features to select.

        Returns
        -------
        model : LinearModel
            The released model of the chosen one.
        place : int
            Its place among the candidates.
        notes : list of str
            What the user should know before relying on it.
        """
        notes = []
        X, y = given.read()
        with collected(notes), explained(self.data):
            tuned = tune([self._estimator(given, sparsity) for sparsity in candidates], X, y)
        return self._published(given, tuned.estimator), tuned.index, notes

    @staticmethod
    def _published(given, estimator):
        model = given.model(estimator.released_)
        refuse_unread(model)
        return model

    def _estimator(self, given, sparsity):
        return PrivateSparseRegressor(
            sparsity=sparsity,
            epsilon=self.epsilon,
            delta=self.delta,
            **given.parameters,
            records_per_person=self.records_per_person,
            ledger=self.ledger,
            dataset=self.dataset,
        )


@contextmanager
def collected(notes):
    """Put the estimators' warnings, which tell public facts, in a list of notes; leave out those of other projects."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes += [str(warning.message) for warning in caught if warning.category is UserWarning]


@contextmanager
def explained(data):
    """Say what a cell that is no number looks like in a file."""
    try:
        yield
    except ValueError as error:
        if str(error) != NOT_FINITE:
            raise
        raise ValueError(NOT_FINITE_IN_FILE.format(path=data)) from None

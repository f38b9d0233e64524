"""People with several rows on the audit's tables: each record there is made a person, with rows that all follow it."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpsparse import PrivateSparseClassifier, PrivateSparseRegressor, PrivateSparseTwoPartRegressor
from dpsparse.audit.harness.fits import CountPursuit, HeldOutPursuit, YesNoPursuit
from dpsparse.audit.harness.neighbors import SIZES, mapped


def rows_of(n_people: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each row whose it is and which of theirs: the first rows of all people, then the second ones, and so on."""
    sizes = np.array(SIZES)[np.arange(n_people) % len(SIZES)]
    places = [(person, turn) for turn in range(max(SIZES)) for person in range(n_people) if turn < sizes[person]]
    return np.array([person for person, _ in places]), np.array([turn for _, turn in places])


def ids_of(person: NDArray[np.intp]) -> list[str | None]:
    """Texts, some of which look like numbers, and none for some of the people with one row."""
    once = np.bincount(person)[person] == 1
    return [
        None if alone and number % 2 else f"id {number}" if number % 3 else str(number)
        for number, alone in zip(person.tolist(), once, strict=True)
    ]


def spread_out(X: Any, y: Any) -> tuple[Any, NDArray[np.float64], list[str | None]]:
    """A table with all rows of all people. Rows of some are equal; the features of others take turns."""
    person, turn = rows_of(len(y))
    turned = np.where(person % 2 == 0, turn, 0)
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    columns = (np.arange(dense.shape[1]) + turned[:, None]) % dense.shape[1]
    rows = dense[person[:, None], columns]
    if isinstance(X, np.memmap):
        rows = mapped(rows)
    return (type(X)(rows) if sparse.issparse(X) else rows), np.asarray(y)[person], ids_of(person)


class _ManyRows:
    """Fits on the rows of people who each have one record of a table."""

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Fit on all rows, by person."""
        rows, responses, ids = spread_out(X, y)
        return super().fit(rows, responses, person=ids, **options)  # type: ignore[misc,no-any-return]


class ManyRowsPursuit(_ManyRows, PrivateSparseRegressor):
    """A regressor of people with several rows."""


class ManyRowsCounts(_ManyRows, CountPursuit):
    """A Poisson regression of people with several rows."""


class ManyRowsHeldOut(_ManyRows, HeldOutPursuit):
    """Fits on some people with several rows, and evaluates on the others."""


class ManyRowsTwoParts(_ManyRows, PrivateSparseTwoPartRegressor):
    """A two-part regression of people with several rows."""


class ManyRowsYesNo(_ManyRows, YesNoPursuit, PrivateSparseClassifier):
    """A classifier of people with several rows."""

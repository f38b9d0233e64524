"""Classifiers on the audit's tables, whose responses are numbers or cells of any kind."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from dpsparse import PrivateSparseClassifier
from dpsparse.data.raw_data import RawData


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

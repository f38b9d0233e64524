"""Features: columns of a table in public units, and public categories as 0/1."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Feature:
    """A column of numbers, or whether a column of text holds one public category.

    Parameters
    ----------
    column : str
        The column it is read from.
    center, scale : float
        Public numbers: where it is centred, how far it spreads.
    category : str or None
        The category that counts as 1; None for a column of numbers.
    """

    column: str
    center: float
    scale: float
    category: str | None = None

    @property
    def name(self):
        """The column, or ``column=category``."""
        return self.column if self.category is None else f"{self.column}={self.category}"


def one_hot(column, categories):
    """A 0/1 feature for each public category but the first, centred and scaled as if all were equally common.

    The first is the baseline, to which effects are relative: with a feature for every category the effects would be
    known only up to a constant. Text that is none of the categories counts as the baseline.

    Examples
    --------
    >>> from dpsparse.files.features import one_hot
    >>> [feature.name for feature in one_hot("region", ["north", "south", "west"])]
    ['region=south', 'region=west']
    """
    share = 1 / len(categories)
    return [Feature(column, share, math.sqrt(share * (1 - share)), category) for category in categories[1:]]


def read_features(table, features, target=None):
    """The features of a table's records, and their responses.

    Parameters
    ----------
    table : Table
        The file.
    features : sequence of Feature
        What to read. Text of a column that is none of its categories among them is 0 in all of these.
    target : str or None
        The column of responses.

    Returns
    -------
    X : ndarray of shape (n_records, len(features))
        In the columns' own units; 0/1 for categories.
    y : ndarray or None
        The responses.
    """
    numbers = [feature.column for feature in features if feature.category is None]
    categories = {}
    for feature in features:
        if feature.category is not None:
            categories.setdefault(feature.column, []).append(feature.category)
    matrix, codes = table.read([*numbers, *([] if target is None else [target])], categories)
    X, y = matrix[:, : len(numbers)], None if target is None else matrix[:, -1]
    if not categories:
        return X, y
    numeric = iter(X.T)
    encoded = np.empty((len(X), len(features)), order="F")
    for place, feature in enumerate(features):
        if feature.category is None:
            encoded[:, place] = next(numeric)
        else:
            code = categories[feature.column].index(feature.category)
            encoded[:, place] = codes[feature.column] == code
    return encoded, y

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
    center, scale : float or None
        Public numbers: where it is centred, how far it spreads; None where that is not known.
    category : str or None
        The category that counts as 1; None for a column of numbers.
    """

    column: str
    center: float | None = None
    scale: float | None = None
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
    >>> from dpsparse.io.features import one_hot
    >>> [feature.name for feature in one_hot("region", ["north", "south", "west"])]
    ['region=south', 'region=west']
    """
    share = 1 / len(categories)
    return [Feature(column, share, math.sqrt(share * (1 - share)), category) for category in categories[1:]]


def read_features(table, features, target=None):
    """The features of a table's records, and their responses.

    Parameters
    ----------
    table : TableReader
        The file.
    features : sequence of Feature
        What to read. Text that is none of a column's categories is 0 in all features of that column.
    target : str or None
        The column of responses.

    Returns
    -------
    X : ndarray of shape (n_records, len(features))
        In the columns' own units; 0/1 for categories.
    y : ndarray or None
        The responses.
    """
    numbers, categories = _columns(features)
    matrix, codes = table.read(_with_target(numbers, target), categories)
    return _encoded(matrix, codes, features, target)


def feature_blocks(table, features, target, start=0):
    """The values of `read_features`, a block of rows at a time, from row `start` on."""
    numbers, categories = _columns(features)
    for matrix, codes in table.blocks(_with_target(numbers, target), categories, start):
        yield _encoded(matrix, codes, features, target)


def _columns(features):
    """The columns of numbers, and those of text with their categories."""
    numbers = [feature.column for feature in features if feature.category is None]
    categories = {}
    for feature in features:
        if feature.category is not None:
            categories.setdefault(feature.column, []).append(feature.category)
    return numbers, categories


def _with_target(numbers, target):
    return [*numbers, *([] if target is None else [target])]


def _encoded(matrix, codes, features, target):
    X, y = (matrix, None) if target is None else (matrix[:, :-1], matrix[:, -1])
    if not codes:
        return X, y
    _, categories = _columns(features)
    numeric = iter(X.T)
    encoded = np.empty((len(X), len(features)), order="F")
    for place, feature in enumerate(features):
        if feature.category is None:
            encoded[:, place] = next(numeric)
        else:
            code = categories[feature.column].index(feature.category)
            encoded[:, place] = codes[feature.column] == code
    return encoded, y


def read_feature(fields):
    """The feature that `dataclasses.asdict` wrote in one of our files.

    Parameters
    ----------
    fields : Fields
        The table of the file.
    """
    feature = Feature(
        column=fields.text("column"),
        center=fields.number("center", None),
        scale=fields.number("scale", None, above=0),
        category=fields.text("category", None),
    )
    fields.finish()
    return feature

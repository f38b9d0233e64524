"""Features: the numbers that a fit reads of a table's cells, which are columns in their units and properties as 0/1."""

import math
from dataclasses import dataclass

import numpy as np

from dpsparse.engine.refusals import NOT_NUMERIC
from dpsparse.schema import quoted


@dataclass(frozen=True)
class Feature:
    """A number made of one cell of a record: a column's value, or 0/1 for a property of the cell.

    Parameters
    ----------
    column : str
        The column it is read from.
    center, scale : float or None
        Public or released numbers: where it is centred, how far it spreads; None where that is not known.
    category : str or None
        The public category that counts as 1; None otherwise.
    kind : str or None
        How the column's cells are read: the value of a `Kind`; None where the table's own types say it.
    buckets : tuple of int or None
        The public hash buckets of text that count as 1; None where the feature is not text of a bucket.
    other : bool
        Whether all buckets but `buckets` count as 1 instead.
    missing : bool
        Whether the feature is 1 where the cell is missing, and 0 elsewhere.
    label : str or None
        The text in the buckets, where it was released.
    baseline : str or None
        Of a public category: the one to which effects are relative, which has no feature.
    fill : float or None
        A public number in the place of a gap; None to leave gaps as they are.
    rank : int or None
        Of one bucket its place among those of the column, the most common after the baseline first, by noisy counts: it
        tells texts apart that have no released name.
    """

    column: str
    center: float | None = None
    scale: float | None = None
    category: str | None = None
    kind: str | None = None
    buckets: tuple[int, ...] | None = None
    other: bool = False
    missing: bool = False
    label: str | None = None
    baseline: str | None = None
    fill: float | None = None
    rank: int | None = None

    @property
    def name(self):
        """The column, and what of its cells counts as 1 where the feature is no number.

        Examples
        --------
        >>> from dpsparse.io.features import Feature
        >>> Feature("age").name, Feature("age", missing=True).name, Feature("region", category="north").name
        ('age', 'age (gap)', 'region=north')
        >>> Feature("region", buckets=(17,), rank=2).name, Feature("region", buckets=(17,), other=True).name
        ('region (unnamed value 2)', 'region (another value)')
        """
        if self.missing:
            return f"{self.column} (gap)"
        if self.other:
            return f"{self.column} (another value)"
        text = self.category if self.label is None else self.label
        if text is not None:
            return f"{self.column}={text}"
        if self.buckets is None:
            return self.column
        return f"{self.column} (unnamed value{'' if self.rank is None else f' {self.rank}'})"


def one_hot(column, categories, shares=None):
    """A 0/1 feature for each public category but the first, centred and scaled by its share.

    The first is the baseline, to which effects are relative: with a feature for every category the effects would be
    known only up to a constant. Text that is none of the categories counts as the baseline.

    Parameters
    ----------
    column : str
        The column.
    categories : sequence of str
        The public categories.
    shares : sequence of float or None
        Their public shares, between 0 and 1; as if all were equally common where they are not known.

    Examples
    --------
    >>> from dpsparse.io.features import one_hot
    >>> [feature.name for feature in one_hot("region", ["north", "south", "west"])]
    ['region=south', 'region=west']
    """
    shares = [1 / len(categories)] * len(categories) if shares is None else shares
    baseline, *others = categories
    return [
        Feature(column, *binary_units(share), category, baseline=baseline)
        for category, share in zip(others, shares[1:], strict=True)
    ]


def binary_units(share):
    """Centre and scale of a 0/1 feature with this share of 1.

    Examples
    --------
    >>> from dpsparse.io.features import binary_units
    >>> binary_units(0.2)
    (0.2, 0.4)
    """
    return share, math.sqrt(share * (1 - share))


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
    if not codes and all(feature.fill is None for feature in features):
        return X, y
    _, categories = _columns(features)
    numeric = iter(X.T)
    encoded = np.empty((len(X), len(features)), order="F")
    for place, feature in enumerate(features):
        if feature.category is None:
            encoded[:, place] = filled(next(numeric), feature)
        else:
            code = categories[feature.column].index(feature.category)
            encoded[:, place] = codes[feature.column] == code
    return encoded, y


def filled(values, feature):
    """Numbers with the public number of their feature in the place of gaps; infinite ones are gaps."""
    return values if feature.fill is None else np.where(np.isfinite(values), values, feature.fill)


def frame_features(frame, features):
    """The features of a data frame's rows.

    Parameters
    ----------
    frame : pandas or polars DataFrame, or pyarrow Table
        Columns of numbers, and of text for categories. A column that is named like a feature is taken for it, as 0/1
        columns of categories are.
    features : sequence of Feature
        What to take.

    Returns
    -------
    ndarray of shape (n_records, len(features))
        In the columns' own units; NaN where a number is missing, 0 where text is none of the categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsparse.io.features import Feature, frame_features
    >>> people = pd.DataFrame({"region": ["south", "moon"], "age": [30, 40]})
    >>> frame_features(people, [Feature("age"), Feature("region", category="south")])
    array([[30.,  1.],
           [40.,  0.]])
    """
    names = set(getattr(frame, "column_names", frame.columns))
    columns = []
    for feature in features:
        if feature.name in names:
            columns.append(filled(_frame_numbers(frame, feature.name), feature))
        elif feature.column in names:
            columns.append([float(cell == feature.category) for cell in _frame_texts(frame, feature.column)])
        else:
            raise ValueError(f"X has no column {quoted(feature.column)}, which the model or the bounds need")
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def _frame_numbers(frame, name):
    column = frame[name]
    try:
        with np.errstate(all="ignore"):
            if hasattr(column, "iloc"):
                return column.to_numpy(dtype=np.float64, na_value=np.nan)
            return np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(NOT_NUMERIC) from None


def _frame_texts(frame, name):
    """Cells as text; "" for missing ones, which is no category."""
    column = frame[name]
    cells = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return ["" if _is_missing(cell) else str(cell) for cell in cells]


def _is_missing(cell):
    # pandas's NA does not say whether it differs from itself, as NaN does.
    return cell is None or type(cell).__name__ == "NAType" or cell != cell


def read_feature(fields):
    """The feature that `dataclasses.asdict` wrote in one of our files.

    Parameters
    ----------
    fields : Fields
        The table of the file.
    """
    buckets = fields.counts("buckets", None)
    feature = Feature(
        column=fields.text("column"),
        center=fields.number("center", None),
        scale=fields.number("scale", None, above=0),
        category=fields.text("category", None),
        kind=fields.text("kind", None),
        buckets=None if buckets is None else tuple(buckets),
        other=fields.flag("other", False),
        missing=fields.flag("missing", False),
        label=fields.text("label", None),
        baseline=fields.text("baseline", None),
        fill=fields.number("fill", None),
        rank=fields.count("rank", None),
    )
    fields.finish()
    return feature

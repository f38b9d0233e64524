"""Features of raw records: numbers by the kinds of their columns, and 0/1 for hash buckets of text.

Fits and predictions share this one function: a list of features says all that it needs.
"""

import numpy as np

from dpsparse.io.cells.grammar import Kind
from dpsparse.io.features import filled


def encode(raw, features, buckets_of=None):
    """The features of a raw table's records.

    Parameters
    ----------
    raw : RawTable
        The table; it needs the columns of the features alone.
    features : sequence of Feature
        What to read, each with its kind: a column's numbers, or 0/1 for a public category, for buckets of its text or
        for its gaps.
    buckets_of : callable or None
        The buckets of a column, where they are at hand; None to read them.

    Returns
    -------
    ndarray of float64, shape (n_records, len(features)), in Fortran order
        NaN where a number is missing or does not fit its kind. A text that is missing, or in no bucket of its column's
        features, is 0 in all of them but "missing" and "another".

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsparse.io.cells.encoding import encode
    >>> from dpsparse.io.cells.grammar import bucket
    >>> from dpsparse.io.cells.raw_table import FrameTable
    >>> from dpsparse.io.features import Feature
    >>> table = FrameTable(pd.DataFrame({"age": [31.0, None], "region": ["north", None]}))
    >>> north = Feature("region", kind="text", buckets=(bucket("north"),))
    >>> encode(table, [Feature("age", kind="number"), north, Feature("region", kind="text", missing=True)])
    array([[31.,  1.,  0.],
           [nan,  0.,  1.]])
    """
    numeric = {
        each.column: Kind(each.kind or raw.declared.get(each.column, Kind.number))
        for each in features
        if each.kind != Kind.text and each.category is None
    }
    numbers = raw.numbers(list(numeric), list(numeric.values()))
    if [(each.column, each.missing, each.fill) for each in features] == [(column, False, None) for column in numeric]:
        return numbers
    place = {column: k for k, column in enumerate(numeric)}
    encoded = np.empty((raw.n_records, len(features)), order="F")
    column, buckets = None, None
    for k, feature in enumerate(features):
        if feature.column in numeric:
            values = numbers[:, place[feature.column]]
            encoded[:, k] = np.isnan(values) if feature.missing else filled(values, feature)
            continue
        if feature.category is not None:
            encoded[:, k] = raw.category_codes(feature.column, [feature.category]) == 0
            continue
        if feature.column != column:
            column, buckets = feature.column, (buckets_of or raw.buckets)(feature.column)
        encoded[:, k] = _zero_one(feature, buckets)
    return encoded


def _zero_one(feature, buckets):
    if feature.missing:
        return buckets < 0
    return (buckets >= 0) & (np.isin(buckets, feature.buckets) != feature.other)

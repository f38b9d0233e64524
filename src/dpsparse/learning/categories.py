"""Categories of text columns: which columns have any, and which hash buckets hold enough records to be candidates.

Nothing here releases a text. A noisy number of distinct values first drops identifiers and free text. Then the numbers
of records in each of the public hash buckets are released with noise, and a bucket with enough of them is a 0/1
candidate. Names are released for selected candidates only, at the end of a fit (`names`).
"""

import math

import numpy as np

from dpsparse.io.cells.grammar import N_BUCKETS, Kind
from dpsparse.io.features import Feature
from dpsparse.learning.counts import release_counts
from dpsparse.privacy import sensitivity

# A column with more distinct values than this share of the records, and this many standard deviations of the noise, is
# an identifier or free text. One that is kept by chance does no harm: its buckets hold few records each.
MOST_DISTINCT, DISTINCT_NOISE = 1 / 5, 2.0
# A bucket is a candidate above this many standard deviations of the noise, at which about one column in four has an
# empty one among its candidates, and above this share of the records.
SURELY, LEAST_SHARE = 3.5, 0.002
# The most categories of a column, the baseline included; others are together "another".
MOST_CATEGORIES = 32
# Why no text of a column is used: by their released number more values differ than categories have, which is said only
# where it is that many standard deviations (`SURELY`) above the limit; or no value is surely common.
MANY_VALUES, NONE_COMMON = "many values", "none common"
# The most features of a text column: its categories without the baseline, "another" and "missing".
MOST_FEATURES = MOST_CATEGORIES + 1


def release_categorical(meter, slot, raw, columns):
    """The text columns whose noisy number of distinct values is that of categories.

    Parameters
    ----------
    meter : Meter
        Charged before anything is drawn.
    slot : Slot
        The name and the price.
    raw : RawTable
        The table.
    columns : sequence of str
        All text columns.

    Returns
    -------
    categorical : list of str
        Some of them, in their order.
    with_many_values : list of str
        Of the others, those that surely have more values than categories have.
    """
    change = sensitivity.distinct_counts(len(columns), meter.guarantee.adjacency)
    distinct = release_counts(meter, slot, raw.distinct_counts(columns), change)
    noisy, most = dict(zip(columns, distinct.values, strict=True)), MOST_DISTINCT * meter.n_records
    categorical = [column for column, count in noisy.items() if count <= most + DISTINCT_NOISE * distinct.noise]
    return categorical, [column for column, count in noisy.items() if count > most + SURELY * distinct.noise]


def release_buckets(meter, slot, buckets):
    """The noisy numbers of records in each hash bucket.

    Parameters
    ----------
    meter : Meter
        Charged before anything is drawn.
    slot : Slot
        The name and the price.
    buckets : list of ndarray of int16
        For each column the bucket of each record, -1 for none.

    Returns
    -------
    NoisyCounts
        Of shape (len(buckets), N_BUCKETS).
    """
    counts = [np.bincount(column[column >= 0], minlength=N_BUCKETS) for column in buckets]
    return release_counts(meter, slot, counts, sensitivity.histograms(len(buckets), meter.guarantee.adjacency))


def category_features(column, counts, noise, n_records):
    """The 0/1 features of a text column, from the noisy numbers of records in its buckets.

    The largest bucket is the baseline, which has no feature. "Another" is any text in none of these buckets, the
    baseline's included.

    Parameters
    ----------
    column : str
        The column.
    counts : ndarray of float64, shape (N_BUCKETS,)
        Noisy numbers of records.
    noise : float
        The standard deviation of their noise.
    n_records : int
        The public number of records.

    Returns
    -------
    list of Feature
        The most common bucket first, then "another"; none where no bucket has enough records.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.learning.categories import category_features
    >>> counts = np.zeros(1024)
    >>> counts[[5, 7]] = 600, 300
    >>> [feature.name for feature in category_features("region", counts, 10.0, 1_000)]
    ['region (unnamed value 1)', 'region (another value)']
    """
    least = max(SURELY * noise, LEAST_SHARE * n_records)
    order = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    listed = [int(bucket) for bucket in order if counts[bucket] > least]
    features = [
        Feature(column, kind=Kind.text.value, buckets=(bucket,), rank=rank) for rank, bucket in enumerate(listed[1:], 1)
    ]
    if listed:
        features.append(Feature(column, kind=Kind.text.value, buckets=tuple(listed), other=True))
    return features


def is_rare(counts, noise, other, filled, filled_noise):
    """Whether hardly a record is "another": its effect would be noise, and new text would be predicted by it.

    Parameters
    ----------
    counts : ndarray of float64, shape (N_BUCKETS,)
        Noisy numbers of records in the column's buckets.
    noise : float
        The standard deviation of their noise.
    other : Feature
        The feature.
    filled, filled_noise : float
        The noisy number of cells of the column that are not empty, and its standard deviation.
    """
    listed = list(other.buckets)
    left = filled - counts[listed].sum()
    return bool(left < 2 * math.hypot(filled_noise, noise * math.sqrt(len(listed))))


def missing_feature(column):
    """Whether a text is missing, as a feature."""
    return Feature(column, kind=Kind.text.value, missing=True)


def baseline_bucket(features, column):
    """The bucket to which the effects of a text column are relative; None where it has none."""
    return next((each.buckets[0] for each in features if each.column == column and each.other), None)

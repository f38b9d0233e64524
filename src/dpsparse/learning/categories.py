"""Categories of text columns: which columns have any, and which hash buckets hold enough records to be candidates.

Nothing here releases a text. A noisy number of distinct values first drops identifiers and free text. Then the numbers
of records in each of the public hash buckets are released with noise, and a bucket with enough of them is a 0/1
candidate. Names are released for selected candidates only, at the end of a fit (`names`).

The names of selected categories are released at the end of a fit, and of these alone.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsparse.io.cells.grammar import N_BUCKETS, Kind, bucket
from dpsparse.io.cells.raw_table import RawTable
from dpsparse.io.table_features import Feature
from dpsparse.learning.learning_constants import (
    BUCKET_DEVIATIONS,
    DISTINCT_DEVIATIONS,
    LEAST_SHARE,
    LONGEST_NAME,
    MOST_CATEGORIES,
    MOST_DISTINCT,
)
from dpsparse.learning.noisy_counts import NoisyCounts, release_counts
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.release import PartitionSelection, Slot
from dpsparse.privacy.mechanisms.partition import release_names

# Why no text of a column is used: by their released number more values differ than categories have, which is said only
# where it is that many standard deviations (`BUCKET_DEVIATIONS`) above the limit; or no value is surely common.
MANY_VALUES: str = "many values"
NONE_COMMON: str = "none common"
# The most features of a text column: its categories without the baseline, "another" and "missing".
MOST_FEATURES = MOST_CATEGORIES + 1


def release_categorical(meter: Meter, slot: Slot, raw: RawTable, columns: Sequence[str]) -> tuple[list[str], list[str]]:
    """The text columns whose noisy number of distinct values is that of categories, in their order.

    And of the others those that surely have more values than categories have. The meter is charged before anything is
    drawn.
    """
    change = sensitivity.distinct_counts(len(columns), meter.guarantee.adjacency)
    distinct = release_counts(meter, slot, raw.distinct_counts(columns), change)
    noisy, most = dict(zip(columns, distinct.values, strict=True)), MOST_DISTINCT * meter.n_records
    categorical = [column for column, count in noisy.items() if count <= most + DISTINCT_DEVIATIONS * distinct.noise]
    return categorical, [column for column, count in noisy.items() if count > most + BUCKET_DEVIATIONS * distinct.noise]


def release_buckets(meter: Meter, slot: Slot, buckets: Sequence[NDArray[np.int16]]) -> NoisyCounts:
    """The noisy numbers of records in each hash bucket, a row for each column.

    `buckets` have for each column the bucket of each record, -1 for none. The meter is charged first.
    """
    counts = [np.bincount(column[column >= 0], minlength=N_BUCKETS) for column in buckets]
    return release_counts(meter, slot, counts, sensitivity.histograms(len(buckets), meter.guarantee.adjacency))


def category_features(column: str, counts: NDArray[np.float64], noise: float, n_records: int) -> list[Feature]:
    """The 0/1 features of a text column, from the noisy numbers of records in its buckets: the most common first.

    The largest bucket is the baseline, which has no feature. "Another" comes last: any text in none of these buckets,
    the baseline's included. There are none where no bucket has enough records.

    Examples
    --------
    >>> counts = np.zeros(1024)
    >>> counts[[5, 7]] = 600, 300
    >>> [feature.name for feature in category_features("region", counts, 10.0, 1_000)]
    ['region (unnamed value 1)', 'region (another value)']
    """
    least = max(BUCKET_DEVIATIONS * noise, LEAST_SHARE * n_records)
    order = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    listed = [int(bucket) for bucket in order if counts[bucket] > least]
    features = [
        Feature(column, kind=Kind.text.value, buckets=(bucket,), rank=rank) for rank, bucket in enumerate(listed[1:], 1)
    ]
    if listed:
        features.append(Feature(column, kind=Kind.text.value, buckets=tuple(listed), other=True))
    return features


def is_rare(counts: NDArray[np.float64], noise: float, other: Feature, filled: float, filled_noise: float) -> bool:
    """Whether hardly a record is "another": its effect would be noise, and new text would be predicted by it.

    `counts` are noisy numbers of records in the column's buckets, `filled` that of its cells that are not empty.
    """
    left, left_noise = left_over(counts, noise, other, filled, filled_noise)
    return left < 2 * left_noise


def left_over(
    counts: NDArray[np.float64], noise: float, other: Feature, filled: float, filled_noise: float
) -> tuple[float, float]:
    """The number of records that are "another", about, and the standard deviation of its noise."""
    listed = list(other.buckets or ())
    return float(filled - counts[listed].sum()), math.hypot(filled_noise, noise * math.sqrt(len(listed)))


def shares_of(
    features: Iterable[Feature], counts: NDArray[np.float64], filled: float, n_records: int
) -> dict[Feature, float]:
    """The shares of records that have the 0/1 features of a text column, by the same noisy numbers as `is_rare`."""
    listed = {each: float(counts[list(each.buckets or ())].sum()) for each in features}
    return {each: (filled - count if each.other else count) / n_records for each, count in listed.items()}


def missing_feature(column: str) -> Feature:
    """Whether a text is missing, as a feature."""
    return Feature(column, kind=Kind.text.value, missing=True)


def baseline_bucket(features: Iterable[Feature], column: str) -> int | None:
    """The bucket to which the effects of a text column are relative; None where it has none."""
    return next((each.buckets[0] for each in features if each.column == column and each.other and each.buckets), None)


@dataclass(frozen=True)
class Names:
    """What a fit tells of the texts that it used.

    `features`: all features, with labels where names of their buckets were released.
    `baselines`: for a text column the names of its baseline, where they were released.
    """

    features: tuple[Feature, ...]
    baselines: dict[str, str]


def release_labels(
    meter: Meter, slot: Slot, raw: RawTable, features: Sequence[Feature], selected: Iterable[int]
) -> Names:
    """Release names of the selected buckets and of their baselines, or skip the slot where no text is selected.

    All columns share one release: the fewer of them are text, the less noise it has. A column's selected buckets and
    its baseline cost no more than one of them, since a record has one value in a column.

    `selected` are the places of the features that the fit keeps. The meter is charged before anything is drawn.
    """
    wanted: dict[str, list[int]] = {}
    for feature in (features[k].indicator for k in selected):
        if feature.kind == Kind.text:
            baseline = baseline_bucket(features, feature.column)
            # A public category and a missing text have no bucket: their names are public.
            own = () if feature.other or feature.buckets is None else feature.buckets
            known = wanted.setdefault(feature.column, [] if baseline is None else [baseline])
            known.extend(set(own) - set(known))
    wanted = {column: buckets for column, buckets in wanted.items() if buckets}
    if not wanted:
        meter.skip(slot.name)
        return Names(tuple(features), {})
    counts = [
        {text: count for each in buckets for text, count in raw.value_counts(column, each).items()}
        for column, buckets in wanted.items()
    ]
    assert isinstance(slot.mechanism, PartitionSelection), "names are values that enough people hold"
    failure = slot.mechanism.failure_probability
    released = release_names(meter, counts, rho=slot.rho, failure=failure, name=slot.name)
    texts: dict[tuple[str, int], list[str]] = {}
    for column, names in zip(wanted, released, strict=True):
        for text in names:
            texts.setdefault((column, bucket(text)), []).append(text)
    labels = {place: " or ".join(map(_printable, each)) for place, each in texts.items()}
    baselines = {column: _label(labels, column, baseline_bucket(features, column)) for column in wanted}
    return Names(
        tuple(_labeled(feature, labels) for feature in features),
        {column: label for column, label in baselines.items() if label is not None},
    )


def _label(labels: Mapping[tuple[str, int], str], column: str, place: int | None) -> str | None:
    return None if place is None else labels.get((column, place))


def _printable(text: str) -> str:
    """A text fit for a line of a report."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:LONGEST_NAME])


def _labeled(feature: Feature, labels: Mapping[tuple[str, int], str]) -> Feature:
    if feature.within is not None:
        return replace(feature, within=_labeled(feature.within, labels))
    if feature.buckets is None or feature.other:
        return feature
    return replace(feature, label=labels.get((feature.column, feature.buckets[0])))

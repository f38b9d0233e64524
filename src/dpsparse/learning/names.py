"""Names for the selected categories, released at the end of a fit and for these alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dpsparse.io.cells.grammar import Kind, bucket
from dpsparse.io.cells.raw_table import RawTable
from dpsparse.io.table_features import Feature
from dpsparse.learning.categories import baseline_bucket
from dpsparse.learning.learning_constants import LONGEST_NAME
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.release import PartitionSelection, Slot
from dpsparse.privacy.mechanisms.partition import release_names


@dataclass(frozen=True)
class Names:
    """What a fit tells of the texts that it used.

    Parameters
    ----------
    features : tuple of Feature
        All features, with labels where names of their buckets were released.
    baselines : dict of str to str
        For a text column the names of its baseline, where they were released.
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

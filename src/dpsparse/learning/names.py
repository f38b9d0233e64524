"""Names for the selected categories, released at the end of a fit and for these alone."""

from dataclasses import dataclass, replace

from dpsparse.io.cells.grammar import Kind, bucket
from dpsparse.io.features import Feature
from dpsparse.learning.categories import baseline_bucket
from dpsparse.privacy.mechanisms.partition import release_names

# The most characters of a name that are shown.
LONGEST = 100


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


def release_labels(meter, slot, raw, features, selected):
    """Release names of the selected buckets and of their baselines, or skip the slot where no text is selected.

    All columns share one release: the fewer of them are text, the less noise it has. A column's selected buckets and
    its baseline cost no more than one of them, since a record has one value in a column.

    Parameters
    ----------
    meter : Meter
        Charged before anything is drawn.
    slot : Slot
        The name, the price and the failure probability.
    raw : RawTable
        The table.
    features : sequence of Feature
        All features.
    selected : sequence of int
        Which of them the fit keeps.

    Returns
    -------
    Names
        Labels of features and baselines.
    """
    wanted = {}
    for feature in (features[k] for k in selected):
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
    failure = slot.mechanism.failure_probability
    released = release_names(meter, counts, rho=slot.rho, failure=failure, name=slot.name)
    labels = {}
    for column, names in zip(wanted, released, strict=True):
        for text in names:
            labels.setdefault((column, bucket(text)), []).append(text)
    labels = {place: " or ".join(map(_printable, texts)) for place, texts in labels.items()}
    baselines = {column: labels.get((column, baseline_bucket(features, column))) for column in wanted}
    return Names(
        tuple(_labeled(feature, labels) for feature in features),
        {column: label for column, label in baselines.items() if label is not None},
    )


def _printable(text):
    """A text fit for a line of a report."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:LONGEST])


def _labeled(feature, labels):
    if feature.buckets is None or feature.other:
        return feature
    return replace(feature, label=labels.get((feature.column, feature.buckets[0])))

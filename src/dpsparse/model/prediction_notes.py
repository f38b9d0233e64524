"""What `predict` says about the records that it read: which of their cells do not count as they are written.

This tells as much of the records as their predictions do, and goes where these go.
"""

from typing import TYPE_CHECKING

from dpsparse.io.table_features import Feature
from dpsparse.schema import listed, quoted

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel
    from dpsparse.model.table_predictions import ModelTable


def prediction_notes(model: "LinearModel", table: "ModelTable") -> list[str]:
    """Sentences without a full stop; none where every cell counts as it is written."""
    return _unread_numbers(table) + _unseen_categories(model, table)


def _unread_numbers(table: "ModelTable") -> list[str]:
    """Which columns of numbers have cells without one: gaps, and numbers written in another way than in the fit."""
    n = table.n_records
    return [
        f"{column}: {count:,} of {n:,} cells are empty, or not written as in the table of the fit, and count as missing"
        for column, count in table.n_unread().items()
        if count
    ]


def _unseen_categories(model: "LinearModel", table: "ModelTable") -> list[str]:
    """How text that the fit did not know counts, for each selected column that has such text."""
    needed: dict[str, list[Feature]] = {column: [] for column in model.columns_selected}
    for feature in model.features:
        if feature.column in needed and (feature.category is not None or feature.buckets is not None):
            needed[feature.column].append(feature)
    sentences = []
    for column, text in needed.items():
        if not text or not table.has_unseen(column, text):
            continue
        if any(feature.other for feature in text):
            other = Feature(column, other=True).name
            sentences.append(f"{column}: text that was rare or unknown in the fit counts as {quoted(other)}")
        else:
            known = listed([feature.category or feature.name for feature in text])
            baseline = f" {quoted(model.baselines[column])}" if column in model.baselines else ""
            sentences.append(f"{column}: any text but {known}, or none, counts as the baseline{baseline}")
    return sentences

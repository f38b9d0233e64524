"""Predictions of a released model for tables of cells: files, and data frames with text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.as_table import as_table
from dpsparse.data.person_ids import people_of
from dpsparse.data.predictions import linear_predictions
from dpsparse.data.validation import is_dask
from dpsparse.engine.people import People
from dpsparse.io.cells.encoding import encode, yes_or_no
from dpsparse.io.cells.formula_table import FormulaTable
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.raw_table import as_raw_table
from dpsparse.io.formats import open_table, require_format
from dpsparse.io.store.manifest import is_store
from dpsparse.io.table_features import Feature, frame_features, read_features
from dpsparse.model.exposures import exposure_feature, is_log_mean, where_positive
from dpsparse.schema import FileError, listed, quoted

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


class ModelTable:
    """The records of a file or a data frame, as a model reads them: by its own kinds, and only the columns it needs.

    A separator of None is taken from the first line of a CSV file.
    """

    def __init__(
        self, model: "LinearModel", data: Any, *, separator: str | None = None, encoding: str = "utf-8"
    ) -> None:
        self._model, self._data = model, data
        self._is_array = str(data).lower().endswith(".npy")
        if is_path(data) and not is_store(data):
            require_format(data)
        self._table: Any = open_table(data) if self._is_array else None
        self.raw: Any = None if self._is_array else as_raw_table(data, separator=separator, encoding=encoding)
        if model.formula is not None and self.raw is not None and not isinstance(self.raw, FormulaTable):
            self.raw = FormulaTable(self.raw, model.formula)
        for column in model.columns_needed:
            self.require(column)
        if not self.n_records:
            raise FileError(f"{data}: it holds no records")

    def require(self, column: str) -> None:
        """Raise FileError unless there is such a column."""
        names = self._table.names if self.raw is None else self.raw.names
        if column not in names:
            where = self._data if is_path(self._data) else "X"
            needed = self._model.columns_needed
            beside = f"; the model needs {listed(needed)}" if column in needed else ""
            raise FileError(f"{where} has no column {quoted(column)}{beside}")

    @property
    def n_records(self) -> int:
        """The number of records."""
        return int(self._table.n_records() if self.raw is None else self.raw.n_records)

    def predictions(self) -> NDArray[np.float64]:
        """One prediction for each record: a number, the log odds of yes, or a mean for the record's own exposure."""
        linear = self.linear_predictors()
        with np.errstate(all="ignore"):
            return np.exp(linear) * self.exposures() if is_log_mean(self._model) else linear

    def exposures(self) -> NDArray[np.float64]:
        """The exposures, 1 where there are none, and NaN where one is not above 0."""
        if self._model.exposure is None:
            return np.ones(1)
        self.require(self._model.exposure)
        return np.asarray(where_positive(self._numbers([exposure_feature(self._model.exposure)])[:, 0]))

    def linear_predictors(self) -> NDArray[np.float64]:
        """One linear predictor for each record, from this record alone: one feature after another, in their order.

        A number that is missing, or unreadable, is at its centre. Text that the model does not know counts as "another"
        where its column has such a feature, and as the baseline otherwise.
        """
        return np.asarray(self._model.predicted(self._predicted))

    def _predicted(self, model: "LinearModel") -> NDArray[np.float64]:
        X = self._numbers([feature for _, feature in model._selected])
        predictions = np.full(self.n_records, model.intercept)
        with np.errstate(all="ignore"):
            for values, place in zip(X.T, model._places, strict=True):
                filled = np.where(np.isfinite(values), values, model.all_centers[place])
                predictions += model.coef[place] * filled
        return predictions if model.prediction_range is None else np.clip(predictions, *model.prediction_range)

    def responses(self) -> NDArray[np.float64]:
        """The responses; NaN where they are missing or unreadable."""
        target = self._model.target
        self.require(target)
        if self.raw is None:
            return np.asarray(read_features(self._table, [], target)[1])
        if self._model.classes is not None and self._model.target_kind == Kind.text:
            return yes_or_no(self.raw, target, self._model.classes[1])
        kind = self.raw.declared.get(target) or self._model.target_kind or Kind.number
        return np.asarray(self.raw.numbers([target], [kind])[:, 0])

    def people(self, column: str) -> People:
        """Whose records are whose, by a column of ids."""
        self.require(column)
        if self.raw is None:
            raise FileError(f"{self._data}: it has no column of people; give a CSV or Parquet file")
        return people_of(self.raw.names_of(column), self.n_records)

    def texts(self, column: str) -> list[str]:
        """The cells of a column as text."""
        self.require(column)
        texts: list[str] = self._table.texts(column) if self.raw is None else self.raw.texts(column)
        return texts

    def has_unseen(self, column: str, features: list[Feature]) -> bool:
        """Whether a cell of a column of text is in none of the categories of its features, nor in their baseline.

        It tells as much of the records as their predictions do, and goes where these go.
        """
        known = [each.category for each in features if each.category is not None]
        if known:
            known += [each.baseline for each in features[:1] if each.baseline is not None]
            if self.raw is None:
                return not set(self.texts(column)) <= set(known)
            return bool((self.raw.category_codes(column, known) < 0).any())
        buckets = np.asarray(self.raw.buckets(column))
        listed_buckets = [bucket for each in features for bucket in each.buckets or ()]
        return bool((~np.isin(buckets, [-1, *listed_buckets])).any())

    def n_unread(self) -> dict[str, int]:
        """How many cells of each column of numbers hold none as the model reads them; it tells as much as that."""
        used = [self._model.features[place] for place in self._model._places]
        read = [each for each in used if each.category is None and each.buckets is None and not each.missing]
        numbers = [replace(each, fill=None) for each in read if each.within is None]
        counts = (~np.isfinite(self._numbers(numbers))).sum(axis=0).tolist()
        return {each.column: count for each, count in zip(numbers, counts, strict=True)}

    def _numbers(self, used: Any) -> NDArray[np.float64]:
        if not used:
            return np.empty((self.n_records, 0))
        if self.raw is None:
            return np.asarray(read_features(self._table, used)[0])
        return np.asarray(encode(self.raw, used))


def is_path(data: Any) -> bool:
    """Whether this is the place of a file."""
    return isinstance(data, str) or hasattr(data, "__fspath__")


def predict_frame(model: "LinearModel", frame: Any, names: Sequence[str]) -> Any:
    """Predict the responses of a data frame's rows.

    The frame is of pandas, polars, pyarrow or dask, and has at least the columns of the selected features.
    """
    used = _used(model)
    present = set(names)
    for feature in used:
        if feature.name not in present and (feature.category is None or feature.column not in present):
            needed = listed(model.columns_needed)
            raise ValueError(f"X has no column {quoted(feature.column)}, which the model needs; it needs {needed}")
    if not used:
        # Without effects no column is needed; one tells dask the number of rows.
        constant = np.array(linear_predictions(np.empty((1, 0)), np.empty(0), model.intercept, model.prediction_range))
        if not is_dask(frame):
            return np.repeat(constant, len(frame))
        used = [Feature(names[0])]
    if all(feature.name in present for feature in used) and (is_dask(frame) or not hasattr(frame, "column_names")):
        return as_table(frame[[feature.name for feature in used]]).predict(_restricted(model, used))
    if is_dask(frame):
        raise ValueError("a dask frame needs categories as 0/1 columns, named like the features of the model")
    numbered = [replace(feature, column=str(place), category=None) for place, feature in enumerate(used)]
    return as_table(frame_features(frame, used)).predict(_restricted(model, used, numbered))


def _used(model: "LinearModel") -> list[Feature]:
    """The features with an effect, or with one of being missing; the first of all where there is none."""
    by_name = {feature.name: feature for _, feature in model._selected}
    columns = {feature.column for feature in by_name.values() if feature.missing}
    used = [feature for feature in by_name.values() if not feature.missing]
    return used + [Feature(column) for column in columns if column not in by_name]


def _restricted(model: "LinearModel", used: list[Feature], names: list[Feature] | None = None) -> "LinearModel":
    """The model of the used features alone, under other names where these are given."""
    names = used if names is None else names
    gaps = [Feature(feature.column, missing=True) for feature in used if model.missing_coef_ is not None]
    new_gaps = [Feature(feature.column, missing=True) for feature in names if model.missing_coef_ is not None]
    renamed = {old.name: new.name for old, new in zip([*used, *gaps], [*names, *new_gaps], strict=True)}
    effects = tuple(replace(effect, feature=renamed[effect.feature]) for effect in model.effects)
    return replace(model, features=(*names, *new_gaps), effects=effects)

"""Features: the numbers that a fit reads of a table's cells, which are columns in their units and properties as 0/1."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine.refusals import NOT_NUMERIC
from dpsparse.schema import Fields, quoted

if TYPE_CHECKING:
    from dpsparse.io.tables.table_reader import TableReader


@dataclass(frozen=True)
class Feature:
    """A number made of one cell of a record: a column's value, or 0/1 for a property of the cell."""

    column: str
    # Public or released numbers: where it is centred, how far it spreads; None where that is not known.
    center: float | None = None
    scale: float | None = None
    category: str | None = None  # The public category that counts as 1; None otherwise.
    # How the column's cells are read: the value of a `Kind`; None where the table's own types say it.
    kind: str | None = None
    # The public hash buckets of text that count as 1; None where the feature is not text of a bucket.
    buckets: tuple[int, ...] | None = None
    other: bool = False  # Whether all buckets but `buckets` count as 1 instead.
    missing: bool = False  # Whether the feature is 1 where the cell is missing, and 0 elsewhere.
    label: str | None = None  # The text in the buckets, where it was released.
    baseline: str | None = None  # Of a public category: the one to which effects are relative, which has no feature.
    fill: float | None = None  # A public number in the place of a gap; None to leave gaps as they are.
    # Of one bucket its place among those of the column, the most common after the baseline first, by noisy counts: it
    # tells texts apart that have no released name.
    rank: int | None = None
    # Of a number times a category: the 0/1 feature of the category. It is missing in records that have not this one, so
    # that it lies at its centre there.
    within: "Feature | None" = None
    part_of: str | None = None  # The variable that it is a part of, where this is not its column.

    @property
    def variable(self) -> str:
        """What is selected and tested as a whole: a column, a number times the categories of one, or a spline.

        Examples
        --------
        >>> Feature("age", within=Feature("region", category="north")).variable
        'age:region'
        """
        if self.within is not None:
            return f"{self.column}:{self.within.column}"
        return self.column if self.part_of is None else self.part_of

    @property
    def indicator(self) -> "Feature":
        """The 0/1 feature of the category that it is multiplied by; the feature itself where there is none."""
        return self if self.within is None else self.within

    @property
    def is_zero_one(self) -> bool:
        """Whether it is a property of a cell, 1 or 0: no number, and no part of a spline."""
        return self.level is not None and self.within is None and self.part_of is None

    @property
    def is_unnamed(self) -> bool:
        """Whether it counts text that has no name: one too rare to be named, or any other."""
        text = self.indicator
        return text.buckets is not None and (text.other or text.label is None)

    @property
    def columns(self) -> list[str]:
        """The columns whose cells it is made of."""
        return list(dict.fromkeys([self.column, self.indicator.column]))

    @property
    def level(self) -> str | None:
        """What of the column's cells counts as 1; None where the feature is a number.

        Examples
        --------
        >>> Feature("age").level, Feature("age", missing=True).level, Feature("region", category="north").level
        (None, 'gap', 'north')
        """
        if self.within is not None:
            return self.within.level
        if self.part_of is not None:
            return f"{self.column.removeprefix(self.part_of)}{' gap' if self.missing else ''}"
        if self.missing:
            return "gap"
        if self.other:
            return "another value"
        if self._text is not None or self.buckets is None:
            return self._text
        return f"unnamed value{'' if self.rank is None else f' {self.rank}'}"

    @property
    def _text(self) -> str | None:
        """The text that counts as 1, where it is known."""
        return self.category if self.label is None else self.label

    @property
    def name(self) -> str:
        """The column, and what of its cells counts as 1 where the feature is no number.

        Examples
        --------
        >>> Feature("age").name, Feature("age", missing=True).name, Feature("region", category="north").name
        ('age', 'age (gap)', 'region=north')
        >>> Feature("region", buckets=(17,), rank=2).name, Feature("region", buckets=(17,), other=True).name
        ('region (unnamed value 2)', 'region (another value)')
        >>> Feature("bs(age)[1]", part_of="bs(age)").name, Feature("bs(age)[1]", part_of="bs(age)", missing=True).name
        ('bs(age)[1]', 'bs(age)[1] (gap)')
        """
        if self.within is not None:
            return f"{self.column}:{self.within.name}"
        if self.part_of is not None:
            return f"{self.column} (gap)" if self.missing else self.column
        if self.level is None:
            return self.column
        is_text = not self.missing and not self.other and self._text is not None
        return f"{self.column}={self.level}" if is_text else f"{self.column} ({self.level})"


def one_hot(column: str, categories: Sequence[str], shares: Sequence[float] | None = None) -> list[Feature]:
    """A 0/1 feature for each public category but the first, centred and scaled by its share.

    The first is the baseline, to which effects are relative: with a feature for every category the effects would be
    known only up to a constant. Text that is none of the categories counts as the baseline.

    Where their public shares are not known it is as if all were equally common.

    Examples
    --------
    >>> [feature.name for feature in one_hot("region", ["north", "south", "west"])]
    ['region=south', 'region=west']
    """
    shares = [1 / len(categories)] * len(categories) if shares is None else shares
    baseline, *others = categories
    return [
        Feature(column, *binary_units(share), category, baseline=baseline)
        for category, share in zip(others, shares[1:], strict=True)
    ]


def binary_units(share: float) -> tuple[float, float]:
    """Centre and scale of a 0/1 feature with this share of 1.

    Examples
    --------
    >>> binary_units(0.2)
    (0.2, 0.4)
    """
    return share, math.sqrt(share * (1 - share))


def read_features(
    table: "TableReader", features: Sequence[Feature], target: str | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """The features of a table's records, and their responses.

    Numbers are in the columns' own units. Text that is none of a column's categories is 0 in all features of that
    column.
    """
    numbers, categories = _columns(features)
    matrix, codes = table.read(_with_target(numbers, target), categories)
    return _encoded(matrix, codes, features, target)


def feature_blocks(
    table: "TableReader", features: Sequence[Feature], target: str, start: int = 0
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The values of `read_features`, a block of rows at a time, from row `start` on."""
    numbers, categories = _columns(features)
    for matrix, codes in table.blocks(_with_target(numbers, target), categories, start):
        yield _encoded(matrix, codes, features, target)


def _columns(features: Sequence[Feature]) -> tuple[list[str], dict[str, list[str]]]:
    """The columns of numbers, and those of text with their categories."""
    numbers = [feature.column for feature in features if feature.category is None]
    categories: dict[str, list[str]] = {}
    for feature in features:
        if feature.category is not None:
            categories.setdefault(feature.column, []).append(feature.category)
    return numbers, categories


def _with_target(numbers: list[str], target: str | None) -> list[str]:
    return [*numbers, *([] if target is None else [target])]


def _encoded(
    matrix: NDArray[np.float64], codes: dict[str, NDArray[np.int64]], features: Sequence[Feature], target: str | None
) -> tuple[NDArray[np.float64], Any]:
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


def filled(values: NDArray[np.float64], feature: Feature) -> NDArray[np.float64]:
    """Numbers with the public number of their feature in the place of gaps; infinite ones are gaps."""
    return values if feature.fill is None else np.where(np.isfinite(values), values, feature.fill)


def frame_features(frame: Any, features: Sequence[Feature]) -> NDArray[np.float64]:
    """The features of a data frame's rows.

    The frame is of pandas, polars or pyarrow. A column that is named like a feature is taken for it, as 0/1 columns of
    categories are. Numbers are in the columns' own units, NaN where one is missing; text that is none of the categories
    is 0.

    Examples
    --------
    >>> import pandas as pd
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
            texts = _frame_texts(frame, feature.column)
            columns.append(np.array([float(text == feature.category) for text in texts], dtype=np.float64))
        else:
            raise ValueError(f"X has no column {quoted(feature.column)}, which the model or the bounds need")
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def _frame_numbers(frame: Any, name: str) -> NDArray[np.float64]:
    column = frame[name]
    try:
        with np.errstate(all="ignore"):
            if hasattr(column, "iloc"):
                result: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
                return result
            return np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(NOT_NUMERIC) from None


def _frame_texts(frame: Any, name: str) -> list[str]:
    """Cells as text; "" for missing ones, which is no category."""
    column = frame[name]
    cells = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return ["" if _is_missing(cell) else str(cell) for cell in cells]


def _is_missing(cell: object) -> bool:
    # pandas's NA does not say whether it differs from itself, as NaN does.
    return cell is None or type(cell).__name__ == "NAType" or cell != cell


def read_feature(fields: Fields) -> Feature:
    """The feature that `dataclasses.asdict` wrote in one of our files."""
    buckets, within = fields.counts("buckets", None), fields.table("within", None)
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
        within=None if within is None else read_feature(within),
        part_of=fields.text("part_of", None),
    )
    fields.finish()
    return feature

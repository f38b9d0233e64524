"""Bounds: what is publicly known of the columns of a table. `bounds_file` reads them from a file."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpsparse.io.table_features import Feature, frame_features, one_hot
from dpsparse.schema import FileError, alternatives, quoted


@dataclass(frozen=True)
class ColumnBounds:
    """What is publicly known of a column."""

    # Near the mean and the standard deviation; None where they are not known.
    center: float | None = None
    scale: float | None = None
    categories: tuple[str, ...] | None = None  # Of a column of text, the baseline first.
    shares: tuple[float, ...] | None = None  # Of the categories, in their order.
    fill: float | None = None  # The number in the place of a gap.
    kind: str | None = None  # How the cells are read, one of `bounds_file.KINDS`; None where that is not declared.

    def features(self, name: str) -> list[Feature]:
        """The features of a column of this name."""
        if self.categories is not None:
            return one_hot(name, self.categories, self.shares)
        return [Feature(name, self.center, self.scale, kind=self.kind, fill=self.fill)]


@dataclass(frozen=True)
class Bounds:
    """What is publicly known of the columns of a table; `read_bounds` makes it of a file.

    Parameters
    ----------
    where : str
        The file, for messages; empty where there is none.
    default : ColumnBounds
        Of columns that are not named.
    columns : dict of str to ColumnBounds
        By name, or by a pattern in which * stands for any text. A column's own name comes first, then the first pattern
        that it fits.
    drop : tuple of str
        Names and patterns of columns to leave out.
    response_center, response_scale : float or None
        None to have them learned privately.
    response_positive : str or None
        The label of yes, where the response is yes or no and every other label is no; None for 0 and 1, or true and
        false, and for numbers.
    """

    where: str = ""
    default: ColumnBounds = ColumnBounds()
    columns: dict[str, ColumnBounds] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    response_center: float | None = None
    response_scale: float | None = None
    response_positive: str | None = None

    def of(self, name: str) -> ColumnBounds:
        """What is known of the column of a name."""
        if name in self.columns:
            return self.columns[name]
        return next((known for key, known in self.columns.items() if fits_pattern(key, name)), self.default)

    def is_dropped(self, name: str) -> bool:
        """Whether the column of a name is left out."""
        return name in self.drop or (name not in self.columns and any(fits_pattern(key, name) for key in self.drop))

    def of_kept(self, names: Iterable[str]) -> "Bounds":
        """The same for a table without the dropped columns, in which nothing else of these names is looked for.

        `names` are the columns of the table, dropped ones included.
        """
        kept = {name: None for name in names if not self.is_dropped(name)}
        known = {
            key: each
            for key, each in self.columns.items()
            if key in kept or any(fits_pattern(key, name) for name in kept)
        }
        return replace(self, where="", columns=known, drop=())

    def features(self, names: Iterable[str], target: str | None = None) -> list[Feature]:
        """The features of a table with these column names, in their order.

        Parameters
        ----------
        names : iterable of str
            The columns.
        target : str or None
            The column of responses, which is no feature.

        Examples
        --------
        >>> from dpsparse.io.bounds import Bounds, ColumnBounds
        >>> bounds = Bounds(columns={"a*": ColumnBounds(50.0, 15.0), "sex": ColumnBounds(categories=("f", "m"))})
        >>> [feature.name for feature in bounds.features(["age", "sex", "cost"], target="cost")]
        ['age', 'sex=m']
        """
        names = list(names)
        present, others = set(names), [name for name in names if name != target]
        for key in (*self.columns, *self.drop):
            if key not in present and not any(fits_pattern(key, name) for name in others):
                what = f"no column like {quoted(key)}" if "*" in key else f"no column {quoted(key)}"
                raise FileError(f"{self.where}: the data have {what}; {alternatives(key, others)}")
        if target in self.columns or target in self.drop:
            raise FileError(
                f"{self.where}: {quoted(target)} is the target; take it out there; its public centre and scale go "
                "under [response] of a bounds file"
            )
        kept = [name for name in others if not self.is_dropped(name)]
        features = [feature for name in kept for feature in self.of(name).features(name)]
        if not features:
            beside = "" if target is None else f" beside the target {quoted(target)}"
            raise FileError(f"no column is left{beside}; the data need features")
        if len({feature.name for feature in features}) < len(features):
            raise FileError(f"{self.where}: a column and a category have the same name")
        return features

    def kinds(self, names: Iterable[str]) -> dict[str, str]:
        """The declared kinds of these columns; the others are to be learned."""
        declared = {name: "text" if self.of(name).categories else self.of(name).kind for name in names}
        return {name: kind for name, kind in declared.items() if kind is not None}

    def encode(self, frame: Any) -> Any:
        """A data frame of numbers: dropped columns left out, public categories as 0/1, gaps filled where that is given.

        Parameters
        ----------
        frame : pandas or polars DataFrame, or pyarrow Table
            The features, without the response.

        Returns
        -------
        frame of the same type
            In the columns' own units, for `PrivateSparseRegressor.fit`.

        Examples
        --------
        >>> import pandas as pd
        >>> from dpsparse.io.bounds import Bounds, ColumnBounds
        >>> bounds = Bounds(columns={"sex": ColumnBounds(categories=("f", "m"))}, drop=("id",))
        >>> bounds.encode(pd.DataFrame({"id": [7, 8], "age": [30, 40], "sex": ["m", "f"]}))
            age  sex=m
        0  30.0    1.0
        1  40.0    0.0
        """
        names = list(getattr(frame, "column_names", frame.columns))
        features = self.features(names)
        columns = {
            feature.name: values for feature, values in zip(features, frame_features(frame, features).T, strict=True)
        }
        if hasattr(type(frame), "from_pydict"):
            return type(frame).from_pydict(columns)
        index = {"index": frame.index} if hasattr(frame, "index") else {}
        return type(frame)(columns, **index)

    def units(self, names: Iterable[str]) -> tuple[dict[str, float], dict[str, float]]:
        """Public centres and scales by name, for `feature_center` and `feature_scale`.

        Parameters
        ----------
        names : iterable of str
            The columns of X: those of `encode`, or of a table of numbers.

        Returns
        -------
        center, scale : dict of str to float
            Of the columns of which something is known.

        Examples
        --------
        >>> from dpsparse.io.bounds import Bounds, ColumnBounds
        >>> bounds = Bounds(columns={"gene_*": ColumnBounds(scale=2.0), "age": ColumnBounds(50.0, 15.0)})
        >>> bounds.units(["gene_a", "gene_b", "age", "steps"])
        ({'age': 50.0}, {'gene_a': 2.0, 'gene_b': 2.0, 'age': 15.0})
        """
        known = {name: self._unit(name) for name in names}
        center = {name: center for name, (center, _) in known.items() if center is not None}
        scale = {name: scale for name, (_, scale) in known.items() if scale is not None}
        return center, scale

    def _unit(self, name: str) -> tuple[float | None, float | None]:
        """Centre and scale of a column, or of the 0/1 feature of a category."""
        if name not in self.columns:
            for place in (at for at, letter in enumerate(name) if letter == "="):
                for feature in self.of(name[:place]).features(name[:place]):
                    if feature.category is not None and feature.name == name:
                        return feature.center, feature.scale
        return self.of(name).center, self.of(name).scale


def fits_pattern(key: str, name: str) -> bool:
    """Whether a name fits a pattern; brackets and question marks, which names have, stand for themselves."""
    return "*" in key and re.fullmatch(".*".join(map(re.escape, key.split("*"))), name, re.DOTALL) is not None


def scale_from_bounds(low: Any, high: Any) -> tuple[Any, Any]:
    """Public centre and scale of features that usually lie in [low, high].

    The centre is the middle and the scale a quarter of the width: give the range in which about 95 % of people lie, not
    the extremes. For a 0/1 feature with a known share p use centre p and scale sqrt(p (1 - p)) instead; for counts that
    are mostly 0, a centre and scale near their mean and standard deviation. The guarantee never depends on these
    numbers; accuracy does. Leave out the columns of which nothing is known: a fit learns their units.

    Parameters
    ----------
    low, high : float or array-like of shape (n_features,)
        Public numbers, never read off the data.

    Returns
    -------
    center, scale : float, ndarray or dict
        For `feature_center` and `feature_scale`; by name if `low` is a Series.

    Examples
    --------
    >>> from dpsparse import scale_from_bounds
    >>> scale_from_bounds(18, 98)
    (58.0, 20.0)
    """
    index: Any = getattr(low, "index", None)
    try:
        low, high = np.broadcast_arrays(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError("low and high must be numbers, or one number each for every feature in order") from None
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError("low and high must be finite with low < high for every feature")
    center, scale = low + (high - low) / 2, (high - low) / 4
    if hasattr(index, "tolist"):
        return dict(zip(index, center.tolist(), strict=True)), dict(zip(index, scale.tolist(), strict=True))
    return (float(center), float(scale)) if center.ndim == 0 else (center, scale)

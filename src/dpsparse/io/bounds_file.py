"""The bounds file: what is publicly known of each column, in TOML.

    drop = ["id", "*_note"]                # columns to leave out; * stands for any text

    [columns.income]
    low = 10_000                           # the range in which about 95 % of people lie
    high = 90_000

    [columns.age]
    center = 50.0                          # or a centre and a scale, near the mean and the standard deviation;
    scale = 15.0                           # or one of the two
    fill = 50                              # a public number for the gaps

    [columns.smoker]
    share = 0.2                            # a 0/1 column: the share of 1

    [columns.region]
    categories = ["north", "south"]        # text: the public categories, the baseline first

    [columns.sector]
    categories = {public = 0.4, private = 0.6}    # the same, with their public shares

    [columns.joined]
    kind = "date_ymd"                      # how the cells of a file without a schema are read

    [columns."gene_*"]                     # every column of such a name, without a section of its own
    scale = 2.0

    [response]
    center = 1000.0                        # the median
    scale = 300.0                          # the median distance from it
    # positive = "yes"                     # instead, where it is yes or no: the label of yes; every other one is no

    [default]                              # for every column of numbers that nothing above names
    center = 0.0
    scale = 1.0

Everything is optional, and what is given costs nothing: a fit learns within its guarantee the centres and scales that
are not given. The guarantee never depends on these numbers being right; it would if they were read off the data.
"""

import math
import os
from collections.abc import Sequence
from typing import Any

from dpsparse.io.bounds import Bounds, ColumnBounds, scale_from_bounds
from dpsparse.io.bounds_writer import UNFILLED
from dpsparse.io.table_features import binary_units
from dpsparse.schema import Fields, FileError, read_toml

KINDS = ("number", "number_grouped", "number_comma", "boolean", "date_ymd", "date_dmy", "date_mdy", "text")
"""How a column's cells may be read; a fit learns what is not declared."""


def read_bounds(path: str | os.PathLike[str]) -> Bounds:
    """Read a bounds file: what is publicly known of the columns.

    Parameters
    ----------
    path : str or path
        A TOML file, as `dpsparse bounds init` makes one to be filled in by hand.

    Returns
    -------
    Bounds
        With `encode`, which makes numbers of a data frame, and `units`, for `feature_center` and `feature_scale`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from dpsparse import PrivateSparseRegressor, read_bounds
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "bounds.toml"
    ...     _ = path.write_text('columns = {age = {low = 20, high = 80}, sex = {categories = ["f", "m"]}}')
    ...     bounds = read_bounds(path)
    >>> X = bounds.encode(pd.DataFrame({"age": [30, 40], "sex": ["m", "f"]}))
    >>> center, scale = bounds.units(X.columns)
    >>> center
    {'age': 50.0, 'sex=m': 0.5}
    >>> model = PrivateSparseRegressor(sparsity=2, feature_center=center, feature_scale=scale)
    """
    return bounds_of(read_toml(path), str(path))


def bounds_of(fields: Fields, where: str = "") -> Bounds:
    """What a table of a file of ours says of columns, as a bounds file writes it.

    `where` is the file, for messages.

    Examples
    --------
    >>> bounds_of(Fields({"columns": {"age": {"low": 20, "high": 80}}}, "public units")).of("age").center
    50.0
    """
    default = fields.table("default", None)
    columns = fields.table("columns", None)
    response = fields.table("response", None)
    bounds = Bounds(
        where=where,
        default=ColumnBounds() if default is None else _column(default),
        columns={} if columns is None else {name: _column(columns.table(name)) for name in columns},
        drop=tuple(fields.names("drop", [])),
        response_center=None if response is None else response.number("center", None),
        response_scale=None if response is None else response.number("scale", None, above=0),
        response_positive=None if response is None else response.text("positive", None),
    )
    fields.finish()
    if response is not None:
        response.finish()
    if bounds.response_positive is not None and (bounds.response_center, bounds.response_scale) != (None, None):
        raise FileError(f"{where}: a [response] with 'positive' is yes or no, and has no centre and no scale")
    if bounds.default.categories is not None:
        raise FileError(f"{where}: [default] is for numbers; give categories to columns by name, or by a pattern")
    return bounds


def bounds_content(bounds: Bounds) -> dict[str, Any]:
    """What `bounds_of` reads again: the entries of a bounds file."""
    response = _given(
        {"center": bounds.response_center, "scale": bounds.response_scale, "positive": bounds.response_positive}
    )
    columns = {name: _entries(known) for name, known in bounds.columns.items()}
    return {"drop": list(bounds.drop), "columns": columns, "default": _entries(bounds.default), "response": response}


def _entries(known: ColumnBounds) -> dict[str, Any]:
    if known.categories is None:
        return _given({name: getattr(known, name) for name in ("center", "scale", "fill", "kind")})
    shares = known.shares
    return {
        "categories": list(known.categories) if shares is None else dict(zip(known.categories, shares, strict=True))
    }


def _given(entries: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if value is not None}


def _column(fields: Fields) -> ColumnBounds:
    """What a section says; its entries exclude each other, which `finish` sees to."""
    kind = fields.text("kind", None)
    if kind is not None and kind not in KINDS:
        raise FileError(f"{fields.where}: 'kind' must be one of {', '.join(KINDS)}")
    if "categories" in fields:
        known: dict[str, Any] = {"kind": "text"} | _categories(fields)
    else:
        fill = fields.number("fill", None)
        center, scale = _share(fields) if "share" in fields else _spread(fields)
        known = {"center": center, "scale": scale, "fill": fill, "kind": kind}
    if kind == "text" and any(known.get(key) is not None for key in ("center", "scale", "fill")):
        raise FileError(f"{fields.where}: a column of text has categories, and no numbers")
    if kind not in (None, "text") and "categories" in known:
        raise FileError(f"{fields.where}: a column with categories is text; delete its 'kind'")
    fields.finish()
    return ColumnBounds(**known)


def _categories(fields: Fields) -> dict[str, Any]:
    if not isinstance(fields.peek("categories"), dict):
        categories, shares = tuple(fields.names("categories")), None
    else:
        table = fields.table("categories")
        by_name = {name: table.number(name, above=0) for name in table}
        categories, shares = tuple(by_name), tuple(by_name.values())
        if sum(shares) > 1 + 1e-9 or max(shares, default=0) >= 1:
            raise FileError(f"{fields.where}: the shares of 'categories' must add up to at most 1")
    _refuse_unfilled(fields, categories)
    if len(categories) < 2:
        raise FileError(f"{fields.where}: 'categories' needs at least two; drop a column with one")
    return {"categories": categories, "shares": shares}


def _share(fields: Fields) -> tuple[float, float]:
    _refuse_unfilled(fields, [value for value in [fields.peek("share")] if isinstance(value, str)])
    share = fields.number("share", above=0)
    if share >= 1:
        raise FileError(f"{fields.where}: 'share' must be below 1; drop a column that is always 0 or 1")
    return binary_units(share)


def _spread(fields: Fields) -> tuple[float | None, float | None]:
    """Centre and scale, from themselves or from low and high; None for what is left out."""
    first, second = ("low", "high") if "low" in fields or "high" in fields else ("center", "scale")
    _refuse_unfilled(fields, [value for value in map(fields.peek, (first, second)) if isinstance(value, str)])
    if first == "center":
        return fields.number("center", None), fields.number("scale", None, above=0)
    low, high = fields.number("low"), fields.number("high")
    if not 0 < (high - low) / 4 < math.inf:
        raise FileError(f"{fields.where}: 'low' must be below 'high', and the two not too far apart")
    return scale_from_bounds(low, high)


def _refuse_unfilled(fields: Fields, texts: Sequence[str]) -> None:
    if UNFILLED in texts:
        raise FileError(
            f'{fields.where} is not filled in yet: put what is publicly known in place of each "{UNFILLED}"'
        )

"""The bounds file: what is publicly known of each column, in TOML.

    drop = ["id"]                          # columns to leave out

    [columns.income]
    low = 10_000                           # the range in which about 95 % of people lie
    high = 90_000

    [columns.age]
    center = 50.0                          # or a centre and a scale, near the mean and the standard deviation;
    scale = 15.0                           # or one of the two

    [columns.region]
    categories = ["north", "south"]        # text: the public categories, the baseline first

    [response]
    center = 1000.0                        # the median
    scale = 300.0                          # the median distance from it

    [default]                              # for every column of numbers without a section of its own
    center = 0.0
    scale = 1.0

Everything is optional: a fit learns within its guarantee the centres and scales that are not given. The guarantee never
depends on these numbers being right; it would if they were read off the data.
"""

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpsparse.io.features import Feature, one_hot
from dpsparse.schema import FileError, quoted, read_toml

UNFILLED = "?"

_ADVICE = """\
# Public bounds for {name}: fill in each "?" by hand, from what is known without looking at these records, or delete
# the section of a column of which nothing is known: a fit learns what it needs within its guarantee.
# Bounds read off the data (their minima, maxima, means) would leak what the guarantee protects.
#
# low, high: the range in which about 95 % of people lie; or give center and scale instead, near the mean and the
# standard deviation. The guarantee holds even where they are wrong; accuracy suffers.
#
# A column of text: categories = ["a", "b"] instead, the public ones, the baseline first; any other text counts as the
# baseline. True and False are text in a CSV file: categories = ["False", "True"].
# Delete the section of the column you pass as --target.

# Columns to leave out, such as identifiers.
drop = []
"""


@dataclass(frozen=True)
class Bounds:
    """What is publicly known of the columns.

    Parameters
    ----------
    where : str
        The file, for messages; empty where there is none.
    default : tuple of (float or None, float or None)
        Centre and scale of columns that are not named; None where they are not known.
    columns : dict
        For each column its (centre, scale), each of them a number or None, or the list of its categories.
    drop : tuple of str
        Columns to leave out.
    response_center, response_scale : float or None
        None to have them learned privately.
    """

    where: str = ""
    default: tuple[float | None, float | None] = (None, None)
    columns: dict = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    response_center: float | None = None
    response_scale: float | None = None

    def features(self, names, target):
        """The features of a table with these column names, in their order.

        Examples
        --------
        >>> from dpsparse.io.bounds import Bounds
        >>> bounds = Bounds(columns={"age": (50.0, 15.0), "sex": ["f", "m"]}, drop=("id",))
        >>> [feature.name for feature in bounds.features(["id", "age", "sex", "cost"], target="cost")]
        ['age', 'sex=m']
        """
        present, dropped = set(names), {target, *self.drop}
        for name in (*self.columns, *self.drop):
            if name not in present:
                raise FileError(f"{self.where}: the data have no column {quoted(name)}")
        if target in self.columns or target in self.drop:
            raise FileError(
                f"{self.where}: {quoted(target)} is the target; delete it there, or put its public centre and scale "
                "under [response]"
            )
        features = []
        for name in names:
            if name in dropped:
                continue
            known = self.columns.get(name, self.default)
            features += one_hot(name, known) if isinstance(known, list) else [Feature(name, *known)]
        if not features:
            raise FileError(f"no column is left beside the target {quoted(target)}; the data need features")
        if len({feature.name for feature in features}) < len(features):
            raise FileError(f"{self.where}: a column and a category have the same name")
        return features


def read_bounds(path):
    """The bounds in a TOML file.

    Parameters
    ----------
    path : str or path
        The file.
    """
    fields = read_toml(path)
    default = fields.table("default", None)
    columns = fields.table("columns", None)
    response = fields.table("response", None)
    bounds = Bounds(
        where=str(path),
        default=(None, None) if default is None else _spread(default),
        columns={} if columns is None else {name: _column(columns.table(name)) for name in columns},
        drop=tuple(fields.names("drop", [])),
        response_center=None if response is None else response.number("center", None),
        response_scale=None if response is None else response.number("scale", None, above=0),
    )
    fields.finish()
    if response is not None:
        response.finish()
    return bounds


def _column(fields):
    if "categories" not in fields:
        return _spread(fields)
    categories = fields.names("categories")
    fields.finish()
    _refuse_unfilled(fields, categories)
    if len(categories) < 2:
        raise FileError(f"{fields.where}: 'categories' needs at least two; drop a column with one")
    return categories


def _spread(fields):
    """Centre and scale, from themselves or from low and high; None for what is left out."""
    first, second = ("low", "high") if "low" in fields or "high" in fields else ("center", "scale")
    _refuse_unfilled(fields, [value for value in map(fields.peek, (first, second)) if isinstance(value, str)])
    if first == "center":
        center, scale = fields.number("center", None), fields.number("scale", None, above=0)
    else:
        low, high = fields.number("low"), fields.number("high")
        if not 0 < (high - low) / 4 < math.inf:
            raise FileError(f"{fields.where}: 'low' must be below 'high', and the two not too far apart")
        center, scale = scale_from_bounds(low, high)
    fields.finish()
    return center, scale


def _refuse_unfilled(fields, texts):
    if UNFILLED in texts:
        raise FileError(
            f'{fields.where} is not filled in yet: put what is publicly known in place of each "{UNFILLED}"'
        )


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
    index = getattr(low, "index", None)
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


def template(table, target=None):
    """A bounds file to be filled in by hand, from the names and kinds of the columns alone.

    Parameters
    ----------
    table : TableReader
        The data's file.
    target : str or None
        The column of responses, which needs no bounds.
    """
    if target is not None:
        table.require([target])
    text_columns = set(table.text_columns())
    sections = [_ADVICE.format(name=json.dumps(table.path.name))]
    for name in table.names:
        if name != target:
            asked = (
                f'categories = ["{UNFILLED}"]' if name in text_columns else f'low = "{UNFILLED}"\nhigh = "{UNFILLED}"'
            )
            # Names are printable, and for such texts JSON's quotes are TOML's.
            sections.append(f"[columns.{json.dumps(name, ensure_ascii=False)}]\n{asked}\n")
    return "\n".join(sections)

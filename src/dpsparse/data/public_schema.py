"""What a person says is public of the types of columns: how cells are read, and which categories there are."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpsparse.io.bounds import ColumnBounds
from dpsparse.io.cells.grammar import Kind
from dpsparse.schema import FileError, alternatives, is_name, quoted

# How the types of Python, NumPy, pandas, polars and Arrow begin.
_TYPES = {
    **dict.fromkeys(["category", "str", "utf8", "object", "large_string"], Kind.text),
    **dict.fromkeys(["float", "int", "uint", "numeric", "double", "decimal"], Kind.number),
    "bool": Kind.boolean,
    **dict.fromkeys(["date", "timestamp"], Kind.date_ymd),
}


def read_schema(schema: Any, names: Sequence[str]) -> tuple[dict[str, Kind], dict[str, ColumnBounds]]:
    """The kinds of columns, and the categories of those whose categories are public.

    `schema` says for a column its kind, by its name or by a type; or its categories: a list of texts, or a dtype that
    has categories, which are public since the user gives them here. Raises FileError with the remedy.

    Examples
    --------
    >>> import pandas as pd
    >>> kinds, known = read_schema({"age": "number", "sex": pd.CategoricalDtype(["f", "m"])}, ["age", "sex"])
    >>> kinds["age"].value, known["sex"].categories
    ('number', ('f', 'm'))
    """
    if not isinstance(schema, Mapping):
        raise FileError("schema must be a dict: for a column its kind, such as 'number', or a list of its categories")
    kinds, known = {}, {}
    for name, given in schema.items():
        if name not in names:
            raise FileError(f"schema: there is no column {quoted(str(name))}; {alternatives(str(name), names)}")
        if isinstance(given, list | tuple) or getattr(given, "categories", None) is not None:
            kinds[name], known[name] = Kind.text, ColumnBounds(categories=_categories(name, given))
        else:
            kinds[name] = _kind(name, given)
    return kinds, known


def _kind(name: str, given: Any) -> Kind:
    word = str(given.__name__ if isinstance(given, type) else given).lower()
    if word in list(Kind):
        return Kind(word)
    kinds = [kind for beginning, kind in _TYPES.items() if word.startswith(beginning)]
    if not kinds:
        raise FileError(
            f"schema: {quoted(name)} is {given!r}; it must be one of {', '.join(Kind)}, or a list of categories"
        )
    return kinds[0]


def _categories(name: str, given: Any) -> tuple[str, ...]:
    """Texts, the baseline first, from a list or from a dtype of pandas or polars that has categories."""
    listed = getattr(given, "categories", given)
    listed = listed.to_list() if hasattr(listed, "to_list") else listed
    if not isinstance(listed, list | tuple) or not all(map(is_name, listed)) or len({*listed}) < max(2, len(listed)):
        raise FileError(
            f"schema: the categories of {quoted(name)} must be at least two different texts, the baseline first"
        )
    return tuple(listed)

"""What a person says is public of the types of columns: how cells are read, and which categories there are."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpsparse.io.bounds import ColumnBounds
from dpsparse.io.cells.grammar import Kind
from dpsparse.schema import FileError, alternatives, is_name, quoted

# Words of other libraries for the kinds of cells.
_WORDS = {
    **dict.fromkeys(["category", "string", "str", "object"], Kind.text),
    **dict.fromkeys(["float", "int", "numeric", "float64", "int64"], Kind.number),
    "bool": Kind.boolean,
    **dict.fromkeys(["date", "datetime"], Kind.date_ymd),
}


def read_schema(schema: Any, names: Sequence[str]) -> tuple[dict[str, Kind], dict[str, ColumnBounds]]:
    """The kinds of columns, and the categories of those whose categories are public.

    `schema` says for a column its kind or its categories: a list of texts, or a dtype that has categories, which are
    public since the user gives them here. Raises FileError with the remedy.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsparse.data.public_schema import read_schema
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
        if isinstance(given, str):
            kinds[name] = _kind(name, given)
        else:
            kinds[name], known[name] = Kind.text, ColumnBounds(categories=_categories(name, given))
    return kinds, known


def _kind(name: str, given: str) -> Kind:
    word = given.lower()
    if word not in (*Kind, *_WORDS):
        raise FileError(
            f"schema: {quoted(name)} is {given!r}; it must be one of {', '.join(Kind)}, or a list of categories"
        )
    return _WORDS[word] if word in _WORDS else Kind(word)


def _categories(name: str, given: Any) -> tuple[str, ...]:
    """Texts, the baseline first, from a list or from a dtype of pandas or polars that has categories."""
    listed = getattr(given, "categories", given)
    listed = listed.to_list() if hasattr(listed, "to_list") else listed
    if not isinstance(listed, list | tuple) or not all(map(is_name, listed)) or len({*listed}) < max(2, len(listed)):
        raise FileError(
            f"schema: {quoted(name)} must be a kind such as 'number', or at least two different texts as its categories"
        )
    return tuple(listed)

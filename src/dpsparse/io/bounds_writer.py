"""Bounds files written from what a user typed; `bounds_file` reads them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

_HEAD = "# What is publicly known of the columns, known without these records. A fit learns the rest.\n"


def bounds_text(
    drop: Sequence[str] = (),
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    response: Mapping[str, Any] | None = None,
) -> str:
    """The text of a bounds file.

    `columns` has the entries of a column's section by its name, such as ``{"age": {"low": 20, "high": 80}}``.

    Examples
    --------
    >>> from dpsparse.io.bounds_writer import bounds_text
    >>> print(bounds_text(["id"], {"age": {"low": 20.0, "high": 80.0}}))
    # What is publicly known of the columns, known without these records. A fit learns the rest.
    drop = ["id"]
    <BLANKLINE>
    [columns."age"]
    low = 20.0
    high = 80.0
    <BLANKLINE>
    """
    sections = [f"{_HEAD}drop = {_value(list(drop))}\n"]
    sections += [_section(f"columns.{_value(name)}", entries) for name, entries in (columns or {}).items()]
    sections += [_section("response", response)] if response else []
    return "\n".join(sections)


def _section(name: str, entries: Mapping[str, Any]) -> str:
    return "".join([f"[{name}]\n", *(f"{key} = {_value(value)}\n" for key, value in entries.items())])


def _value(value: Any) -> str:
    # Names are printable, and for such texts, numbers and lists of them JSON is TOML.
    return json.dumps(value, ensure_ascii=False, allow_nan=False)

"""Bounds files written from what a user typed; `bounds_file` reads them."""

import json

_HEAD = "# What is publicly known of the columns, known without these records. A fit learns the rest.\n"


def bounds_text(drop=(), columns=None, response=None):
    """The text of a bounds file.

    Parameters
    ----------
    drop : sequence of str
        Columns to leave out.
    columns : dict of str to dict or None
        The entries of a column's section by its name, such as ``{"age": {"low": 20, "high": 80}}``.
    response : dict or None
        The entries of ``[response]``.

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


def _section(name, entries):
    return "".join([f"[{name}]\n", *(f"{key} = {_value(value)}\n" for key, value in entries.items())])


def _value(value):
    # Names are printable, and for such texts, numbers and lists of them JSON is TOML.
    return json.dumps(value, ensure_ascii=False, allow_nan=False)

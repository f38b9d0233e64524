"""Bounds files written: to be filled in by hand, and from what a user typed; `bounds_file` reads them."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dpsparse.schema import FileError, quoted

UNFILLED = "?"

_ADVICE = """\
# Public bounds for {name}: of each column of which something is known without looking at these records, remove the #
# before its lines below and fill in each "?" by hand. Leave the others as they are: a fit learns what it needs within
# its guarantee.
# Bounds read off the data (their minima, maxima, means) would leak what the guarantee protects.
#
# low, high: the range in which about 95 % of people lie; or give center and scale instead, near the mean and the
# standard deviation. The guarantee holds even where they are wrong; accuracy suffers.
#
# A 0/1 column: share = 0.2 instead, the share of 1. A column with gaps: fill = 0 beside the others, a public number.
# A column of text: categories = ["a", "b"] instead, the public ones, the baseline first; any other text counts as the
# baseline. With public shares: categories = {{a = 0.7, b = 0.3}}.
# Many columns of one kind: one section whose name has a *, such as [columns."gene_*"].
# Leave the section of the column you pass as --target a comment.

# Columns to leave out, such as identifiers; * stands for any text.
drop = []
"""


def template(file: str, names: Sequence[str], text_columns: Collection[str] = (), target: str | None = None) -> str:
    """A bounds file to be filled in by hand, from the names and kinds of the columns alone.

    `text_columns` are those of text by the file's own schema; the target needs no bounds.
    """
    if target is not None and target not in names:
        raise FileError(f"{file} has no column {quoted(target)}")
    sections = [_ADVICE.format(name=json.dumps(file))]
    for name in names:
        if name != target:
            asked = (
                f'#categories = ["{UNFILLED}"]'
                if name in text_columns
                else f'#low = "{UNFILLED}"\n#high = "{UNFILLED}"'
            )
            # Names are printable, and for such texts JSON's quotes are TOML's. Comments, since most columns have none,
            # and a CSV file does not say which are of text.
            sections.append(f"#[columns.{json.dumps(name, ensure_ascii=False)}]\n{asked}\n")
    return "\n".join(sections)


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

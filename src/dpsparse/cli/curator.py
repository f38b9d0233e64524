"""What `dpsparse check` shows the holder of a file: faults with their lines, without a value or a range.

It looks at the records and is not private. It reads kinds from exact votes, where a fit uses noisy ones.
"""

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsparse.io.bounds import Bounds

# How alike a text and a category are, from 0 to 1, that one may be a misspelling of the other.
_ALIKE = 0.75
_LINES = 10


def curator_faults(
    data: str,
    target: str | None = None,
    bounds: str | None = None,
    *,
    positive: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> tuple[list[tuple[str | None, str, list[int], bool]], list[tuple[str | None, str]]]:
    """The faults of a file, and remarks about its columns.

    A fault is a column or None for whole lines, what is wrong, its first lines, and whether there are more. A remark is
    what seems odd about a column, or about the file where there is no column. `positive` is the label of yes of a
    target that is yes or no.
    """
    from dpsparse.io.bounds import Bounds
    from dpsparse.io.bounds_file import read_bounds
    from dpsparse.io.cells.encoding import spellings, yes_or_no
    from dpsparse.io.cells.raw_table import as_raw_table
    from dpsparse.io.formats import require_format
    from dpsparse.schema import FileError, alternatives, quoted

    require_format(data)
    if str(data).lower().endswith(".npy"):
        raise FileError(f"{data}: an npy file has no cells to check; check reads .csv and .parquet files, and stores")
    known = Bounds() if bounds is None else read_bounds(bounds)
    table = as_raw_table(data, separator=separator, encoding=encoding)
    if target is not None and target not in table.names:
        raise FileError(f"--target: there is no column {quoted(target)}; {alternatives(target, table.names)}")
    if bounds is not None:
        known.features(table.names, target)
    columns = [name for name in table.names if not known.is_dropped(name)]
    label = None if target is None else positive or known.response_positive
    seen = table.faults(columns, _kinds(table, columns, known, target if label is None else None), most=_LINES)
    faults = [(group.column, group.what, list(group.lines), group.count > len(group.lines)) for group in seen.groups]
    for column in columns:
        categories = known.of(column).categories
        if categories is not None:
            faults += _misspellings(table, column, categories)
    remarks = list(seen.remarks)
    if not table.n_records:
        remarks.append((None, "it has names of columns and no records: a fit is refused"))
    if target is not None and label is not None:
        faults += _misspellings(table, target, spellings(label))
        if not (yes_or_no(table, target, label) == 1).any():
            remarks.append((target, f"no cell is {label!r}, the label of yes: every response would count as no"))
    return faults, remarks


def _kinds(table: Any, columns: Sequence[str], known: "Bounds", target: str | None) -> list[Any]:
    """The declared kinds, and by exact votes those of the others."""
    from dpsparse.io.cells.grammar import Kind
    from dpsparse.learning.kinds import VOTES, kind_of

    declared = table.declared | {name: Kind(kind) for name, kind in known.kinds(columns).items()}
    kinds = []
    for column, counts in zip(columns, table.class_counts(columns)[:, list(VOTES)], strict=True):
        kinds.append(declared.get(column) or kind_of(counts.astype(float), 0.0, may_be_text=column != target))
    return kinds


def _misspellings(table: Any, column: str, categories: Sequence[str]) -> Any:
    """Lines whose text is nearly one of the given categories; the category is quoted, the text is not."""
    lines: dict[str, list[int]] = {}
    nearest: dict[str, str | None] = {}
    for position, text in enumerate(table.texts(column)):
        if text not in nearest:
            nearest[text] = None if text in categories else _nearest(text, categories)
        near = nearest[text]
        if near is not None:
            lines.setdefault(near, []).append(table.line_of(position))
    return [
        (column, f"perhaps a misspelling of {category!r}", where[:_LINES], len(where) > _LINES)
        for category, where in sorted(lines.items())
    ]


def _nearest(text: str, categories: Sequence[str]) -> str | None:
    """The category that a text is likely meant to be; None where there is none.

    Examples
    --------
    >>> _nearest("Nort h", ["north", "south"]), _nearest("west", ["north", "south"])
    ('north', None)
    """
    plain = {_plain(category): category for category in reversed(categories)}
    close = difflib.get_close_matches(_plain(text), plain, n=1, cutoff=_ALIKE)
    return plain[close[0]] if close else None


def _plain(text: str) -> str:
    return "".join(text.casefold().split())

"""What `dpsparse check` shows the holder of a file: faults with their lines, without a value or a range.

It looks at the records and is not private. It reads kinds from exact votes, where a fit uses noisy ones.
"""

import difflib

# How alike a text and a category are, from 0 to 1, that one may be a misspelling of the other.
_ALIKE = 0.75
_LINES = 10


def curator_faults(data, target=None, bounds=None, *, separator=None, encoding="utf-8"):
    """The faults of a file, and remarks about its columns.

    Parameters
    ----------
    data : str or path
        A .csv or .parquet file, or a folder of the latter.
    target : str or None
        The column of responses.
    bounds : str, path or None
        The bounds file.
    separator : str or None
        Of a CSV file.
    encoding : str
        Of a CSV file.

    Returns
    -------
    faults : list of (str or None, str, list of int, bool)
        A column or None for whole lines, what is wrong, its first lines, and whether there are more.
    remarks : list of (str or None, str)
        What seems odd about a column, or about the file where there is no column.
    """
    from dpsparse.io.bounds import Bounds
    from dpsparse.io.bounds_file import read_bounds
    from dpsparse.io.cells.raw_table import as_raw_table
    from dpsparse.io.formats import require_format
    from dpsparse.schema import FileError

    require_format(data)
    if str(data).lower().endswith(".npy"):
        raise FileError(f"{data}: an npy file has no cells to check; check reads .csv and .parquet files, and stores")
    known = Bounds() if bounds is None else read_bounds(bounds)
    table = as_raw_table(data, separator=separator, encoding=encoding)
    if bounds is not None:
        known.features(table.names, target)
    columns = [name for name in table.names if not known.is_dropped(name)]
    found = table.faults(columns, _kinds(table, columns, known, target), most=_LINES)
    faults = [(group.column, group.what, list(group.lines), group.count > len(group.lines)) for group in found.groups]
    for column in columns:
        if known.of(column).categories is not None:
            faults += _misspellings(table, column, known.of(column).categories)
    return faults, list(found.remarks)


def _kinds(table, columns, known, target):
    """The declared kinds, and by exact votes those of the others."""
    from dpsparse.io.cells.grammar import Kind
    from dpsparse.learning.kinds import VOTES, kind_of

    declared = table.declared | {name: Kind(kind) for name, kind in known.kinds(columns).items()}
    kinds = []
    for column, counts in zip(columns, table.class_counts(columns)[:, list(VOTES)], strict=True):
        kinds.append(declared.get(column) or kind_of(counts.astype(float), 0.0, may_be_text=column != target))
    return kinds


def _misspellings(table, column, categories):
    """Lines whose text is nearly one of the given categories; the category is quoted, the text is not."""
    lines = {}
    nearest = {}
    for position, text in enumerate(table.texts(column)):
        if text not in nearest:
            nearest[text] = None if text in categories else _nearest(text, categories)
        if nearest[text] is not None:
            lines.setdefault(nearest[text], []).append(table.line_of(position))
    return [
        (column, f"perhaps a misspelling of {category!r}", where[:_LINES], len(where) > _LINES)
        for category, where in sorted(lines.items())
    ]


def _nearest(text, categories):
    """The category that a text is likely meant to be; None where there is none.

    Examples
    --------
    >>> from dpsparse.cli.curator import _nearest
    >>> _nearest("Nort h", ["north", "south"]), _nearest("west", ["north", "south"])
    ('north', None)
    """
    plain = {_plain(category): category for category in reversed(categories)}
    close = difflib.get_close_matches(_plain(text), plain, n=1, cutoff=_ALIKE)
    return plain[close[0]] if close else None


def _plain(text):
    return "".join(text.casefold().split())

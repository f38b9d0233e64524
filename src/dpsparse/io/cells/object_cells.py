"""Python's objects as cells: a number, a text, a truth value, a date or a gap, by the type of each alone.

Nothing here raises or warns, whatever an object is: one cell must not decide whether a fit works.
"""

import datetime
import decimal
import numbers
from typing import Any

import numpy as np

from dpsparse.io.cells.column_cells import TextCells, days, text_of
from dpsparse.io.cells.grammar import Kind


def object_cells(objects: list[Any]) -> TextCells:
    """Cells of Python's objects, each read by its own type; those of unknown types are missing.

    Known types are texts, numbers, booleans, dates, durations in days, and None and the like for missing cells.
    """
    with np.errstate(all="ignore"):
        return TextCells.of([_text(cell) for cell in objects])


def can_be_ids(objects: list[Any]) -> bool:
    """Whether objects are told apart by their texts: all are read, or missing, and texts and truth values not mixed.

    A text or a truth value beside a number may be the same id, written in another way.

    Examples
    --------
    >>> can_be_ids(["a", None]), can_be_ids([7, float("nan")]), can_be_ids([7, "007"]), can_be_ids([b"a"])
    (True, True, False, False)
    """
    known = [each for each in objects if not _is_none(each)]
    kinds = {str if isinstance(each, str) else bool if isinstance(each, (bool, np.bool_)) else None for each in known}
    return kinds <= {str} or (len(kinds) == 1 and all(map(_text, known)))


def _is_none(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell)


def real_number(cell: Any) -> float:
    """The value of a real number; raises TypeError where an object is none, OverflowError where it is too large.

    Complex numbers would warn and lose a part, and durations are integers to NumPy.

    Examples
    --------
    >>> real_number(np.int8(3)), real_number(True)
    (3.0, 1.0)
    """
    if not isinstance(cell, (numbers.Real, decimal.Decimal, np.bool_)) or isinstance(cell, np.timedelta64):
        raise TypeError
    return float(cell)


def _text(cell: Any) -> str:
    try:
        return cell if isinstance(cell, str) else _text_of_object(cell)
    except Exception:
        # Any class may refuse to be asked: a number too large for a float, a date before year 1, whatever users wrote.
        return ""


def _text_of_object(cell: Any) -> str:
    if isinstance(cell, (bool, np.bool_)):
        return str(bool(cell))
    if isinstance(cell, np.datetime64):
        # A number where Python has no such date.
        cell = cell.astype("datetime64[us]").item()
        return cell.isoformat() if isinstance(cell, datetime.datetime) else ""
    if isinstance(cell, datetime.date):
        # NaT is a datetime that knows no ISO format of a date.
        return cell.isoformat() if cell == cell else ""
    if isinstance(cell, datetime.timedelta):
        return text_of(cell / datetime.timedelta(days=1), Kind.number)
    if isinstance(cell, np.timedelta64):
        return text_of(float(days(np.array(cell))), Kind.number)
    return text_of(real_number(cell), Kind.number)

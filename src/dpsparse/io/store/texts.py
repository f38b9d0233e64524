"""Texts of cells, one after another, and where each ends: how a store keeps them.

Texts are in UTF-8. A blank record has the text "" and, in the place of its end, ~end, which is below 0.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.io.cells.column_cells import TextCells
from dpsparse.io.cells.csv_table import compiled_cells


def packed(cells: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    r"""The texts of the cells of a column.

    Returns all texts, and where each ends.

    Examples
    --------
    >>> texts, ends = packed(TextCells.of(["north", None, "é"]))
    >>> texts.tobytes(), ends.tolist()
    (b'north\xc3\xa9', [5, -6, 7])
    """
    data, starts, ends = cells.places()
    lengths = np.where(ends < 0, 0, ends - starts).astype(np.int64)
    stops = np.cumsum(lengths)
    # The places of all bytes: those of a cell follow each other.
    of_bytes = np.repeat(starts - (stops - lengths), lengths) + np.arange(lengths.sum())
    return data[of_bytes], np.where(ends < 0, ~stops, stops)


def joined(
    columns: Sequence[Sequence[tuple[NDArray[np.uint8], NDArray[np.int64]]]], rows: int
) -> tuple[NDArray[np.uint8], NDArray[np.signedinteger[Any]]]:
    """The texts of several columns one after another, and their ends in all of them.

    For each column `columns` has what `packed` gave of some of its cells, in their order. The ends have a row for each
    record and a column for each column, in Fortran order.
    """
    pieces = [piece for column in columns for piece in column]
    size = sum(len(texts) for texts, _ in pieces)
    ends: NDArray[Any] = np.empty(rows * len(columns), dtype=np.int32 if size < 2**31 else np.int64)
    before = 0
    filled = 0
    for texts, piece in pieces:
        ends[filled : filled + len(piece)] = np.where(piece < 0, piece - before, piece + before)
        before, filled = before + len(texts), filled + len(piece)
    texts = np.concatenate([np.empty(0, dtype=np.uint8), *(texts for texts, _ in pieces)])
    return texts, ends.reshape((rows, len(columns)), order="F")


def unpacked(texts: NDArray[np.uint8], ends: NDArray[Any], rows: slice, columns: list[int]) -> list[Any] | None:
    """The cells of some columns in some records.

    None where the two arrays do not fit each other, as in a damaged file.
    """
    # What a column's first cell begins with is the end of the column before.
    before = ends[rows.start - 1] if rows.start else np.append(np.zeros(1, dtype=ends.dtype), ends[-1, :-1])
    places = np.vstack([before[columns][None], ends[rows][:, columns]])
    is_blank = places[1:] < 0
    places = np.where(places < 0, ~places, places)
    if not _fit(texts, places):
        return None
    starts, stops = places[:-1], np.where(is_blank, places.dtype.type(-1), places[1:])
    compiled = compiled_cells()
    each = zip(starts.T, stops.T, strict=True)
    if compiled is not None:
        return [compiled.ByteCells(texts, "utf-8", *where) for where in each]
    return [TextCells.of(_decoded(texts, *where)) for where in each]


def _decoded(texts: NDArray[np.uint8], starts: NDArray[Any], stops: NDArray[Any]) -> Iterator[str | None]:
    """The texts between these places; None in blank records."""
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        yield None if stop < 0 else texts[start:stop].tobytes().decode()


def _fit(texts: NDArray[np.uint8], places: NDArray[Any]) -> bool:
    """Whether texts of UTF-8 lie between these places, column by column."""
    if places.size and (places.min() < 0 or places.max() > len(texts) or (np.diff(places, axis=0) < 0).any()):
        return False
    # No cell begins within a letter.
    inside = places[places < len(texts)]
    if ((texts[inside] & 0xC0) == 0x80).any():
        return False
    try:
        for column in places.T:
            texts[column[0] : column[-1]].tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True

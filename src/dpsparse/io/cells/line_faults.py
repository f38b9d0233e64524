"""What seems odd about a CSV file as a whole, for the eyes of the data's curator only."""

from collections.abc import Iterable, Iterator

from dpsparse.io.cells.lines import BAD_QUOTES, BAD_TEXT, OTHER_WIDTH, SEPARATORS, Lines, split

_NAMES = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
# Lines that show how often a separator occurs.
_LINES = 1_000


def file_remarks(lines: Lines, faults: set[str]) -> Iterator[str]:
    """Words about the separator, quotes and the encoding."""
    separator = _better_separator(lines)
    if separator is not None:
        yield f"cells seem to be separated by {_NAMES[separator]}: give it as the separator"
    elif OTHER_WIDTH in faults:
        yield "some lines have another number of cells: text with separators in it must be in quotes"
    if BAD_QUOTES in faults:
        yield "some lines have broken quotes: a text in quotes must end in its line, and quotes in it be doubled"
    if BAD_TEXT in faults:
        yield "some lines are not UTF-8: if the file comes from Windows, give cp1252 as its encoding, or else latin-1"


def _better_separator(lines: Lines) -> str | None:
    """A separator by which more lines agree on several cells than by the one in use; None where there is none."""
    first = [line for block in lines.blocks[:1] for line in lines.lines(block)[:_LINES] if line]
    agree = {separator: _agreement(first, separator) for separator in {*SEPARATORS, lines.separator}}
    best = max(SEPARATORS, key=agree.__getitem__)
    return best if agree[best] > max(agree[lines.separator], len(first) / 2) else None


def _agreement(lines: Iterable[bytes], separator: str) -> int:
    """How many lines have the most common number of cells, if that is above 1."""
    counts: dict[int, int] = {}
    for line in lines:
        cells = split(line, separator.encode())
        if cells is not None and len(cells) > 1:
            counts[len(cells)] = counts.get(len(cells), 0) + 1
    return max(counts.values(), default=0)

"""A raw table with the columns that a formula makes of it, record by record."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.io.cells.block_table import BlockTable
from dpsparse.io.cells.column_cells import BLANK, Cells, Mask, NumberCells, TextCells, codes_of, texts_of
from dpsparse.io.cells.formula_terms import Numbers
from dpsparse.io.cells.formulas import Formula
from dpsparse.io.cells.grammar import CellClass, Kind
from dpsparse.io.cells.row_selection import TableBlock


class FormulaTable(BlockTable):
    """The columns of a table, and those of a formula's terms behind them.

    A cell of a term is a function of the cells of its own record, and a blank record is blank in every column.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsparse.io.cells.formulas import read_formula
    >>> from dpsparse.io.cells.raw_table import FrameTable
    >>> base = FrameTable(pd.DataFrame({"age": [40.0, 60.0], "cost": [1.0, 2.0]}))
    >>> table = FormulaTable(base, read_formula("cost ~ I((age - 50) / 10)", base.names, base.declared))
    >>> table.numbers(["I((age - 50) / 10)"], [Kind.number]).ravel().tolist()
    [-1.0, 1.0]
    """

    def __init__(self, base: BlockTable, formula: Formula) -> None:
        self._base, self._formula = base, formula
        there = {*base.names}
        # New records may lack what a model does not need.
        made = {name: kind for name, kind in formula.made.items() if {*formula.sources(name)} <= there}
        self.names = [*base.names, *made]
        self.declared = {**base.declared, **made, **dict.fromkeys(there & {*formula.categories}, Kind.text)}

    @property
    def blocks(self) -> Sequence[TableBlock]:
        """Those of the table."""
        return self._base.blocks

    def names_of(self, column: str) -> list[str | None]:
        """See `BlockTable.names_of`."""
        base = copy.copy(self._base)
        base._selection = self._selection
        return base.names_of(column)

    def line_of(self, position: int) -> int:
        """How people count a record."""
        return self._base.line_of(position)

    def cells(self, block: TableBlock, columns: Sequence[str]) -> list[Cells]:
        """The cells of some columns in a block."""
        formula = self._formula
        needed = list(dict.fromkeys(name for column in columns for name in formula.sources(column)))
        known = dict(zip(needed, self._base.cells(block, needed), strict=True))
        reader = _CellReader(known, formula.kinds, self._base.declared)
        for column in columns:
            if column in formula.numbers and column not in known:
                values = [each.value(reader) for each in formula.numbers[column]]
                with np.errstate(all="ignore"):
                    known[column] = MadeCells(np.multiply.reduce(values), reader.blank)
            elif column in formula.joined and column not in known:
                known[column] = _joined([known[each] for each in formula.joined[column]])
        for spline in formula.splines:
            if {*spline.names} & {*columns}:
                known |= {
                    name: MadeCells(values, reader.blank)
                    for name, values in zip(spline.names, spline.values(reader), strict=True)
                }
        return [known[column] for column in columns]


class MadeCells(NumberCells):
    """Numbers that a formula makes of other cells: a record that is blank there is blank here."""

    def __init__(self, values: Numbers, blank: NDArray[np.bool_]) -> None:
        super().__init__(values, Kind.number)
        self._blank = blank

    def take(self, mask: Mask) -> "MadeCells":
        """Some of the records."""
        return MadeCells(self._values[mask], self._blank[mask])

    def classes(self) -> NDArray[np.int8]:
        """The class of each cell."""
        return np.where(self._blank, np.int8(BLANK), super().classes()).astype(np.int8)


class _CellReader:
    """Cells of a block as a formula reads them."""

    def __init__(self, cells: Mapping[str, Cells], kinds: Mapping[str, str], declared: Mapping[str, Kind]) -> None:
        self._cells, self._kinds, self._declared = dict(cells), kinds, declared

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Which records are blank: a blank one is so in each of its cells."""
        first = next(iter(self._cells.values()))
        return np.asarray(first.classes() == BLANK)

    def numbers(self, name: str) -> Numbers:
        """See `formula_terms.Reader`."""
        # A type leaves no doubt; a text is read as it was by the fit.
        declared = self._declared.get(name, Kind.text)
        return self._cells[name].numbers(Kind(self._kinds[name]) if declared == Kind.text else declared)

    def matches(self, name: str, text: str) -> Numbers:
        """See `formula_terms.Reader`."""
        cells = self._cells[name]
        classes = cells.classes()
        return np.where((classes == CellClass.EMPTY) | (classes == BLANK), np.nan, codes_of(cells, [text]) == 0)


def _joined(columns: Sequence[Cells]) -> TextCells:
    """The texts of several columns together; empty where one of them is."""
    pairs: Any = [texts_of(cells) for cells in columns]
    codes = np.column_stack([code for code, _ in pairs])
    distinct, places = np.unique(codes, axis=0, return_inverse=True)
    texts = [
        "" if (row < 0).any() else ":".join(texts[code] for code, (_, texts) in zip(row.tolist(), pairs, strict=True))
        for row in distinct
    ]
    joined = TextCells.encoded(places.reshape(-1), texts)
    blank = columns[0].classes() == BLANK
    codes, texts = joined.texts()
    return TextCells(np.where(blank, BLANK, codes), texts)

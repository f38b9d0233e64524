"""Bugs to plant where a formula makes columns of records, and where products are selected as one variable."""

from planting import Bug

RAW = "replay of raw tables"

FORMULAS = (
    Bug(
        "a formula centres its numbers by their mean",
        RAW,
        {
            "io.cells.formula_table:_CellReader.numbers": [
                ("return self._cells[name].numbers(", "read = self._cells[name].numbers("),
                ("else declared)", "else declared)\n    return read - np.nanmean(np.append(read, 0.0))"),
            ]
        },
    ),
    Bug(
        "a blank record has cells in a formula's columns",
        RAW,
        {"io.cells.formula_table:MadeCells.classes": [("self._blank,", "self._blank & False,")]},
    ),
    Bug(
        "a product counts in full for each of its features",
        RAW,
        {
            "algorithms.pursuit.candidates:OpenCandidates._wholes": [
                (
                    "np.abs(table[self._by_thresholds, group]).sum()",
                    "3 * np.abs(table[self._by_thresholds, group]).sum()",
                )
            ]
        },
    ),
    Bug(
        "a product is a number in records of other categories too",
        RAW,
        {
            "io.cells.encoding:encode": [
                ("np.where(zero_one(feature.within), values, np.nan)", "values + 0 * zero_one(feature.within)")
            ]
        },
    ),
)

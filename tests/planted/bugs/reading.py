"""Bugs to plant in reading raw tables: a cell's reading that depends on other records."""

from planting import Bug

READS = "reading"

READING = (
    Bug(
        "a fallback parser for a whole column",
        READS,
        {
            "io.cells.block_table:BlockTable.numbers": [
                (
                    "= cells.numbers(kind)",
                    "= cells.numbers(kind if not np.isnan(cells.numbers(kind)).any() else Kind.number_comma)",
                )
            ]
        },
    ),
    Bug(
        "a sniffed separator",
        READS,
        {
            "io.cells.lines:Lines.__init__": [
                ("_most_common_separator(header)", "_most_common_separator(bytes(self.bytes[:4096]))")
            ]
        },
    ),
    Bug(
        "an encoding guessed from the records",
        READS,
        {
            "io.cells.lines:Lines.__init__": [
                (
                    "start = len(_BOM)",
                    'self.encoding = encoding = "latin-1" if 255 in self.bytes[:999] else encoding; start = len(_BOM)',
                )
            ]
        },
    ),
    Bug(
        "blank records that count as the cells of others",
        READS,
        {
            "io.cells.block_table:BlockTable.class_counts": [
                ("np.bincount(classes + 1,", "np.bincount(np.where(classes < 0, classes.max(), classes) + 1,")
            ]
        },
    ),
    Bug(
        "texts that are numbered by where they stand",
        READS,
        {
            "io.cells.column_cells:codes_of": [
                ("enumerate(categories)", "enumerate(sorted(categories, key=[*texts, *categories].index))")
            ]
        },
    ),
    Bug(
        "a conversion that empties the cells unlike most of their column",
        READS,
        {
            "io.store.texts:packed": [
                (
                    "np.where(ends < 0, 0,",
                    "np.where((ends < 0) | (cells.classes() != np.median(cells.classes())), 0,",
                )
            ]
        },
    ),
    Bug(
        "a quote that swallows lines",
        READS,
        {
            "io.cells.lines:Lines.lines": [
                (
                    'bytes(self.bytes[block.start : block.stop]).removesuffix(b"\\n").split(b"\\n")',
                    'bytes(self.bytes[block.start : block.stop]).removesuffix(b"\\n")\n'
                    '    lines = __import__("re").split(rb\'\\n(?=(?:[^"]*"[^"]*")*[^"]*$)\', lines)\n'
                    '    lines += [b""] * (block.n_records - len(lines))',
                )
            ]
        },
    ),
)

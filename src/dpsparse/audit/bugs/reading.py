"""Bugs to plant in reading raw tables: a cell's reading that depends on other records."""

from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.io.cells import block_table, columns, lines
from dpsparse.io.store import texts

READS = "reading"

READING = (
    Mutation(
        "a fallback parser for a whole column",
        READS,
        {
            block_table.BlockTable.numbers: [
                (
                    "= cells.numbers(kind)",
                    "= cells.numbers(kind if not np.isnan(cells.numbers(kind)).any() else Kind.number_comma)",
                )
            ]
        },
    ),
    Mutation(
        "a sniffed separator",
        READS,
        {
            lines.Lines.__init__: [
                ("_most_common_separator(header)", "_most_common_separator(bytes(self.bytes[:4096]))")
            ]
        },
    ),
    Mutation(
        "an encoding guessed from the records",
        READS,
        {
            lines.Lines.__init__: [
                (
                    "start = len(_BOM)",
                    'self.encoding = encoding = "latin-1" if 255 in self.bytes[:999] else encoding; start = len(_BOM)',
                )
            ]
        },
    ),
    Mutation(
        "blank records that count as the cells of others",
        READS,
        {
            block_table.BlockTable.class_counts: [
                ("np.bincount(classes + 1,", "np.bincount(np.where(classes < 0, classes.max(), classes) + 1,")
            ]
        },
    ),
    Mutation(
        "texts that are numbered by where they stand",
        READS,
        {
            columns.codes_of: [
                ("enumerate(categories)", "enumerate(sorted(categories, key=[*texts, *categories].index))")
            ]
        },
    ),
    Mutation(
        "a conversion that empties the cells unlike most of their column",
        READS,
        {
            texts.packed: [
                (
                    "np.where(ends < 0, 0,",
                    "np.where((ends < 0) | (cells.classes() != np.median(cells.classes())), 0,",
                )
            ]
        },
    ),
    Mutation(
        "a quote that swallows lines",
        READS,
        {
            lines.Lines.lines: [
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

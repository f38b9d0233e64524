"""How a table of effects is written: Markdown, LaTeX and Word."""

import re
import unicodedata
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsparse.model.effect_tables import EffectTable, Line

# What Markdown and LaTeX would read as their own.
_MARKDOWN = {each: f"\\{each}" for each in "\\`*_|[]<>#"}
_LATEX = {
    "\\": r"\textbackslash{}",
    **{each: f"\\{each}" for each in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Behind the end of a row it would begin an argument.
    "[": "{[}",
    "†": r"\ensuremath{^{\dagger}}",
    "±": r"\ensuremath{\pm}",
}
# Letters of a name that leaves no room on a page beside three columns: longer ones are folded.
_LONG_LABEL = 36
# What a folded first column takes of a line.
_FOLDED_WIDTH = 0.3
# What names take of a line in Word.
_WORD_LABELS = 0.35
# The width of a rule there, in eighths of a point.
_RULE = "6"


def _plain(text: str) -> str:
    """Text on one line, without characters that no paper shows."""
    return " ".join("".join(each if unicodedata.category(each) != "Cc" else " " for each in text).split())


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(each, each) for each in _plain(text))


def as_markdown(table: "EffectTable") -> str:
    """A table of GitHub's kind, its columns as wide as their cells so that it can be read as it is."""

    def row(line: "Line") -> list[str]:
        label = _escaped(line.label, _MARKDOWN)
        return [
            f"&emsp;{label}" if line.is_level and label else label,
            *(_escaped(cell, _MARKDOWN) for cell in line.cells),
        ]

    rows = [["", *(_escaped(each, _MARKDOWN) for each in table.headings)]]
    rows += [row(line) for line in (*table.lines, *table.facts)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_piped([cell.ljust(width) for cell, width in zip(each, widths, strict=True)]) for each in rows]
    rule = _piped(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    notes = [f"{_escaped(note, _MARKDOWN)}\n" for note in table.notes]
    return "\n".join([f"**{_escaped(table.caption, _MARKDOWN)}**", "", lines[0], rule, *lines[1:], "", *notes])


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_latex(table: "EffectTable") -> str:
    """A floating table by the rules of booktabs; a long name is folded."""
    longest = max((len(line.label) for line in table.lines), default=0)
    is_folded = longest > _LONG_LABEL
    first = f"p{{{_FOLDED_WIDTH}\\linewidth}}" if is_folded else "l"
    indent = "\\raggedright\\hangindent=2em\\hangafter=1\\quad" if is_folded else "\\quad"
    end = "\\tabularnewline" if is_folded else "\\\\"

    def row(line: "Line") -> str:
        label = _escaped(line.label, _LATEX)
        cells = [f"{indent} {label}" if line.is_level else label, *map(_latex_number, line.cells)]
        return f"{' & '.join(cells)} {end}"

    headings = " & ".join(["", *(_escaped(each, _LATEX) for each in table.headings)])
    return "\n".join(
        [
            "% \\usepackage{booktabs}",
            "\\begin{table}[htbp]",
            "\\centering\\small",
            f"\\caption{{{_escaped(table.caption, _LATEX)}}}",
            f"\\begin{{tabular}}{{{first}{'r' * len(table.headings)}}}",
            "\\toprule",
            f"{headings} {end}",
            "\\midrule",
            *map(row, table.lines),
            "\\midrule",
            *map(row, table.facts),
            "\\bottomrule",
            "\\end{tabular}",
            "",
            "\\medskip",
            "\\begin{minipage}{\\linewidth}\\footnotesize",
            "\n\n".join(_escaped(note, _LATEX) for note in table.notes),
            "\\end{minipage}",
            "\\end{table}",
            "",
        ]
    )


def _latex_number(cell: str) -> str:
    """A cell with the signs of its numbers as minus signs."""
    return re.sub(r"(?<!\w)-(?=\d)", "$-$", _escaped(cell, _LATEX))


def as_word(table: "EffectTable", stream: IO[bytes]) -> None:
    """Write a Word file with one table, its caption above it and its footnotes below."""
    try:
        import docx
    except ImportError:
        raise ImportError("a Word file needs python-docx: pip install 'dpsparse[word]'") from None
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Cm, Pt

    document = docx.Document()
    caption = document.add_paragraph()
    caption.add_run(_plain(table.caption)).bold = True
    caption.paragraph_format.keep_with_next = True
    grid: Any = document.add_table(rows=0, cols=1 + len(table.headings))
    page: Any = document.sections[0]
    width = page.page_width - page.left_margin - page.right_margin
    first = int(_WORD_LABELS * width)
    widths = [first, *[(width - first) // len(table.headings)] * len(table.headings)]
    for column, each in zip(grid.columns, widths, strict=True):
        column.width = each

    def add(label: str, cells: Sequence[str], is_level: bool = False) -> None:
        for place, (cell, text) in enumerate(zip(grid.add_row().cells, [label, *cells], strict=True)):
            cell.width = widths[place]
            paragraph = cell.paragraphs[0]
            paragraph.paragraph_format.space_after = Pt(0)
            paragraph.add_run(_plain(text)).font.size = Pt(9)
            if place:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
            elif is_level:
                paragraph.paragraph_format.left_indent = Cm(0.5)

    add("", table.headings)
    for line in (*table.lines, *table.facts):
        add(line.label, line.cells, line.is_level)
    # Rules as booktabs has them.
    _rule(grid.rows[0], "top", "bottom")
    _rule(grid.rows[len(table.lines)], "bottom")
    _rule(grid.rows[-1], "bottom")
    for note in table.notes:
        document.add_paragraph().add_run(_plain(note)).font.size = Pt(8)
    document.save(stream)


def _rule(row: Any, *edges: str) -> None:
    """Draw rules along the edges of a row."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    for cell in row.cells:
        borders = OxmlElement("w:tcBorders")
        for edge in edges:
            rule = OxmlElement(f"w:{edge}")
            rule.set(qn("w:val"), "single")
            rule.set(qn("w:sz"), _RULE)
            borders.append(rule)
        cell._tc.get_or_add_tcPr().append(borders)

"""How a table of effects is written: Markdown, LaTeX and Word."""

import io
import math
import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Sequence
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
    "‡": r"\ensuremath{^{\ddagger}}",
    "±": r"\ensuremath{\pm}",
}
# Letters of a name that leaves no room on a page beside three columns: longer ones are folded.
_LONG_LABEL = 36
# What a folded first column takes of a line.
_FOLDED_WIDTH = 0.3
# What names take of a line in Word, and of one on a page on its side.
_WORD_LABELS, _WIDE_LABELS = 0.35, 0.22
# Letters of a line: beyond these a table in LaTeX is made smaller, and columns of numbers in Word need a page on its
# side.
_LATEX_LINE, _WORD_LINE = 75, 60
# What the room between two columns takes, in letters.
_BETWEEN = 2.7
# The sizes of its letters, in points, and the width of a wide letter in these.
_USUAL_SIZE, _LEAST_SIZE, _LETTER_WIDTH = 9.0, 6.0, 0.62
# The width of a rule there, in eighths of a point.
_RULE = "6"


def _plain(text: str) -> str:
    """Text on one line, without characters that no paper shows."""
    return " ".join("".join(each if unicodedata.category(each) != "Cc" else " " for each in text).split())


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(each, each) for each in _plain(text))


# A number with a power of ten: its digits and its exponent.
_POWER = re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([+-]?\d+)(?!\w)")
_MINUS = re.compile(r"(?<!\w)-(?=\d)")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _with_powers(text: str, times: str, power: Callable[[str], str]) -> str:
    """Powers of ten as papers write them; a 1 before them is left out."""

    def written(found: re.Match[str]) -> str:
        digits, exponent = found[1], power(str(int(found[2])))
        return exponent if digits == "1" else f"{digits}{times}{exponent}"

    return _POWER.sub(written, text)


def _word_number(text: str) -> str:
    """A text with minus signs and powers of ten, whose numbers stay on one line."""
    text = _with_powers(
        _MINUS.sub("\u2212", text), "\u00a0\u00d7\u00a0", lambda exponent: f"10{exponent.translate(_RAISED)}"
    )
    return text.replace(", ", ",\u00a0") if text.startswith("[") else text


def _latex_powers(text: str) -> str:
    return _with_powers(text, r"\,\ensuremath{\times}\,", lambda exponent: rf"\ensuremath{{10^{{{exponent}}}}}")


def _latex_number(cell: str) -> str:
    """A cell with the signs of its numbers as minus signs, and powers of ten."""
    return _latex_powers(_MINUS.sub("$-$", _escaped(cell, _LATEX)))


def rows_of(line: "Line") -> Iterator[list[str]]:
    """The rows that a line takes, its heading in the first."""
    cells = [cell.split("\n") for cell in line.cells]
    for k in range(max(map(len, cells))):
        yield ["" if k else line.label, *(each[k] if k < len(each) else "" for each in cells)]


def _letters(table: "EffectTable") -> list[float]:
    """About how many letters wide each column of numbers is."""
    lines = [table.headings, table.measures, *(line.cells for line in (*table.lines, *table.facts))]
    columns = zip(*(cells for cells in lines if cells), strict=True)
    return [_BETWEEN + max(len(part) for cell in column for part in cell.split("\n")) for column in columns]


def as_markdown(table: "EffectTable") -> str:
    """A table of GitHub's kind, its columns as wide as their cells so that it can be read as it is."""

    def escaped(cells: Sequence[str], is_level: bool = False) -> list[str]:
        label, *others = (_escaped(cell, _MARKDOWN) for cell in cells)
        return [f"&emsp;{label}" if is_level and label else label, *others]

    rows = [escaped(["", *table.headings]), *([escaped(["", *table.measures])] if table.measures else [])]
    rows += [escaped(row, line.is_level) for line in (*table.lines, *table.facts) for row in rows_of(line)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_piped([cell.ljust(width) for cell, width in zip(each, widths, strict=True)]) for each in rows]
    rule = _piped(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    notes = [f"{_escaped(note, _MARKDOWN)}\n" for note in table.notes]
    return "\n".join([f"**{_escaped(table.caption, _MARKDOWN)}**", "", lines[0], rule, *lines[1:], "", *notes])


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_latex(table: "EffectTable") -> str:
    """A floating table by the rules of booktabs; a long name is folded, and a wide table is made as small as a line."""
    longest = max((len(line.label) for line in table.lines), default=0)
    is_folded = longest > _LONG_LABEL
    first = f"p{{{_FOLDED_WIDTH}\\linewidth}}" if is_folded else "l"
    end = "\\tabularnewline" if is_folded else "\\\\"
    is_wide = sum(_letters(table)) + (_FOLDED_WIDTH * _LATEX_LINE if is_folded else longest) > _LATEX_LINE

    def row(label: str, cells: Sequence[str], is_level: bool = False) -> str:
        name = _escaped(label, _LATEX)
        if is_level and name:
            name = f"\\raggedright\\hangindent=2em\\hangafter=1\\quad {name}" if is_folded else f"\\quad {name}"
        elif is_folded and name:
            name = f"\\raggedright {name}"
        elif name.startswith("*"):
            # The end of a row would take it as its own.
            name = f"{{}}{name}"
        return f"{' & '.join([name, *cells])} {end}"

    def rows(line: "Line") -> Iterator[str]:
        if is_folded:
            # An interval stands below its effect, not below a name of many lines.
            yield row(line.label, [_stacked(cell) for cell in line.cells], line.is_level)
        else:
            yield from (row(label, [*map(_latex_number, cells)], line.is_level) for label, *cells in rows_of(line))

    headings = [
        row("", [_escaped(each, _LATEX) for each in cells]) for cells in (table.headings, table.measures) if cells
    ]
    return "\n".join(
        [
            f"% \\usepackage{{booktabs{',graphicx' if is_wide else ''}}}",
            "\\begin{table}[htbp]",
            "\\centering\\small",
            f"\\caption{{{_escaped(table.caption, _LATEX)}}}",
            "",
            "\\smallskip",
            *(["\\resizebox{\\linewidth}{!}{%"] if is_wide else []),
            f"\\begin{{tabular}}{{{first}{'r' * len(table.headings)}}}",
            "\\toprule",
            *headings,
            "\\midrule",
            *(each for line in table.lines for each in rows(line)),
            "\\midrule",
            *(each for line in table.facts for each in rows(line)),
            "\\bottomrule",
            f"\\end{{tabular}}{'}' if is_wide else ''}",
            "",
            "\\medskip",
            "\\begin{minipage}{\\linewidth}\\footnotesize",
            "\n\n".join(_latex_powers(_escaped(note, _LATEX)) for note in table.notes),
            "\\end{minipage}",
            "\\end{table}",
            "",
        ]
    )


def _stacked(cell: str) -> str:
    """A cell of several lines as one of LaTeX, its first line in that of the row."""
    parts = [*map(_latex_number, cell.split("\n"))]
    if len(parts) == 1:
        return parts[0]
    lines = " \\\\ ".join(parts)
    return f"\\begin{{tabular}}[t]{{@{{}}r@{{}}}}{lines}\\end{{tabular}}"


def as_word(table: "EffectTable", stream: IO[bytes]) -> None:
    """Write a Word file with one table, its caption above it and its footnotes below."""
    try:
        import docx
    except ImportError:
        raise ImportError("a Word file needs python-docx: pip install 'dpsparse[word]'") from None
    from docx.enum.section import WD_ORIENT
    from docx.enum.style import WD_STYLE_TYPE
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Cm, Pt

    document = docx.Document()
    page: Any = document.sections[0]
    is_wide = sum(_letters(table)) > _WORD_LINE
    if is_wide:
        page.orientation = WD_ORIENT.LANDSCAPE
        page.page_width, page.page_height = page.page_height, page.page_width
    caption = document.add_paragraph()
    caption.add_run(_plain(table.caption)).bold = True
    caption.paragraph_format.keep_with_next = True
    # Empty cells are as high as their style, so it has the size of the others.
    style: Any = document.styles.add_style("Cell", WD_STYLE_TYPE.PARAGRAPH)
    style.paragraph_format.space_after = Pt(0)
    grid: Any = document.add_table(rows=0, cols=1 + len(table.headings))
    width = page.page_width - page.left_margin - page.right_margin
    first = int((_WIDE_LABELS if is_wide else _WORD_LABELS) * width)
    widths = [first, *[(width - first) // len(table.headings)] * len(table.headings)]
    for column, each in zip(grid.columns, widths, strict=True):
        column.width = each
    # So small that no interval is broken, and no smaller than can be read.
    fits = widths[-1] / Pt(1) / (_LETTER_WIDTH * max(_letters(table)))
    style.font.size = Pt(max(_LEAST_SIZE, min(_USUAL_SIZE, math.floor(2 * fits) / 2)))

    def add(label: str, cells: Sequence[str], is_level: bool = False) -> None:
        for place, (cell, text) in enumerate(zip(grid.add_row().cells, [label, *cells], strict=True)):
            cell.width = widths[place]
            paragraph = cell.paragraphs[0]
            paragraph.style = style
            if place:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
            elif is_level:
                paragraph.paragraph_format.left_indent = Cm(0.5)
            first_line, *others = text.split("\n") if place else [_plain(text)]
            paragraph.add_run(_word_number(first_line) if place else first_line)
            for line in others:
                run = paragraph.add_run()
                run.add_break()
                run.add_text(_word_number(line))

    headings = [each for each in (table.headings, table.measures) if each]
    for cells in headings:
        add("", [_plain(each) for each in cells])
    for line in (*table.lines, *table.facts):
        add(line.label, line.cells, line.is_level)
    # Rules as booktabs has them.
    _rule(grid.rows[0], "top")
    for row in (len(headings) - 1, len(headings) - 1 + len(table.lines), -1):
        _rule(grid.rows[row], "bottom")
    for place, note in enumerate(table.notes):
        paragraph = document.add_paragraph()
        paragraph.paragraph_format.space_before, paragraph.paragraph_format.space_after = Pt(0 if place else 6), Pt(3)
        paragraph.add_run(_word_number(_plain(note))).font.size = Pt(8)
    made = io.BytesIO()
    document.save(made)
    _without_clock(made, stream)


def _without_clock(made: IO[bytes], stream: IO[bytes]) -> None:
    """Copy a ZIP file without the times at which its parts were written: the same table gives the same bytes."""
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            part = zipfile.ZipInfo(name)
            part.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(part, source.read(name))


def _rule(row: Any, *edges: str) -> None:
    """Draw rules along the edges of a row."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    for cell in row.cells:
        properties = cell._tc.get_or_add_tcPr()
        borders = properties.find(qn("w:tcBorders"))
        if borders is None:
            borders = OxmlElement("w:tcBorders")
            properties.append(borders)
        for edge in edges:
            rule = OxmlElement(f"w:{edge}")
            rule.set(qn("w:val"), "single")
            rule.set(qn("w:sz"), _RULE)
            borders.append(rule)

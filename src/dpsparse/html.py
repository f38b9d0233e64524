"""HTML elements and pages, and numbers for people.

Text is escaped here, once; text that is HTML already has the type `Html`.
"""

import base64
import html
from collections.abc import Collection, Iterable, Sequence

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #5b6470; --line: #d4d9df; --band: #f4f6f8;
  --link: #0b5cad; --good: #17692f; --bad: #a3261a; --open: #7a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --paper: #14171b; --soft: #a2abb6; --line: #363d46;
  --band: #1d2228; --link: #7db7f5; --good: #6fcf8a; --bad: #f28b7d; --open: #e0bd55; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem 1.2rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
a { color: var(--link); } nav a { margin-right: 1rem; white-space: nowrap; }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible {
  outline: 3px solid var(--link); outline-offset: 2px; }
h3 { margin: 1.6rem 0 .3rem; font-size: 1.08rem; } h3 + p { margin-top: .3rem; }
details { border-bottom: 1px solid var(--line); } details[open] { padding-bottom: 1rem; }
summary { padding: .7rem 0; cursor: pointer; } summary h3 { display: inline; margin: 0; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .92rem; }
caption { text-align: left; padding: .3rem 0; font-weight: 600; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem .3rem 0; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid var(--soft); } tbody tr:nth-child(even) { background: var(--band); }
.number { text-align: right; font-variant-numeric: tabular-nums; } td.number { white-space: nowrap; }
p, ul, figcaption { max-width: 46rem; }
@media screen and (max-width: 40rem) { table { font-size: .82rem; } th, td { padding-right: .4rem; }
  td.number { white-space: normal; } tbody th { min-width: 5rem; overflow-wrap: anywhere; }
  td.text { min-width: 9rem; } .cards thead { display: none; }
  table.cards, .cards caption, .cards tbody, .cards tr { display: block; }
  .cards tr { border-bottom: 1px solid var(--line); padding: .3rem; }
  .cards tbody th, .cards td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .1rem 0; }
  .cards td { text-align: right; min-width: 0; } .cards td::before { content: attr(data-label); color: var(--soft);
  flex: none; text-align: left; } }
figure { margin: 1.5rem 0; } figcaption, .note { color: var(--soft); font-size: .92rem; }
tbody th { font-weight: 600; }
.guarantee { border-left: 4px solid var(--link); padding-left: .8rem; font-size: 1.06rem; }
.guarantee.bad { border-color: var(--bad); }
svg.chart { display: block; width: 100%; max-width: 46rem; overflow: visible; }
svg.chart text { fill: var(--ink); font-size: 13px; stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }
svg.chart .name { font-weight: 600; }
svg.chart line, svg.chart polyline { stroke: var(--ink); fill: none; vector-effect: non-scaling-stroke; }
svg.chart circle { stroke: var(--ink); stroke-width: 2; fill: var(--paper); }
svg.chart circle.significant { fill: var(--ink); }
svg.chart .significant, svg.chart .vague, svg.chart .solid, svg.chart .dashed { stroke-width: 2; }
svg.chart line.vague, svg.chart .dashed { stroke-dasharray: 6 4; } svg.chart .floor { stroke-dasharray: 2 3; }
svg.chart .mark { stroke-width: 2; stroke-dasharray: 2 3; } svg.chart .grid { stroke: var(--line); }
svg.chart .hatch { stroke: var(--soft); opacity: .5; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
.good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }
.open { color: var(--open); font-weight: 600; } code, pre { font-size: .9em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { nav { display: none; } details::details-content { content-visibility: visible; height: auto; }
  summary { list-style: none; } body { max-width: none; } figure, tr { break-inside: avoid; } }
"""


# Letters of a cell that needs a line of its own width on a phone.
_LONG = 24
# Columns that a phone can show side by side; rows of more become cards there.
_SIDE_BY_SIDE = 4


class Html(str):
    """Text that is HTML already and must not be escaped again."""

    __slots__ = ()

    def __html__(self) -> "Html":
        """Templates ask for this, and do not escape it either."""
        return self


def escaped(content: object) -> Html:
    """Content as HTML: `Html` as it is, a list piece by piece, anything else escaped."""
    if isinstance(content, Html):
        return content
    if isinstance(content, (list, tuple)):
        return Html("".join(map(escaped, content)))
    return Html(html.escape(str(content)))


def tag(name: str, content: object = "", **attributes: object) -> Html:
    """An element. Attributes: `class_` becomes `class`, other underscores hyphens."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{pairs}>{escaped(content)}</{name}>")


def table(
    caption: str, headings: Iterable[object], rows: Iterable[Sequence[object]], *, numbers: Collection[int] = ()
) -> Html:
    """A table that scrolls by itself on a narrow screen; on a phone the rows of a wide one are cards.

    The first cell of a row is its heading; columns in `numbers` are set flush right.
    """
    headings = list(headings)
    cards = len(headings) > _SIDE_BY_SIDE

    def cell(place: int, content: object, scope: str | None) -> Html:
        attributes = {"class_": "number"} if place in numbers else {}
        if not attributes and not scope and len(str(content)) > _LONG:
            attributes = {"class_": "text"}
        if scope:
            return tag("th", content, scope=scope, **attributes)
        return tag("td", content, **attributes, **({"data_label": headings[place]} if cards else {}))

    head = tag("thead", tag("tr", [cell(place, heading, "col") for place, heading in enumerate(headings)]))
    body = [
        tag("tr", [cell(place, content, None if place else "row") for place, content in enumerate(row)]) for row in rows
    ]
    return tag(
        "div",
        tag("table", [tag("caption", caption), head, tag("tbody", body)], **({"class_": "cards"} if cards else {})),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def number(value: float) -> str:
    """A number in about four digits.

    Examples
    --------
    >>> number(12345.6), number(0.012345), number(-0.0)
    ('12,346', '0.01235', '0')
    >>> number(4136.2), number(999.96)
    ('4,136', '1,000')
    """
    # The 0 added turns -0.0 into 0.0.
    return f"{value:,.0f}" if 999.95 <= abs(value) < 1e12 else f"{value + 0.0:.4g}"


def shortened(text: str, longest: int) -> str:
    """A text of at most so many letters: where it is longer, its beginning and its end, which tells categories apart.

    Examples
    --------
    >>> shortened("age", 9), shortened("region of birth=north", 15)
    ('age', 'region …h=north')
    """
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}…{text[-end:]}"


def figure(png: bytes, description: str, caption: object) -> Html:
    """A picture inside the page; `description` is read to those who cannot see it."""
    data = base64.b64encode(png).decode()
    image = Html(f'<img alt="{html.escape(description)}" src="data:image/png;base64,{data}">')
    return tag("figure", [image, tag("figcaption", caption)])


def folded(title: str, *content: object) -> Html:
    """Content that opens with a click; plain strings become paragraphs.

    Examples
    --------
    >>> folded("More", "a < b")
    '<details><summary><h3>More</h3></summary><p>a &lt; b</p></details>'
    """
    return tag("details", [tag("summary", tag("h3", title)), *paragraphs(content)])


def paragraphs(content: Iterable[object]) -> list[Html]:
    """Content as HTML, in which plain strings become paragraphs."""
    return [piece if isinstance(piece, Html) else tag("p", piece) for piece in content]


class Page:
    """One self-contained page that grows section by section: no script, nothing fetched, light and dark, printable.

    Examples
    --------
    >>> page = Page("Fruit", "What is in the basket.")
    >>> page.section("Count", table("By kind", ["kind", "number"], [["apples & pears", 3]], numbers=[1]))
    >>> "apples &amp; pears" in page.html()
    True
    """

    def __init__(self, title: str, lead: str) -> None:
        self.title = title
        self.lead = lead
        self._sections: list[tuple[str, str, list[Html]]] = []

    def section(self, heading: str, *content: object) -> None:
        """Add a section; plain strings become paragraphs."""
        anchor = "".join(c if c.isalnum() else "-" for c in heading.lower())
        self._sections.append((anchor, heading, paragraphs(content)))

    def html(self) -> str:
        """The whole page as text."""
        # A space between links lets them wrap.
        links = [
            piece for anchor, heading, _ in self._sections for piece in (tag("a", heading, href=f"#{anchor}"), " ")
        ]
        sections = [
            tag("section", [tag("h2", heading), *inside], id=anchor) for anchor, heading, inside in self._sections
        ]
        body = [tag("h1", self.title), tag("p", self.lead), tag("nav", links, aria_label="Sections"), *sections]
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"{tag('title', self.title)}<style>{STYLE}</style></head>\n"
            f"<body>{tag('main', body)}</body></html>\n"
        )

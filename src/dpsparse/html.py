"""HTML elements, and numbers for people. Text is escaped here, once; text that is HTML already has the type `Html`."""

import html
from collections.abc import Collection, Iterable, Sequence


class Html(str):
    """Text that is HTML already and must not be escaped again."""

    __slots__ = ()


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
    """A table that scrolls by itself on a narrow screen.

    The first cell of a row is its heading; columns in `numbers` are set flush right.
    """

    def cell(place: int, content: object, scope: str | None) -> Html:
        attributes = {"class_": "number"} if place in numbers else {}
        return tag("th", content, scope=scope, **attributes) if scope else tag("td", content, **attributes)

    head = tag("thead", tag("tr", [cell(place, heading, "col") for place, heading in enumerate(headings)]))
    body = [
        tag("tr", [cell(place, content, None if place else "row") for place, content in enumerate(row)]) for row in rows
    ]
    return tag(
        "div",
        tag("table", [tag("caption", caption), head, tag("tbody", body)]),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def number(value: float) -> str:
    """A number in about four digits.

    Examples
    --------
    >>> from dpsparse.html import number
    >>> number(12345.6), number(0.012345), number(-0.0)
    ('12,346', '0.01235', '0')
    """
    # The 0 added turns -0.0 into 0.0.
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value + 0.0:.4g}"

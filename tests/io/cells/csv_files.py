"""Bytes of CSV files as hypothesis makes them: cells of every class, and lines that are broken in every way."""

from hypothesis import strategies as st

WORDS = [
    "NA",
    "nan",
    "none",
    "-",
    "?",
    ".",
    "inf",
    "12",
    "-1.5",
    ".5",
    "5.",
    "1e-3",
    "1e400",
    "1e-400",
    "$5",
    "7%",
    "1,234",
    "1,234.5",
    "1.234,5",
    "0,5",
    "1.234.567",
    "true",
    "No",
    "t",
    "+",
    "p17",
    "north",
    "2024-01-31",
    "31/01/2024",
    "01/31/2024",
    "01/02/2024",
    "2024-01-31T10:30:00Z",
    "123456789012345678901",
    "infinity!",
    "1 234",
    "1'234.50",
    "12-",
    "12.-",
    "(5)",
    "EUR 5",
    "usd7",
    "US$ 5",
    "kr 5",
    "5 kr",
    "europe",
    "eur",
    "chf-5",
    "c$",
    "Pen (5)",
]
ODD = [
    " south ",
    "7 %",
    "é",
    "\u00a0x",
    "x\u2003",
    "\x00",
    "a\rb",
    "\x85",
    "٣",
    "€5",
    "5\u00a0€",
    "1\u202f234,5",
    "1\u2019234",
    "zł 5",
    "zło",
    "CHF\u00a05",
    "\u22125",
    "\ufeff",
    "K",
    "non\u0435",
]

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.from_regex(r"\A[ ]?[-+]?[0-9]{0,21}(\.[0-9]{0,21})?(e[-+]?[0-9]{1,5})?\Z"),
)
separated = st.one_of(
    st.from_regex(r"\A[-+]?[0-9]{0,4}([.,][0-9]{3}){0,3}([.,][0-9]{0,4})?(e[-+]?[0-9]{1,3})?%?\Z"),
    st.from_regex(r"\A[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}\Z"),
    st.text("0123456789.,", max_size=9),
    st.from_regex(
        r"\A[-(]?(EUR|usd|Kr|US\$|zł|€)?[ \u00a0]?[-(]?[1-9][0-9]{0,2}([ '\u202f][0-9]{3}){0,2}([.,][0-9]{0,2})?[-)]?\Z"
    ),
    st.from_regex(r"\A[0-9]{1,3}([.,][0-9]{3}){0,2}([.,][0-9]{0,2})?[ ]?(EUR|kr|€|%|\$|-)?[-)]?\Z"),
)
texts = st.one_of(
    st.sampled_from(WORDS + ODD),
    numbers,
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=12),
    st.text("0123456789.,-/:eE+$% ", max_size=12),
    st.text("059.,- '()€$krEURz\u202fł", max_size=9),
)


@st.composite
def cells(draw):
    """One cell as bytes, quoted where it must be and sometimes where it need not."""
    text = draw(texts)
    if any(mark in text for mark in ',"') or text.endswith("\r") or draw(st.booleans()):
        text = '"' + text.replace('"', '""') + '"'
    return text.encode()


FAULTS = [b"", b"\r", b'"open,1,2', b'1,"a"b,2', b"1,2", b"1,2,3,4", b"\xff,1,2", b"\xed\xa0\x80,1,2", b'a"b,1,2']
broken = st.one_of(
    st.sampled_from(FAULTS),
    st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")),
)


def lines(n_cells=3):
    """A record's line without its end."""
    whole = st.lists(cells(), min_size=n_cells, max_size=n_cells).map(b",".join)
    return st.one_of(whole, whole, whole, broken)


ends = st.sampled_from([b"\n", b"\r\n"])


@st.composite
def files(draw, n_cells=3, min_size=1):
    """The lines of a file with their ends; the last may have none."""
    drawn = draw(st.lists(st.tuples(lines(n_cells), ends), min_size=min_size, max_size=6))
    content = [line + end for line, end in drawn]
    if content and drawn[-1][0] and draw(st.booleans()):
        content[-1] = drawn[-1][0]
    return content

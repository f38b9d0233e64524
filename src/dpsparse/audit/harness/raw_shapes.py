"""Raw tables that have nothing in common but what is public: the names of the columns and the number of records.

Whatever leaves a fit is a function of its releases. So with the same releases it must be the same on all of these, not
on neighbours alone: a message that needs half of a column to be empty, or every text to be short, shows here. Every
column is of every style in one of the tables.
"""

from collections.abc import Callable
from typing import Any

from dpsparse.audit.harness.raw_pairs import HEADER, N_LINES, companions_of

COLUMNS = HEADER.decode().split(",")
TELLING = "texts that explain"
# Cells of record k as a CSV file has them. Of each kind that a vote may find, of none, and of what people warn about.
STYLES: dict[str, Callable[[int], bytes]] = {
    "few numbers": lambda k: b"%d" % (k * 7 % 5),
    "gaps": lambda k: b"",
    "one text": lambda k: b"north",
    "texts of their own": lambda k: b"Ada the %dth of her name" % k,
    "two texts": lambda k: (b"north", b"south-west")[k % 3 == 0],
    "decimal commas": lambda k: b'"%d.234,%d"' % (1 + k % 9, k % 10),
    "commas between thousands": lambda k: b'"%d,234.5"' % (1 + k % 9),
    "dates": lambda k: b"2021-%02d-%02d" % (1 + k % 12, 1 + k % 28),
    "days before months": lambda k: b"%02d/%02d/1999" % (13 + k % 15, 1 + k % 12),
    "words for true": lambda k: (b"yes", b"no")[k % 2],
    "huge numbers": lambda k: (b"1e300", b"-1e300", b"1e999")[k % 3],
    "one number": lambda k: b"7",
    "numbers of the rows": lambda k: b"%d" % (k + 1),
    "fractions": lambda k: b"%d.%d" % (k * 31 % 17 - 8, k * 13 % 97),
    "numbers and gaps": lambda k: b"" if k % 3 else b"%d" % k,
    "numbers and texts": lambda k: b"word" if k % 2 else b"%d" % k,
    "not UTF-8": lambda k: b"n\xff\xferth %d" % (k % 4),
    "long texts": lambda k: b"w" * (200 + k % 2),
    "words for a gap": lambda k: (b"NA", b"none", b"-")[k % 3],
    "ones and zeros": lambda k: b"%d" % (k % 5 == 0),
}


def raw_shapes() -> dict[str, list[list[bytes]]]:
    """The tables by name: a list of records each, which are lists of cells as a CSV file has them."""
    styles = list(STYLES.values())
    tables = {"usual": _cells(companions_of(0)), "usual, other values": _cells(companions_of(1))}
    # Text is selected here, so that names are released.
    tables[TELLING] = [_telling(k) for k in range(N_LINES)]
    for number, name in enumerate(STYLES):
        # One more a column, so that two columns never change styles together.
        own = [styles[(number + place * (place + 1) // 2) % len(styles)] for place in range(len(COLUMNS))]
        tables[f"{name}, and others"] = [[style(k) for style in own] for k in range(N_LINES)]
    for name in ("gaps", "fractions", "texts of their own", "one number"):
        tables[f"{name} everywhere"] = [[STYLES[name](k)] * len(COLUMNS) for k in range(N_LINES)]
    tables["blank lines"] = [[b""]] * N_LINES
    tables["quotes left open"] = [[b'"', *[b"x"] * (len(COLUMNS) - 1)]] * N_LINES
    return tables


def _telling(k: int) -> list[bytes]:
    region, grade = (b"north", b"south", b"west")[k * k % 3], b"ABB"[k % 3 : k % 3 + 1]
    y = 50 * (region == b"north") - 30 * (grade == b"A") + k % 2
    return [b"%d" % (k % 7), b"yes", b"03/04/2021", b"%d" % (k % 2), grade, region, b"word %d" % k, b"%d.5" % y]


def as_lines(table: list[list[bytes]]) -> bytes:
    """The table as a CSV file."""
    return b"\n".join([HEADER, *(b",".join(record) for record in table), b""])


def as_frame(table: list[list[bytes]]) -> Any:
    """The table as a frame of texts, which has no quotes and no lines to break."""
    import pandas

    plain = [[cell.strip(b'"').decode(errors="replace") for cell in record] for record in table]
    full = [record if len(record) == len(COLUMNS) else [None] * len(COLUMNS) for record in plain]
    return pandas.DataFrame(full, columns=COLUMNS, dtype=object)


def as_typed_frame(table: list[list[bytes]]) -> Any:
    """The table as a frame of declared types: what does not fit a type is missing."""
    import pandas

    frame = as_frame(table)
    for column in ("amount", "mixed", "y"):
        frame[column] = pandas.to_numeric(frame[column], errors="coerce").astype("float64")
    frame["member"] = frame["member"].map({"yes": True, "no": False}).astype("boolean")
    frame["joined"] = pandas.to_datetime(frame["joined"], format="%Y-%m-%d", errors="coerce")
    return frame.astype({"grade": "category", "region": "string"})


def as_arrow(table: list[list[bytes]]) -> Any:
    """The same with a schema of its own: pandas would give a column without a cell another type."""
    import pyarrow

    types = {"amount": pyarrow.float64(), "mixed": pyarrow.float64(), "y": pyarrow.float64()}
    types |= {"member": pyarrow.bool_(), "joined": pyarrow.timestamp("us")}
    types |= {"grade": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), "region": pyarrow.large_string()}
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in COLUMNS])
    frame = as_typed_frame(table).astype({"grade": object})
    return pyarrow.Table.from_pandas(frame, schema=schema, preserve_index=False)


def mixed(own: list[list[bytes]], others: list[list[bytes]], is_other: Callable[..., Any]) -> list[list[bytes]]:
    """Records of one table, and of another one where `is_other` of their place says so."""
    return [other if is_other(place) else record for place, (record, other) in enumerate(zip(own, others, strict=True))]


def with_column(table: list[list[bytes]], column: str, others: list[list[bytes]]) -> list[list[bytes]]:
    """The table with a column of another one, whose records have all their cells.

    Bytes that are no text would make a whole line unreadable: they are replaced.
    """
    place = COLUMNS.index(column)
    return [
        [*record[:place], other[place].decode(errors="replace").encode(), *record[place + 1 :]]
        for record, other in zip(table, others, strict=True)
    ]


def _cells(lines: list[bytes]) -> list[list[bytes]]:
    return [line.split(b",") for line in lines]

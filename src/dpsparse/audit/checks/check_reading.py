"""Reading files and frames: a record's cells depend on that record, the names of the columns and the options alone.

Hostile lines take the place of each line of a CSV file in turn. All other records must give what they gave before, and
the record itself what it gives as the only one of a file, for every kind, with and without compiled kernels, in blocks
of any size. Counts must be the sums of the counts of single records. The same must hold of stores that are made of the
files: a conversion decides nothing.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.audit.finding import Finding
from dpsparse.engine.config import configured
from dpsparse.io.bounds import Bounds
from dpsparse.io.cells.csv_table import CsvTable
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.object_cells import object_cells
from dpsparse.io.convert import convert_cells
from dpsparse.io.provenance import cells_of
from dpsparse.io.store.store_table import StoreTable

NAMES = ["a", "b", "c"]
LINES = (b'1,north,"1,234"', b"2.5,,2024-01-31", b'-3e4,"say ""no""",01/02/2024', "NA,é,0.125".encode())
HOSTILE = (
    *(b"", b"\r", b"1", b"1,2,3,4", b'"', b'"1,2,3', b'1,"x"y,3', b'""",""', b"\xff,1,2", b"1,\xed\xa0\x80,3"),
    *(b"\x00,\x00,\x00", b"1,\xc3\xa9,\xff"),
    *(b";;;;;;;;;;;;;;;;", b"\t\t\t\t\t\t\t\t\t", b"|||||||||||||||", b"1;2;3", b"1,5;2;3"),
    *(b"secret,secret,secret", b'"1,5","1.234,5","0,5"', b"31/01/2024,13/01/2024,1.2.1999", b"1e999,inf,-", b"5,6,7\r"),
    *(b'"EUR 1.234,50",1\'234.50,(5)', b"1 234,12.-,5-", "1\u202f234,US$ 5,7\u00a0€".encode()),
    *(b"x" * (2**20 + 9), b",," + b"9" * 400, "\u00a01,é,\u2003".encode()),
)
PUBLIC = ["north", "true", "1", 'say "no"', "none"]
OBJECTS = (
    "1",
    "1,5",
    None,
    2,
    2.5,
    True,
    float("nan"),
    "31/01/2024",
    "north",
    object(),
    "secret",
    b"bytes",
    10**400,
    1j,
    np.timedelta64(36, "h"),
)


def check_reading() -> Iterator[Finding]:
    """Records of CSV files and of stores, then counts, then cells of frames."""
    yield _records()
    yield _stores()
    yield _counts()
    yield _objects()


def _opened(folder: str, lines: list[bytes]) -> CsvTable:
    path = Path(folder) / "table.csv"
    # A file that is mapped must not change: the name is given to a new one.
    path.unlink(missing_ok=True)
    path.write_bytes(b"\n".join([",".join(NAMES).encode(), *lines]))
    return CsvTable(path)


def _stored(folder: str, lines: list[bytes]) -> StoreTable:
    """The same as a store, in chunks of three records."""
    table, store = _opened(folder, lines), Path(folder) / "store"
    shutil.rmtree(store, ignore_errors=True)
    with configured(store_chunk_bytes=3 * 16 * len(NAMES)):
        convert_cells(table, cells_of(table, Bounds(), NAMES[0]), store)
    return StoreTable(store)


def _read(table: CsvTable | StoreTable) -> NDArray[np.float64]:
    """What every kind reads of each record, one row a record."""
    numbers = [table.numbers(table.names, [kind] * len(table.names)) for kind in Kind if kind != Kind.text]
    texts = [column for name in table.names for column in (table.buckets(name), table.category_codes(name, PUBLIC))]
    return np.column_stack([*numbers, *texts])


def _settings() -> Iterator[dict[str, Any]]:
    for compiled in (True, False):
        for size in (2**22, 7):
            yield {"compiled": compiled, "csv_block_bytes": size}


def _changed() -> Iterator[tuple[int, list[bytes]]]:
    """Neighbors of a file, with the place of the record in which they differ."""
    for number, hostile in enumerate(HOSTILE):
        place = number % len(LINES)
        yield place, [*LINES[:place], hostile, *LINES[place + 1 :]]


def _records() -> Finding:
    wrong, seen = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for settings in _settings():
            with configured(**settings):
                before = _read(_opened(folder, [*LINES, b""]))
                for place, lines in _changed():
                    # The last line ends, so that an empty one is a record.
                    after = _read(_opened(folder, [*lines, b""]))
                    alone = _read(_opened(folder, [lines[place], b""]))
                    expected = [*before[:place], *alone, *before[place + 1 :]]
                    wrong += list(map(_bits, after)) != list(map(_bits, expected))
                    seen += 1
    found = f"{wrong} of {seen} neighbours differ"
    return Finding("records of a CSV file", "depend on their line alone", found, not wrong)


def _stores() -> Finding:
    """Each neighbour once, with and without kernels in turn: files on a disk are slow."""
    wrong, seen = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        before = _read(_opened(folder, [*LINES, b""]))
        for place, lines in _changed():
            with configured(compiled=seen % 2 == 0, csv_block_bytes=7):
                after = _read(_stored(folder, [*lines, b""]))
                alone = _read(_opened(folder, [lines[place], b""]))
            expected = [*before[:place], *alone, *before[place + 1 :]]
            wrong += list(map(_bits, after)) != list(map(_bits, expected))
            seen += 1
    found = f"{wrong} of {seen} neighbours differ"
    return Finding("records of a store", "depend on their line alone", found, not wrong)


def _counts() -> Finding:
    wrong, seen = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for settings in _settings():
            with configured(**settings):
                for _, lines in _changed():
                    whole = _opened(folder, [*lines, b""]).class_counts(NAMES)
                    single = sum(_opened(folder, [line, b""]).class_counts(NAMES) for line in lines)
                    wrong += bool((whole != single).any())
                    seen += 1
    return Finding("counts of cells", "sums of single records", f"{wrong} of {seen} tables differ", not wrong)


def _objects() -> Finding:
    def read(objects: Sequence[Any]) -> NDArray[np.float64]:
        cells = object_cells(list(objects))
        return np.column_stack([cells.classes(), *(cells.numbers(kind) for kind in Kind if kind != Kind.text)])

    wrong = sum(_bits(row) != _bits(read([cell])) for row, cell in zip(read(OBJECTS), OBJECTS, strict=True))
    return Finding("objects of a frame", "read one by one", f"{wrong} of {len(OBJECTS)} differ", not wrong)


def _bits(row: NDArray[np.float64]) -> bytes:
    return np.ascontiguousarray(row).tobytes()

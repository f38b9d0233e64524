"""Neighbouring raw tables: CSV files that differ in one line, built as worst cases.

As in `neighbors`, a pair is one line in two versions and two sets of companions, which differ in all that a record's
own terms must not depend on.
"""

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpsparse.audit.harness.neighbors import partner, training_rows
from dpsparse.io.cells.grammar import bucket

HEADER = b"amount,member,joined,mixed,grade,region,note,y"
# The line of the record: one that is fitted on, and one that `tune` and `fit_and_evaluate` hold out.
N_LINES, POSITION, HELD_OUT_POSITION = 41, 17, 19
TARGET = "y"


@dataclass(frozen=True)
class RawPair:
    """A line in two versions among companions.

    `name`: its difficulty, in words.
    `first`, `second`: the line; an empty one is a null record.
    `companions`: the other lines; that at `position` is replaced.
    `position`: the line's place.
    """

    name: str
    first: bytes
    second: bytes
    companions: tuple[Any, ...]
    position: int = POSITION

    def write(self, path: Path, companions: int, version: int) -> None:
        """Write a table: 0 or 1 for the companions, 0 or 1 for the version of the line."""
        lines = list(self.companions[companions])
        # In a fit and in a tuning the record that is paired with that of the line is the same among all companions.
        for rows in (range(N_LINES), training_rows(N_LINES)):
            other = partner(self.position, rows)
            lines[other] = self.companions[0][other]
        lines[self.position] = (self.first, self.second)[version]
        # A file that is mapped must not change: the name is given to a new one.
        path.unlink(missing_ok=True)
        path.write_bytes(b"\n".join([HEADER, *lines, b""]))


def blanked(pair: "RawPair") -> "RawPair":
    """The pair for "zero-out-one": the first version against a null record."""
    return replace(pair, second=b"")


def raw_pairs() -> "list[RawPair]":
    """Every pair, in a fixed order."""
    plain = companions_of(0), companions_of(1)
    usual = b"12,no,03/04/2021,5,A,north,some words,1.5"
    listed = [
        (
            "responses and numbers from end to end",
            b"1000000000,yes,03/04/2021,5,A,north,some words,1000000000",
            b"-1000000000,no,04/12/1921,-5,A,north,some words,-1000000000",
        ),
        ("a gap for a number", b"1000000000,no,03/04/2021,5,A,north,w,1e6", b",no,,,,,,-1e6"),
        ("every class changes", usual, b"north,7,x,2021-01-31,5,7,8,2021-01-31"),
        ("a value of its own", usual, b"12,no,03/04/2021,5,A,Ada alone,some words,1.5"),
        (
            "a value of its own and another",
            b"12,no,03/04/2021,5,A,Ada alone,a,1.5",
            b"12,no,03/04/2021,5,A,Bob alone,b,1.5",
        ),
        (
            "values of its own, then common ones",
            b"12,no,03/04/2021,her own,hers,Ada alone,words of her own,1.5",
            b"12,no,03/04/2021,5,A,north,word 3,1.5",
        ),
        ("a value of its own in a common bucket", usual, b"12,no,03/04/2021,5,A,%s,some words,1.5" % _beside("north")),
        ("one category for another", usual, b"12,no,03/04/2021,5,B,south,some words,1.5"),
        ("decides between numbers and text", usual, b"12,no,03/04/2021,five,A,north,some words,1.5"),
        (
            "a month above 12",
            b"12,no,03/25/2021,5,A,north,some words,1.5",
            b"12,no,25/03/2021,5,A,north,some words,1.5",
        ),
        ("words among numbers", usual, b"twelve,no,03/04/2021,5,A,north,some words,none"),
        ("a decimal comma", usual, b'"1.234,5",no,03/04/2021,5,A,north,some words,"1,5"'),
        (
            "a currency and groups",
            usual,
            b"1 234 EUR,no,03/04/2021,(5),A,north,some words,\xe2\x82\xac 1\xe2\x80\xaf234.50",
        ),
        ("a number beyond all doubles", usual, b"1e999,no,03/04/2021,5,A,north,some words,-inf"),
        ("a quote left open", usual, b'12,no,03/04/2021,5,A,"north,some words,1.5'),
        ("text after a quote", usual, b'12,no,03/04/2021,5,A,"north"x,some words,1.5'),
        ("another width", usual, b"12,no,03/04/2021,5,A,north,some words,1.5,9,9"),
        ("another separator", usual, b"12;no;03/04/2021;5;A;north;some words;1.5;;;;;;;;;;;;;;;;" + b";" * 400),
        ("not UTF-8", usual, b"12,no,03/04/2021,5,A,n\xff\xferth,some words,1.5"),
        ("a very long line", usual, b"12,no,03/04/2021,5,A,north," + b"w" * 2**20 + b",1.5"),
        ("nothing but gaps", usual, b",,,,,,,"),
        ("an empty line", usual, b""),
    ]
    return [RawPair(name, first, second, plain) for name, first, second in listed]


def _beside(text: str) -> bytes:
    """Another text in the same hash bucket."""
    wanted = bucket(text)
    return next(other.encode() for other in (f"Ada {k}" for k in itertools.count()) if bucket(other) == wanted)


def companions_of(seed: int) -> list[bytes]:
    """Lines with two large categories and words for true, of which the two sets hold different numbers.

    Numbers and words in the column "mixed" are equally many without the line of a pair.
    """
    lines = []
    for k in range(N_LINES):
        region = ("north", "south", "west", "")[(k * k + seed * k) % 4] if seed else ("north", "south")[k % 2]
        amount = f"{k + seed * 100}.5" if seed else str(k)
        member = "yes" if k % (3 - seed) else "n"
        day = f"{1 + (k * 7 + seed) % 28:02d}/{1 + k % 12:02d}/2021"
        note = f"words {k % 3}" if seed else f"word {k}"
        mixed = k if (k - (k > POSITION)) % 2 else f"word {k % 2}"
        grade = "ABBB"[k % 4] if seed else "AB"[k % 2]
        lines.append(f"{amount},{member},{day},{mixed},{grade},{region},{note},{k * 0.5 + seed}".encode())
    return lines

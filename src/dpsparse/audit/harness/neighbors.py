"""Neighbouring tables, built as worst cases.

A `Pair` is one record in two versions, `first` and `second`, and two sets of companions; a table is a set of companions
with one version put in. The response is column 0. Companions that differ in everything show whether a record's own
change depends on the others. They agree in one other row for each way in which records, or people made of them, are
paired: a difference of two depends on both.

A record may be made a person with a number of rows that its position tells. Who is paired with whom is specified here,
written anew.
"""

import math
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpsparse.datasets import make_heavy_tailed

# An odd number: the middle record lies in no pair.
N_RECORDS, N_FEATURES = 27, 4
# The clip that the audit gives to the paper's methods.
CLIP = 1.5
# The row of the record: in each of the loop's three parts, the first and the second of a pair, and in none.
POSITIONS = (9, 22, 11, 13)


Companions = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Pair:
    """A record in two versions among companions.

    `name`: its difficulty, in words.
    `companions` of shape (n_records, 1 + n_features): two tables; the row at `position` is the record's.
    `first`, `second` of shape (1 + n_features,): the record; None for a null record, which adds nothing to any sum.
    `position`: the record's row.
    """

    name: str
    companions: Companions
    first: NDArray[np.float64]
    second: NDArray[np.float64] | None
    position: int = POSITIONS[0]

    def table(self, companions: int, version: int) -> NDArray[np.float64]:
        """A table: 0 or 1 for the companions, 0 or 1 for the version of the record."""
        table = self.companions[companions].copy()
        partners = [
            other
            for rows in (range(len(table)), training_rows(len(table)))
            for other in (partner(self.position, rows), *partners_of_person(self.position, rows))
        ]
        table[partners] = self.companions[0][partners]
        record = (self.first, self.second)[version]
        table[self.position] = np.nan if record is None else record
        return table


def training_rows(n_records: int) -> list[int]:
    """The rows that `tune` gives to its candidates."""
    return [row for row in range(n_records) if row % 5 != 4]


def partner(position: int, rows: list[int] | range) -> int:
    """The row whose record is paired with that at `position`, among some rows of a table; its own where there is none.

    The specification, written anew: of m rows, row i is paired with row m - 1 - i.
    """
    rows = list(rows)
    if position not in rows:
        return position
    return rows[len(rows) - 1 - rows.index(position)]


def blanked(pair: "Pair") -> "Pair":
    """The pair for "zero-out-one": the first version, made finite, against a null record."""
    return replace(pair, first=np.nan_to_num(pair.first), second=None)


def pairs() -> "list[Pair]":
    """Every pair, in a fixed order."""
    plain = (_companions(0), _companions(1))
    straddling = tuple(_straddling(table) for table in plain)
    same, other = np.array([1.0, 1, 1, 1, 1]), np.array([-1.0, 1, -1, 1, -1])
    one_hot = tuple(np.column_stack([table[:, 0], np.eye(N_FEATURES)[np.arange(N_RECORDS) % 4]]) for table in plain)
    constant = tuple(np.column_stack([table[:, :2], np.full(N_RECORDS, 0.3), table[:, 3:]]) for table in plain)
    just_above = math.nextafter(CLIP, 9)
    half_step = CLIP / 254
    listed = [
        ("response from end to end", plain, [1e6, 50, 50, 50, 50], [-1e6, 50, 50, 50, 50]),
        ("features from end to end", plain, [1e6, 50, 50, 50, 50], [1e6, -50, -50, -50, -50]),
        ("leaves the middle", plain, [0, 0, 0, 0, 0], [1e6, 50, -50, 50, -50]),
        ("largest floats", plain, [1.7e308, 1.7e308, -1.7e308, 1e300, 1e300], [-1.7e308] * 5),
        ("denormals", plain, [5e-324, 5e-324, -5e-324, 1e-310, 0], [-0.0, -5e-324, 0.0, -0.0, 2e-308]),
        ("rows all equal, scores tie", (np.tile(same, (N_RECORDS, 1)), np.tile(other, (N_RECORDS, 1))), same, -same),
        ("duplicate of a neighbour", plain, plain[0][12], plain[0][13]),
        ("columns swapped", plain, [2.0, 0.1, 0.7, -1.2, 3.0], [2.0, 3.0, -1.2, 0.7, 0.1]),
        ("at the clip", plain, [CLIP, CLIP, just_above, -CLIP, -just_above], [-CLIP, -just_above, CLIP, CLIP, 0]),
        ("off the grid", plain, [0.3, half_step, 3 * half_step, 0.1, 1 / 3], [0.3, -half_step, half_step, 0.2, -1 / 3]),
        ("one-hot rows", one_hot, [1e6, 1, 0, 0, 0], [-1e6, 0, 1, 0, 0]),
        ("a column turns constant", constant, [1.0, 0.5, -7.0, 0.5, 0.5], [1.0, 0.5, 0.3, 0.5, 0.5]),
        ("decides the splits", _divided(plain), [1.0, 0.1, 0.1, 0.1, 0.1], [1.0, 1e3, 1e3, 1e3, 1e3]),
        ("across the median", straddling, [-1e-6, 1, 1, 1, 1], [1e-6, 1, 1, 1, 1]),
        ("across all responses", straddling, [-1e9, 1, 1, 1, 1], [1e9, -1, 1, -1, 1]),
        ("not a number", plain, [np.nan, np.nan, 1, -1, np.nan], [1e6, 50, 50, np.nan, -50]),
        ("infinite", plain, [np.inf, -np.inf, np.inf, 1, 0], [-np.inf, np.inf, np.inf, -np.inf, 1]),
        *_one_far_above(plain),
        *_turned(plain),
        ("largest responses", plain, [1.7e308, 50, 50, 50, 50], [-1.7e308, 50, 50, 50, 50]),
    ]
    position = POSITIONS[1]
    twin = plain[0][partner(position, range(N_RECORDS))]
    return [
        Pair("equal to its partner", plain, twin, np.array([1e6, 50.0, -50.0, 50.0, -50.0]), position),
        *(
            Pair(name, companions, np.array(first, dtype=float), np.array(second, dtype=float), POSITIONS[k % 4])
            for k, (name, companions, first, second) in enumerate(listed)
        ),
    ]


def on_the_plane(
    features: NDArray[np.int64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    effects: NDArray[np.float64],
    level: float,
    distance: float = 50.0,
) -> Iterator[Pair]:
    """Pairs of records without residuals, far out along one selected feature or another: they alone move a Jacobian.

    `features`, `center`, `scale`, `effects`: the selected features, their units, and the effects of one such unit.
    `level`: the prediction where all selected features are at their centres.
    `distance`: how far out, in those units.
    """
    ends = []
    for k, sign in ((0, 1), (-1, -1)):
        end = np.zeros(1 + N_FEATURES)
        end[0] = level + sign * distance * effects[k]
        end[1 + features] = center
        end[1 + features[k]] += sign * distance * scale[k]
        ends.append(end)
    plain = (_companions(0), _companions(1))
    yield Pair("on the fitted plane", plain, ends[0], ends[1])
    yield Pair("on and off the fitted plane", plain, ends[0], ends[0] + [1e6, 0, 0, 0, 0])


def _one_far_above(companions: Companions) -> Iterator[tuple[Any, ...]]:
    """One feature far above the others, then of the opposite sign: its products with the others change sign."""
    for k in range(N_FEATURES):
        row = np.full(N_FEATURES, 1e3)
        row[k] = 1e9
        opposite = row * np.where(np.arange(N_FEATURES) == k, -1, 1)
        yield f"feature {k + 1} far above the others", companions, [1.0, *row], [1.0, *opposite]


def _turned(companions: Companions, angles: int = 6) -> Iterator[tuple[Any, ...]]:
    """Rows far beyond every norm clip, in many directions: where rounding to nearest would exceed the norm."""
    for k in range(angles):
        row = 1e9 * np.array([math.cos(k + 0.1), math.sin(k + 0.1), math.cos(2 * k + 0.3), math.sin(3 * k + 0.7)])
        at_right_angle = row[[1, 0, 3, 2]] * [1, -1, 1, -1]
        yield f"at the norm, opposite {k + 1}", companions, [1e12, *row], [-1e12, *row]
        yield f"at the norm, at right angles {k + 1}", companions, [0.0, *row], [0.0, *at_right_angle]


def _companions(seed: int) -> NDArray[np.float64]:
    X, y, _ = make_heavy_tailed(N_RECORDS, N_FEATURES, 2, df=2.0, random_state=seed)
    return np.column_stack([y, X])


def _divided(
    companions: Companions,
) -> Companions:
    """Features at 1, 10 and 100, so that one more record below or above decides where they divide evenly."""
    values = np.repeat([1.0, 10.0, 100.0], [8, 11, 8])[:, None] * np.ones(N_FEATURES)
    first, second = (np.column_stack([table[:, 0], values]) for table in companions)
    return first, second


def _straddling(table: NDArray[np.float64]) -> NDArray[np.float64]:
    table = table.copy()
    table[:, 0] = np.where(np.arange(N_RECORDS) % 2, 1.0, -1.0)
    return table


def _csr_with_duplicates(X: NDArray[np.float64]) -> Any:
    """Each value as two halves and an explicit zero in the same cell, out of order."""
    n, d = X.shape
    halves = X / 2
    data = np.concatenate([halves, np.zeros_like(X), halves], axis=1).ravel()
    indices = np.tile(np.concatenate([np.arange(d), np.arange(d)[::-1], np.arange(d)]), n)
    return sparse.csr_matrix((data, indices, np.arange(n + 1) * 3 * d), shape=(n, d))


STORAGES = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "CSR": sparse.csr_matrix,
    "CSR, duplicates and explicit zeros": _csr_with_duplicates,
    "float32": lambda X: _as_float32(X),
    "CSR float32": lambda X: sparse.csr_matrix(_as_float32(X)),
    "memory map": lambda X: mapped(X),
}


def mapped(X: NDArray[np.float64]) -> NDArray[Any]:
    """A memory map of an array."""
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
        mapped[:] = X
        return mapped


def _as_float32(X: NDArray[np.float64]) -> NDArray[np.float32]:
    most = np.finfo(np.float32).max
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(X), np.clip(X, -most, most), X).astype(np.float32)


# The numbers of rows of people take turns: one row, with an id or without, a few, and more than a clip lets through.
SIZES = (3, 1, 5, 1, 40)


def n_rows(position: int) -> int:
    """How many rows the person has who is made of the record at a position."""
    return SIZES[position % len(SIZES)]


def partner_of_person(position: int, people: Iterable[int]) -> int:
    """Who is paired with the person at `position`, among some people; they themselves where nobody is.

    People are ranked by their numbers of rows, and those with equally many by the multiples of 2654435769, modulo
    2^32. Of an odd number the first is in no pair; then each two are a pair.
    """
    spread = {person: number * 2654435769 % 2**32 for number, person in enumerate(people)}
    ranked = sorted(spread, key=lambda person: (n_rows(person), spread[person]))[len(spread) % 2 :]
    if position not in ranked:
        return position
    return ranked[ranked.index(position) ^ 1]


def partner_with_one_row(position: int, people: Iterable[int]) -> int:
    """Who shares a term with the person at `position` where rows of each person are compared: one row has none beside.

    People with one row are ranked by the same multiples. Of an odd number the first is alone; then each two are a pair.
    """
    spread = {person: number * 2654435769 % 2**32 for number, person in enumerate(people) if n_rows(person) == 1}
    ranked = sorted(spread, key=lambda person: spread[person])[len(spread) % 2 :]
    return ranked[ranked.index(position) ^ 1] if position in ranked else position


def partners_of_person(position: int, people: Iterable[int]) -> list[int]:
    """All with whom a person shares a term of a sum over pairs.

    Among all people; among those with several rows, as effects within people leave the others out; among the others.
    """
    people = list(people)
    several = [person for person in people if n_rows(person) > 1]
    pairs = [partner_of_person(position, some) for some in (people, several)]
    return [*pairs, partner_with_one_row(position, people)]

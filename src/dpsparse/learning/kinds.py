"""Kinds of columns, by a private vote of their cells.

Every cell has a class of its own (`io.cells.grammar`), whatever the other cells are. The numbers of cells of each class
are released with noise, one histogram a column, and the kind of a column is a function of its noisy histogram. Cells
that its kind does not read are gaps.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.io.cells.grammar import CellClass, Kind
from dpsparse.io.cells.raw_table import RawTable
from dpsparse.learning.learning_constants import (
    COMMA_LEAD,
    GAPS_DEVIATIONS,
    KIND_DEVIATIONS,
    LARGEST_DEVIATIONS,
    LARGEST_LEAD,
    LEAST_GAPS,
    NEARLY_ALL,
    NUMERIC_LEAD,
    WORDS_PER_OTHER,
)
from dpsparse.learning.noisy_counts import release_counts
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.release import Slot

Votes = Mapping[CellClass, float]

# The classes that vote: empty cells say nothing about a column's kind.
VOTES = tuple(cell_class for cell_class in CellClass if cell_class != CellClass.EMPTY)
# The kinds that a vote may find. Numbers with commas between thousands are all that plain numbers are, and more.
_NUMERIC = (
    *(Kind.number_grouped, Kind.number_comma, Kind.boolean),
    *(Kind.date_ymd, Kind.date_mdy, Kind.date_dmy),
)
# The class that only this one of the kinds reads which share an ambiguous class.
_OWN_CLASS = {
    Kind.number_grouped: CellClass.GROUPED,
    Kind.number_comma: CellClass.COMMA,
    Kind.date_mdy: CellClass.DATE_MDY,
    Kind.date_dmy: CellClass.DATE_DMY,
}


@dataclass(frozen=True)
class Columns:
    """What the cells of columns are.

    `kinds`: how each column is read.
    `with_gaps`: the columns that are missing in some records: by empty cells, or by cells that do not fit their kind.
    `filled`: the noisy number of cells of each column that are not empty.
    `noise`: the standard deviation of its noise.
    """

    kinds: dict[str, Kind]
    with_gaps: frozenset[str]
    filled: dict[str, float]
    noise: float


def release_kinds(
    meter: Meter,
    slot: Slot,
    raw: RawTable,
    columns: Sequence[str],
    declared: Mapping[str, Kind],
    numeric: Collection[str] = (),
) -> Columns:
    """The kinds of columns and which have gaps, by one release of all their histograms.

    Kinds that are `declared` are public; the others are found by a vote. The columns that are `numeric` are no text
    whatever they hold: the response, and those with public units. The meter is charged before anything is drawn.
    """
    counts = raw.class_counts(columns)
    votes = release_counts(meter, slot, counts, sensitivity.histograms(len(columns), meter.guarantee.adjacency))
    kinds: dict[str, Kind] = {}
    filled: dict[str, float] = {}
    with_gaps = set()
    for column, noisy in zip(columns, votes.values, strict=True):
        voted = kind_of(noisy[list(VOTES)], votes.noise, may_be_text=column not in numeric)
        kinds[column] = declared.get(column, voted)
        if has_gaps(noisy, votes.noise, kinds[column], meter.n_records):
            with_gaps.add(column)
        filled[column] = meter.n_records - float(noisy[CellClass.EMPTY])
    return Columns(kinds, frozenset(with_gaps), filled, votes.noise)


def has_gaps(counts: NDArray[np.float64], noise: float, kind: Kind, n_records: int) -> bool:
    """Whether enough cells of a column are missing that it matters which.

    `counts` are noisy numbers of cells of each class, `noise` the standard deviation of their noise.

    Examples
    --------
    >>> counts = np.zeros(len(CellClass))
    >>> counts[[CellClass.EMPTY, CellClass.NUMBER]] = 100, 900
    >>> has_gaps(counts, 20.0, Kind.number, 1_000), has_gaps(counts, 60.0, Kind.number, 1_000)
    (True, False)
    """
    least = max(GAPS_DEVIATIONS * noise, LEAST_GAPS * n_records)
    return any(bool(counts[cell_class] > least) for cell_class in CellClass if cell_class not in kind.reads)


def kind_of(counts: NDArray[np.float64], noise: float, *, may_be_text: bool = True) -> Kind:
    """The kind of a column from its noisy votes.

    The kind that reads the most cells wins if it reads at least half of them; otherwise the column is text. So is
    a column of words for true and false if a fifth of its cells are surely something else: F may be a sex, beside M.
    Cells that two kinds read, such as 1,234 or 01/02/2024, go to the kind that the unambiguous cells favour; numbers
    have a decimal comma only where these cells surely lead. Where no class counts, the column is one of numbers; so is
    one that is no text, unless another kind surely leads.

    `counts` are noisy numbers of cells, `noise` the standard deviation of their noise. The response and columns with
    public units are no text: `may_be_text` is False.

    Examples
    --------
    >>> names = [cell_class.name for cell_class in VOTES]
    >>> votes = np.zeros(len(VOTES))
    >>> votes[[names.index("DATE_EITHER"), names.index("DATE_DMY")]] = 400, 600
    >>> kind_of(votes, 20.0).value
    'date_dmy'
    """
    raw: dict[CellClass, float] = dict(zip(VOTES, counts.tolist(), strict=True))
    least = min(KIND_DEVIATIONS * noise, max(LARGEST_DEVIATIONS * noise, max(raw.values()) * NEARLY_ALL))
    seen = {cell_class: count if count > least else 0.0 for cell_class, count in raw.items()}
    kinds = [kind for kind in _NUMERIC if kind != Kind.number_comma or _is_comma(raw, noise)]
    if not may_be_text:
        kinds = [kind for kind in kinds if kind == Kind.number_grouped or _leads(raw, noise, kind)]
    reads = {kind: sum(seen[cell_class] for cell_class in kind.reads) for kind in kinds}
    most = max(reads.values())
    others = raw[CellClass.TEXT] - raw[CellClass.BOOLEAN] / WORDS_PER_OTHER
    letters = others > KIND_DEVIATIONS * noise and reads.get(Kind.boolean) == most
    if may_be_text and (letters or most < sum(seen.values()) / 2):
        return Kind.text
    return max((kind for kind in kinds if reads[kind] == most), key=lambda kind: _own_votes(raw, kind))


def _own_votes(raw: Votes, kind: Kind) -> float:
    return raw[_OWN_CLASS[kind]] if kind in _OWN_CLASS else 0.0


def _leads(raw: Votes, noise: float, kind: Kind) -> bool:
    numbers, others = Kind.number_grouped.reads - kind.reads, kind.reads - Kind.number_grouped.reads
    lead = sum(raw[each] for each in others) - sum(raw[each] for each in numbers)
    return lead > NUMERIC_LEAD * noise * math.sqrt(len(numbers) + len(others))


def _is_comma(raw: Votes, noise: float) -> bool:
    lead = LARGEST_LEAD if raw[CellClass.COMMA] == max(raw.values()) else COMMA_LEAD
    return raw[CellClass.COMMA] - raw[CellClass.GROUPED] > lead * noise

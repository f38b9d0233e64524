"""From a raw table to features: the releases that decide how its cells are read, in order of time.

"kinds", "distinct values" and "categories" are slots of a fit's commitment at fixed prices. Which columns
take part in one is decided by public numbers and the releases before it, and so is the scale of its noise; a slot that
no column needs is skipped, and stays paid.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.io.cells.encoding import encode
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.raw_table import RawTable
from dpsparse.io.table_features import Feature
from dpsparse.learning.categories import (
    MANY_VALUES,
    NONE_COMMON,
    category_features,
    is_rare,
    left_over,
    missing_feature,
    release_buckets,
    release_categorical,
    shares_of,
)
from dpsparse.learning.kinds import Columns, release_kinds
from dpsparse.learning.learning_constants import KIND_DEVIATIONS
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.release import Slot


@dataclass(frozen=True)
class Encoding:
    """How the records of a raw table are read; a function of releases and public numbers.

    `features`: numbers that may be missing first, then other numbers, then 0/1, each in the order of their columns.
    `target`: the column of responses.
    `target_kind`: how it is read.
    `with_gaps`: the columns that may be missing; of the others, too few records lack one.
    `rare`: features that hardly a record has: "another" where nearly all text is in the other buckets.
    `text_unused`: the columns of text of which no text is a feature, and why: `MANY_VALUES` or `NONE_COMMON`.
    `empty_responses`: the share of records whose response is an empty cell; 0 where that is within noise.
    `shares`: the share of records that have a text or a gap, about, by noisy counts.
    """

    features: tuple[Feature, ...]
    target: str
    target_kind: Kind
    with_gaps: frozenset[str]
    rare: frozenset[Feature] = frozenset()
    text_unused: dict[str, str] = field(default_factory=dict)
    empty_responses: float = 0.0
    shares: dict[Feature, float] = field(default_factory=dict)

    def encode(
        self, raw: RawTable, buckets_of: Callable[[str], NDArray[np.int16]] | None = None
    ) -> tuple[Any, NDArray[np.float64]]:
        """The features and the responses of a table with the same columns; NaN for gaps."""
        return encode(raw, self.features, buckets_of), self.responses(raw)

    def responses(self, raw: RawTable) -> NDArray[np.float64]:
        """The responses; NaN where they are missing or unreadable."""
        return np.asarray(raw.numbers([self.target], [self.target_kind])[:, 0])


class Preparation:
    """The first releases of a fit on a raw table.

    `raw`: the table.
    `target`: the column of responses.
    `meter`: the budget and the noise; it has committed to the slots.
    `slots`: the slots of the fit's commitment by name; a release without a slot is not made.
    `kinds`: kinds that are public: declared by the user. The table's own declared types come second.
    `columns`: the columns to use, from public knowledge; None for all but the target.
    `numeric`: of these, those that are no text whatever they hold, from public knowledge.
    `others`: columns of which only gaps are looked for: their categories are public.
    `response_is_text`: whether a public text says which responses are yes: they are read as text then.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsparse.io.cells.raw_table import FrameTable
    >>> from dpsparse.learning.table_prices import SLOTS, preparation_slot
    >>> from dpsparse.privacy.guarantee import Guarantee
    >>> from dpsparse.privacy.noise import SecureSource
    >>> table = FrameTable(pd.DataFrame({"fee": ["1,200", "30"] * 400, "region": ["north", None] * 400}))
    >>> meter = Meter(Guarantee(8.0, 1e-6), table.n_records, SecureSource())
    >>> slots = {name: preparation_slot(name, 0.1, table.n_records) for name in SLOTS}
    >>> prepared = Preparation(table, "fee", meter, slots)
    >>> encoding = prepared.run()
    >>> encoding.target_kind.value, [feature.name for feature in encoding.features][-2:]
    ('number_grouped', ['region (another value)', 'region (gap)'])
    """

    def __init__(
        self,
        raw: RawTable,
        target: str,
        meter: Meter,
        slots: Mapping[str, Slot],
        *,
        kinds: Mapping[str, Kind] | None = None,
        columns: Sequence[str] | None = None,
        numeric: Collection[str] = (),
        others: Sequence[str] = (),
        response_is_text: bool = False,
    ) -> None:
        self._raw, self._target, self._meter, self._slots = raw, target, meter, slots
        self._columns = [name for name in raw.names if name != target] if columns is None else list(columns)
        self._numeric, self._others = {target, *numeric}, list(others)
        self._response_is_text = response_is_text
        given = {target: Kind.number} if response_is_text else {}
        self._public_kinds = public_kinds(raw, target, {**(kinds or {}), **given}, [*self._columns, *self._others])
        self._buckets: dict[str, NDArray[np.int16]] = {}

    def run(self) -> Encoding:
        """Make the releases; gives how records are read."""
        columns = [*self._columns, *self._others, self._target]
        self._is_needed("kinds", columns)
        slot = self._slots["kinds"]
        known = release_kinds(self._meter, slot, self._raw, columns, self._public_kinds, self._numeric)
        return self._encoding(known)

    def _encoding(self, known: Columns) -> Encoding:
        kinds, with_gaps, rare = known.kinds, known.with_gaps, set()
        texts, n = [column for column in self._columns if kinds[column] == Kind.text], self._raw.n_records
        categorical: list[str] = []
        with_many: list[str] = []
        if self._is_needed("distinct values", texts):
            slot = self._slots["distinct values"]
            categorical, with_many = release_categorical(self._meter, slot, self._raw, texts)
        made: dict[str, list[Feature]] = {}
        shares = {missing_feature(column): 1 - known.filled[column] / n for column in (*self._columns, *self._others)}
        if self._is_needed("categories", categorical):
            buckets = [self.buckets_of(column) for column in categorical]
            counts = release_buckets(self._meter, self._slots["categories"], buckets)
            for column, noisy in zip(categorical, counts.values, strict=True):
                made[column] = category_features(column, noisy, counts.noise, n)
                shares |= shares_of(made[column], noisy, known.filled[column], n)
                for each in made[column]:
                    given = counts.noise, each, known.filled[column], known.noise
                    if each.other and is_rare(noisy, *given):
                        rare.add(each)
                        # As many as noise may hide.
                        shares[each] = max(shares[each], left_over(noisy, *given)[1] / n)
        numbers = [column for column in self._columns if kinds[column] != Kind.text]
        # Those with gaps first.
        numbers.sort(key=lambda column: column not in with_gaps)
        features = [Feature(column, kind=kinds[column].value) for column in numbers]
        for column in texts:
            features.extend(made.get(column, []))
            features.extend([missing_feature(column)] if column in with_gaps else [])
        # Something must be left: a feature that is nowhere missing says nothing. Public categories are features.
        features = features or [missing_feature(column) for column in self._columns[:1]]
        unused = {
            column: MANY_VALUES if column in with_many else NONE_COMMON for column in texts if not made.get(column)
        }
        empty = 1 - known.filled[self._target] / n
        if empty * n < KIND_DEVIATIONS * known.noise:
            empty = 0.0
        target_kind = Kind.text if self._response_is_text else kinds[self._target]
        return Encoding(
            tuple(features), self._target, target_kind, with_gaps, frozenset(rare), unused, min(empty, 1.0), shares
        )

    def buckets_of(self, column: str) -> NDArray[np.int16]:
        """The buckets of a text column, read once."""
        if column not in self._buckets:
            self._buckets[column] = self._raw.buckets(column)
        return self._buckets[column]

    def _is_needed(self, name: str, columns: Sequence[str]) -> bool:
        """Whether a slot has columns; one that has none is passed over."""
        if columns and name not in self._slots:
            raise ValueError(f"the plan has no slot '{name}', which {len(columns)} columns need")
        if not columns and name in self._slots:
            self._meter.skip(name)
        return bool(columns)


def public_kinds(raw: RawTable, target: str, kinds: Mapping[str, Kind], columns: Sequence[str]) -> dict[str, Kind]:
    """The kinds that are public: given by the user, or declared by the types of the table; all others vote."""
    known = {**raw.declared, **{column: Kind(kind) for column, kind in kinds.items()}}
    if known.get(target) == Kind.text:
        raise ValueError(f"the response '{target}' is declared as text; declare a kind of number, date or boolean")
    return {column: known[column] for column in (*columns, target) if column in known}

"""Whose rows are whose: the rows of one person lie together, and what they add up to is one term.

A person has any number of rows. Queries count a person once, by one of these rows, and sum a person's vectors before
they clip them. Which rows are whose, and so the number of people, is the same in neighbouring tables
(`privacy.sensitivity`): the code may use both in the open.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Of the rows of person k the one at place (k times this modulo 2^32) / 2^16, modulo their number, stands for them: rows
# of all years do, and which one depends on no value. The golden ratio times 2^32 spreads consecutive numbers evenly.
_SPREAD = 2654435769


# Rows of people with more than this many times the median number of rows, L, have weights: with m rows each has
# sqrt(L / m), so that a person's score is about as long as that of L rows, and all of it counts. Weights that also fall
# below L would be best against noise, and those of 1 are OLS's: on nlswork, whose people have 1 to 12 rows, weights
# from the median on moved coefficients by a standard error, and from twice the median on by less than half of one. Set
# by `people.py`, on numbers of rows from 1 to 500; in most panels few people have so many.
MOST_ROWS = 2.0


@dataclass(frozen=True)
class RowsPerPerson:
    """Public numbers of the people of a table: how many rows a person counts as on average, and the mean root.

    `spread` is the standard deviation of how many rows a person counts as, over its mean.

    Examples
    --------
    >>> RowsPerPerson(2.5, 1.5).many, ONE_ROW.many
    (True, False)
    """

    mean: float = 1.0
    root: float = 1.0
    spread: float = 0.0

    @property
    def many(self) -> bool:
        """Whether a person has more than one row."""
        return self.mean > 1


ONE_ROW = RowsPerPerson()


@dataclass(frozen=True)
class People:
    """The division of rows among people.

    `order` of shape (n,): the rows, person after person; people by their first row, the rows of each as they come.
    `starts` of shape (number of people + 1,): where in that order each person's rows begin; the last entry is n.
    """

    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, person: NDArray[np.intp]) -> "People":
        """From the number of each row's person: any whole numbers, equal for the rows of one person.

        Examples
        --------
        >>> import numpy as np
        >>> people = People.of(np.array([7, 3, 7]))
        >>> people.order, people.starts, people.n_people
        (array([0, 2, 1]), array([0, 2, 3]), 2)
        """
        _, first, number = np.unique(person, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        number = rank[number]
        sizes = np.bincount(number, minlength=len(first))
        return cls(np.argsort(number, kind="stable"), np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp))

    @property
    def n_people(self) -> int:
        """The number of people."""
        return len(self.starts) - 1

    @cached_property
    def number(self) -> NDArray[np.intp]:
        """The number of each row's person, in the order of the table's rows."""
        number = np.empty(len(self.order), dtype=np.intp)
        number[self.order] = np.repeat(np.arange(self.n_people), np.diff(self.starts))
        return number

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each person's rows in scores, at most 1; see `MOST_ROWS`."""
        sizes = np.diff(self.starts)
        return np.asarray(np.minimum(1.0, np.sqrt(MOST_ROWS * np.median(sizes) / sizes)))

    @cached_property
    def rows(self) -> RowsPerPerson:
        """The public numbers of these people."""
        sizes = np.diff(self.starts)
        roots, counted = math.fsum(np.sqrt(sizes)), self.weights * sizes
        mean = math.fsum(counted) / self.n_people
        spread = math.sqrt(math.fsum((counted - mean) ** 2) / self.n_people) / mean
        return RowsPerPerson(mean, roots / self.n_people, spread)

    @property
    def _spread(self) -> NDArray[np.uint64]:
        """A number of each person, spread evenly."""
        return (np.arange(self.n_people, dtype=np.uint64) * np.uint64(_SPREAD)) % np.uint64(2**32)

    @cached_property
    def chosen(self) -> NDArray[np.intp]:
        """For each person where the row that stands for them is in the order."""
        places = (self._spread >> np.uint64(16)) % np.diff(self.starts).astype(np.uint64)
        return self.starts[:-1] + places.astype(np.intp)

    def pairs(self) -> "Pairs":
        """Pairs of people with about as many rows, and of their rows, in turn.

        Among people with equally many rows their places say who meets whom, spread evenly: neighbours in a sorted table
        are alike. The first row of one meets the chosen row of the other: first rows may be of one year in all people,
        and would not differ in it. A row that the other person has no partner for is in no pair, and of an odd number
        of people neither is one of those with the fewest rows.

        Examples
        --------
        >>> import numpy as np
        >>> first, second, people = People.of(np.array([7, 3, 7, 3, 5])).pairs()
        >>> first, second, people.n_people
        (array([0, 2]), array([3, 1]), 1)
        """
        sizes = np.diff(self.starts)
        ranked = np.lexsort((self._spread, sizes))[self.n_people % 2 :]
        one, other = ranked[::2], ranked[1::2]
        # The first of two has no more rows.
        starts = np.concatenate([[0], np.cumsum(sizes[one])]).astype(np.intp)
        place = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes[one])
        ahead = np.repeat((self.chosen - self.starts[:-1])[other], sizes[one])
        turned = (place + ahead) % np.repeat(sizes[other], sizes[one])
        first, second = (
            self.order[np.repeat(self.starts[each], sizes[one]) + of_each]
            for each, of_each in ((one, place), (other, turned))
        )
        return Pairs(first, second, People(np.arange(starts[-1]), starts))

    def own_pairs(self) -> "Pairs":
        """Pairs of rows of one person each, of all who have several; others meet as in `pairs`, their rows being one.

        Each row is once the first and once the second of a pair, with the row that comes about half of the person's
        rows later, from the first one again after the last: neighbours in a sorted table are alike. Two rows are one
        pair.

        Examples
        --------
        >>> import numpy as np
        >>> first, second, people = People.of(np.array([7, 3, 7, 7, 5])).own_pairs()
        >>> first, second, people.n_people
        (array([0, 2, 3, 4]), array([2, 3, 0, 1]), 2)
        """
        sizes = np.diff(self.starts)
        several, alone = np.flatnonzero(sizes > 1), np.flatnonzero(sizes == 1)
        alone = alone[np.argsort(self._spread[alone], kind="stable")][len(alone) % 2 :]
        sizes = sizes[several]
        counts = np.where(sizes > 2, sizes, 1)
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        ahead = (place + np.repeat(np.maximum(1, (sizes - 1) // 2), counts)) % np.repeat(sizes, counts)
        begin = np.repeat(self.starts[several], counts)
        first, second = (
            self.order[np.concatenate([begin + own, self.starts[others]])]
            for own, others in ((place, alone[::2]), (ahead, alone[1::2]))
        )
        counts = np.append(counts, np.ones(len(alone) // 2, dtype=np.intp))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        return Pairs(first, second, People(np.arange(starts[-1]), starts))

    def held(self) -> "Held":
        """The people of records that are in this order."""
        limited = math.fsum(self.weights**2 * np.diff(self.starts)) / self.n_people
        return Held(self.starts, self.chosen, self.weights, self.rows.mean, limited)


class Pairs(NamedTuple):
    """Pairs of rows by their places in the table; `people` says which are one person's, or those of two people."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    people: People


@dataclass(frozen=True)
class Held:
    """The people of some records that lie person after person.

    `starts`: where each person's records begin; the last entry is the number of records.
    `chosen`: for each person the record that stands for them.
    `weights`: for each person the weight of their rows in scores; their square is that in second moments.
    `mean`: how many rows all people of the table count as in scores, on average.
    `limited`: the same in second moments, where nobody counts as more than `MOST_ROWS` times the median number of rows.
    """

    starts: NDArray[np.intp]
    chosen: NDArray[np.intp]
    weights: NDArray[np.float64]
    mean: float
    limited: float

    def take(self, rows: slice) -> "Held":
        """The people of a slice of the records, which begins and ends between people."""
        first, last = np.searchsorted(self.starts, [rows.start, rows.stop])
        starts, chosen = self.starts[first : last + 1] - rows.start, self.chosen[first:last] - rows.start
        return Held(starts, chosen, self.weights[first:last], self.mean, self.limited)

    def blocks(self, size: int) -> list[slice]:
        """Slices of about so many records that divide them between people."""
        places = np.searchsorted(self.starts, np.arange(size, self.starts[-1], size))
        ends = np.unique(np.concatenate([[0], self.starts[places], self.starts[-1:]]))
        return [slice(int(first), int(last)) for first, last in itertools.pairwise(ends)]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """The number of each person's records."""
        return np.diff(self.starts)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over each person's records, along the last axis; they depend on that person's records alone."""
        return np.add.reduceat(values, self.starts[:-1], axis=-1)

    def each(self, values: NDArray[Any]) -> NDArray[Any]:
        """A value of each person for each of their records."""
        return np.repeat(values, self.sizes, axis=-1)

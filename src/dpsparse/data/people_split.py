"""People, or rows where each is a person's only one, divided in two: those of a fit, and those held out from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.data.person_ids import people_of
from dpsparse.engine.people import ONE_ROW, People, RowsPerPerson


@dataclass(frozen=True)
class Split:
    """Which rows are for the fit, and which are held out.

    `training`: the rows of those for the fit: all rows of a person, or none.
    `held_out`: the rows that are evaluated: of the other people one each.
    `people`: whose rows all rows are; None without ids.
    `of_training`: whose rows those of the fit are.
    """

    training: NDArray[np.intp]
    held_out: NDArray[np.intp]
    people: People | None = None
    of_training: People | None = None

    @classmethod
    def of(cls, ids: Any, n_rows: int, held_out: Callable[[int], NDArray[np.bool_]]) -> "Split":
        """From ids, or None, and a function of the number of people that says who is held out.

        Examples
        --------
        >>> split = Split.of(["a", "b", "a", "c"], 4, lambda n: np.arange(n) == 1)
        >>> split.training, split.held_out
        (array([0, 2, 3]), array([1]))
        """
        if ids is None:
            out = held_out(n_rows)
            return cls(np.flatnonzero(~out), np.flatnonzero(out))
        people = people_of(ids, n_rows)
        out = held_out(people.n_people)
        training = np.flatnonzero(~out[people.number])
        return cls(training, people.order[people.chosen][out], people, People.of(people.number[training]))

    @property
    def n_people(self) -> int:
        """The number of people, or of rows without ids."""
        return len(self.training) + len(self.held_out) if self.people is None else self.people.n_people

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where ids divide them; None elsewhere."""
        return None if self.people is None else len(self.people.order)

    @property
    def n_training(self) -> int:
        """The number of people, or of rows, for the fit."""
        return len(self.training) if self.of_training is None else self.of_training.n_people

    @property
    def n_held_out(self) -> int:
        """The number of people, or of rows, held out."""
        return len(self.held_out)

    @property
    def rows(self) -> RowsPerPerson:
        """How many rows a person of the fit has."""
        return ONE_ROW if self.of_training is None else self.of_training.rows

    @property
    def training_ids(self) -> NDArray[np.intp] | None:
        """For each row of the fit the number of its person; None without ids."""
        return None if self.of_training is None else self.of_training.number

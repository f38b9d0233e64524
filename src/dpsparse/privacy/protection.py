"""Whose data a guarantee protects: the one place that says it, in numbers and in words.

Sums have sensitivities to one record, so prices are those of a record. What they cost the protected unit follows by
group privacy (`RecordsOfAPerson`). Where ids tell whose rows are whose, all rows of a person are one record, and prices
are those of a person (`WholePerson`). Summaries, reports, pages and commands take their words from here.
"""

import re
from dataclasses import dataclass
from typing import Literal, get_args

Adjacency = Literal["replace-one", "zero-out-one"]
ADJACENCIES: tuple[Adjacency, ...] = get_args(Adjacency)

# What neighbouring tables differ in: as a condition, and as a fact.
_HAD = {
    "replace-one": "had one record held any other values",
    "zero-out-one": "had one record been blanked (a null record that adds nothing to any sum)",
}
_WHERE = {
    "replace-one": "one record holds any other values",
    "zero-out-one": "one record is blanked and adds nothing to any sum",
}
_PERSON_HAD = {
    "replace-one": "had all rows of one person held any other values",
    "zero-out-one": "had all rows of one person been blanked (null rows that add nothing to any sum)",
}
_PERSON_WHERE = {
    "replace-one": "all rows of one person hold any other values",
    "zero-out-one": "all rows of one person are blanked and add nothing to any sum",
}


def of_people(text: str) -> str:
    """A sentence about records, said of people, each of whom counts once. It holds no name from a table.

    Examples
    --------
    >>> from dpsparse.privacy.protection import of_people
    >>> of_people("too few records differ in it; no record of those held out does")
    'too few people differ in it; no person of those held out does'
    """
    words = {"record": "person", "records": "people", "Record": "Person", "Records": "People"}
    return re.sub(r"\b[Rr]ecords?\b", lambda found: words[found[0]], text)


def check_adjacency(adjacency: str) -> None:
    """Raise ValueError unless the neighbouring relation is one for which the sensitivities are proved."""
    if adjacency not in ADJACENCIES:
        raise ValueError(f"adjacency={adjacency!r} must be one of {', '.join(map(repr, ADJACENCIES))}")


@dataclass(frozen=True)
class RecordsOfAPerson:
    """A person with at most m records of the table, `most`.

    If single records cost rho-zCDP, the person pays m^2 rho (Bun and Steinke 2016, Proposition 1.9); m mu of Gaussian
    differential privacy (Dong, Roth and Su 2022, Theorem 2.14); m times a pure epsilon.

    Examples
    --------
    >>> person = RecordsOfAPerson("replace-one", 3)
    >>> person.rho(0.5), person.mu(0.5), person.up_to
    (4.5, 1.5, 'up to 3 records')
    """

    adjacency: Adjacency
    most: int = 1

    # What adds one term to every sum, one and many; what the rows of the table are called; what neighbouring tables
    # have the same number of; which numbers of the table a guarantee does not hide.
    one, many, singles, units = "record", "records", "records", "records"
    not_hidden = "the number of records"

    def __post_init__(self) -> None:
        check_adjacency(self.adjacency)
        if not isinstance(self.most, int) or self.most < 1:
            raise ValueError(f"records_per_person={self.most!r} must be a whole number of at least 1")

    def rho(self, of_a_record: float) -> float:
        """The zCDP of a person, from that of a record."""
        return self.most**2 * of_a_record

    def mu(self, of_a_record: float) -> float:
        """The mu of Gaussian differential privacy of a person, from that of a record."""
        return self.most * of_a_record

    def epsilon(self, of_a_record: float) -> float:
        """The pure epsilon of a person, from that of a record."""
        return self.most * of_a_record

    def rho_of_a_record(self, rho: float) -> float:
        """The zCDP that a record may cost where a person may pay this much."""
        return rho / self.most**2

    def mu_of_a_record(self, mu: float) -> float:
        """The mu that a record may cost where a person may pay this much."""
        return mu / self.most

    def epsilon_of_a_record(self, epsilon: float) -> float:
        """The pure epsilon that a record may cost where a person may pay this much."""
        return epsilon / self.most

    @property
    def had_it_changed(self) -> str:
        """The difference between neighbours, as a condition."""
        return _HAD[self.adjacency]

    @property
    def where_they_differ(self) -> str:
        """The difference between neighbours, as a fact."""
        return _WHERE[self.adjacency]

    @property
    def up_to(self) -> str:
        """How many records a person has."""
        return "one record" if self.most == 1 else f"up to {self.most} records"

    @property
    def at_most(self) -> str:
        """The same as a limit."""
        return "one record" if self.most == 1 else f"at most {self.most} records"

    def said(self, text: str) -> str:
        """A sentence about records, as it is said of what adds one term to every sum; see `of_people`."""
        return text

    def public_numbers(self, n_records: int) -> str:
        """Which numbers of the table are public."""
        return f"the number of records, {n_records}, is public"

    def counted(self, n_records: int) -> str:
        """The size of the table."""
        return f"{n_records:,} records"

    def promise(self, n_records: int) -> str:
        """To whom the guarantee is."""
        return f"{self.at_most} per person"


@dataclass(frozen=True)
class WholePerson:
    """A person with all their rows, as many as they have; `rows` is the number of rows of the table.

    A person costs what a record does, since their rows are one. `most` is 1: there is nothing to multiply by.

    Examples
    --------
    >>> person = WholePerson("replace-one", 10_000)
    >>> person.rho(0.5), person.at_most
    (0.5, 'any number of rows')
    >>> person.public_numbers(2_000)
    'the numbers of people, 2000, and of rows, 10000, are public'
    """

    adjacency: Adjacency
    rows: int
    most: int = 1

    # As those of `RecordsOfAPerson`; then how many rows a person has.
    one, many, singles, units = "person", "people", "rows", "rows, divided among people in the same way,"
    not_hidden = "how many people there are, how many rows each of them has"
    up_to = "any number of rows"

    def rho(self, of_a_record: float) -> float:
        """See `RecordsOfAPerson`."""
        return of_a_record

    mu = epsilon = rho_of_a_record = mu_of_a_record = epsilon_of_a_record = rho

    @property
    def had_it_changed(self) -> str:
        """The difference between neighbours, as a condition."""
        return _PERSON_HAD[self.adjacency]

    @property
    def where_they_differ(self) -> str:
        """The difference between neighbours, as a fact."""
        return _PERSON_WHERE[self.adjacency]

    @property
    def at_most(self) -> str:
        """The same as a limit: there is none."""
        return self.up_to

    def said(self, text: str) -> str:
        """See `of_people`."""
        return of_people(text)

    def public_numbers(self, n_records: int) -> str:
        """Which numbers of the table are public."""
        return f"the numbers of people, {n_records}, and of rows, {self.rows}, are public"

    def counted(self, n_records: int) -> str:
        """The size of the table."""
        return f"{n_records:,} people with {self.rows:,} rows"

    def promise(self, n_records: int) -> str:
        """To whom the guarantee is."""
        return f"a guarantee to each of the {n_records:,} people, whatever number of rows they have"

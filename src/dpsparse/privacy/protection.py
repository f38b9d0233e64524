"""Whose data a guarantee protects: the one place that says it, in numbers and in words.

Sums have sensitivities to one record, so prices are those of a record. What they cost the protected unit follows by
group privacy. Summaries, reports, pages and commands take their words from here. A unit of another kind, such as a
person whose rows are first made one record, is another class with these members.
"""

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
    >>> from dpsparse.privacy.protection import RecordsOfAPerson
    >>> person = RecordsOfAPerson("replace-one", 3)
    >>> person.rho(0.5), person.mu(0.5), person.up_to
    (4.5, 1.5, 'up to 3 records')
    """

    adjacency: Adjacency
    most: int = 1

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

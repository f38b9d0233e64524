"""The guarantee of a fit: (epsilon, delta)-differential privacy between neighbouring tables, and what it allows.

A `Guarantee` states the limits of three accounts for a single record: rho of zCDP, mu of Gaussian differential privacy,
and a pure epsilon. Nothing here sees data, and every limit errs on the private side.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from dpsparse.privacy.accounting.gdp import TV_SLACK_SHARE, epsilon_from_mu, largest_mu
from dpsparse.privacy.accounting.zcdp import epsilon_from_rho, rho_from_epsilon
from dpsparse.privacy.protection import Adjacency, RecordsOfAPerson, WholePerson, check_adjacency


def default_delta(n_records: int, granted: float | None = None) -> float:
    """The delta of a guarantee that states none: n^-1.1, the paper's choice, from the public number of records.

    It is never above the delta `granted` by a ledger: at that one fits are added up, and a larger one costs more.

    Examples
    --------
    >>> default_delta(10_000) < 1 / 10_000
    True
    >>> default_delta(10_000, granted=1e-6)
    1e-06
    """
    usual = float(float(n_records) ** -1.1)
    return usual if granted is None else min(usual, granted)


def check_epsilon(epsilon: float) -> None:
    """Raise ValueError unless epsilon is a number above 0, of a size for which every conversion is accurate."""
    if not _is_number(epsilon) or not 1e-10 <= epsilon <= 1e10:
        raise ValueError(f"epsilon={epsilon!r} must be a number from 1e-10 to 1e10; common choices are 0.1 to 10")


def check_delta(delta: float) -> None:
    """Raise ValueError unless delta lies strictly between 0 and 1."""
    if not _is_number(delta) or not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} must lie strictly between 0 and 1; use None for n**-1.1")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or (hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0)


@dataclass(frozen=True)
class Guarantee:
    """The guarantee of a fit: (epsilon, delta)-DP for a person, between tables that are neighbours.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee to each person.
    adjacency : {"replace-one", "zero-out-one"}
        Two tables of the same, public, number of rows are neighbours if they differ in one record
        ("replace-one"), or if one of them has a null record, which adds nothing to any sum, in the place of one
        record of the other ("zero-out-one").
    records_per_person : int
        The most records one person may hold.
    rows : int or None
        The number of rows of the table, where ids tell whose they are: all rows of a person are one record then, and
        neighbours differ in all of them. None where each row is a record.

    Examples
    --------
    >>> from dpsparse.privacy.guarantee import Guarantee
    >>> one, two = Guarantee(1.0, 1e-6), Guarantee(1.0, 1e-6, records_per_person=2)
    >>> one.rho_per_record == 4 * two.rho_per_record
    True
    """

    epsilon: float
    delta: float
    adjacency: Adjacency = "replace-one"
    records_per_person: int = 1
    rows: int | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_adjacency(self.adjacency)
        if self.rows is not None and self.records_per_person != 1:
            raise ValueError("records_per_person is for tables without ids: leave it out where person is given")
        _ = self.protects

    @property
    def protects(self) -> RecordsOfAPerson | WholePerson:
        """Whose data it protects."""
        if self.rows is not None:
            return WholePerson(self.adjacency, self.rows)
        return RecordsOfAPerson(self.adjacency, self.records_per_person)

    @cached_property
    def rho_per_record(self) -> float:
        """The zCDP that one record may cost."""
        return self.protects.rho_of_a_record(rho_from_epsilon(self.epsilon, self.delta))

    @property
    def pure_epsilon_per_record(self) -> float:
        """The pure epsilon that one record may cost, for fits accounted without delta."""
        return self.protects.epsilon_of_a_record(self.epsilon)

    @cached_property
    def mu_per_record(self) -> float:
        """The mu of Gaussian differential privacy that one record may cost."""
        mu = largest_mu(self.epsilon, (1 - TV_SLACK_SHARE) * self.delta)
        return self.protects.mu_of_a_record(mu) * (1 - 1e-11)

    def epsilon_spent(
        self, rho: float, pure_epsilon: float = math.inf, mu: float = math.inf, failure_probability: float = 0.0
    ) -> float:
        """The epsilon of a person at `delta` once a record has cost this much: the least of three sound accounts.

        A failure probability is taken from delta before rho is converted (`compose`). The mu must be that of
        releases whose `tv_slack`, failures included, fits the share of delta kept for it.
        """
        person = self.protects
        by_mu = epsilon_from_mu(person.mu(mu), (1 - TV_SLACK_SHARE) * self.delta) if mu < math.inf else math.inf
        left = self.delta - failure_probability
        by_rho = epsilon_from_rho(person.rho(rho), left) if left > 0 else math.inf
        return min(by_rho, person.epsilon(pure_epsilon), by_mu)

"""The privacy record of a fit: its releases, their cost, and the guarantee.

A `PrivacyRecord` is the immutable account that leaves a fit; a `Meter` makes it.
"""

import json
import math
import textwrap
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from dpsparse.privacy.accounting.compose import Composition, compose, compose_parallel, releases_per_record
from dpsparse.privacy.accounting.release import Release
from dpsparse.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class PrivacyRecord:
    """The account of a fit: every release, the total, the guarantee. It prints as plain language.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee that was asked for.
    n_records : int
        The public number of rows.
    releases : tuple of Release
        In the order in which they were made; a skipped slot is listed at its full price.
    noise : str
        The source of the noise.
    private : bool
        False when the noise came from a seed or was left out: such a fit protects nobody.

    Examples
    --------
    >>> from dpsparse import DPIHTH
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, _ = make_heavy_tailed(500, 20, 2, random_state=0)
    >>> record = DPIHTH(sparsity=2, epsilon=1.0, delta=1e-5).fit(X, y).privacy_
    >>> record.private, record.epsilon <= 1.0, record.delta
    (True, True, 1e-05)
    """

    guarantee: Guarantee
    n_records: int
    releases: tuple[Release, ...]
    noise: str
    private: bool

    @property
    def _composed(self) -> Composition:
        return compose(self.releases)

    @cached_property
    def rho(self) -> float:
        """The zCDP that a single record paid."""
        return self._composed.rho

    @cached_property
    def mu(self) -> float:
        """The mu of the Gaussian account; infinite where it does not apply."""
        states_mu = all(release.mechanism.states_mu for release in self.releases)
        return self._composed.mu if states_mu and self._composed.tv_slack_fits(self.guarantee) else math.inf

    @cached_property
    def epsilon(self) -> float:
        """The epsilon guaranteed to a person at `delta`: at most what was asked."""
        composed = self._composed
        return self.guarantee.epsilon_spent(self.rho, composed.pure_epsilon, self.mu, composed.failure_probability)

    @property
    def delta(self) -> float:
        """The delta of the guarantee."""
        return self.guarantee.delta

    def to_dict(self) -> dict[str, Any]:
        """The record as plain numbers and strings."""
        return {
            "private": self.private,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "mu": None if self.mu == math.inf else self.mu,
            "asked": asdict(self.guarantee),
            "n_records": self.n_records,
            "noise": self.noise,
            "releases": [release.to_dict() for release in self.releases],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The record as JSON; an infinite pure epsilon is null."""
        return json.dumps(self.to_dict(), indent=indent)

    def to_dp_event(self) -> Any:
        """The releases as an event of Google's dp-accounting (extra ``accounting``), for its `RdpAccountant`.

        Every release enters as the zCDP that was proved for it, to a person. Of disjoint parts of the rows the most
        costly one represents all: every curve is rho times the order, so that part costs most at every order.
        dp-accounting's epsilon is an upper bound on the true one, about a tenth above `epsilon`, which may rest on the
        tighter Gaussian account or on pure differential privacy. Give the accountant fine orders. An event holds no
        failure probability: where names of text are released, add theirs to the accountant's delta.

        Returns
        -------
        dp_accounting.DpEvent
            A composition; a `NonPrivateDpEvent` for a fit whose noise was seeded.

        Examples
        --------
        >>> from dp_accounting.rdp import RdpAccountant
        >>> from dpsparse import DPIHTH
        >>> from dpsparse.datasets import make_heavy_tailed
        >>> X, y, _ = make_heavy_tailed(500, 20, 2, random_state=0)
        >>> record = DPIHTH(sparsity=2, epsilon=1.0, delta=1e-5).fit(X, y).privacy_
        >>> accountant = RdpAccountant([1 + k / 4 for k in range(1, 400)]).compose(record.to_dp_event())
        >>> bool(accountant.get_epsilon(record.delta) >= record.epsilon)
        True
        """
        try:
            import dp_accounting
        except ImportError:
            raise ImportError("to_dp_event needs dp-accounting; pip install 'dpsparse[accounting]'") from None
        if not self.private:
            return dp_accounting.NonPrivateDpEvent()
        seen = max(
            releases_per_record(self.releases), key=lambda releases: math.fsum(release.rho for release in releases)
        )
        person = self.guarantee.protects
        return dp_accounting.ComposedDpEvent([dp_accounting.ZCDpEvent(person.rho(release.rho)) for release in seen])

    @property
    def size(self) -> str:
        """The size of the table in words: its records, or its people and their rows."""
        return self.guarantee.protects.counted(self.n_records)

    def statement(self) -> str:
        """The guarantee in a few sentences."""
        if not self.private:
            return (
                f"NOT PRIVATE: the noise came from: {self.noise}. Use this fit for simulation only; "
                "leave random_state unset for a private one."
            )
        person = self.guarantee.protects
        return (
            f"({self.epsilon:.6g}, {self.delta:.3g})-differentially private: {person.had_it_changed}, the chance of "
            f"any result would change by a factor of at most {math.exp(min(self.epsilon, 700)):.4g}, plus "
            f"{self.delta:.3g}. Neighbours: {person.adjacency}; {person.promise(self.n_records)}; "
            f"{person.public_numbers(self.n_records)}. Noise: {self.noise}."
        )

    def plain_words(self) -> str:
        """The meaning of the guarantee to one person."""
        if not self.private:
            return "Nothing is guaranteed to anybody: this is a simulation."
        # Bayes' rule on two versions of a record at odds of 1:1, the likelihood ratio at its bound.
        sure = 100 / (1 + math.exp(-self.epsilon))
        return (
            "Suppose somebody knows everybody else's data and thinks two versions of one person's equally likely. "
            f"After seeing this model they are at most {sure:.3g} % sure which is true, except with a probability of "
            f"about {_one_in(self.delta)}. "
            "The guarantee covers this fit alone: every further fit on the same people adds to it. It does not hide "
            f"{self.guarantee.protects.not_hidden}, the names of the columns, or what is true of people in general."
        )

    def grouped(self) -> dict[str, tuple[Release, ...]]:
        """The releases by name, without the number at its end."""
        groups: dict[str, tuple[Release, ...]] = {}
        for release in self.releases:
            groups[release.group] = (*groups.get(release.group, ()), release)
        return groups

    def price(self, releases: tuple[Release, ...]) -> tuple[str, str]:
        """The share of releases in what this record cost, and their rho, as text."""
        rho = compose_parallel(releases, "rho")
        return f"{rho / self.rho:.1%}" if self.rho else "-", f"{rho:.3g}"

    def _repr_markdown_(self) -> str:
        """The guarantee and the price of each kind of release, as notebooks show it."""
        rows = [f"| {name} | {len(made)} | {' | '.join(self.price(made))} |" for name, made in self.grouped().items()]
        heading = ["| release | times | share | rho |", "|:--|--:|--:|--:|"]
        return "\n".join([f"**{self.statement()}**", "", self.plain_words(), "", *heading, *rows])

    def __str__(self) -> str:
        rows = [
            f"  {r.name:<28} {r.mechanism:<38} {r.sensitivity:>11.5g} {r.scale:>11.5g} {r.rho:>10.4g}"
            for r in self.releases
        ]
        heading = f"  {'release':<28} {'made private by':<38} {'sensitivity':>11} {'scale':>11} {'rho':>10}"
        paid = f"{len(rows)} releases, rho {self.rho:.4g} for a {self.guarantee.protects.one}"
        summary = f"{paid}; sensitivity and scale in integer steps:"
        return "\n".join([textwrap.fill(self.statement(), 100), summary, heading, *rows])


def _one_in(probability: float) -> str:
    """A small probability in words."""
    if not 1e-9 <= probability <= 0.1:
        return f"{probability:.2g}"
    return f"1 in {float(f'{1 / probability:.1e}'):,.0f}"

"""Mechanisms at their price, and the releases made or planned with them.

A kind of mechanism is one class: it says what a release of that kind costs in every account, and nothing else asks what
kind a release is. A new kind needs its class here (listed in `MECHANISMS`), the proof of its sensitivity in
`sensitivity`, and the function that draws it in `mechanisms/`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from dpsparse.privacy.accounting.gdp import discreteness_slack, with_gaussian, with_pick, with_pure

# Picks of one release whose steps in the Gaussian account are taken one by one.
_MOST_STEPS = 4096


@dataclass(frozen=True)
class Mechanism(ABC):
    """A kind of mechanism at its price to a single record."""

    kind: ClassVar[str]
    """The key in model files and in `PrivacyRecord.to_dict`."""
    states_mu: ClassVar[bool] = True
    """Whether a record of such releases states mu; False where zCDP or pure composition is meant to account for it."""
    more: ClassVar[tuple[str, ...]] = ()
    """Fields that model files hold for this kind beside those of every release; `drawn` is given them as floats."""

    rho: float  # its zCDP
    pure_epsilon: float = math.inf  # Its pure differential privacy; infinite where it has none.
    # The most by which it differs, in total variation and on any table, from the ideal mechanism to which
    # `mu_squared` applies.
    tv_slack: float = 0.0
    # On every table nothing is claimed on an event of at most this probability; off the event the mechanism costs
    # what it says. Where it is above 0 there is no pure epsilon (`compose`).
    failure_probability: float = 0.0
    words: str = ""  # How it makes a release private, for the record.

    @abstractmethod
    def mu_squared(self, later: float, *, certify: bool = True) -> float:
        """mu^2 of this release and of later ones of mu^2 = `later`: its step in the Gaussian account, in reverse time.

        It is at least `later`, and infinite where no bound is known. `certify=False` is for searches only.
        """

    @classmethod
    def drawn(cls, *, scale: float, size: int, **numbers: Any) -> Self:
        """The mechanism of a release that drew `size` numbers of noise of this scale; model files are read by it."""
        return cls(**numbers)

    def covers(self, made: "Mechanism") -> bool:
        """Whether a release planned with this mechanism pays for one made with another.

        The fields that a kind adds must be equal, for they may decide its price.
        """
        added = [field.name for field in fields(self) if field.name not in _COMMON]
        return (
            type(made) is type(self)
            and all(getattr(made, name) == getattr(self, name) for name in added)
            and made.rho == self.rho
            and made.pure_epsilon <= self.pure_epsilon
            and made.tv_slack <= self.tv_slack
            and made.failure_probability <= self.failure_probability
        )

    def __str__(self) -> str:
        return self.words

    def __format__(self, spec: str) -> str:
        return format(self.words, spec)


_COMMON = {field.name for field in fields(Mechanism)}


@dataclass(frozen=True)
class ExponentialMechanism(Mechanism):
    """A pick by the exponential mechanism: e0-bounded-range, with e0^2 = 8 rho (`selection.exponential_pick`)."""

    kind: ClassVar[str] = "pick"

    def mu_squared(self, later: float, *, certify: bool = True) -> float:
        """The step of a pick."""
        return with_pick(later, self.rho, certify=certify)


@dataclass(frozen=True)
class RepeatedPicks(Mechanism):
    """`count` independent picks of equal price by the exponential mechanism (`selection.exponential_picks`)."""

    kind: ClassVar[str] = "picks"
    more: ClassVar[tuple[str, ...]] = ("count",)

    count: float = 1  # A whole number; model files give it as a float.

    def __post_init__(self) -> None:
        if not (1 <= self.count < 2**31 and self.count == int(self.count)):
            raise ValueError("a release of several picks states how many it made, a whole number of at least 1")

    def mu_squared(self, later: float, *, certify: bool = True) -> float:
        """The step of a pick, as often as there are picks.

        `with_pick` takes b to min_i (max(b, a_i) + c_i), so what it adds never grows with b. After many steps the last
        addition therefore bounds all that follow.
        """
        steps, before = min(int(self.count), _MOST_STEPS), later
        for _ in range(steps):
            before, later = later, with_pick(later, self.rho / self.count, certify=certify)
        left = self.count - steps
        return later + left * (later - before + math.ulp(later)) if left and later < math.inf else later


@dataclass(frozen=True)
class GaussianMechanism(Mechanism):
    """Discrete Gaussian noise on integers (`gaussian.gaussian_scale`)."""

    kind: ClassVar[str] = "gaussian"

    def mu_squared(self, later: float, *, certify: bool = True) -> float:
        """The step of Gaussian noise."""
        return with_gaussian(later, self.rho)

    @classmethod
    def drawn(cls, *, scale: float, size: int, **numbers: Any) -> Self:
        """Gaussian noise; `tv_slack` bounds its distance from the rounded continuous law."""
        # Off-diagonal entries of a Gram matrix have 1/sqrt 2 of the scale: halving it covers them.
        return cls(tv_slack=discreteness_slack(scale / 2, size), **numbers)


@dataclass(frozen=True)
class LaplacePeeling(Mechanism):
    """A peeling with Laplace noise: a sequence of pure releases (`selection.peeling_cost`)."""

    kind: ClassVar[str] = "laplace"
    # Its mu is looser than its zCDP at the deltas that are used.
    states_mu: ClassVar[bool] = False

    def mu_squared(self, later: float, *, certify: bool = True) -> float:
        """The step of pure releases."""
        return with_pure(later, self.rho)


@dataclass(frozen=True)
class PartitionSelection(Mechanism):
    """Values whose noisy counts exceed a threshold (`partition.release_names`).

    Gaussian noise on the counts of values that other people hold too, and a failure: the release of a value that one
    person alone holds. `size` is a public bound on the number of values, since their true number is data.
    """

    kind: ClassVar[str] = "partitions"
    more: ClassVar[tuple[str, ...]] = ("failure_probability",)

    def __post_init__(self) -> None:
        if not 0 < self.failure_probability < 1:
            raise ValueError("a selection of partitions states a failure probability, above 0 and below 1")

    def mu_squared(self, later: float, *, certify: bool = True) -> float:
        """The step of Gaussian noise."""
        return with_gaussian(later, self.rho)

    @classmethod
    def drawn(cls, *, scale: float, size: int, **numbers: Any) -> Self:
        """Gaussian noise on at most `size` counts; `tv_slack` bounds its distance from the rounded continuous law."""
        return cls(tv_slack=discreteness_slack(scale, size), **numbers)


_KINDS = (ExponentialMechanism, RepeatedPicks, GaussianMechanism, LaplacePeeling, PartitionSelection)
MECHANISMS: Mapping[str, type[Mechanism]] = {mechanism.kind: mechanism for mechanism in _KINDS}


class _Named:
    """A mechanism under a name."""

    name: str
    mechanism: Mechanism

    @property
    def rho(self) -> float:
        """Its zCDP."""
        return self.mechanism.rho

    @property
    def group(self) -> str:
        """The name without a number at its end."""
        return self.name.rstrip(" 0123456789")


@dataclass(frozen=True)
class Slot(_Named):
    """A release that a fit has planned, before it reads the data.

    Examples
    --------
    >>> Slot("pick 3", ExponentialMechanism(0.01)).group
    'pick'
    """

    name: str  # What it is for, such as "pick 3".
    mechanism: Mechanism  # The most that it may cost.
    part: int | None = None  # Which of the disjoint parts of the rows it reads; None for all rows.

    def pays_for(self, release: "Release") -> bool:
        """Whether this is the slot of that release."""
        return (release.name, release.part) == (self.name, self.part) and self.mechanism.covers(release.mechanism)

    def skipped(self) -> "Release":
        """The entry of a skipped slot in a record: its full price, and no draw."""
        # Its slack stays too: which slots are skipped may depend on releases, and what a record states must not.
        mechanism = replace(self.mechanism, words="skipped: paid for, nothing released")
        return Release(self.name, mechanism, sensitivity=0.0, scale=0.0, part=self.part, size=0)


@dataclass(frozen=True)
class Release(_Named):
    """One thing that a fit let out, and its price to a single record.

    Parameters
    ----------
    name : str
        What it is for, such as "step 3".
    mechanism : Mechanism
        How it was made private, at its price; it prints as words.
    sensitivity : float
        The largest change of the statistic between neighbours, in its own integer units.
    scale : float
        The scale of the noise, in the same units.
    part : int or None
        Which of the disjoint parts of the rows it reads; None for all rows.
    size : int
        How many numbers were drawn; 0 for a slot that was skipped.
    """

    name: str
    mechanism: Mechanism
    sensitivity: float
    scale: float
    part: int | None = None
    size: int = 1

    @property
    def kind(self) -> str:
        """The kind of its mechanism, as in model files."""
        return self.mechanism.kind

    @property
    def pure_epsilon(self) -> float:
        """Its pure differential privacy."""
        return self.mechanism.pure_epsilon

    def to_dict(self) -> dict[str, Any]:
        """The release as plain numbers and strings, as in model files; an infinite pure epsilon is None."""
        numbers = {
            "name": self.name,
            "kind": self.kind,
            "mechanism": self.mechanism.words,
            "sensitivity": self.sensitivity,
            "scale": self.scale,
            "rho": self.rho,
            "pure_epsilon": self.pure_epsilon,
            "part": self.part,
            "size": self.size,
            **{field: getattr(self.mechanism, field) for field in self.mechanism.more},
        }
        if not self.size and self.mechanism.tv_slack:
            # A skipped slot has no noise from whose scale its slack would follow.
            numbers["tv_slack"] = self.mechanism.tv_slack
        return {key: None if value == math.inf else value for key, value in numbers.items()}

    @classmethod
    def from_dict(cls, numbers: Mapping[str, Any]) -> Self:
        """The release that `to_dict` wrote, its numbers checked and an infinite pure epsilon put back."""
        kind = MECHANISMS[numbers["kind"]]
        mechanism = kind.drawn(
            scale=numbers["scale"],
            size=numbers["size"],
            rho=numbers["rho"],
            pure_epsilon=numbers["pure_epsilon"],
            words=numbers["mechanism"],
            **{field: numbers[field] for field in kind.more},
        )
        if not numbers["size"]:
            mechanism = replace(mechanism, tv_slack=numbers.get("tv_slack", 0.0))
        names = ("name", "sensitivity", "scale", "part", "size")
        return cls(mechanism=mechanism, **{name: numbers[name] for name in names})

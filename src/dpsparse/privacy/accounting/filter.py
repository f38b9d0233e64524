"""The privacy filter: whether one more fit on a dataset stays within its grant.

Theorem. Let a grant be (E, D), and let fits, each chosen in any way from the results of those before it, be admitted by
`PrivacyFilter.admits`. Then all results together are (E, D)-differentially private to a person.

The cost of a fit is a set of public numbers, known before it reads the data (`Cost`), and each is true by itself. There
are three accounts. A fit is admitted where the total of one account, this fit included, stays within the grant:

- "gaussian": sqrt(sum mu_i^2) <= mu and (1 + e^E) sum tv_slack_i <= D/1000, with D_mu(E) <= 0.999 D (`gdp`);
- "zcdp": sum rho_i <= rho, with rho-zCDP implying (E, D - F), where F = sum failure_probability_i (`zcdp`);
- "basic": sum epsilon_i <= E and sum delta_i <= D.

The first fit fixes the account, by `choose`: it is the account in which that fit takes the smallest share.
Admitting a fit for which *any* account has room would be unsound: each could fail on its own D. A first fit whose own
(epsilon, delta) is within (E, D) is admitted: "basic" has room for it, and so has the account of the smallest share.

Proof. *One account.* Let a state be the results so far, and let b be the amount that the account has left. By induction
in reverse time over at most N further fits: from a state with b left, all that follows loses no more than b. A fit that
costs c <= b is chosen by the state alone. Let L be its privacy loss, and b - c the rest.
("gaussian") Everything from here on has a curve of at most E_P[D_m(x - L)], m^2 = b - c. D_m is convex in e^x, so this
is an f-divergence of the fit's two laws, which are a post-processing of N(sqrt c, 1) and N(0, 1): it is at most that
pair's, which is D at sqrt b. Stopping is D_0 <= D_sqrt(b). (Smith and Thakurta 2022 prove the same.) Real fits
differ from the ideal ones for which mu holds by at most tv_slack_i in total variation, given anything before: coupled
fit by fit, the whole differs by at most sum tv_slack_i on every path, which changes delta by (1 + e^E) times that.
("zcdp") E_P[exp((a - 1) L)] exp((a - 1) a (b - c)) <= exp((a - 1) a b) for every order a > 1. Failures are taken from
delta by the argument of `compose`, in which a fit may be chosen by the results before it.
("basic") min(P, e^epsilon Q) misses at most delta of P, and on it P(S) <= e^(E - epsilon) Q(S) + (D - delta).
*Refunds.* A refunded fit has released nothing, so only fits that were not refunded count.
*The account* is chosen while no such fit exists, hence before anything was released.
*Fits at the same time.* A fit's parameters are fixed when it is admitted and its results come later, so parameters
depend only on results of fits admitted earlier: the order of admission is an order in which the proof holds.
*A fit whose own delta exceeds D* is no exception: its mu and rho hold at every delta; "basic" refuses it. QED.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpsparse.privacy.accounting.gdp import TV_SLACK_SHARE, epsilon_from_mu
from dpsparse.privacy.accounting.zcdp import epsilon_from_rho, rho_from_epsilon
from dpsparse.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Cost:
    """The cost of one fit to a person: true statements, all from public numbers."""

    # The fit is (epsilon, delta)-DP.
    epsilon: float
    delta: float
    rho: float = math.inf  # A run of the fit without failures is rho-zCDP; infinite where no bound is known.
    # The fit differs by at most `tv_slack` in total variation from one that is mu-Gaussian-DP; mu is infinite where
    # no bound is known.
    mu: float = math.inf
    tv_slack: float = 0.0
    # The probability, at most, that rho does not hold (`compose`); `tv_slack` includes it.
    failure_probability: float = 0.0

    def __post_init__(self) -> None:
        finite = 0 < self.epsilon < math.inf and 0 <= self.delta < 1
        if not finite or not all(x >= 0 for x in (self.rho, self.mu, self.tv_slack, self.failure_probability)):
            raise ValueError("a cost needs a finite epsilon above 0, delta in [0, 1) and no negative number")


class Account(ABC):
    """A way to add up the costs of fits and to compare the sum with a grant."""

    name: ClassVar[str]
    """The key in ledgers."""

    @abstractmethod
    def share(self, grant: Guarantee, costs: Sequence[Cost]) -> float | Fraction:
        """The share of the grant that these fits take: they are within the grant where it is at most 1."""

    @abstractmethod
    def epsilon(self, grant: Guarantee, share: float, costs: Sequence[Cost]) -> float:
        """The epsilon, at the grant's delta, of a share of the grant above 0, where these fits count against it."""


# The limits on mu and rho are a relative 1e-11 below what the grant allows, far more than the sums below round by.
class GaussianAccount(Account):
    """Gaussian differential privacy: squares of mu add up."""

    name = "gaussian"

    def share(self, grant: Guarantee, costs: Sequence[Cost]) -> float:
        """The larger of the shares of mu^2 and of `tv_slack`."""
        tv_slack = (1 + math.exp(min(grant.epsilon, 700.0))) * math.fsum(cost.tv_slack for cost in costs)
        squared = math.fsum(cost.mu**2 for cost in costs)
        return max(squared / grant.mu_per_record**2, tv_slack / (TV_SLACK_SHARE * grant.delta))

    def epsilon(self, grant: Guarantee, share: float, costs: Sequence[Cost]) -> float:
        """The epsilon of a share of mu^2."""
        return epsilon_from_mu(math.sqrt(share) * grant.mu_per_record, (1 - TV_SLACK_SHARE) * grant.delta)


class ZCDPAccount(Account):
    """Zero-concentrated differential privacy: rho adds up."""

    name = "zcdp"

    def share(self, grant: Guarantee, costs: Sequence[Cost]) -> float:
        """The share of rho at the delta that failures leave."""
        most, _ = self._limits(grant, costs)
        return math.fsum(cost.rho for cost in costs) / most if most else math.inf

    def epsilon(self, grant: Guarantee, share: float, costs: Sequence[Cost]) -> float:
        """The epsilon of a share of rho at the delta that failures leave."""
        most, delta = self._limits(grant, costs)
        return epsilon_from_rho(share * most, delta) if most else math.inf

    @staticmethod
    def _limits(grant: Guarantee, costs: Sequence[Cost]) -> tuple[float, float]:
        """The rho that the grant allows, and the delta at which it does."""
        failure = math.fsum(cost.failure_probability for cost in costs)
        delta = grant.delta - failure
        if not failure:
            return grant.rho_per_record, delta
        return (rho_from_epsilon(grant.epsilon, delta) if delta > 0 else 0.0), delta


class BasicAccount(Account):
    """Basic composition: epsilon and delta add up."""

    name = "basic"

    def share(self, grant: Guarantee, costs: Sequence[Cost]) -> Fraction:
        """The larger of the shares of epsilon and of delta."""
        # Decimals as they were written, so that three fits of 0.1 are 0.3.
        epsilon = sum(Fraction(repr(cost.epsilon)) for cost in costs)
        delta = sum(Fraction(repr(cost.delta)) for cost in costs)
        return max(epsilon / Fraction(repr(grant.epsilon)), delta / Fraction(repr(grant.delta)))

    def epsilon(self, grant: Guarantee, share: float, costs: Sequence[Cost]) -> float:
        """The share of epsilon."""
        return share * grant.epsilon


ACCOUNTS: Mapping[str, Account] = {
    account.name: account for account in (GaussianAccount(), ZCDPAccount(), BasicAccount())
}


@dataclass(frozen=True)
class PrivacyFilter:
    """A grant and the fits that count against it: reserved or charged, and not refunded.

    Examples
    --------
    >>> fresh = PrivacyFilter(Guarantee(1.0, 1e-6))
    >>> fresh.admits(Cost(1.0, 1e-6)), fresh.admits(Cost(1.1, 1e-6))
    (True, False)
    """

    grant: Guarantee  # The guarantee to a person over all fits.
    costs: tuple[Cost, ...] = ()  # In order of admission.
    account: str | None = None  # How they are added up; None before the first.

    def admits(self, cost: Cost) -> bool:
        """Whether one more fit stays within the grant, by the rule of this module's theorem."""
        return ACCOUNTS[self.account_with(cost)].share(self.grant, (*self.costs, cost)) <= 1

    def account_with(self, cost: Cost) -> str:
        """The account in force once this fit is admitted."""
        return self.choose(cost) if self.account is None or not self.costs else self.account

    def choose(self, cost: Cost) -> str:
        """The account in which a first fit takes the smallest share."""
        return min(ACCOUNTS, key=lambda account: ACCOUNTS[account].share(self.grant, (cost,)))

    @property
    def share(self) -> float:
        """The share of the grant that is spent, at most 1."""
        return 0.0 if self.account is None else min(1.0, self._share)

    @property
    def epsilon_spent(self) -> float:
        """The epsilon that all fits so far keep, at the grant's delta."""
        if not self.costs:
            return 0.0
        alone = self.costs[0].epsilon if len(self.costs) == 1 and self.costs[0].delta <= self.grant.delta else math.inf
        return min(alone, self._epsilon_of(self._share))

    @property
    def epsilon_left(self) -> float:
        """The largest epsilon, at the grant's delta, of one more fit that is accounted in the same way."""
        return self._epsilon_of(1 - self.share) if self.costs else self.grant.epsilon

    @property
    def _account(self) -> Account:
        return ACCOUNTS[self.account or BasicAccount.name]

    @property
    def _share(self) -> float:
        return float(self._account.share(self.grant, self.costs))

    def _epsilon_of(self, share: float) -> float:
        return share if share in (0.0, math.inf) else self._account.epsilon(self.grant, share, self.costs)


def round_down(epsilon: float) -> float:
    """Round to three digits, never up.

    Examples
    --------
    >>> round_down(0.41197), round_down(2.0)
    (0.411, 2.0)
    """
    if not 0 < epsilon < math.inf:
        return epsilon
    digits = 2 - math.floor(math.log10(epsilon))
    rounded = round(epsilon, digits)
    return rounded if rounded <= epsilon else round(rounded - 10.0**-digits, digits)

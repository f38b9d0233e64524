"""What several fits on one dataset cost together, and whether one more is admitted.

Theorem. Let a grant be (E, D), and let fits, each chosen in any way from the results of those before it, be admitted by
`Odometer.admits`. Then all results together are (E, D)-differentially private to a person.

A fit's cost is a set of public numbers, known before it reads the data (`Cost`), each true by itself. There are three
accounts. A fit is admitted where one account's total, this fit included, stays within the grant:

- "gaussian": sqrt(sum mu_i^2) <= mu and (1 + e^E) sum excess_i <= D/1000, with D_mu(E) <= 0.999 D (`gaussian_account`);
- "zcdp": sum rho_i <= rho, with rho-zCDP implying (E, D) (`budget`);
- "basic": sum epsilon_i <= E and sum delta_i <= D.

Which account it is, is fixed by the first fit, by `choose`: the one of which that fit takes the smallest share.
Admitting whatever *any* account has room for would be unsound: each could fail on its own D. A first fit whose own
(epsilon, delta) is within (E, D) is admitted: "basic" has room for it, and so has the account of the smallest share.

Proof. *One account.* Let a state be the results so far and b what the account has left. Induction in
reverse time over at most N further fits: from a state with b left, whatever follows loses no more than b. A fit that
costs c <= b is chosen by the state alone; with L its privacy loss and b - c the rest,
("gaussian") everything from here on has a curve of at most E_P[D_m(x - L)], m^2 = b - c. D_m is convex in e^x, so this
is an f-divergence of the fit's two laws, which are a post-processing of N(sqrt c, 1) and N(0, 1): it is at most that
pair's, which is D at sqrt b. Stopping is D_0 <= D_sqrt(b). (Smith and Thakurta 2022 prove the same.) Real fits
differ from the ideal ones of which mu speaks by at most excess_i in total variation, given anything before: coupled fit
by fit, the whole by at most sum excess_i on every path, which changes delta by (1 + e^E) times that;
("zcdp") E_P[exp((a - 1) L)] exp((a - 1) a (b - c)) <= exp((a - 1) a b) for every order a > 1;
("basic") min(P, e^epsilon Q) misses at most delta of P, and on it P(S) <= e^(E - epsilon) Q(S) + (D - delta).
*Refunds.* A refunded fit has released nothing, so only fits that stand count.
*The account* is chosen while no fit stands, hence before anything was released.
*Fits at the same time.* A fit's parameters are fixed when it is admitted and its results come later, so parameters
depend only on results of fits admitted earlier: the order of admission is an order in which the proof holds.
*A fit whose own delta exceeds D* is no exception: its mu and rho hold at every delta; "basic" refuses it. QED.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsparse.privacy.accounting.gdp import EXCESS_SHARE, epsilon_from_mu
from dpsparse.privacy.guarantee import Guarantee, epsilon_from_rho

ACCOUNTS = ("gaussian", "zcdp", "basic")


@dataclass(frozen=True)
class Cost:
    """What one fit costs a person: true statements, all from public numbers.

    Parameters
    ----------
    epsilon, delta : float
        It is (epsilon, delta)-DP.
    rho : float
        It is rho-zCDP; infinite where no bound is known.
    mu, excess : float
        It differs by at most `excess` in total variation from a fit that is mu-Gaussian-DP; mu is infinite where no
        bound is known.
    """

    epsilon: float
    delta: float
    rho: float = math.inf
    mu: float = math.inf
    excess: float = 0.0

    def __post_init__(self) -> None:
        finite = 0 < self.epsilon < math.inf and 0 <= self.delta < 1
        if not finite or not self.rho >= 0 or not self.mu >= 0 or not self.excess >= 0:
            raise ValueError("a cost needs a finite epsilon above 0, delta in [0, 1) and no negative number")


@dataclass(frozen=True)
class PrivacyFilter:
    """A grant and the fits that stand against it: reserved or charged, and not refunded.

    Parameters
    ----------
    grant : Promise
        What a person is promised over all fits.
    costs : tuple of Cost
        In order of admission.
    account : {"gaussian", "zcdp", "basic"} or None
        How they are added up; None before the first.

    Examples
    --------
    >>> from dpsparse.privacy.guarantee import Guarantee
    >>> from dpsparse.privacy.accounting.filter import Cost, PrivacyFilter
    >>> fresh = PrivacyFilter(Guarantee(1.0, 1e-6))
    >>> fresh.admits(Cost(1.0, 1e-6)), fresh.admits(Cost(1.1, 1e-6))
    (True, False)
    """

    grant: Guarantee
    costs: tuple[Cost, ...] = ()
    account: str | None = None

    def admits(self, cost: Cost) -> bool:
        """Whether one more fit stays within the grant, by the rule of this module's theorem."""
        return self._share(self.account_with(cost), (*self.costs, cost)) <= 1

    def account_with(self, cost: Cost) -> str:
        """The account in force once this fit is admitted."""
        return self.choose(cost) if self.account is None or not self.costs else self.account

    def choose(self, cost: Cost) -> str:
        """The account of which a first fit takes the smallest share."""
        return min(ACCOUNTS, key=lambda account: self._share(account, (cost,)))

    @property
    def share(self) -> float:
        """The share of the grant that is spent, at most 1."""
        return 0.0 if self.account is None else min(1.0, float(self._share(self.account, self.costs)))

    @property
    def epsilon_spent(self) -> float:
        """What a person is promised so far, at the grant's delta."""
        if not self.costs:
            return 0.0
        alone = self.costs[0].epsilon if len(self.costs) == 1 and self.costs[0].delta <= self.grant.delta else math.inf
        return min(alone, self._epsilon_of_share(self._share(self._account, self.costs)))

    @property
    def epsilon_left(self) -> float:
        """The largest fit of the account's own kind, at the grant's delta, that there is room for."""
        return self._epsilon_of_share(1 - self.share) if self.costs else self.grant.epsilon

    @property
    def _account(self) -> str:
        return self.account or "basic"

    def _epsilon_of_share(self, share: float | Fraction) -> float:
        share = float(share)
        if self._account == "basic" or share in (0.0, math.inf):
            return share * self.grant.epsilon
        if self._account == "zcdp":
            return epsilon_from_rho(share * self.grant.rho_per_record, self.grant.delta)
        mu = math.sqrt(share) * self.grant.mu_per_record
        return epsilon_from_mu(mu, (1 - EXCESS_SHARE) * self.grant.delta)

    def _share(self, account: str, costs: Sequence[Cost]) -> float | Fraction:
        """The part of the grant that these fits take in an account: within the grant where it is at most 1."""
        grant = self.grant
        # The limits on mu and rho are a relative 1e-11 below what the grant allows, far more than sums here round by.
        if account == "gaussian":
            excess = (1 + math.exp(min(grant.epsilon, 700.0))) * math.fsum(cost.excess for cost in costs)
            squared = math.fsum(cost.mu**2 for cost in costs)
            return max(squared / grant.mu_per_record**2, excess / (EXCESS_SHARE * grant.delta))
        if account == "zcdp":
            return math.fsum(cost.rho for cost in costs) / grant.rho_per_record
        # Decimals as they were written, so that three fits of 0.1 are 0.3.
        epsilon = sum(Fraction(repr(cost.epsilon)) for cost in costs)
        delta = sum(Fraction(repr(cost.delta)) for cost in costs)
        return max(epsilon / Fraction(repr(grant.epsilon)), delta / Fraction(repr(grant.delta)))


def round_down(epsilon: float) -> float:
    """To three digits, never up.

    Examples
    --------
    >>> from dpsparse.privacy.accounting.filter import round_down
    >>> round_down(0.41197), round_down(2.0)
    (0.411, 2.0)
    """
    if not 0 < epsilon < math.inf:
        return epsilon
    digits = 2 - math.floor(math.log10(epsilon))
    rounded = round(epsilon, digits)
    return rounded if rounded <= epsilon else round(rounded - 10.0**-digits, digits)

"""How accurate a private fit will be, by formulas whose constants were fitted on simulations.

The formulas are for `PrivateSparseRegressor` on roughly normal rows with features scaled to 1 and s effects that are
normal numbers of the noise's size. A pursuit selects features with a share of rho, and a step with the others leads to
the estimand's estimator; in small tables the pursuit has all of it (`decisions.reaches_reference`). Prices are those
that the schedule of the fit charges. N = n sqrt(rho) is the size of the table as privacy sees it, with the rho of what
is spoken of.

- Everything in the pursuit is in units of its residuals, R. They hold the noise and what effects are lost or off so
  far: R^2 = q^2 + s e(R), where q is the typical size of the noise and e the share of an effect's square that a pursuit
  among residuals of that size loses. So errors grow fast where a table becomes too small: what is lost hides the rest.
- The effect that is selected in 4 fits of 5 grows with log(4 d) / N of the last pick, the noise of a selection (the
  largest of d useless features leads by log d, and in one fit of five by log 4 more), and with sqrt(log d / n), the
  chance correlation of n records. How often another effect is selected is a normal law of the log of its size. It tells
  how much of the effects' squares is lost, too. Unknown units leave a selection less signal, least where features are
  compared by pairs of records alone (`decisions.splits_share`). Where nothing is selected, since all features are
  taken, it is the effect that is significant (family-wise 5 %) with 80 % power.
- An estimate of the pursuit has a variance of a / n + b k^2 / N^3 of the final gradients, where k numbers are estimated
  together. Noise of a gradient alone would be k / N^2; steps by noisy second moments are k / N off. Where all features
  are taken in a table too small to release the scale of residuals again (`decisions.rescales_steps`), they are clipped
  where responses are, and privacy's part is b k / N^2 in units of q^2 + s.
- Where the step is taken, effects on the mean have a part of its error: of least squares, whose sampling error is that
  of all of the noise and not of its typical size, and of privacy, c k / N^p of the mean score. Scores are clipped
  further out in larger tables, which costs much of what N gains: p is below 2. Typical effects of predictions have
  nearly all of their weight on the pursuit's, and intervals are the step's.
- Correlated neighbours raise variances by the mean diagonal of an inverse correlation matrix whose entries fall with
  distance, of features at random places (`mean_inflation`); privacy's part by a power of it.
- In unknown units what early estimates leave of a large effect is selected again by its neighbours, in any table. From
  a correlation of about a half on they come before effects of a size that rises with it.
- A unit that is looked for on a grid is chosen by noise with a chance that falls with N of its release, and then an
  effect is lost.
- Small tables in unknown units look for the largest effects alone, and the smallest for none
  (`decisions.most_features`): what is not looked for is lost. The forecast is for features that lie up to some 30
  scales from 0. Nothing is worse than to lose all.
- A person's rows add up, and their sum over the root of their number is clipped. Of m rows that are alike by r it is
  sqrt(1 + (m - 1) r) times as long as a row, so that the clip leaves what sqrt(m / (1 + (m - 1) r)) times as many
  people with one row would have told beside the same noise: N grows by that factor, and n by its square.
- A 0/1 feature that few records have is harder to find than others of its variance (`Plan.effect_for_share`).

`benchmarks/calibrate_plan.py` fitted the constants on simulations. On 132 cases that they were not fitted on, 80 % of
the forecasts for effects on a mean lie within a factor of 1.3 of the simulated error if the noise's typical size is
told, and 67 % if it is not; 80 % of those for typical effects do. Within 1.6 are 87, 86 and 92 %. Of effects that are
forecast to be selected in 4 fits of 5, 72, 66 and 72 % were. What is left are rare failures, above all where many
features have unknown units or correlated neighbours.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np
from scipy.special import chdtr, chdtrc, chdtri

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.reference_budget import pursuit_share
from dpsparse.algorithms.pursuit.schedule import Schedule, prices_of
from dpsparse.families.estimands import MEAN, TYPICAL
from dpsparse.inference.inference_constants import FAMILY_WISE_LEVEL
from dpsparse.inference.intervals import reach

# Of a minimum detectable effect, as sample sizes are planned for.
POWER = 0.8


def standard_errors_detected(d: int) -> float:
    """How many standard errors an effect must have to be significant among d features with 80 % power.

    Examples
    --------
    >>> round(standard_errors_detected(1), 2), round(standard_errors_detected(1_000), 2)
    (2.8, 4.9)
    """
    normal = NormalDist()
    return normal.inv_cdf(1 - FAMILY_WISE_LEVEL / 2 / d) + normal.inv_cdf(POWER)


# Fitted by benchmarks/calibrate_plan.py. What "unknown" and "pairs" multiply privacy's part by, less 1, where units are
# unknown and where features are compared by pairs alone; "correlation" is the power of the inflation of variances;
# "slope" is of the probit of being selected, for a factor e of an effect.
EFFECT = {
    "privacy": 2.489,
    "sampling": 1.684,
    "unknown": 0.7366,
    "pairs": 0.6741,
    "correlation": 0.07634,
    "slope": 1.54,
}
# Where units are unknown: the correlation of neighbours from which on those of effects of size 1 are selected before
# smaller ones, and how fast their size rises with it.
NEIGHBOURS = {"from": 0.4824, "effect": 3.604}
# The variance of the pursuit's estimates; "correlation" likewise.
# "once" is for residuals that are clipped where responses are.
ERROR = {"once": 1.003, "sampling": 1.366, "privacy": 146.8, "correlation": 3.388}
# The chance that noise chooses a unit: exp(grid - nats N).
UNIT = {"grid": 1.665, "nats": 0.2077}
# What the step to a mean adds: "sampling" of the square of the noise that is beyond its typical size.
STEP = {"sampling": 0.4345, "privacy": 0.01199, "power": 1.205}
# The width of intervals, likewise: without a step, where features are selected and where all are taken, and with one.
# Tails of the noise widen those on a mean: "tails" is the power of its size over its typical size.
WIDTH_SELECTED = {"sampling": 2.029, "privacy": 148.3, "correlation": 2.969}
WIDTH_TAKEN = {"sampling": 1.563, "privacy": 563.0, "correlation": 3.505}
WIDTH_STEP: dict[str, dict[str, float]] = {
    MEAN.name: {"sampling": 1.1, "privacy": 1.258, "power": 1.458, "tails": 0.9668},
    TYPICAL.name: {"sampling": 1.333, "privacy": 135.3, "power": 2.244, "tails": 0.0},
}

# The typical size of the noise over its standard deviation where nobody says, between those of a normal law (1) and a t
# law with 3 degrees of freedom (.65); a lognormal one has .41. With it an effect that is forecast to be selected in 4
# fits of 5 is so in 74 % of a mixture of all three (`calibrate_plan.py`); with .65 it was in a tenth fewer.
TYPICAL_PART = 0.75
# Points of a standard normal law, with weights: nine are exact for polynomials of degree 17.
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_WEIGHTS /= _WEIGHTS.sum()
# R is found to this part of its square, after so many rounds at most.
_CLOSE, _MOST_ROUNDS = 1e-6, 40
# Gaps between features of which correlations are told apart.
_GAPS = np.arange(1, 200)


def mean_inflation(correlation: float, share: float) -> float:
    """The mean factor by which neighbours inflate the variance of an effect, if a share of the features take part.

    Correlations fall with distance as powers. The nearest features that take part, at gaps g and h, inflate it to
    1 / (1 - r^2g) + 1 / (1 - r^2h) - 1, and gaps have a geometric law.

    Examples
    --------
    >>> from dpsparse.planning.accuracy import mean_inflation
    >>> mean_inflation(0.0, 0.5), round(mean_inflation(0.5, 1.0), 2), round(mean_inflation(0.5, 0.1), 2)
    (1.0, 1.67, 1.08)
    """
    chances = share * (1 - share) ** (_GAPS - 1)
    apart = 1 - chances.sum()
    return float(2 * (np.sum(chances / (1 - correlation ** (2.0 * _GAPS))) + apart) - 1)


@dataclass(frozen=True)
class Pursued:
    """What a pursuit is expected to reach, in units of the noise."""

    detectable: float  # The effect that is selected in 4 fits of 5.
    lost: float  # The share of the effects' squared norm that is not selected.
    variance: float  # Of an estimate.

    @property
    def left(self) -> float:
        """The share of an effect's square that is lost or off."""
        return self.lost + (1 - self.lost) * shrunk(self.variance)


def shrunk(variance: float) -> float:
    """The squared error of an effect of size 1: nothing is worse than to lose it."""
    return variance / (1 + variance)


@dataclass(frozen=True)
class Accuracy:
    """The expected accuracy of a fit, in units of the response per scaled feature."""

    facts: PublicFacts  # With the whole rho. The units of all features are known, or of none.
    noise_scale: float  # In units of the response.
    correlation: float  # Of neighbouring features.
    rows: float = 1.0  # Of a person, as many as tell something of their own.
    typical: float = 1.0  # The typical size of the noise, in units of its size.

    @property
    def expected_error(self) -> float:
        """The expected l2 error of the coefficients."""
        s, pursued = self.facts.sparsity, self._pursued
        off = shrunk(pursued.variance + (self._of_step if self.takes_step else 0.0))
        squared = s * (pursued.lost + (1 - pursued.lost) * off)
        wrong = s * self._wrong_unit
        # The chance that any unit is wrong; so many are, then.
        some = -math.expm1(-wrong)
        error = (1 - some) * math.sqrt(squared) + (some * math.sqrt(min(s, squared + wrong / some)) if some else 0.0)
        # The mean length of s normal numbers against the root of its mean square.
        mean = math.sqrt(2 / s) * math.exp(math.lgamma((s + 1) / 2) - math.lgamma(s / 2))
        return self.noise_scale * mean * error

    @property
    def smallest_effect(self) -> float:
        """The effect that is selected in 4 fits of 5."""
        if self.n_looked_for and not self._selects:
            return self.noise_scale * standard_errors_detected(self.facts.d) * self._standard_error
        return self.noise_scale * self._pursued.detectable

    @property
    def interval_width(self) -> float:
        """The expected width of an interval as results show it, of 95 %; infinite where there is none."""
        return self.noise_scale * 2 * reach() * self._standard_error

    @property
    def n_looked_for(self) -> int:
        """How many features are looked for: in small tables whose units nobody knows not all that are asked for."""
        return min(self.facts.sparsity, decisions.n_picks(self._pursuit))

    @property
    def takes_step(self) -> bool:
        """Whether a step to the estimand's estimator is taken."""
        return decisions.reaches_reference(self.facts)

    @property
    def has_intervals(self) -> bool:
        """Whether effects have intervals: those on a mean where the step is taken."""
        return self.takes_step or self.facts.family.estimand != MEAN

    @cached_property
    def _pursuit(self) -> PublicFacts:
        """What the pursuit goes by: the same facts with its share of rho."""
        return replace(self.facts, rho=pursuit_share(self.facts) * self.facts.rho)

    @cached_property
    def _schedule(self) -> Schedule:
        return Schedule(self._pursuit, reference_rho=self.facts.rho - self._pursuit.rho)

    @cached_property
    def _prices(self) -> dict[str, float]:
        """The rho of every release."""
        return prices_of(self._schedule)

    @property
    def _n(self) -> float:
        """How many records tell something of their own."""
        return self.rows * self.facts.n

    def _size(self, rho: float) -> float:
        """N of a release: what the rows of people tell beside its noise."""
        return math.sqrt(self.rows) * self.facts.n * math.sqrt(rho)

    @cached_property
    def _selects(self) -> bool:
        return decisions.selects(self._pursuit)

    @property
    def _n_estimated(self) -> int:
        """How many numbers are estimated together: a constant and the effects."""
        return (self.n_looked_for if self._selects else self.facts.d) + 1

    @cached_property
    def _inflation(self) -> float:
        """By how much correlated neighbours inflate variances."""
        return mean_inflation(self.correlation, self.facts.sparsity / self.facts.d if self._selects else 1.0)

    @cached_property
    def _pursued(self) -> Pursued:
        """What the pursuit reaches among the residuals that it leaves: from those of no effect on, in rounds."""
        s, noise = self.facts.sparsity, self.typical**2
        residuals = noise + s
        for _ in range(_MOST_ROUNDS):
            reached = self._among(residuals)
            before, residuals = residuals, noise + s * reached.left
            if before - residuals <= _CLOSE * before:
                break
        return reached

    def _among(self, residuals: float) -> Pursued:
        """What the pursuit reaches where residuals have this squared size."""
        if not self.n_looked_for:
            return Pursued(math.inf, 1.0, 0.0)
        detectable, one_by_one = 0.0, 0.0
        if self._selects:
            detectable = math.hypot(math.sqrt(residuals) * self._detectable, self._stand_in)
            found_from = detectable * np.exp((_POINTS - NormalDist().inv_cdf(POWER)) / EFFECT["slope"])
            one_by_one = float(_WEIGHTS @ chdtr(3, found_from**2))
        # Of the others nothing is known: their share of the squares of normal numbers, if the largest are looked for.
        kept = chdtrc(3, chdtri(1, self.n_looked_for / self.facts.sparsity))
        variance = residuals * self._variance(ERROR)
        if not self._selects and not decisions.rescales_steps(self._pursuit):
            variance = residuals * self._sampling(ERROR) + (self.typical**2 + self.facts.sparsity) * self._once
        return Pursued(detectable, 1 - kept * (1 - one_by_one), variance)

    @cached_property
    def _detectable(self) -> float:
        """The effect that is selected in 4 fits of 5, in units of the residuals."""
        facts, c = self._pursuit, EFFECT
        last = self._prices[f"pick {decisions.n_picks(facts)}"]
        by_privacy = c["privacy"] * math.log(4 * facts.d) / self._size(last) * self._inflation ** c["correlation"]
        if not facts.known:
            by_privacy *= 1 + c["unknown"] + c["pairs"] * (decisions.splits_share(facts) == 0)
        return math.hypot(by_privacy, c["sampling"] * math.sqrt(math.log(max(facts.d, 3)) / self._n))

    @property
    def _stand_in(self) -> float:
        """The effect that is selected no sooner than neighbours of others, in units of the noise."""
        if self.facts.known or self.facts.sparsity == 1:
            return 0.0
        return NEIGHBOURS["effect"] * max(0.0, self.correlation - NEIGHBOURS["from"])

    def _variance(self, c: dict[str, float]) -> float:
        """The variance of a pursuit's estimate, in units of its residuals, or of the noise."""
        # Second moments have a part of the pursuit's rho, and final gradients what is left.
        size = self._size(self._pursuit.rho)
        by_privacy = c["privacy"] * self._n_estimated**2 / (size**3 * self._schedule.final_share)
        return self._sampling(c) + float(self._inflation ** c["correlation"] * by_privacy)

    def _sampling(self, c: dict[str, float]) -> float:
        result: float = self._inflation * c["sampling"] / self._n
        return result

    @cached_property
    def _once(self) -> float:
        """Privacy's part of the variance, in units of the responses', where residuals are clipped by their scale."""
        size = self._size(self._pursuit.rho)
        return self._inflation**2 * ERROR["once"] * self._n_estimated / (size**2 * self._schedule.final_share)

    @cached_property
    def _of_step(self) -> float:
        """What the step to a mean adds to the variance of an effect."""
        if self.facts.family.estimand != MEAN:
            return 0.0
        by_privacy = STEP["privacy"] * self._n_estimated / self._size(self._prices["mean score"]) ** STEP["power"]
        result: float = self._inflation * (STEP["sampling"] * max(0.0, 1 - self.typical**2) / self._n + by_privacy)
        return result

    @property
    def _wrong_unit(self) -> float:
        """The chance that noise chooses a feature's unit."""
        if self.facts.known or not self.n_looked_for:
            return 0.0
        # A count of people: their rows do not add up.
        size = self.facts.n * math.sqrt(self._prices["unit size 1"])
        return math.exp(min(0.0, UNIT["grid"] - UNIT["nats"] * size))

    @cached_property
    def _standard_error(self) -> float:
        """The standard error of an effect in units of the noise; infinite where there is none."""
        if not self.has_intervals or not self.n_looked_for:
            return math.inf
        if not self.takes_step:
            # Unknown units make no interval narrower.
            by_noise = math.sqrt(self._variance(WIDTH_SELECTED if self._selects else WIDTH_TAKEN))
            return decisions.caution(self.facts) * by_noise
        assert self.facts.family.estimand is not None, "the step is for an estimand"
        c = WIDTH_STEP[self.facts.family.estimand.name]
        by_privacy = c["privacy"] * self._n_estimated / self._size(self._prices["mean score"]) ** c["power"]
        by_privacy /= self.typical ** c["tails"]
        return math.sqrt(self._inflation * (c["sampling"] / self._n + by_privacy))

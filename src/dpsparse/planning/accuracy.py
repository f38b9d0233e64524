"""How accurate a private fit will be, by formulas whose constants were fitted on simulations.

The formulas are for `PrivateSparseRegressor` on roughly normal rows with features scaled to 1 and s effects that are
normal numbers of the noise's size. N = n sqrt(rho) is the size of the table as privacy sees it. A pursuit selects
features with a share of rho, and a step with the others leads to the estimand's estimator; in small tables the pursuit
has all of it (`decisions.reaches_reference`).

- The effect that is selected in 4 fits of 5 grows with log d sqrt(s) / N, the noise of a selection, and with
  sqrt(log d / n), the chance correlation of n records. Where nothing is selected, since all features are taken, it is
  the effect that is significant (family-wise 5 %) with 80 % power.
- The squared error is that of s effects, each of which is lost or estimated. An estimate has a variance of
  a / n + b k / N^2, where k is the number of features that are estimated together. Effects are lost one by one, if they
  are small: effects below m are a share of about m of all, so they hold about m^3 of the squared norm, m the effect
  that is selected in 4 fits of 5. And they are lost together where N is too small for the releases that all estimates
  need, or for their steps to arrive: a share 1 / (1 + (N / N_0)^q), which falls fast. Nothing is worse than to lose
  all.
- Where the step is taken, an effect has the variance of its estimator, a / n, and of privacy: b k / N^p. Scores are
  clipped further out in larger tables, which costs a mean much of what N gains: p is below 2. A typical effect has the
  smaller one of this variance and of the pursuit's.
- Correlated neighbours raise the variance, most where effects lie within a correlation length of each other. They raise
  what is selected in 4 fits of 5 and N_0 too, since a neighbour may be selected instead.
- Unknown units take a share of the budget and leave a selection less signal, least where features are compared by pairs
  of records alone (`decisions.splits_share`). Small tables look for the largest effects alone, and the smallest for
  none (`decisions.most_features`): what is not looked for is lost. The forecast is for features that lie up to some 30
  scales from 0.
- A person's rows add up, and their sum over the root of their number is clipped. Of m rows that are alike by r it is
  sqrt(1 + (m - 1) r) times as long as a row, so that the clip leaves what sqrt(m / (1 + (m - 1) r)) times as many
  people with one row would have told beside the same noise: N grows by that factor, and n by its square.
- A 0/1 feature that few records have is harder to find than others of its variance (`Plan.effect_for_share`).

`benchmarks/calibrate_plan.py` fitted the constants on simulations. On settings that they were not fitted on, 68 % of
the forecasts for effects on a mean, and 77 % of those for typical ones, lie within a factor of 1.3 of the simulated
error, 80 and 86 % within 1.6 and 93 and 95 % within 2 (`calibrate_plan.py --holdout`: 22 settings with known and with
unknown units, whose errors are measured to some 14 %). Many effects among features in unknown units whose correlation
exceeds 0.5 are the hardest: the wrong neighbour may be selected in any table, and the error is two to eight times the
forecast.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

from scipy.special import chdtrc, chdtri

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.reference_budget import pursuit_share
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
# unknown and where features are compared by pairs alone; "correlation" is for each unit of variance inflation.
EFFECT = {"privacy": 5.576, "sampling": 2.354, "unknown": 0.356, "pairs": 0.4, "correlation": 2.232}
# The error where features are selected, where all are taken: of estimates, of effects lost one by one ("missed" times
# what is selected in 4 fits of 5), of all lost together ("needed" is N_0, with the power "features" of their number).
SELECTED = {
    "sampling": 1.197,
    "privacy": 8.212,
    "unknown": 2.777,
    "correlation": 0.028,
    "crowding": 3.754,
    "missed": 0.473,
    "needed": 40.4,
    "features": 0.48,
    "needed_unknown": 0.325,
    "needed_correlation": 0.816,
    "sharpness": 10.33,
}
TAKEN = {
    "sampling": 1.252,
    "privacy": 9.651,
    "unknown": 0.578,
    "correlation": 0.19,
    "crowding": 0.0,
    "missed": 0.0,
    "needed": 7.336,
    "features": 0.859,
    "needed_unknown": 1.353,
    "needed_correlation": 0.0,
    "sharpness": 6.137,
}
# The width of intervals, likewise.
WIDTH_SELECTED = {"sampling": 1.085, "privacy": 19.77, "unknown": 0.907, "correlation": 1.113}
WIDTH_TAKEN = {"sampling": 0.902, "privacy": 31.7, "unknown": 0.281, "correlation": 2.318}

# The error and the width where a step to the estimand's estimator is taken: "power" is that of N.
STEP: dict[str, dict[str, float]] = {
    MEAN.name: {"sampling": 0.8269, "privacy": 0.04397, "power": 1.22},
    TYPICAL.name: {"sampling": 0.85, "privacy": 177.6, "power": 2.294},
}
WIDTH_STEP: dict[str, dict[str, float]] = {
    MEAN.name: {"sampling": 1.468, "privacy": 8.029, "power": 1.575},
    TYPICAL.name: {"sampling": 1.371, "privacy": 2031.0, "power": 2.512},
}


@dataclass(frozen=True)
class Accuracy:
    """The expected accuracy of a fit, in units of the response per scaled feature."""

    facts: PublicFacts  # With the whole rho. The units of all features are known, or of none.
    noise_scale: float  # In units of the response.
    correlation: float  # Of neighbouring features.
    rows: float = 1.0  # Of a person, as many as tell something of their own.

    @property
    def _n(self) -> float:
        """How many records tell something of their own."""
        return self.rows * self.facts.n

    @property
    def expected_error(self) -> float:
        """The expected l2 error of the coefficients."""
        s, c = self.facts.sparsity, self._constants
        # The share of features with another effect within a correlation length.
        length = -1 / math.log(self.correlation) if self.correlation > 0 else 0.0
        crowded = -math.expm1(-2 * s * length / self.facts.d)
        of_pursuit = self._variance(c) * (1 + self._inflation * (c["correlation"] + c["crowding"] * crowded))
        variance = self._step_variance(STEP) if self.takes_step else of_pursuit
        if self.facts.family.estimand == TYPICAL:
            # Predictions combine the two; the better one has most of the weight.
            variance = min(variance, of_pursuit)
        lost = self._lost
        squared = s * (lost + (1 - lost) * variance / (1 + variance))
        # The mean length of s normal numbers against the root of its mean square.
        mean = math.sqrt(2 / s) * math.exp(math.lgamma((s + 1) / 2) - math.lgamma(s / 2))
        return self.noise_scale * mean * math.sqrt(squared)

    @property
    def smallest_effect(self) -> float:
        """The effect that is selected in 4 fits of 5."""
        return self.noise_scale * self._detectable

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

    @property
    def _size(self) -> float:
        """N of the pursuit: what the rows of people tell beside the noise."""
        return math.sqrt(self.rows) * self._pursuit.n * math.sqrt(self._pursuit.rho)

    def _step_variance(self, constants: dict[str, dict[str, float]]) -> float:
        """The variance of an effect after the step, in units of the noise's."""
        facts, of_pursuit = self.facts, self._pursuit
        assert facts.family.estimand is not None, "the step is for an estimand"
        c = constants[facts.family.estimand.name]
        size = math.sqrt(self.rows) * facts.n * math.sqrt(facts.rho - of_pursuit.rho)
        by_privacy = c["privacy"] * self._n_estimated / size ** c["power"]
        result: float = (1 + self._inflation) * (c["sampling"] / self._n + by_privacy)
        return result

    @property
    def _constants(self) -> dict[str, float]:
        """The constants of the error."""
        return SELECTED if decisions.selects(self._pursuit) else TAKEN

    @property
    def _n_estimated(self) -> int:
        """How many numbers are estimated together: a constant and the effects."""
        return (self.n_looked_for if decisions.selects(self._pursuit) else self.facts.d) + 1

    @property
    def _inflation(self) -> float:
        """By how much correlated neighbours inflate variances, less 1."""
        return 1 / (1 - self.correlation**2) - 1

    def _variance(self, constants: dict[str, float]) -> float:
        """The variance of a pursuit's effect, in units of the noise's, if features are uncorrelated."""
        by_privacy = constants["privacy"] * self._n_estimated / self._size**2
        result: float = constants["sampling"] / self._n + by_privacy * (
            1 + constants["unknown"] * (not self.facts.known)
        )
        return result

    @property
    def _lost(self) -> float:
        """The share of the effects' squared norm that is lost."""
        facts, c = self._pursuit, self._constants
        if not self.n_looked_for:
            return 1.0
        one_by_one = (c["missed"] * self._detectable) ** 3 if decisions.selects(facts) else 0.0
        # Of the others nothing is known: their share of the squares of normal numbers, if the largest are looked for.
        kept = chdtrc(3, chdtri(1, self.n_looked_for / facts.sparsity))
        if self.takes_step:
            # Tables that are large enough for the step are so for all that it needs.
            return one_by_one / (1 + one_by_one)
        needed = c["needed"] * self._n_estimated ** c["features"] * (1 + c["needed_correlation"] * self._inflation)
        needed *= 1 + c["needed_unknown"] * (not facts.known)
        together = 1 / (1 + (self._size / needed) ** c["sharpness"])
        result: float = 1 - kept * (1 - together) / (1 + one_by_one)
        return result

    @property
    def _detectable(self) -> float:
        """The effect that is selected in 4 fits of 5, in units of the noise."""
        facts = self._pursuit
        if not self.n_looked_for:
            return math.inf
        if not decisions.selects(facts):
            return standard_errors_detected(facts.d) * self._standard_error
        log_d, c = math.log(max(facts.d, 3)), EFFECT
        by_privacy = c["privacy"] * log_d * math.sqrt(facts.sparsity) / self._size
        if not facts.known:
            by_privacy *= 1 + c["unknown"] + c["pairs"] * (decisions.splits_share(facts) == 0)
            by_privacy *= 1 + c["correlation"] * self._inflation
        return math.hypot(by_privacy, c["sampling"] * math.sqrt(log_d / self._n))

    @property
    def _standard_error(self) -> float:
        """The standard error of an effect in units of the noise; infinite where there is none."""
        if not self.has_intervals or not self.n_looked_for:
            return math.inf
        if self.takes_step:
            return math.sqrt(self._step_variance(WIDTH_STEP))
        c = WIDTH_SELECTED if decisions.selects(self.facts) else WIDTH_TAKEN
        by_noise = math.sqrt(self._variance(c) * (1 + self._inflation) ** c["correlation"])
        # Unknown units make no interval narrower.
        result: float = decisions.caution(self.facts) * by_noise
        return result

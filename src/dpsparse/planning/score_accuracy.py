"""How accurate private logistic and Poisson regressions will be, by formulas fitted on simulations.

Logistic regression. The formulas are for `PrivateSparseClassifier` on roughly normal rows with features scaled to 1, of
which no effect is so large that it alone tells yes from no. v = p (1 - p) is the variance of a response, for the share
p of yes.

- An effect has the variance of its estimator, 1 / (n v), and of privacy: b k / (N v)^2 (4 v)^-r, where k numbers are
  estimated together and N = n sqrt(rho) with the rho of the last step. The noise of the mean score grows with sqrt k,
  and a slope of v makes it an effect.
- The effect that is selected in 4 fits of 5 grows with log d sqrt(s) / (N w), the noise of a selection with the
  pursuit's rho, and with sqrt(log d / (n v)), the chance correlation of n records. Residuals are held to half of their
  range while features are selected, which leaves w = v / (2 max(p, 1 - p)) of their slope. Where nothing is selected,
  since all features are taken, it is the effect that is significant (family-wise 5 %) with 80 % power.

`benchmarks/calibrate_outcome_plan.py` fitted the constants on 3,000 to 40,000 records and shares of yes from 0.02 to
0.5. On settings that they were not fitted on, with 5,000 to 40,000 records and shares of yes from 0.05 to 0.5,
forecasts of standard errors are 0.96 to 1.20 times the simulated ones, and those of detectable effects 0.94 to 1.16
times (``--holdout``, 14 fits each); the latter are measured to some 15 %. A single effect among 20 features at epsilon
0.3 needs to be larger, by a third.

Poisson regression. The formulas are for `PrivateSparsePoissonRegressor` on roughly normal rows with features scaled to
1. v = phi / m is the variance of a response over the square of its mean m, with phi the overdispersion, its variance
over m: 1 for a Poisson law. In units of the mean everything is as in a regression whose noise has the variance v.

- An effect has the variance of its estimator, a v / n, and of privacy: b k^2 v / N^2, where k numbers are estimated
  together and N = n sqrt(rho) with the rho of the last step. The noise of the mean score grows with the norm of scores,
  sqrt(k v), and more where their tail is hidden.
- The effect that is selected in 4 fits of 5 grows with log d sqrt(s v) / N, the noise of a selection with the
  pursuit's rho, and with sqrt(log d v / n), the chance correlation of n records. Where nothing is selected, since all
  features are taken, it is the effect that is significant (family-wise 5 %) with 80 % power.

`benchmarks/calibrate_count_plan.py` fitted the constants on 3,000 to 30,000 records. On settings that they were not
fitted on, with 5,000 to 40,000 records and means from 0.5 to 4, forecasts of standard errors are 0.88 to 1.25 times the
simulated ones, and those of detectable effects 0.79 to 1.20 times (``--holdout``); these are measured to some 15 %.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.reference_budget import pursuit_share
from dpsparse.families.binomial import EARLY_BOUND, MOST_VARIANCE
from dpsparse.inference.intervals import reach
from dpsparse.planning.accuracy import standard_errors_detected

# Fitted by benchmarks/calibrate_outcome_plan.py. "unknown" is what unknown units multiply a selection's noise by, less
# 1. "rare" is the power of 1 / (4 v) by which more is lost where few responses are yes: rows far out, which are
# weighted down, have most of the yes.
OUTCOME_ERROR = {"sampling": 1.0, "privacy": 4.35, "rare": 0.2}
OUTCOME_EFFECT = {"privacy": 1.05, "sampling": 1.88, "unknown": 0.15, "rare": 0.11}
# Where many features are taken, mean scores have about this share of rho; units and second moments have the others.
SCORES_OF_MANY = 0.7


@dataclass(frozen=True)
class ScoreAccuracy:
    """The expected accuracy of a fit that goes by scores, in logs of odds or of a mean per scaled feature."""

    facts: PublicFacts  # With the whole rho. The units of all features are known, or of none.
    correlation: float  # Of neighbouring features.
    rows: float  # Of a person, as many as tell something of their own.

    @property
    def standard_error(self) -> float:
        """The expected standard error of an effect."""
        raise NotImplementedError

    @property
    def n_looked_for(self) -> int:
        """How many features are looked for: all that are asked for."""
        return self.facts.sparsity

    def _selected_effect(self, size: float, log_d: float) -> float:
        """The effect that is selected in 4 fits of 5, from N with the pursuit's rho and the log of d."""
        raise NotImplementedError

    @property
    def expected_error(self) -> float:
        """The expected l2 error of the coefficients of as many effects as are selected, if they are found."""
        return math.sqrt(self.facts.sparsity) * self.standard_error

    @property
    def interval_width(self) -> float:
        """The expected width of an interval as results show it, of 95 %; infinite where there is none."""
        return 2 * reach() * self.standard_error if self.has_intervals else math.inf

    @property
    def has_intervals(self) -> bool:
        """Whether effects have intervals: not those of so many that second moments are noise."""
        return self._n_estimated <= decisions.reliable_columns(self.facts, 0.0)

    @property
    def smallest_effect(self) -> float:
        """The effect that is selected in 4 fits of 5."""
        facts = self.facts
        if not self._selects:
            return standard_errors_detected(facts.d) * self.standard_error
        size, log_d = self._size(self._pursuit_share), math.log(max(facts.d, 3))
        return math.inf if size == 0 else self._selected_effect(size, log_d)

    def _size(self, share: float) -> float:
        """N with a share of rho, of people as privacy sees them."""
        return math.sqrt(self.rows) * self.facts.n * math.sqrt(share * self.facts.rho)

    @property
    def _n_telling(self) -> float:
        """How many rows tell something of their own."""
        return self.rows * self.facts.n

    @property
    def _n_estimated(self) -> int:
        """How many numbers are estimated together: a constant and the effects."""
        return (self.facts.sparsity if self._selects else self.facts.d) + 1

    @property
    def _inflation(self) -> float:
        """By how much correlated neighbours raise the variance of an effect."""
        return 1 / (1 - self.correlation**2)

    @cached_property
    def _pursuit_share(self) -> float:
        return pursuit_share(self.facts)

    @property
    def _last_share(self) -> float:
        """The share of rho that the mean scores have which effects follow from."""
        return 1 - self._pursuit_share if self._pursuit_share < 1 else SCORES_OF_MANY

    @property
    def _selects(self) -> bool:
        return decisions.selects(self.facts)


@dataclass(frozen=True)
class OutcomeAccuracy(ScoreAccuracy):
    """The expected accuracy of a fit, in log odds per scaled feature."""

    share_of_yes: float

    @property
    def standard_error(self) -> float:
        """The expected standard error of an effect."""
        slope, c = self._variance, OUTCOME_ERROR
        size = self._size(self._last_share)
        by_privacy = math.inf if size == 0 else c["privacy"] * self._n_estimated / (size * slope) ** 2
        by_privacy *= (MOST_VARIANCE / slope) ** c["rare"]
        result: float = math.sqrt(self._inflation * (c["sampling"] / (self._n_telling * slope) + by_privacy))
        return result

    def _selected_effect(self, size: float, log_d: float) -> float:
        facts, c = self.facts, OUTCOME_EFFECT
        bounded = self._variance * EARLY_BOUND / max(self.share_of_yes, 1 - self.share_of_yes)
        by_privacy = c["privacy"] * log_d * math.sqrt(facts.sparsity) / (size * bounded)
        by_privacy *= (1 + c["unknown"] * (not facts.known)) * (MOST_VARIANCE / self._variance) ** c["rare"]
        return math.hypot(by_privacy, c["sampling"] * math.sqrt(log_d / (self._n_telling * self._variance)))

    @property
    def _variance(self) -> float:
        return self.share_of_yes * (1 - self.share_of_yes)


# Fitted by benchmarks/calibrate_count_plan.py. "unknown" is what unknown units multiply a selection's noise by, less 1.
COUNT_ERROR = {"sampling": 2.084, "privacy": 11.88}
COUNT_EFFECT = {"privacy": 2.835, "sampling": 2.107, "unknown": 0.956}


@dataclass(frozen=True)
class CountAccuracy(ScoreAccuracy):
    """The expected accuracy of a fit, in logs of the mean per scaled feature."""

    mean_response: float
    overdispersion: float

    @property
    def standard_error(self) -> float:
        """The expected standard error of an effect."""
        c = COUNT_ERROR
        size = self._size(1 - self._pursuit_share)
        by_privacy = math.inf if size == 0 else c["privacy"] * self._n_estimated**2 / size**2
        result: float = math.sqrt(self._inflation * self._variance * (c["sampling"] / self._n_telling + by_privacy))
        return result

    def _selected_effect(self, size: float, log_d: float) -> float:
        c = COUNT_EFFECT
        by_privacy = c["privacy"] * log_d * math.sqrt(self.facts.sparsity) / size
        by_privacy *= 1 + c["unknown"] * (not self.facts.known)
        by_chance = c["sampling"] * math.sqrt(log_d / self._n_telling)
        return math.sqrt(self._variance) * math.hypot(by_privacy, by_chance)

    @property
    def _variance(self) -> float:
        return self.overdispersion / self.mean_response

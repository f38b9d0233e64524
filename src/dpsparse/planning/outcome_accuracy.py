"""How accurate a private logistic regression will be, by formulas whose constants were fitted on simulations.

The formulas are for `PrivateSparseClassifier` on roughly normal rows with features scaled to 1, of which no effect is
so large that it alone tells yes from no. v = p (1 - p) is the variance of a response, for the share p of yes.

- An effect has the variance of its estimator, a / (n v), and of privacy: b k / (N v)^2, where k numbers are estimated
  together and N = n sqrt(rho) with the rho of the last step. The noise of the mean score grows with sqrt k, and a slope
  of v makes it an effect.
- The minimum detectable effect at 80 % power grows with log d sqrt(s) / (N w), the noise of a selection with the
  pursuit's rho, and with sqrt(log d / (n v)), the chance correlation of n records. Residuals are held to half of their
  range while features are selected, which leaves w = v / (2 max(p, 1 - p)) of their slope. Where nothing is selected,
  since all features are taken, it is the effect that is significant (family-wise 5 %) with 80 % power.

`benchmarks/calibrate_outcome_plan.py` fitted the constants on 3,000 to 30,000 records. On settings that they were not
fitted on, with 5,000 to 40,000 records and shares of yes from 0.05 to 0.5, forecasts of standard errors are 0.97 to
1.15 times the simulated ones, and those of detectable effects 0.85 to 1.37 times (``--holdout``); these are
measured to some 15 %, and too small where few responses are yes.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.reference_budget import pursuit_share
from dpsparse.families.binomial import EARLY_BOUND
from dpsparse.inference.inference_constants import FAMILY_WISE_LEVEL
from dpsparse.inference.intervals import reach

# Fitted by benchmarks/calibrate_outcome_plan.py. "unknown" is what unknown units multiply a selection's noise by, less
# 1.
OUTCOME_ERROR = {"sampling": 1.013, "privacy": 4.343}
OUTCOME_EFFECT = {"privacy": 1.079, "sampling": 1.962, "unknown": 0.173}
POWER = 0.8


@dataclass(frozen=True)
class OutcomeAccuracy:
    """The expected accuracy of a fit, in log odds per scaled feature."""

    facts: PublicFacts  # With the whole rho. The units of all features are known, or of none.
    share_of_yes: float
    correlation: float  # Of neighbouring features.

    @property
    def standard_error(self) -> float:
        """The expected standard error of an effect."""
        facts, slope, c = self.facts, self._variance, OUTCOME_ERROR
        size = facts.n * math.sqrt((1 - self._pursuit_share) * facts.rho)
        by_privacy = math.inf if size == 0 else c["privacy"] * self._n_estimated / (size * slope) ** 2
        inflation = 1 / (1 - self.correlation**2)
        result: float = math.sqrt(inflation * (c["sampling"] / (facts.n * slope) + by_privacy))
        return result

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
    def _n_estimated(self) -> int:
        """How many numbers are estimated together: a constant and the effects."""
        return (self.facts.sparsity if self._selects else self.facts.d) + 1

    @property
    def smallest_effect(self) -> float:
        """The minimum detectable effect at 80 % power."""
        facts, c = self.facts, OUTCOME_EFFECT
        if not self._selects:
            normal = NormalDist()
            return (normal.inv_cdf(1 - FAMILY_WISE_LEVEL / 2 / facts.d) + normal.inv_cdf(POWER)) * self.standard_error
        size, log_d = facts.n * math.sqrt(self._pursuit_share * facts.rho), math.log(max(facts.d, 3))
        if size == 0:
            return math.inf
        bounded = self._variance * EARLY_BOUND / max(self.share_of_yes, 1 - self.share_of_yes)
        by_privacy = c["privacy"] * log_d * math.sqrt(facts.sparsity) / (size * bounded)
        by_privacy *= 1 + c["unknown"] * (not facts.known)
        return math.hypot(by_privacy, c["sampling"] * math.sqrt(log_d / (facts.n * self._variance)))

    @property
    def _variance(self) -> float:
        return self.share_of_yes * (1 - self.share_of_yes)

    @cached_property
    def _pursuit_share(self) -> float:
        return pursuit_share(self.facts)

    @property
    def _selects(self) -> bool:
        return decisions.selects(self.facts)

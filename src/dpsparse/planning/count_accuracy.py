"""How accurate a private Poisson regression will be, by formulas whose constants were fitted on simulations.

The formulas are for `PrivateSparsePoissonRegressor` on roughly normal rows with features scaled to 1. v = phi / m is
the variance of a response over the square of its mean m, with phi the overdispersion, its variance over m: 1 for a
Poisson law. In units of the mean everything is as in a regression whose noise has the variance v.

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

from dpsparse.planning.outcome_accuracy import ScoreAccuracy

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

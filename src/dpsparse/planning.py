"""`plan`: a forecast of what a budget buys, from public numbers and guesses alone, before any of it is spent.

The forecast is for `PrivateSparseRegressor` on roughly normal rows with features scaled to 1 and effects of about the
noise's size. `benchmarks/calibrate_plan.py` fitted its constants on simulations:

- The minimum detectable effect at 80 % power grows with log d sqrt(s) / (n sqrt(rho)), the noise of a selection, and
  with sqrt(log d / n), the chance correlation of n records.
- The squared error is that of estimating s effects from n records, plus an empirical law for the cost of privacy: its
  noise and the effects it misses. Both grow where neighbouring features are correlated, and more so where the effects
  lie close together.

- Where the units of the features are unknown, both terms grow: releases of units take a share of the budget, and a
  selection has less signal, about half of it where features are compared by pairs of records alone. Where the budget
  pays for a split of every feature (`Settings.splits_share`) the loss is smaller. Correlated neighbours cost more than
  with known units. The forecast is for features that lie up to some 30 scales from 0.

- A 0/1 feature that few records have is harder to find than others of its variance (`Plan.effect_for_share`).

It is a rough guide. On settings it was not fitted on, nine in ten forecasts for known units lie within a factor of 2 of
the simulated error, and seven in ten for unknown units (`calibrate_plan.py --holdout`). Correlated features with many
effects close together are the hardest to forecast.
"""

import math
import numbers
from dataclasses import dataclass, replace
from functools import cached_property

from dpsparse.algorithms.iht.theory import default_clip_bound, default_n_iter
from dpsparse.algorithms.pursuit.settings import Settings
from dpsparse.deprecation import warn_renamed
from dpsparse.privacy.accounting.zcdp import epsilon_from_rho
from dpsparse.privacy.guarantee import Guarantee, default_delta
from dpsparse.privacy.mechanisms.selection import paper_peeling_scale, tight_peeling_scale

# Fitted by benchmarks/calibrate_plan.py.
_EFFECT = {"privacy": 5.901, "sampling": 2.352}
_ERROR = {
    "sampling": 1.284,
    "privacy": 104.317,
    "features": 1.536,
    "dimension": 0.802,
    "power": 1.576,
    "correlation": 0.535,
    "crowding": 5.105,
}
_WIDTH = {"sampling": 0.852, "privacy": 32.662, "correlation": 1.348}
# What unknown units multiply the sampling and the privacy term by; how much more the latter where features are compared
# by pairs alone; and how both grow where neighbours are correlated, since a neighbour may be selected instead.
_UNKNOWN_EFFECT = {"sampling": 1.0, "privacy": 1.997, "pairs": 1.144, "correlation": 7.596}
_UNKNOWN_ERROR = {"sampling": 1.199, "privacy": 3.164, "pairs": 0.123, "correlation": 6.992}
_UNKNOWN_WIDTH = {"sampling": 1.0, "privacy": 2.266, "pairs": 0.197, "correlation": 0.445}

# The selection cuts what lies further from its prediction: a larger effect is no easier to find. In units of the noise.
_MOST_EFFECT = 2.0

# The epsilons of a table of forecasts.
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


def plan(
    n: int,
    d: int,
    sparsity: int,
    epsilon: float,
    delta: float | None = None,
    *,
    units_known: bool = False,
    noise_scale: float = 1.0,
    correlation: float = 0.0,
    records_per_person: int = 1,
) -> "Plan":
    """Forecast the accuracy of a private fit, from public numbers alone.

    Parameters
    ----------
    n, d, sparsity : int
        Records, features, features to select.
    epsilon : float
        The privacy guarantee.
    delta : float or None, default=None
        Its failure probability; None for n**-1.1.
    units_known : bool, default=False
        Whether public centres and scales of all features are given to the fit, and right.
    noise_scale : float, default=1.0
        A guess of the noise's size in units of the response: its standard deviation if it is normal, 1.48 times its
        median distance from its centre otherwise.
    correlation : float, default=0.0
        A guess of the correlation of neighbouring features, in [0, 1).
    records_per_person : int, default=1
        The most rows one person may have.

    Returns
    -------
    Plan
        The forecast, with a table and a plot.

    Examples
    --------
    >>> from dpsparse import plan
    >>> forecast = plan(10_000, 1_000, 5, 0.5)
    >>> forecast.expected_error < 0.1
    True
    >>> forecast.n_for_error(0.02) > 10_000
    True
    >>> plan(10_000, 1_000, 5, 0.5, units_known=True).expected_error < forecast.expected_error
    True
    """
    for name, value in (("n", n), ("d", d), ("sparsity", sparsity)):
        if not isinstance(value, numbers.Real) or not value >= 1 or value != int(value):
            raise ValueError(f"{name}={value!r} must be a whole number of at least 1")
    if sparsity > d:
        raise ValueError(f"sparsity={sparsity!r} must be at most d={d!r}, the number of features")
    if not noise_scale > 0:
        raise ValueError(f"noise_scale={noise_scale!r} must be above 0; 1 measures errors in units of the noise")
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation={correlation!r} must lie in [0, 1)")
    return Plan(
        int(n),
        int(d),
        int(sparsity),
        epsilon,
        delta,
        bool(units_known),
        float(noise_scale),
        float(correlation),
        records_per_person,
    )


@dataclass(frozen=True)
class Plan:
    """A forecast. Errors and effects are in units of the response per scaled feature."""

    n: int
    d: int
    sparsity: int
    epsilon: float
    delta: float | None
    units_known: bool
    noise_scale: float
    correlation: float
    records_per_person: int

    @cached_property
    def guarantee(self):
        """The privacy guarantee that the forecast is for."""
        delta = default_delta(self.n) if self.delta is None else self.delta
        return Guarantee(float(self.epsilon), delta, records_per_person=self.records_per_person)

    def _terms(self, unknown, rho=None):
        """The terms log d, 1 / n, 1 / (n^2 rho), and the inflation of variances by correlated neighbours.

        Where units are unknown, the two in the middle are multiplied by the constants in `unknown`. The rho of a record
        is that of the guarantee unless given.
        """
        rho = self.guarantee.rho_per_record if rho is None else rho
        sampling, privacy, inflation = 1 / self.n, 1 / (self.n**2 * rho), 1 / (1 - self.correlation**2)
        if not self.units_known:
            by_correlation = 1 + unknown["correlation"] * (inflation - 1)
            sampling *= unknown["sampling"] * by_correlation
            privacy *= unknown["privacy"] * (1 + unknown["pairs"] * self._by_pairs(rho)) * by_correlation
        return math.log(max(self.d, 3)), sampling, privacy, inflation

    def _by_pairs(self, rho):
        """Whether the budget is too small for a split of every feature, so that pairs of records select."""
        settings = Settings(self.n, self.d, self.sparsity, rho, units_known="none")
        return settings.choose and settings.splits_share == 0

    @property
    def expected_error(self):
        """The expected l2 error of the coefficients."""
        log_d, sampling, privacy, inflation = self._terms(_UNKNOWN_ERROR)
        s, c = self.sparsity, _ERROR
        squared = c["sampling"] * s * sampling
        squared += (c["privacy"] * s ** c["features"] * log_d ** c["dimension"] * privacy) ** c["power"]
        # Correlation costs most where effects lie within a correlation length of each other.
        length = -1 / math.log(self.correlation) if self.correlation > 0 else 0.0
        crowded = -math.expm1(-2 * s * length / self.d)
        squared *= 1 + (inflation - 1) * (c["correlation"] + c["crowding"] * crowded)
        # Never worse than missing all effects, each of the noise's size.
        return self.noise_scale * math.sqrt(squared / (1 + squared / s))

    @property
    def smallest_effect(self):
        """The minimum detectable effect: effects of this size are selected with 80 % power."""
        return self._smallest_effect()

    def _smallest_effect(self, rho=None):
        log_d, sampling, privacy, _ = self._terms(_UNKNOWN_EFFECT, rho)
        by_privacy = _EFFECT["privacy"] * log_d * math.sqrt(self.sparsity * privacy)
        return self.noise_scale * math.hypot(by_privacy, _EFFECT["sampling"] * math.sqrt(log_d * sampling))

    @property
    def interval_width(self):
        """The expected width of a 90 % interval."""
        _, sampling, privacy, inflation = self._terms(_UNKNOWN_WIDTH)
        squared = _WIDTH["sampling"] * sampling + _WIDTH["privacy"] * self.sparsity * privacy
        return 2 * 1.645 * self.noise_scale * math.sqrt(squared * inflation ** _WIDTH["correlation"])

    def n_for_error(self, target):
        """The number of records at which the expected error falls to `target`."""
        return self._smallest_n(lambda other: other.expected_error <= target)

    def n_for_effect(self, target: float) -> int:
        """The number of records at which the minimum detectable effect at 80 % power falls to `target`."""
        return self._smallest_n(lambda other: other.smallest_effect <= target)

    def epsilon_for_effect(self, target: float) -> float:
        """The epsilon at which the minimum detectable effect falls to `target`; infinite if no epsilon suffices."""
        # Effects depend on epsilon through rho alone. rho is searched, because epsilon follows from it at once, while
        # rho from epsilon is a search of its own.
        per_person = self.records_per_person**2
        low, high = 1e-14 / per_person, 1e4 / per_person
        if self._smallest_effect(high) > target:
            return math.inf
        while high / low > 1.001:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self._smallest_effect(middle) <= target else (middle, high)
        # A little more, so that the rho of this epsilon is not below by rounding.
        return epsilon_from_rho(per_person * high, self.guarantee.delta) * (1 + 1e-9)

    def effect_for_share(self, share: float) -> float:
        """The minimum detectable difference between the records that have a 0/1 feature and the others.

        A selection compares pairs of records. A share of 2 p (1 - p) of the pairs differs in a feature that a share of
        p has, while pairs of normal records lie 2 / sqrt(pi) scales apart. So rare features are harder to find than
        their variance says. The difference is infinite where even the largest effect is too rare.

        Parameters
        ----------
        share : float
            The share of the records that have the feature, such as a category; between 0 and 1.

        Examples
        --------
        >>> from dpsparse import plan
        >>> forecast = plan(8_000, 50, 5, 1.0)
        >>> forecast.effect_for_share(0.5) < forecast.effect_for_share(0.05) < forecast.effect_for_share(0.001)
        True
        """
        effect = self.smallest_effect / (math.sqrt(math.pi) * share * (1 - share))
        return effect if effect <= _MOST_EFFECT * self.noise_scale else math.inf

    def share_for_effect(self, effect: float) -> float:
        """The smallest share of records that must have a 0/1 feature for such a difference to be detectable.

        The inverse of `effect_for_share`; infinite if no share suffices. With an infinite effect it is the share below
        which nothing is found.

        Parameters
        ----------
        effect : float
            The difference between the records that have the feature and the others, above 0.

        Examples
        --------
        >>> import math
        >>> from dpsparse import plan
        >>> forecast = plan(8_000, 50, 5, 1.0)
        >>> forecast.share_for_effect(math.inf) < forecast.share_for_effect(0.5) < 0.5
        True
        """
        product = self.smallest_effect / (math.sqrt(math.pi) * min(effect, _MOST_EFFECT * self.noise_scale))
        return math.inf if product > 0.25 else 0.5 * (1 - math.sqrt(1 - 4 * product))

    def _smallest_n(self, reached):
        low, high = 1, 2
        while not reached(replace(self, n=high)):
            low, high = high, 2 * high
            if high > 10**15:
                return math.inf
        while high - low > max(1, high // 1000):
            middle = (low + high) // 2
            low, high = (low, middle) if reached(replace(self, n=middle)) else (middle, high)
        return high

    def table(self, epsilons=EPSILONS):
        """The forecast at several epsilons, as text."""
        rows = [
            f"{'epsilon':>8} {'l2 error':>10} {'detectable':>13} {'interval width':>15} {'n for half the error':>21}"
        ]
        for epsilon in sorted({*epsilons, self.epsilon}):
            at = replace(self, epsilon=epsilon)
            rows.append(
                f"{epsilon:>8g} {at.expected_error:>10.3g} {at.smallest_effect:>13.3g} {at.interval_width:>15.3g} "
                f"{at.n_for_error(at.expected_error / 2):>21,}"
            )
        return "\n".join(rows)

    def plot(self, axes=None, epsilons=None):
        """Draw the expected error and the minimum detectable effect over epsilon; returns the matplotlib axes."""
        import matplotlib.pyplot as plt

        axes = plt.subplots(figsize=(6, 4), layout="constrained")[1] if axes is None else axes
        epsilons = [10 ** (k / 10) for k in range(-15, 11)] if epsilons is None else list(epsilons)
        plans = [replace(self, epsilon=epsilon) for epsilon in epsilons]
        axes.loglog(epsilons, [at.expected_error for at in plans], "-", color="tab:blue", label="expected l2 error")
        axes.loglog(
            epsilons,
            [at.smallest_effect for at in plans],
            "--",
            color="black",
            label="minimum detectable effect (80 % power)",
        )
        axes.axvline(self.epsilon, color="tab:gray", linestyle=":", label=f"epsilon = {self.epsilon:g}")
        axes.set_xlabel("epsilon")
        axes.set_ylabel("units of the response")
        axes.set_title(f"n = {self.n:,}, d = {self.d:,}, {self.sparsity} features, {self.units}")
        axes.legend()
        return axes

    @property
    def units(self):
        """Whether the features' units are known, in words."""
        return "known units" if self.units_known else "unknown units"

    def __str__(self):
        return (
            f"n = {self.n:,}, d = {self.d:,}, sparsity {self.sparsity}, {self.units}, noise {self.noise_scale:g}, "
            f"correlation {self.correlation:g}\n{self.table()}\n"
            "Units of the response per scaled feature. Detectable: the minimum detectable effect at 80 % power.\n"
            "Interval width: of a 90 % interval."
        )


@dataclass(frozen=True)
class PeelingLimits:
    """Limits of a step of the paper's loops that hold for any data. Signals and noise are in units of the step size.

    Parameters
    ----------
    noise_scale : float
        The scale of the Laplace noise on a coordinate.
    largest_noise : float
        The mean of the largest of d such draws, which a signal has to exceed.
    largest_signal : float
        tau times the clip of the features: no data move a coordinate further from 0 in one step.
    standardized_signal : float
        tau: the same bound for features of mean square 1 on the step's records.
    pick_probability : float
        Upper bound, for any data, on the probability that a feature named beforehand is selected in the end.
    standardized_pick_probability : float
        The same for features of mean square 1.
    random_pick_probability : float
        The probability if features are selected at random.
    """

    noise_scale: float
    largest_noise: float
    largest_signal: float
    standardized_signal: float
    pick_probability: float
    standardized_pick_probability: float
    random_pick_probability: float

    @property
    def standardised_signal(self):
        """The old name of `standardized_signal`."""
        warn_renamed("PeelingLimits.standardised_signal", "standardized_signal")
        return self.standardized_signal

    @property
    def standardised_pick_probability(self):
        """The old name of `standardized_pick_probability`."""
        warn_renamed("PeelingLimits.standardised_pick_probability", "standardized_pick_probability")
        return self.standardized_pick_probability


def peeling_limits(n, d, sparsity, epsilon, delta=None, *, tau=1.0, adjacency="replace-one", calibration="tight"):
    """Limits of DP-IHT-H (with tau = 1, of DP-IHT-L too) from public numbers, with K = log d and T = log n.

    Proof of the bound on selection. Take a feature that the step before did not keep. Its score `|v|` is at most M, the
    largest signal: v is the mean of m = n / T terms psi(r) x_j, each at most tau K, or by Cauchy and Schwarz at most
    tau sqrt(mean x_j^2). The other scores are at least 0, and lowering them to 0 can only help the feature. With all
    scores 0, each of the d - k features left wins selection k + 1 with probability 1 / (d - k), ties apart. Raising one
    score by M multiplies its probability by at most exp(M / b), for Laplace noise of scale b. A feature selected in the
    end entered at one of T steps, by one of s selections: P <= T exp(M / b) sum_k 1 / (d - k), by a union bound.

    Parameters
    ----------
    n, d, sparsity : int
        Records, features, features selected.
    epsilon : float
        The privacy guarantee.
    delta : float or None, default=None
        Its failure probability; None for n**-1.1.
    tau : float, default=1.0
        Threshold of the Huber loss.
    adjacency : {"replace-one", "zero-out-one"}, default="replace-one"
        The neighbouring relation.
    calibration : {"tight", "paper"}, default="tight"
        How the noise is calibrated.

    Returns
    -------
    PeelingLimits
        The limits.

    Examples
    --------
    >>> from dpsparse.planning import peeling_limits
    >>> limits = peeling_limits(59, 14_342, 5, 0.5, adjacency="zero-out-one", calibration="paper")
    >>> round(limits.noise_scale), limits.largest_noise > 20 * limits.largest_signal
    (22, True)
    >>> limits.pick_probability < 0.003
    True
    """
    guarantee = Guarantee(float(epsilon), default_delta(n) if delta is None else delta, adjacency)
    steps, clip = default_n_iter(n), default_clip_bound(d)
    signal, spread = tau * clip, {"replace-one": 2, "zero-out-one": 1}[adjacency] * tau * clip / (n // steps)
    scale = {"tight": tight_peeling_scale, "paper": paper_peeling_scale}[calibration](guarantee, sparsity, spread)
    at_random = math.fsum(1 / (d - k) for k in range(sparsity))

    def probability(largest):
        return min(1.0, steps * at_random * math.exp(min(largest / scale, 700.0)))

    return PeelingLimits(
        noise_scale=scale,
        # The largest of d Laplace draws: scale times (log(d / 2) + Euler's constant), to within 1 / d.
        largest_noise=scale * (math.log(d / 2) + 0.5772156649015329),
        largest_signal=signal,
        standardized_signal=tau,
        pick_probability=probability(signal),
        standardized_pick_probability=probability(tau),
        random_pick_probability=sparsity / d,
    )

"""`plan`: what a budget buys, from public numbers and public guesses alone, before any of it is spent.

The forecast is of `PrivateSparseRegressor` on rows like normal ones, effects of about the noise's size and features
scaled to 1. Its constants were fitted by `benchmarks/calibrate_plan.py` on simulations:

- the smallest effect found grows with log d sqrt(s) / (n sqrt(rho)), the noise of a pick, and with sqrt(log d / n), the
  chance correlation of n records;
- the squared error is that of estimating s effects from n records, plus an empirical law for what privacy adds, by
  noise and by effects missed, both inflated where neighbours are correlated, the more so the denser the effects lie.

It is a rough guide. On settings it was not fitted on, three in five forecasts lie within 1.3 of the simulated error
and nine in ten within a factor of 2 (`calibrate_plan.py --holdout`); correlated and crowded effects are the hardest.
"""

import math
import numbers
from dataclasses import dataclass, replace
from functools import cached_property

from dpsparse.algorithms.iht.theory import default_clip_bound, default_n_iter
from dpsparse.privacy.guarantee import Guarantee, default_delta
from dpsparse.privacy.mechanisms.selection import paper_peeling_scale, tight_peeling_scale

# Fitted by benchmarks/calibrate_plan.py.
_EFFECT = {"privacy": 6.30, "sampling": 1.41}
_ERROR = {
    "sampling": 1.255,
    "privacy": 119.1,
    "features": 1.729,
    "dimension": 0.648,
    "power": 1.857,
    "correlation": 0.474,
    "crowding": 6.84,
}
_WIDTH = {"sampling": 0.952, "privacy": 20.0, "correlation": 0.641}

# What tables of forecasts show.
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


def plan(n, d, sparsity, epsilon, delta=None, *, noise_scale=1.0, correlation=0.0, records_per_person=1):
    """Forecast what a private fit will find, from public numbers alone.

    Parameters
    ----------
    n, d, sparsity : int
        Records, features, features to pick.
    epsilon : float
        The promise.
    delta : float or None, default=None
        None for n**-1.1.
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
        int(n), int(d), int(sparsity), epsilon, delta, float(noise_scale), float(correlation), records_per_person
    )


@dataclass(frozen=True)
class Plan:
    """A forecast. Errors and effects are in units of the response per scaled feature."""

    n: int
    d: int
    sparsity: int
    epsilon: float
    delta: float | None
    noise_scale: float
    correlation: float
    records_per_person: int

    @cached_property
    def guarantee(self):
        """The promise forecast for."""
        delta = default_delta(self.n) if self.delta is None else self.delta
        return Guarantee(float(self.epsilon), delta, records_per_person=self.records_per_person)

    def _terms(self):
        """Log d, 1 / n, 1 / (n^2 rho), and the inflation of variances by correlated neighbours."""
        rho = self.guarantee.rho_per_record
        return math.log(max(self.d, 3)), 1 / self.n, 1 / (self.n**2 * rho), 1 / (1 - self.correlation**2)

    @property
    def expected_error(self):
        """The l2 error of the coefficients to expect."""
        log_d, sampling, privacy, inflation = self._terms()
        s, c = self.sparsity, _ERROR
        squared = c["sampling"] * s * sampling
        squared += (c["privacy"] * s ** c["features"] * log_d ** c["dimension"] * privacy) ** c["power"]
        # Correlation hurts most where effects lie within a correlation length of each other.
        length = -1 / math.log(self.correlation) if self.correlation > 0 else 0.0
        crowded = -math.expm1(-2 * s * length / self.d)
        squared *= 1 + (inflation - 1) * (c["correlation"] + c["crowding"] * crowded)
        # No worse than effects of the noise's size that are all missed.
        return self.noise_scale * math.sqrt(squared / (1 + squared / s))

    @property
    def smallest_effect(self):
        """The size of an effect that is found with a probability of 80 %."""
        log_d, sampling, privacy, _ = self._terms()
        by_privacy = _EFFECT["privacy"] * log_d * math.sqrt(self.sparsity * privacy)
        return self.noise_scale * math.hypot(by_privacy, _EFFECT["sampling"] * math.sqrt(log_d * sampling))

    @property
    def interval_width(self):
        """The width of a 90 % interval to expect."""
        _, sampling, privacy, inflation = self._terms()
        squared = _WIDTH["sampling"] * sampling + _WIDTH["privacy"] * self.sparsity * privacy
        return 2 * 1.645 * self.noise_scale * math.sqrt(squared * inflation ** _WIDTH["correlation"])

    def n_for_error(self, target):
        """The number of records at which the expected error falls to `target`."""
        return self._smallest_n(lambda other: other.expected_error <= target)

    def n_for_effect(self, target):
        """The number of records at which effects of size `target` are found with a probability of 80 %."""
        return self._smallest_n(lambda other: other.smallest_effect <= target)

    def epsilon_for_effect(self, target):
        """The epsilon at which effects of size `target` are found; infinite where more records are needed."""
        if replace(self, epsilon=1e4).smallest_effect > target:
            return math.inf
        low, high = 1e-4, 1e4
        while high / low > 1.001:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if replace(self, epsilon=middle).smallest_effect <= target else (middle, high)
        return high

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
            f"{'epsilon':>8} {'l2 error':>10} {'found 4 in 5':>13} {'interval width':>15} {'n for half the error':>21}"
        ]
        for epsilon in sorted({*epsilons, self.epsilon}):
            at = replace(self, epsilon=epsilon)
            rows.append(
                f"{epsilon:>8g} {at.expected_error:>10.3g} {at.smallest_effect:>13.3g} {at.interval_width:>15.3g} "
                f"{at.n_for_error(at.expected_error / 2):>21,}"
            )
        return "\n".join(rows)

    def plot(self, axes=None, epsilons=None):
        """Draw the expected error and the smallest effect over epsilon on matplotlib axes, and return the axes."""
        import matplotlib.pyplot as plt

        axes = plt.subplots(figsize=(6, 4), layout="constrained")[1] if axes is None else axes
        epsilons = [10 ** (k / 10) for k in range(-15, 11)] if epsilons is None else list(epsilons)
        plans = [replace(self, epsilon=epsilon) for epsilon in epsilons]
        axes.loglog(epsilons, [at.expected_error for at in plans], "-", color="tab:blue", label="expected l2 error")
        axes.loglog(
            epsilons, [at.smallest_effect for at in plans], "--", color="black", label="smallest effect found (80 %)"
        )
        axes.axvline(self.epsilon, color="tab:gray", linestyle=":", label=f"epsilon = {self.epsilon:g}")
        axes.set_xlabel("epsilon")
        axes.set_ylabel("units of the response")
        axes.set_title(f"n = {self.n:,}, d = {self.d:,}, {self.sparsity} features")
        axes.legend()
        return axes

    def __str__(self):
        return (
            f"n = {self.n:,}, d = {self.d:,}, sparsity {self.sparsity}, noise {self.noise_scale:g}, "
            f"correlation {self.correlation:g}\n{self.table()}\n"
            "Units of the response per scaled feature. Found 4 in 5: the smallest effect found with a probability of\n"
            "80 %. Interval width: of a 90 % interval."
        )


@dataclass(frozen=True)
class PeelingLimits:
    """What a step of the paper's loops can show, whatever the data. Signals and noise are in units of the step size.

    Parameters
    ----------
    noise_scale : float
        The scale of the Laplace noise on a coordinate.
    largest_noise : float
        The mean of the largest of d such draws: what a signal has to beat.
    largest_signal : float
        tau times the clip of the features: no data move a coordinate further from 0 in one step.
    standardised_signal : float
        tau: no data do, if the features have mean square 1 on the step's records.
    pick_probability : float
        No data make a given feature, chosen beforehand, end among the picks with a higher probability.
    standardised_pick_probability : float
        The same for features of mean square 1.
    random_pick_probability : float
        The probability for a pick by lot.
    """

    noise_scale: float
    largest_noise: float
    largest_signal: float
    standardised_signal: float
    pick_probability: float
    standardised_pick_probability: float
    random_pick_probability: float


def peeling_limits(n, d, sparsity, epsilon, delta=None, *, tau=1.0, adjacency="replace-one", calibration="tight"):
    """Limits of DP-IHT-H (with tau = 1, of DP-IHT-L too) from public numbers, with K = log d and T = log n.

    Proof of the bound on picks. A feature that the step before did not keep has a score `|v|` of at most M, the
    largest signal: v is the mean of m = n / T terms psi(r) x_j, each at most tau K, or by Cauchy and Schwarz at most
    tau sqrt(mean x_j^2). Other scores are at least 0, and lowering them to 0 can only help it. With all scores 0
    each of the d - k features left wins pick k + 1 with probability 1 / (d - k), ties apart; raising one score by M
    multiplies its chance by at most exp(M / b), for Laplace noise of scale b. A feature among the last picks entered
    at one of T steps, by one of s picks: P <= T exp(M / b) sum_k 1 / (d - k), by a union bound.

    Parameters
    ----------
    n, d, sparsity : int
        Records, features, features picked.
    epsilon : float
        The promise.
    delta : float or None, default=None
        None for n**-1.1.
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
    by_lot = math.fsum(1 / (d - k) for k in range(sparsity))

    def probability(largest):
        return min(1.0, steps * by_lot * math.exp(min(largest / scale, 700.0)))

    return PeelingLimits(
        noise_scale=scale,
        # The largest of d Laplace draws: scale times (log(d / 2) + Euler's constant), to within 1 / d.
        largest_noise=scale * (math.log(d / 2) + 0.5772156649015329),
        largest_signal=signal,
        standardised_signal=tau,
        pick_probability=probability(signal),
        standardised_pick_probability=probability(tau),
        random_pick_probability=sparsity / d,
    )

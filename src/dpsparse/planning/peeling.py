"""Limits of the paper's loops that hold for any data, from public numbers alone."""

import math
from dataclasses import dataclass
from typing import Literal

from dpsparse.algorithms.iht.theory import default_clip_bound, default_n_iter
from dpsparse.privacy.guarantee import Guarantee, default_delta
from dpsparse.privacy.mechanisms.selection import paper_peeling_scale, tight_peeling_scale
from dpsparse.privacy.protection import Adjacency


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


def peeling_limits(
    n: int,
    d: int,
    sparsity: int,
    epsilon: float,
    delta: float | None = None,
    *,
    tau: float = 1.0,
    adjacency: Adjacency = "replace-one",
    calibration: Literal["tight", "paper"] = "tight",
) -> PeelingLimits:
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

    def probability(largest: float) -> float:
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

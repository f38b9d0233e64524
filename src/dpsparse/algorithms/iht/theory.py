"""The parameters that Theorems 2 and 4 of the paper ask for, corrected where the printed ones cannot be right."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class TheoryParameters:
    """Parameters of the paper's loops; the paper's symbol is in brackets.

    Parameters
    ----------
    sparsity : int
        Coordinates kept in each step [s].
    step : float
        Step of DP-IHT-H [eta].
    two_phase_step : tuple of (float, float, float)
        First step, decay and final step of DP-IHT-L [eta_0, 1 - c_1, eta].
    clip_bound : float
        Clip of the features [K].
    n_iter : int
        Number of steps, and of parts of the data [T].
    tau : float
        Threshold of the Huber loss [tau].
    """

    sparsity: int
    step: float
    two_phase_step: tuple[float, float, float]
    clip_bound: float
    n_iter: int
    tau: float


def default_clip_bound(n_features: int) -> float:
    """The paper's K = log d, and at least 1."""
    return max(1.0, math.log(n_features))


def default_n_iter(n_samples: int) -> int:
    """The paper's T = log n, rounded, at least 1."""
    return max(1, round(math.log(n_samples)))


def theory_parameters(n: int, d: int, sparsity: int, zeta: float, epsilon: float, delta: float) -> TheoryParameters:
    """Parameters for `n` records of `d` features by the paper's theory, with its unspecified constants set to numbers.

    tau balances the two errors that depend on it. Clipping residuals at tau biases a gradient coordinate by about
    tau^-zeta; the peeling noise there is tau T K log d sqrt(s log(1/delta)) / (n epsilon) with K = log d. They are
    equal at tau = (n epsilon / (T log^2 d sqrt(s log(1/delta))))^(1 / (1 + zeta)), which gives the rate that
    Theorem 2 states (its printed exponent, zeta / (1 + zeta), and its missing epsilon do not). The non-private
    limit (n / log d)^(1 / (1 + zeta)) caps it.

    The two-phase step of Theorem 4 drops the printed 1/n, which Algorithm 3 applies already, and takes the
    distance to travel to be sqrt(sparsity), that of standard normal coefficients.

    Parameters
    ----------
    n, d, sparsity : int
        Records, features, and nonzero coefficients.
    zeta : float
        In (0, 1]: the noise has 1 + zeta finite moments.
    epsilon, delta : float
        The privacy guarantee.

    Returns
    -------
    TheoryParameters
        The parameters.

    Examples
    --------
    >>> from dpsparse import theory_parameters
    >>> parameters = theory_parameters(10_000, 1_000, 5, zeta=1.0, epsilon=0.5, delta=10**-4.4)
    >>> parameters.n_iter, round(parameters.clip_bound, 2), round(parameters.tau, 2)
    (9, 6.91, 1.28)
    """
    if not 0 < zeta <= 1:
        raise ValueError(f"zeta={zeta!r} must lie in (0, 1]: 1 for finite variance, less for heavier tails")
    log_d = default_clip_bound(d)
    n_iter = default_n_iter(n)
    private_limit = n * epsilon / (n_iter * log_d**2 * math.sqrt(sparsity * math.log(1 / delta)))
    tau = min(private_limit, n / log_d) ** (1 / (1 + zeta))
    return TheoryParameters(sparsity, 0.5, two_phase_step(sparsity), log_d, n_iter, tau)


def two_phase_step(sparsity: int) -> tuple[float, float, float]:
    """First step, decay and final step for DP-IHT-L: 3/8 of the distance, falling by a fifth, then 1/4."""
    return 0.375 * math.sqrt(sparsity), 0.8, 0.25


def step_sizes(step: float | tuple[float, float, float], n_iter: int) -> list[float]:
    """The step of each iteration: a constant, or a geometric decay that ends in a constant."""
    if isinstance(step, tuple):
        first, decay, final = step
        return [max(first * decay**t, final) for t in range(n_iter)]
    return [float(step)] * n_iter

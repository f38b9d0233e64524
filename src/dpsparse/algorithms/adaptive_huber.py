"""The adaptive Huber lasso, without privacy: the reference for the private methods.

The method of the R package adaHuber 1.1 (`adaHuber.lasso`). With standardised features Z it minimises

    mean(huber_tau(y - b0 - Z b)) + lam * |b|_1

by local adaptive majorise-minimise: a proximal gradient step whose curvature `phi` grows until the
quadratic model lies above the loss. The robustness parameter `tau` is tuned between the steps.

Z is never formed. Its products come from those of X, so a dense X is not copied and a sparse one
stays sparse.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

TAU_RULES = ("residual", "adahuber-1.1")

# The constants of the R package; equal iteration counts need exactly these.
SMALLEST_CURVATURE = 0.01
CURVATURE_GROWTH = 1.2
TAU_PER_MAD = 1.345 * 1.482602
BISECTION_TOLERANCE = 1e-3
BISECTION_STEPS = 500

# In units of the median absolute deviation of y.
FARTHEST_MEAN = 10.0

ROWS_PER_BLOCK = 1024
# Gathering more than this share of a row-major array's columns can cost as much as reading all of it.
GATHER_SHARE = 1 / 32
HUGE_UNIT = 2.0**600
Features: TypeAlias = NDArray[Any] | sparse.sparray | sparse.spmatrix


@dataclass(frozen=True, eq=False)
class StandardizedDesign:
    """Z = [1, (X - mean) / sd], known only by its products; a constant column of X is a zero column of Z."""

    X: Features
    mean: NDArray[np.float64]
    inverse_sd: NDArray[np.float64]

    @classmethod
    def of(cls, X: Features) -> "StandardizedDesign":
        """Measure the columns of X (sd with n - 1)."""
        mean, sd = _column_moments(X)
        # A constant column has an sd of rounding errors, not of exactly zero.
        constant = sd <= X.shape[0] * np.finfo(np.float64).eps * np.abs(mean)
        return cls(X, mean, np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, sd)))

    def product(self, b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z b, for b = (intercept, coefficients)."""
        weights = b[1:] * self.inverse_sd
        used = np.flatnonzero(weights)
        if used.size < GATHER_SHARE * weights.size and not sparse.issparse(self.X):
            fitted = self.X[:, used] @ weights[used].astype(self.X.dtype)
        else:
            fitted = self.X @ weights.astype(self.X.dtype)
        result: NDArray[np.float64] = fitted.astype(np.float64) + (b[0] - self.mean @ weights)
        return result

    def transposed_product(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z' r."""
        total = r.sum()
        # Z's columns sum to zero, so r may be centred first: less cancellation where |mean| >> sd.
        centered = r - total / r.size
        products = (self.X.T @ centered.astype(self.X.dtype)).astype(np.float64)
        products -= self.mean * centered.sum()
        return np.concatenate(([total], products * self.inverse_sd))

    def unstandardize(self, b: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Coefficients and intercept on the scale of X."""
        coef = b[1:] * self.inverse_sd
        return coef, b[0] - self.mean @ coef


@dataclass(frozen=True, eq=False)
class AdaptiveHuberFit:
    """The solution of one problem.

    `standardized` is (intercept, coefficients) for standardised X and centred y, `curvature` the phi that
    the next step would have tried first. The solve of a neighbouring problem can start from both.
    """

    coef: NDArray[np.float64]
    intercept: float
    tau: float
    n_iter: int
    converged: bool
    standardized: NDArray[np.float64]
    curvature: float


def adaptive_huber_lasso(
    X: Features | StandardizedDesign,
    y: NDArray[np.float64],
    lam: float,
    *,
    tau: float | None = None,
    tau_rule: str = "residual",
    tol: float = 1e-3,
    max_iter: int = 500,
    start: AdaptiveHuberFit | None = None,
    n_candidates: int | None = None,
) -> AdaptiveHuberFit:
    """Fit the adaptive Huber lasso.

    A sparse X is in canonical format; a `StandardizedDesign` saves measuring the columns again. The penalty `lam` is on
    the standardised coefficients; the intercept is free. A `tau` of None is tuned by `tau_rule`: on the squared
    residuals, or, for "adahuber-1.1", on the squares of the centred response as the R package does (a defect, kept for
    replication). The solver stops when no standardised coefficient moves by more than `tol`. It starts from the fit of
    a neighbouring problem, or from zero. `n_candidates` is the d in log(n d) of the tau rule, by default the number of
    columns.
    """
    design = X if isinstance(X, StandardizedDesign) else StandardizedDesign.of(X)
    y = np.asarray(y, dtype=np.float64)
    n, d = design.X.shape
    replicate = tau is None and tau_rule == "adahuber-1.1"
    center = _center(y, replicate)
    response = y - center
    log_candidates = np.log(float(n) * (d if n_candidates is None else n_candidates))

    b, phi, residual = np.zeros(1 + d), SMALLEST_CURVATURE, response
    if start is not None:
        b, phi = start.standardized, start.curvature
        residual = response - design.product(b)
    fixed_tau = tau
    if tau is None:
        tau = _initial_tau(residual)
    if replicate:
        # The R package tunes tau on the response, which does not change from step to step.
        fixed_tau = tau_by_bisection(response, log_candidates)

    converged = False
    n_iter = 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        step, residual, phi = _majorize_minimize_step(design, b, residual, lam, tau, phi)
        b = b + step
        converged = bool(np.max(np.abs(step)) <= tol)
        if converged:
            break
        tau = tau_from_residuals(residual, log_candidates, tau) if fixed_tau is None else fixed_tau

    coef, shift = design.unstandardize(b)
    return AdaptiveHuberFit(coef, float(center + shift), float(tau), n_iter, converged, b, phi)


def hard_threshold(
    X: Features, y: NDArray[np.float64], lasso_fit: AdaptiveHuberFit, sparsity: int, **options: Any
) -> AdaptiveHuberFit:
    """Keep the `sparsity` largest standardised coefficients of a lasso fit and refit them without penalty.

    Standardised coefficients are comparable whatever the units of the columns. The refit removes the
    lasso's shrinkage; its tau rule keeps log(n d) with the full d, since the features were chosen
    among d. Where the lasso kept fewer than `sparsity` features, so does the result.

    `options` are `tau`, `tau_rule`, `tol` and `max_iter` of `adaptive_huber_lasso`. The refit is embedded among all
    features; `n_iter` counts the steps of both solves.
    """
    kept = largest_coefficients(lasso_fit.standardized[1:], sparsity)
    d = lasso_fit.coef.size
    refit = adaptive_huber_lasso(X[:, kept], y, 0.0, n_candidates=d, **options)
    coef = np.zeros(d)
    coef[kept] = refit.coef
    standardized = np.zeros(1 + d)
    standardized[np.concatenate(([0], 1 + kept))] = refit.standardized
    return AdaptiveHuberFit(
        coef,
        refit.intercept,
        refit.tau,
        lasso_fit.n_iter + refit.n_iter,
        lasso_fit.converged and refit.converged,
        standardized,
        refit.curvature,
    )


def largest_coefficients(standardized: NDArray[np.float64], sparsity: int) -> NDArray[np.intp]:
    """Sorted indices of the at most `sparsity` largest nonzero entries; ties go to the lower index."""
    order = np.argsort(-np.abs(standardized), kind="stable")[:sparsity]
    return np.sort(order[standardized[order] != 0])


def lambda_grid(X: Features | StandardizedDesign, y: NDArray[np.float64], n_lambdas: int) -> NDArray[np.float64]:
    """Penalties log-spaced from max|Z'y|/n, the least that zeroes a lasso, down to a hundredth of it."""
    design = X if isinstance(X, StandardizedDesign) else StandardizedDesign.of(X)
    y = np.asarray(y, dtype=np.float64)
    largest = np.max(np.abs(design.transposed_product(y - y.mean())[1:])) / y.size
    if largest == 0:
        largest = 1.0  # no feature varies with y: every penalty gives the same fit
    return np.geomspace(largest, 0.01 * largest, n_lambdas)


def tau_from_residuals(residual: NDArray[np.float64], log_candidates: float, fallback: float) -> float:
    """The exact root tau of mean(min(residual^2 / tau^2, 1)) = log(n d) / n.

    With the k largest residuals clipped the equation is linear in tau^2, so a sort finds the root at
    any scale of y, where a bisection needs a tolerance in units of y^2. There is no positive root if
    fewer than log(n d) residuals are nonzero (an exact fit) or log(n d) >= n; then `fallback` is kept.
    """
    size = np.sort(np.abs(residual))
    n = size.size
    most_clipped = int(np.ceil(log_candidates)) - 1
    if most_clipped >= n or size[n - 1 - most_clipped] == 0:
        return fallback
    # At the root at most `most_clipped` residuals are clipped, so tau is at least `unit`: its squares cannot overflow.
    unit = size[n - 1 - most_clipped]
    squares = np.minimum(size[n - 1 - most_clipped :] / unit, 1e100) ** 2
    below = np.sum((size[: n - 1 - most_clipped] / unit) ** 2)
    sums = below + np.cumsum(squares)  # entry j leaves the most_clipped - j largest clipped
    candidates = sums / (log_candidates - most_clipped + np.arange(most_clipped + 1))
    # The left side decreases in tau, so the first candidate below the next larger square is the root.
    is_root = np.append(candidates[:-1] <= squares[1:], True)
    return float(unit * np.sqrt(candidates[np.argmax(is_root)]))


def tau_by_bisection(values: NDArray[np.float64], log_candidates: float) -> float:
    """The root that `tau_from_residuals` finds, by the R package's bisection, to its tolerance."""
    squares = values**2
    target = log_candidates / values.size
    low, high = squares.min(), squares.sum()
    for _ in range(BISECTION_STEPS):
        if high - low <= BISECTION_TOLERANCE:
            break
        middle = 0.5 * (low + high)
        if np.mean(np.minimum(squares / middle, 1.0)) < target:
            high = middle
        else:
            low = middle
    return float(np.sqrt(0.5 * (low + high)))


def _majorize_minimize_step(
    design: StandardizedDesign,
    b: NDArray[np.float64],
    residual: NDArray[np.float64],
    lam: float,
    tau: float,
    phi: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """One accepted step, the residual after it, and the curvature to try first next time."""
    n, d = design.X.shape
    clipped = np.clip(residual, -tau, tau)
    gradient = -design.transposed_product(clipped) / n
    while True:
        step = _soft_threshold(b - gradient / phi, lam / phi) - b
        # The residual moves by the product of the step, so float32 errors stay relative to the step.
        moved = residual - design.product(step)
        moved_clipped = np.clip(moved, -tau, tau)
        # Twice the loss less its linear model at b, summed over differences that vanish with the step: a
        # difference of two losses would drown in rounding near the optimum and beside a huge outlier.
        excess = np.mean((moved_clipped - clipped) * (2 * moved - moved_clipped - clipped))
        # Standardised columns bound the curvature by d + 1: beyond that only rounding errors can refuse a step.
        if excess <= phi * (step @ step) or phi > d + 1:
            return step, moved, max(SMALLEST_CURVATURE, phi / CURVATURE_GROWTH)
        phi *= CURVATURE_GROWTH


def _soft_threshold(b: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """Shrink all entries but the first, the intercept, toward zero."""
    shrunk = np.sign(b) * np.maximum(np.abs(b) - threshold, 0.0)
    shrunk[0] = b[0]
    return shrunk


def _center(y: NDArray[np.float64], replicate: bool) -> float:
    """The intercept to start from: the mean, as in R, or the median where outliers have carried the mean away."""
    mean, median = y.mean(), np.median(y)
    if replicate or np.abs(mean - median) <= FARTHEST_MEAN * np.median(np.abs(y - median)):
        result: float = mean
        return result
    return median


def _initial_tau(residual: NDArray[np.float64]) -> float:
    deviation = np.median(np.abs(residual - np.median(residual)))
    # More than half of the responses may be equal (counts with many zeros); tau = 0 would end the fit.
    return float(TAU_PER_MAD * deviation if deviation > 0 else 1.345 * np.std(residual))


def _column_moments(X: Features) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and sd (n - 1) of the columns in float64, without a float copy of X."""
    n, d = X.shape
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            mean, variance = (moment.astype(np.float64) for moment in mean_variance_axis(X, axis=0))
            squares = variance * n
        else:
            mean = X.mean(axis=0, dtype=np.float64)
            squares = np.zeros(d)
            for first in range(0, n, ROWS_PER_BLOCK):
                centered = X[first : first + ROWS_PER_BLOCK] - mean
                squares += np.einsum("ij,ij->j", centered, centered)
    sd = np.sqrt(squares / (n - 1))
    huge = np.flatnonzero(~np.isfinite(sd))
    if huge.size:  # finite values whose squares overflow: measure them in a larger unit
        mean[huge], sd[huge] = (moment * HUGE_UNIT for moment in _column_moments(X[:, huge] * (1 / HUGE_UNIT)))
    return mean, sd

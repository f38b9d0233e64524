"""What private fits are measured against: roots of estimating equations, Huber's fit, intervals of ratios."""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit


class Root(NamedTuple):
    """A root in the units of the data; `error` has the coefficients' standard errors."""

    intercept: float
    coef: np.ndarray
    error: np.ndarray


def estimating_root(X, y, tau, centers, scales, inner=np.inf, outer=np.inf, start=None):
    """Solve sum v(z) psi(r) z = 0, the equation that a private fit solves with noise.

    z is a record in the units of the fit, (1, (x - center) / scale), v = min(1, inner/|z|, inner outer/|z|^2) its
    weight, and psi clips the residual r at tau. Without `inner` and `outer` it is Huber's regression, and least squares
    where tau is infinite.

    v does not depend on the coefficients, so the equation is the gradient of a convex loss and has one root. Each step
    is Newton's where that halves the gradient, and a step of reweighted least squares, which never raises the loss,
    where it does not.

    Parameters
    ----------
    X : ndarray of shape (n, k)
        Selected features.
    y : ndarray of shape (n,) or (n, copies)
        Responses; several for one record of features count as so many records.
    tau : float
        Clip of the residuals, in the units of y; infinite for none.
    centers, scales : array-like of shape (k,)
        Units of the fit.
    inner, outer : float, default=inf
        The weight's constants C and R.
    start : tuple of (float, ndarray) or None, default=None
        Intercept and coefficients to start from; None for the median and zero.

    Returns
    -------
    Root
        Its standard errors are of the sandwich over records of features.
    """
    y = np.asarray(y, dtype=float).reshape(len(X), -1)
    centers, scales = np.asarray(centers, dtype=float), np.asarray(scales, dtype=float)
    Z = np.column_stack([np.ones(len(X)), (X - centers) / scales])
    squares = np.einsum("ij,ij->i", Z, Z)
    weight = np.minimum(1.0, np.minimum(inner / np.sqrt(squares), inner * outer / squares))
    intercept, coef = (np.median(y), np.zeros(X.shape[1])) if start is None else start
    effects = np.concatenate([[intercept + coef @ centers], coef * scales])

    def score(effects):
        residuals = y - (Z @ effects)[:, None]
        psi = np.clip(residuals, -tau, tau)
        return residuals, psi, Z.T @ (weight * psi.sum(axis=1))

    def jacobian(record_weights):
        return (Z * (weight * record_weights)[:, None]).T @ Z

    residuals, psi, gradient = score(effects)
    # Rounding of a sum of y.size terms of about this size each, with room.
    size = tau if np.isfinite(tau) else np.abs(residuals).mean() + np.abs(y).mean()
    enough = 1e-10 * size * y.size
    for _ in range(500):
        newton = jacobian((np.abs(residuals) <= tau).sum(axis=1))
        if np.abs(gradient).max() <= enough:
            break
        trial = effects + np.linalg.lstsq(newton, gradient, rcond=None)[0]
        reached = score(trial)
        if not np.linalg.norm(reached[2]) < 0.5 * np.linalg.norm(gradient):
            ratio = np.divide(psi, residuals, out=np.ones_like(psi), where=residuals != 0)
            trial = effects + np.linalg.lstsq(jacobian(ratio.sum(axis=1)), gradient, rcond=None)[0]
            reached = score(trial)
        effects, (residuals, psi, gradient) = trial, reached
    else:
        raise RuntimeError("the estimating equation was not solved in 500 steps")
    scores = Z * (weight * psi.sum(axis=1))[:, None]
    inverse = np.linalg.pinv(newton)
    errors = np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))
    coef = effects[1:] / scales
    return Root(float(effects[0] - coef @ centers), coef, errors[1:] / scales)


def huber_fit(X, y, k=1.345):
    """Huber's regression with an intercept, clipped at k times the residuals' normalized median size."""
    centers, scales = X.mean(axis=0), X.std(axis=0)
    A = np.column_stack([np.ones(len(X)), (X - centers) / scales])
    solution = np.linalg.lstsq(A, y, rcond=None)[0]
    coef = solution[1:] / scales
    intercept, tau = solution[0] - coef @ centers, np.inf
    for _ in range(50):
        previous, tau = tau, k * np.median(np.abs(y - intercept - X @ coef)) / 0.6745
        intercept, coef, _ = estimating_root(X, y, tau, centers, scales, start=(intercept, coef))
        if abs(tau - previous) <= 1e-6 * tau:
            break
    return intercept, coef


class Estimate(NamedTuple):
    """A ratio of sums over seeds, its 99 % bootstrap interval and its standard error."""

    value: float
    low: float
    high: float
    error: float

    def verdict(self, lowest=-np.inf, highest=np.inf):
        """'missed' where the 99 % interval excludes the limits, 'met*' where only the estimate is beyond them."""
        if np.isnan(self.value):
            return ""
        if self.low > highest or self.high < lowest:
            return "missed"
        return "met" if lowest <= self.value <= highest else "met*"


def ratio_of_sums(above, below, draws=4000):
    """Sum of `above` over sum of `below`; seeds are drawn anew in pairs, so effects of one fit may be dependent."""
    above, below = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    # A fit without a number is the worst of all.
    above = np.where(np.isnan(above), np.inf, above)
    if not len(below) or not below.sum():
        return Estimate(*[np.nan] * 4)
    chosen = np.random.default_rng(0).integers(len(above), size=(draws, len(above)))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = above[chosen].sum(axis=1) / below[chosen].sum(axis=1)
        ratios = ratios[~np.isnan(ratios)]
        error = ratios.std()
    # No interpolation, which has no number between infinite ratios.
    low, high = np.quantile(ratios, [0.005, 0.995], method="inverted_cdf")
    return Estimate(float(above.sum() / below.sum()), float(low), float(high), float(error))


def share_of_sums(hits, trials):
    """As `ratio_of_sums`, for hits among trials: at least as wide as Wilson's interval, for shares near 0 and 1."""
    estimate, count = ratio_of_sums(hits, trials), int(np.sum(trials))
    if not count:
        return estimate
    wilson = stats.binomtest(int(np.sum(hits)), count).proportion_ci(0.99, "wilson")
    return estimate._replace(low=min(estimate.low, float(wilson.low)), high=max(estimate.high, float(wilson.high)))


# Of a residuals' scale, in standard deviations of the response.
COLLAPSED = 1e-6


class Reference(NamedTuple):
    """Coefficients that anyone can compute without privacy, and their standard errors."""

    coef: np.ndarray
    error: np.ndarray


def statsmodels_fit(X, y, estimand):
    """What "mean" or "typical" effects are of, as statsmodels gives it for an intercept and the columns of X.

    "mean" is ``OLS`` with HC3 errors. "typical" is ``RLM`` with ``HuberT()`` and the sandwich errors of Huber's
    equation at its scale: statsmodels' own assume errors that are independent of the features. Columns are
    standardised for the sake of rounding, and responses, too: in other units ``RLM`` may stop after two iterations.
    Where most residuals can be made 0 its scale collapses to 0, and it says nothing: all is NaN then.
    """
    import statsmodels.api as sm

    units = y.std() / X.std(axis=0)
    A = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / X.std(axis=0)])
    if estimand == "mean":
        found = sm.OLS(y / y.std(), A).fit(cov_type="HC3")
        return Reference(found.params[1:] * units, found.bse[1:] * units)
    norm = sm.robust.norms.HuberT()
    found = sm.RLM(y / y.std(), A, M=norm).fit(maxiter=1000, conv="coefs")
    if found.scale < COLLAPSED:
        return Reference(np.full_like(units, np.nan), np.full_like(units, np.nan))
    tau = norm.t * found.scale
    inner = A[np.abs(found.resid) <= tau]
    scores = A * np.clip(found.resid, -tau, tau)[:, None]
    inverse = np.linalg.inv(inner.T @ inner)
    errors = np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))
    return Reference(found.params[1:] * units, errors[1:] * units)


def least_squares_predictions(X, y, X_new):
    """Predictions of least squares with an intercept, of fitted columns that may be collinear or constant."""
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    coef = np.linalg.lstsq((X - center) / scale, y - y.mean(), rcond=None)[0]
    return y.mean() + (X_new - center) / scale @ coef


def forward_selection(groups, y, count):
    """Names of `count` groups of columns, one after another, each the one that lowers the squared error most.

    Parameters
    ----------
    groups : dict of str to ndarray of shape (n, columns)
        Variables, with all columns of each.
    y : ndarray of shape (n,)
        Responses.
    count : int
        How many to take.
    """
    left = {name: columns - columns.mean(axis=0) for name, columns in groups.items()}
    residual, chosen = y - y.mean(), []
    while len(chosen) < min(count, len(groups)):
        gains = {name: ((_basis(left[name]).T @ residual) ** 2).sum() for name in left}
        best = max(gains, key=gains.get)
        chosen.append(best)
        basis = _basis(left.pop(best))
        residual = residual - basis @ (basis.T @ residual)
        left = {name: columns - basis @ (basis.T @ columns) for name, columns in left.items()}
    return chosen


def _basis(columns):
    """Orthonormal columns that span these, without directions that are rounding."""
    sizes = np.sqrt((columns**2).sum(axis=0))
    u, s, _ = np.linalg.svd(columns / np.where(sizes > 0, sizes, 1.0), full_matrices=False)
    return u[:, s > 1e-6]


def logistic_fit(X, y, rounds=50):
    """The maximum of the likelihood of logistic regression with an intercept; responses may be probabilities.

    Steps are Newton's, halved until the likelihood rises, on standardised columns. A penalty of a millionth of a record
    keeps coefficients finite where a feature tells yes from no. Errors are those of statsmodels' ``Logit``.
    """
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    A = np.column_stack([np.ones(len(X)), (X - center) / scale])
    b, ridge = np.zeros(A.shape[1]), 1e-6

    def loss(b):
        odds = A @ b
        return (np.logaddexp(0, odds) - y * odds).sum() + ridge / 2 * b @ b

    for _ in range(rounds):
        chances = expit(A @ b)
        slopes = (A * (chances * (1 - chances))[:, None]).T @ A + ridge * np.eye(len(b))
        step = np.linalg.solve(slopes, A.T @ (y - chances) - ridge * b)
        now, length = loss(b), 1.0
        while length > 1e-6 and loss(b + length * step) > now:
            length /= 2
        b = b + length * step
        if np.abs(step).max() < 1e-9:
            break
    coef = b[1:] / scale
    errors = np.sqrt(np.diag(np.linalg.inv(slopes)))
    return Root(float(b[0] - coef @ center), coef, errors[1:] / scale)


def lasso_logistic(X, y, count):
    """The first `count` columns, or fewer, that a lasso of the log odds takes in as its penalty falls.

    Without privacy: what a selection of as many variables could have been.
    """
    from sklearn.linear_model import LogisticRegression

    scale = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    Z = (X - X.mean(axis=0)) / scale
    if count >= X.shape[1]:
        return np.arange(X.shape[1])
    most = np.abs(Z.T @ (y - y.mean())).max()
    low, high, chosen = 0.0, 8.0, np.zeros(0, dtype=int)
    for _ in range(12):
        middle = (low + high) / 2
        lasso = LogisticRegression(l1_ratio=1.0, C=np.exp(middle) / most, solver="liblinear", tol=1e-3)
        nonzero = np.flatnonzero(lasso.fit(Z, y).coef_[0])
        if len(nonzero) > count:
            high = middle
        else:
            low = middle
            chosen = nonzero if len(nonzero) >= len(chosen) else chosen
    return chosen


def poisson_fit(X, y, rounds=100):
    """Poisson regression with an intercept, as statsmodels' ``GLM(y, X, family=Poisson())``, with sandwich errors.

    Steps are Newton's, halved until the likelihood rises, on standardised columns. Responses may be means.
    """
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    A = np.column_stack([np.ones(len(X)), (X - center) / scale])
    b = np.zeros(A.shape[1])
    b[0] = np.log(y.mean())

    def loss(b):
        with np.errstate(over="ignore"):
            return float((np.exp(A @ b) - y * (A @ b)).sum())

    for _ in range(rounds):
        means = np.exp(A @ b)
        slopes = (A * means[:, None]).T @ A
        step = np.linalg.lstsq(slopes, A.T @ (y - means), rcond=None)[0]
        now, length = loss(b), 1.0
        while length > 1e-6 and not loss(b + length * step) <= now:
            length /= 2
        b = b + length * step
        if np.abs(step).max() < 1e-9:
            break
    scores, inverse = A * (y - np.exp(A @ b))[:, None], np.linalg.pinv(slopes)
    errors = np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))
    coef = b[1:] / scale
    return Root(float(b[0] - coef @ center), coef, errors[1:] / scale)


def huber_iht(X, y, sparsity, *, tau=1.0, step=0.5, n_steps=100):
    """Huber's loss minimised over coefficients with `sparsity` nonzeros, by gradient steps and hard thresholding.

    It fits no intercept and does not scale the features. The loop ends early when a step changes nothing.
    """
    coef = np.zeros(X.shape[1])
    for _ in range(n_steps):
        support = np.flatnonzero(coef)
        psi = np.clip(y - X[:, support] @ coef[support], -tau, tau)
        moved = coef + step / len(y) * (X.T @ psi)
        kept = np.argpartition(-np.abs(moved), sparsity - 1)[:sparsity]
        after = np.zeros_like(coef)
        after[kept] = moved[kept]
        if np.abs(after - coef).max() <= 1e-12:
            break
        coef = after
    return after

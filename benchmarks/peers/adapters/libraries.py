"""The regressions that other libraries ship, called as they are."""

import importlib.util
import warnings

import numpy as np

from peers.problem import Line


def opendp_theil_sen(X, y, budget, rng):
    """OpenDP's LinearRegression: Theil-Sen lines of random pairs, private medians of two predictions; pure.

    ``opendp.extras.sklearn.linear_model``. Adjacency: one record added or removed. It takes one feature, a noise scale
    instead of epsilon, and bounds of both variables, here the exact ones. Pairs are shuffled by NumPy's global state.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    low, high = float(X.min()), float(X.max())
    bounds = {"x_bounds": [(low, high)], "y_bounds": (float(y.min()), float(y.max()))}

    def model(scale):
        return dp.sklearn.linear_model.LinearRegression(dp.max_divergence(), scale=scale, **bounds)

    # Epsilon is inversely proportional to the scale.
    scale = model(1.0).measurement.map(1) / budget.epsilon
    fitted = model(scale).fit(X, y)
    return Line(np.array(fitted.coef_, dtype=float), float(fitted.intercept_))


def diffprivlib_linear(X, y, budget, rng):
    """Diffprivlib's LinearRegression: the functional mechanism (Zhang et al. 2012), with exact bounds; pure.

    Adjacency: replace-one. Its issues 104 and 105: the sensitivity of a squared feature is computed from the lower
    bound twice, so it is too small where the upper bound is larger in size, and 0 for bounds such as (0, 1) without an
    intercept; `fit` overwrites the constructor's parameters. The guarantee does not hold, and the comparison says so.
    Version 0.6.6 imports with scikit-learn up to 1.8 only.
    """
    from diffprivlib.models import LinearRegression

    bounds = (X.min(axis=0), X.max(axis=0)), (float(y.min()), float(y.max()))
    model = LinearRegression(
        epsilon=budget.epsilon, bounds_X=bounds[0], bounds_y=bounds[1], random_state=int(rng.integers(2**31))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Line(np.ravel(model.coef_), float(model.intercept_))


def diffprivlib_missing():
    """Why diffprivlib cannot run here, or the empty string."""
    if importlib.util.find_spec("diffprivlib") is None:
        return "diffprivlib is not installed"
    try:
        import diffprivlib.models  # noqa: F401
    except Exception as error:
        return f"diffprivlib does not import: {type(error).__name__}: {error}"
    return ""

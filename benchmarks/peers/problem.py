"""What a peer is given and what it returns, and the exact units that some peers are given as a gift."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import NamedTuple

import numpy as np

NEEDS = ("nothing", "units of the features", "exact units", "exact units and bounds", "row norms", "bounds")
# The median absolute deviation of a standard normal variable.
NORMAL_MAD = 0.6744897501960817


@dataclass(frozen=True)
class Budget:
    """The guarantee a peer may spend and the number of features asked for.

    `delta` is 0 for pure differential privacy; a peer that is not pure needs it above 0. Dense peers ignore `sparsity`;
    where nobody knows how many features matter, as in real tables, it is what the sparse ones are asked for.
    """

    epsilon: float
    delta: float
    sparsity: int
    sparsity_known: bool = True


class Line(NamedTuple):
    """A linear model in the units of the data.

    `limits` is where the method itself clips its predictions, `median_shift` what it adds to predict a median, where it
    tells the two apart. Predictions of a mean are `slope` times as far from `constant` as the coefficients say, and
    those of a median `median_slope` times.
    """

    coef: np.ndarray
    intercept: float
    limits: tuple[float, float] = (-np.inf, np.inf)
    median_shift: float = 0.0
    slope: float = 1.0
    constant: float = 0.0
    median_slope: float = 1.0

    def predict(self, X, median=False):
        """Predictions for the rows of X."""
        line = X @ self.coef + self.intercept
        slope, shift = (self.median_slope, self.median_shift) if median else (self.slope, 0.0)
        return np.clip(self.constant + slope * (line - self.constant) + shift, *self.limits)


@dataclass(frozen=True)
class Peer:
    """A method of the comparison; the fields below say what it is, `fit` always takes raw arrays.

    Parameters
    ----------
    name : str
        Name in tables.
    fit : callable
        ``fit(X, y, budget, rng) -> Line`` for raw float arrays. Where `needs` is "exact units" or "row norms" it is
        wrapped by `with_exact_units` or `with_row_norms` already.
    private : bool
        Whether it claims differential privacy.
    needs : str
        What it is given that no private fit may have: one of `NEEDS`. "bounds": exact smallest and largest values.
    paper : str
        Citation.
    reproduced : str
        How the adapter was checked, or "not reproduced: why".
    pure : bool
        Whether it keeps its guarantee with delta = 0.
    most_features : int or None
        The largest number of features it takes, by its own limits or for time.
    heavy : bool
        A slow non-private reference, run once a design.
    adjacency : {"replace-one", "zero-out-one", "add-remove"}
        The neighbours of its guarantee. At the same epsilon the first is the strongest: replacing a record is removing
        one and adding another.
    of_mean : bool
        Whether it is an entry that squared error alone judges, so that it runs on tables with held-out records only.
    missing : str
        Why it cannot run here, such as a library that is not installed; empty where it can.
    """

    name: str
    fit: Callable
    private: bool
    needs: str
    paper: str
    reproduced: str
    pure: bool = False
    most_features: int | None = None
    heavy: bool = False
    adjacency: str = "replace-one"
    of_mean: bool = False
    missing: str = ""


def exact_feature_units(X):
    """Means and standard deviations of the columns; a constant column has scale 1."""
    center, scale = X.mean(axis=0), X.std(axis=0)
    # Rounding gives a constant column a standard deviation above 0.
    return center, np.where(scale > 1e-12 * np.maximum(1e-300, np.abs(center)), scale, 1.0)


def robust_units(y):
    """Median and normalized median absolute deviation, or the standard deviation where that is 0."""
    center = np.median(y)
    scale = np.median(np.abs(y - center)) / NORMAL_MAD or np.std(y) or 1.0
    return float(center), float(scale)


def in_raw_units(line, center, scale, response_center, response_scale):
    """A line for (X - center) / scale and (y - response_center) / response_scale, in the units of X and y."""
    coef = line.coef * response_scale / scale
    low, high = (limit * response_scale + response_center for limit in line.limits)
    return Line(
        coef,
        float(response_center + response_scale * line.intercept - coef @ center),
        (low, high),
        line.median_shift * response_scale,
        line.slope,
        response_center + response_scale * line.constant,
        line.median_slope,
    )


def with_exact_units(fit):
    """Let `fit` see features of mean 0 and variance 1, and y by its median and normalized MAD, all exact."""

    @wraps(fit)
    def fit_raw(X, y, budget, rng):
        center, scale = exact_feature_units(X)
        response_center, response_scale = robust_units(y)
        line = fit((X - center) / scale, (y - response_center) / response_scale, budget, rng)
        return in_raw_units(line, center, scale, response_center, response_scale)

    return fit_raw


def with_row_norms(fit):
    """Let `fit` see standardised rows over the largest norm, and y - mean(y) over its largest size, all exact."""

    @wraps(fit)
    def fit_raw(X, y, budget, rng):
        center, scale = exact_feature_units(X)
        Z = (X - center) / scale
        largest = np.sqrt(np.einsum("ij,ij->i", Z, Z).max()) or 1.0
        Z /= largest
        response_center = float(y.mean())
        response_scale = float(np.abs(y - response_center).max()) or 1.0
        line = fit(Z, (y - response_center) / response_scale, budget, rng)
        return in_raw_units(line, center, scale * largest, response_center, response_scale)

    return fit_raw


def with_clipped_rows(fit, clip=3.0):
    """Kinder than `with_row_norms`: rows are clipped at the norm sqrt(d), responses at `clip` robust units.

    One outlying record then no longer shrinks all others. The clips depend on exact units, which is the gift.
    """

    @wraps(fit)
    def fit_raw(X, y, budget, rng):
        center, scale = exact_feature_units(X)
        Z = (X - center) / scale
        radius = np.sqrt(X.shape[1])
        norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        Z /= np.maximum(norms, radius)[:, None]
        response_center, response_scale = robust_units(y)
        response_scale *= clip
        line = fit(Z, np.clip((y - response_center) / response_scale, -1, 1), budget, rng)
        return in_raw_units(line, center, scale * radius, response_center, response_scale)

    return fit_raw

"""The simulated tables of `honesty.py`: features as people have them, and what the estimating equation's root is there.

A `Design` makes a table from a seed: five effects of 1, .6, -.4, .3 and .2 noise units per true standard deviation at
random positions among d columns, t3 noise, a response around 5. `Design.draw_population` draws its active and
selected columns anew, many times as long, for the root of the estimating equation.
"""

from dataclasses import dataclass, field
from functools import cache, lru_cache

import numpy as np
from scipy import special, stats

EFFECTS = (1.0, 0.6, -0.4, 0.3, 0.2)
# One law a column: also values far from zero, and units from 1e-8 to 1e8.
MIXTURE = (
    "normal", "uniform", "share .5", "share .1", "poisson .2", "poisson 2", "t3", "exp 1", "zero-inflated",
    "year", "tiny", "huge",
)  # fmt: skip
STREAM = 1507
POPULATION_STREAM = 1508
POPULATION = 100_000


def draw_column(rng, law, n):
    """N values of a law."""
    name, _, number = law.partition(" ")
    match name:
        case "normal":
            return rng.standard_normal(n)
        case "uniform":
            return rng.random(n)
        case "share":
            return (rng.random(n) < float(number)).astype(float)
        case "poisson":
            return rng.poisson(float(number), n).astype(float)
        case "t3":
            return rng.standard_t(3, n)
        case "exp":
            return np.exp(float(number) * rng.standard_normal(n))
        case "zero-inflated":
            return np.where(rng.random(n) < 0.8, 0.0, np.exp(rng.standard_normal(n)))
        case "year":
            return 2011 + 1.2 * rng.standard_normal(n)
        case "tiny":
            return 3e-8 + 1e-8 * rng.standard_normal(n)
        case "huge":
            return 1e8 * (1 + rng.standard_normal(n))
    raise ValueError(law)


@cache
def moments(law):
    """Mean and standard deviation of a law."""
    name, _, number = law.partition(" ")
    value = float(number or 0)
    return {
        "normal": (0.0, 1.0),
        "uniform": (0.5, 12**-0.5),
        "share": (value, (value * (1 - value)) ** 0.5),
        "poisson": (value, value**0.5),
        "t3": (0.0, 3**0.5),
        "exp": (np.exp(value**2 / 2), (np.exp(value**2) * (np.exp(value**2) - 1)) ** 0.5),
        "zero-inflated": (0.2 * np.exp(0.5), (0.2 * np.exp(2) - 0.04 * np.exp(1)) ** 0.5),
        "year": (2011.0, 1.2),
        "tiny": (3e-8, 1e-8),
        "huge": (1e8, 1e8),
    }[name]


@dataclass(frozen=True)
class Truth:
    """What is true of one seed's table: a law a column, which columns are active, and their coefficients."""

    laws: tuple[str, ...]
    active: np.ndarray
    coef: np.ndarray

    @property
    def mean(self):
        """True means of the columns."""
        return np.array([moments(law)[0] for law in self.laws])

    @property
    def sd(self):
        """True standard deviations of the columns."""
        return np.array([moments(law)[1] for law in self.laws])


@dataclass(frozen=True)
class Design:
    """A row of the benchmark.

    `limit` is the largest ratio of errors allowed, None where only coverage counts. `times` multiplies the effects.
    `carriers` makes the first active column 0/1 of share .25 with effect 4, and multiplies its carriers' noise.
    `sparsity` is what the fit is asked for; where it is `d`, all features are taken.
    `wrong_scale` and `wrong_center` (in standard deviations) give public units that are off; None gives no units.
    """

    law: str = "normal"
    limit: float | None = None
    n: int = 10_000
    d: int = 60
    sparsity: int = len(EFFECTS)
    times: float = 1.0
    noise: str = "t3"
    noise_slope: float = 0.0
    carriers: float | None = None
    correlation: float = 0.0
    wrong_scale: float | None = None
    wrong_center: float | None = None
    population: int = field(default=POPULATION, repr=False)

    def truth(self, rng):
        """Laws, active columns and coefficients."""
        laws = [str(law) for law in rng.permutation(np.resize(MIXTURE, self.d))]
        if self.law != "mixture":
            laws = [self.law] * self.d
        active = rng.choice(self.d, len(EFFECTS), replace=False)
        if self.carriers:
            laws[active[0]] = "share .25"
        coef = np.zeros(self.d)
        coef[active] = self.times * np.array(EFFECTS) / [moments(laws[j])[1] for j in active]
        if self.carriers:
            coef[active[0]] = 4.0
        return Truth(tuple(laws), active, coef)

    def make(self, seed):
        """Features, response and the truth about them."""
        rng = np.random.default_rng([STREAM, seed])
        truth = self.truth(rng)
        X = np.column_stack([draw_column(rng, law, self.n) for law in truth.laws])
        if self.correlation:
            X = _neighbors(X, np.ones(self.d - 1), self.correlation)
        noise = rng.standard_t(3, self.n) if self.noise == "t3" else np.exp(rng.standard_normal(self.n))
        first = X[:, truth.active[0]]
        return X, 5 + X @ truth.coef + self._noise_size(first) * noise, truth

    def public_units(self, truth, known):
        """Centres and scales to pass to the fit; None and None where nothing is known."""
        if self.wrong_scale or self.wrong_center:
            center = truth.mean + (self.wrong_center or 0.0) * truth.sd
            return center, (self.wrong_scale or 1.0) * truth.sd
        return (truth.mean, truth.sd) if known else (None, None)

    def draw_population(self, truth, selected):
        """The selected columns and the response of many more records of the same law.

        Other columns are independent of these and of the response, so they are not drawn. Each record of features has
        four responses, whose noise is at u/2, (1+u)/2 and their mirror images in probability: symmetric noise then
        cancels exactly, and little is left of other noise. Numbers are common to all seeds.

        Returns
        -------
        X : ndarray of shape (population, len(selected))
        y : ndarray of shape (population, 4)
        """
        columns = list(dict.fromkeys([*truth.active, *selected]))
        if self.correlation:
            columns.sort()
        X = np.column_stack([_common_column(truth.laws[j], slot, self.population) for slot, j in enumerate(columns)])
        if self.correlation:
            X = _neighbors(X, np.diff(columns), self.correlation)
        first = X[:, columns.index(truth.active[0])]
        noise = self._noise_size(first)[:, None] * _common_noise(self.noise, self.population)
        y = (5 + X @ truth.coef[columns])[:, None] + noise
        return X[:, [columns.index(j) for j in selected]], y

    def _noise_size(self, first):
        """The noise's size for each record, by its first active feature."""
        size = np.exp(self.noise_slope * first)
        return np.where(first > 0, self.carriers, size) if self.carriers else size


def _neighbors(X, gaps, correlation):
    """Standard normal columns made autoregressive: columns a gap apart have correlation**gap."""
    X = X.copy()
    for j, gap in enumerate(gaps, start=1):
        share = correlation ** float(gap)
        X[:, j] = share * X[:, j - 1] + np.sqrt(1 - share**2) * X[:, j]
    return X


@lru_cache(maxsize=128)
def _common_column(law, slot, n):
    return draw_column(np.random.default_rng([POPULATION_STREAM, slot]), law, n)


@lru_cache(maxsize=2)
def _common_noise(noise, n):
    half = np.random.default_rng([POPULATION_STREAM, 1000]).random((n, 1)) / 2
    levels = np.hstack([half, half + 0.5, 1 - half, 0.5 - half])
    return stats.t(3).ppf(levels) if noise == "t3" else np.exp(special.ndtri(levels))


ROWS = {
    "normal": Design(limit=1.35),
    "uniform": Design("uniform", limit=1.35),
    "share .5": Design("share .5", limit=1.35),
    "poisson .2": Design("poisson .2", limit=1.35),
    "poisson 2": Design("poisson 2", limit=1.35),
    "mixture": Design("mixture", limit=1.35),
    "t3": Design("t3", limit=1.5),
    "exp 1": Design("exp 1", limit=1.5),
    "share .1": Design("share .1", limit=2),
    "zero-inflated": Design("zero-inflated", limit=2),
    "share .1, x10": Design("share .1", limit=3, times=10),
    "zero-inflated, x10": Design("zero-inflated", limit=3, times=10),
    "share .03": Design("share .03", limit=4),
    "exp 1.5": Design("exp 1.5", limit=4),
    "mixture, n 2000": Design("mixture", limit=2.5, n=2_000),
    "carriers' noise x1.5": Design(carriers=1.5),
    "carriers' noise x2": Design(carriers=2),
    "carriers' noise x4": Design(carriers=4),
    "noise exp(.6 x)": Design(noise_slope=0.6),
    "skewed noise": Design(noise="skewed"),
    "neighbors .9": Design(correlation=0.9),
    "scales 3x wide": Design(wrong_scale=3),
    "scales 3x narrow": Design(wrong_scale=1 / 3),
    "scales 10x wide": Design(wrong_scale=10),
    "scales 10x narrow": Design(wrong_scale=1 / 10),
    "centers 1 sd off": Design(wrong_center=1),
    "centers 3 sd off": Design(wrong_center=3),
    "share .01": Design("share .01"),
    "all of 12, normal": Design(d=12, sparsity=12),
    "all of 12, mixture": Design("mixture", d=12, sparsity=12),
    "all of 12, noise x4": Design(d=12, sparsity=12, carriers=4),
    "all of 12, skewed": Design("exp 1", d=12, sparsity=12, noise="skewed"),
    "all of 12, corr. .9": Design(d=12, sparsity=12, correlation=0.9),
    "all of 30, mixture": Design("mixture", d=30, sparsity=30),
    "nothing, normal": Design(times=0),
    "nothing, mixture": Design("mixture", times=0),
    "nothing in all of 12": Design("mixture", d=12, sparsity=12, times=0),
}
# Rows that are also fitted at epsilon 100 on 100,000 records.
CONSISTENCY_ROWS = ("normal", "mixture", "exp 1", "carriers' noise x4", "noise exp(.6 x)")

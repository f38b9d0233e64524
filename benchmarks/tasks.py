"""The synthetic tasks of all accuracy benchmarks."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from dpsparse.datasets import make_heavy_tailed


@dataclass(frozen=True)
class Task:
    """A setting of the simulations; `target` is the error to reach, in units of the non-private one."""

    n: int
    d: int
    sparsity: int
    df: float
    correlation: float
    epsilon: float
    target: float
    scale: float = 1.0
    shift: float = 0.0

    @property
    def delta(self):
        """The paper's delta."""
        return self.n**-1.1

    @property
    def noise_scale(self):
        """1.48 times the median size of the noise, as `plan` takes it where effects are on the typical response."""
        return self.scale * self._law.ppf(0.75) / stats.norm.ppf(0.75)

    def noise_size(self, estimand):
        """The size of the noise as `plan` takes it; that of a law without a variance is its median's for a mean too."""
        deviation = self.scale * self._law.std()
        return deviation if estimand == "mean" and np.isfinite(deviation) else self.noise_scale

    @property
    def _law(self):
        return stats.norm() if np.isinf(self.df) else stats.t(self.df)

    def make(self, seed):
        """Features, response and true coefficients."""
        X, y, coef = make_heavy_tailed(
            self.n, self.d, self.sparsity, df=self.df, correlation=self.correlation, random_state=seed
        )
        return X, y * self.scale + self.shift, coef * self.scale


TASKS = {
    "A": Task(2_000, 1_000, 5, 3, 0.0, 0.5, 1.8),
    "B": Task(10_000, 1_000, 5, 3, 0.0, 0.5, 1.3),
    "C": Task(10_000, 1_000, 5, 1.75, 0.5, 0.5, 1.35),
    "C8": Task(10_000, 1_000, 5, 1.75, 0.8, 0.5, 1.7),
    "D": Task(10_000, 1_000, 20, 3, 0.5, 0.5, 1.7),
    "E": Task(10_000, 200, 5, 1.75, 0.8, 1.0, 1.2),
    "F": Task(1_900, 24_000, 5, 3, 0.5, 1.0, 1.0),
    "G": Task(10_000, 1_000, 5, np.inf, 0.0, 0.5, 1.35),
    "H": Task(10_000, 1_000, 5, 1.75, 0.5, 0.5, 1.35, scale=1e4, shift=1e5),
}

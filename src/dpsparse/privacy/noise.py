"""The noise that protects people. No other file of the package draws at random, except for synthetic data.

A source adds integer noise to integers and gives random bits for picks. `SecureSource` is the private one:
OpenDP's exact samplers and the operating system's entropy, with no seed and no floating point in the output.
The seeded and the noiseless sources are for simulations and tests; whatever they produce is marked not private.
"""

import secrets
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

# Noisy values saturate at +- this, so that they never overflow. A value cut there by itself is post-processing. A
# comparison of several is not: cut values tie, and whatever breaks the tie depends on the data (`selection.peel`).
LARGEST = 2**62


class NotPrivateWarning(UserWarning):
    """A fit used a seeded or noiseless source: its result protects nobody."""


class NoiseSource(Protocol):
    """The methods of a source that mechanisms use."""

    name: str
    private: bool
    noiseless: bool

    def laplace(self, values: Integers, scale: float) -> Integers:
        """Add independent discrete Laplace noise, P(k) proportional to exp(-|k| / scale); cut at +-`LARGEST`."""
        ...

    def gaussian(self, values: Integers, scale: float) -> Integers:
        """Add independent discrete Gaussian noise, P(k) proportional to exp(-k^2 / (2 scale^2)); cut at +-`LARGEST`."""
        ...

    def bits(self, count: int) -> int:
        """An integer uniform on [0, 2^count)."""
        ...


class SecureSource:
    """OpenDP's exact discrete samplers and the operating system's entropy. It takes no seed.

    Examples
    --------
    >>> SecureSource().laplace(np.zeros(3, dtype=np.int64), scale=100.0).dtype
    dtype('int64')
    """

    name = "OpenDP exact samplers, operating-system entropy"
    private = True
    noiseless = False

    def laplace(self, values: Integers, scale: float) -> Integers:
        """Add exact discrete Laplace noise."""
        return self._add("laplace", values, scale)

    def gaussian(self, values: Integers, scale: float) -> Integers:
        """Add exact discrete Gaussian noise."""
        return self._add("gaussian", values, scale)

    def bits(self, count: int) -> int:
        """Bits from the operating system."""
        return secrets.randbits(count)

    @staticmethod
    def _add(law: str, values: Integers, scale: float) -> Integers:
        noisy = _opendp_sampler(law, float(scale))(np.asarray(values, dtype=np.int64).tolist())
        return np.clip(np.asarray(noisy, dtype=np.int64), -LARGEST, LARGEST)


@lru_cache(maxsize=64)
def _opendp_sampler(law: str, scale: float) -> Any:
    import opendp.domains as domains
    import opendp.measurements as measurements
    import opendp.metrics as metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    space = domains.vector_domain(domains.atom_domain(T="i64"))
    if law == "laplace":
        return measurements.make_laplace(space, metrics.l1_distance(T="i64"), scale)
    return measurements.make_gaussian(space, metrics.l2_distance(T="f64"), scale)


class SeededSource:
    """Repeatable noise of the same laws, up to floating point. For simulations and tests: not private.

    The seed is whatever `numpy.random.default_rng` takes.

    Examples
    --------
    >>> zeros = np.zeros(4, dtype=np.int64)
    >>> bool((SeededSource(1).gaussian(zeros, 9.0) == SeededSource(1).gaussian(zeros, 9.0)).all())
    True
    """

    name = "seeded generator (simulation only)"
    private = False
    noiseless = False

    def __init__(self, seed: Any) -> None:
        self._generator = np.random.default_rng(seed)

    def laplace(self, values: Integers, scale: float) -> Integers:
        """Add discrete Laplace noise: the difference of two geometric draws."""
        # floor(scale * exponential) is geometric with ratio exp(-1/scale).
        shape = np.shape(values)
        up = np.floor(self._generator.exponential(scale, shape))
        down = np.floor(self._generator.exponential(scale, shape))
        return _add_saturating(values, up - down)

    def gaussian(self, values: Integers, scale: float) -> Integers:
        """Add rounded Gaussian noise."""
        return _add_saturating(values, np.rint(self._generator.normal(0.0, scale, np.shape(values))))

    def bits(self, count: int) -> int:
        """Bits of the generator."""
        return int.from_bytes(self._generator.bytes((count + 7) // 8), "little") & ((1 << count) - 1)


def _add_saturating(values: Integers, noise: npt.NDArray[np.float64]) -> Integers:
    bounded = np.minimum(np.maximum(noise, -LARGEST // 2), LARGEST // 2).astype(np.int64)
    noisy = np.minimum(np.maximum(np.asarray(values, dtype=np.int64), -LARGEST), LARGEST) + bounded
    return np.asarray(np.minimum(np.maximum(noisy, -LARGEST), LARGEST))


class ZeroSource:
    """No noise at all: picks take the largest score. For tests of the arithmetic: not private."""

    name = "no noise (tests only)"
    private = False
    noiseless = True

    def laplace(self, values: Integers, scale: float) -> Integers:
        """Return the values."""
        return np.asarray(values, dtype=np.int64).copy()

    gaussian = laplace

    def bits(self, count: int) -> int:
        """Refuse: a noiseless pick takes the largest score and draws nothing."""
        raise RuntimeError("the noiseless source has no bits to give")

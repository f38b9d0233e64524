"""The source of the noise: no seed reaches it, and its draws have the declared scale."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.attacked import ESTIMATORS
from dpsparse.privacy.noise import SecureSource, SeededSource

DRAWS, SCALE = 4_000, 10**6
# Variances of the two laws in squared scales, and those of a squared draw in squared variances.
LAWS = {"gaussian": (1.0, 2.0), "laplace": (2.0, 5.0)}
# Standard errors: a false alarm in 1e11 runs.
SIGMAS = 7


def check_sources() -> Iterator[Finding]:
    """The source that a fit takes, the freshness of draws, and their size."""
    for name, make in ESTIMATORS.items():
        yield _source_of(name, make(adjacency="replace-one"))
    yield _fresh()
    for law in LAWS:
        yield _scale(law)


def _source_of(name: str, model: Any) -> Finding:
    kinds = type(model._noise_source()), type(model.set_params(random_state=0)._noise_source())
    good = kinds == (SecureSource, SeededSource) and kinds[0].private and not kinds[1].private
    evidence = "secure without a seed, marked not private with one" if good else " and ".join(k.__name__ for k in kinds)
    return Finding(name, "secure noise unless seeded", evidence, good)


def _fresh() -> Finding:
    zeros = np.zeros(8, dtype=np.int64)
    draws = [
        (source.bits(128), *source.laplace(zeros, 1e9), *source.gaussian(zeros, 1e9))
        for source in (SecureSource(), SecureSource())
    ]
    repeated = sum(int(a) == int(b) for a, b in zip(*draws, strict=True))
    return Finding("secure draws", "never the same twice", f"{repeated} of 17 repeat", repeated == 0)


def _scale(law: str) -> Finding:
    variance, spread = LAWS[law]
    draws = getattr(SecureSource(), law)(np.zeros(DRAWS, dtype=np.int64), float(SCALE)) / SCALE
    ratio = float(np.mean(draws**2) / variance)
    good = abs(ratio - 1) < SIGMAS * math.sqrt(spread / DRAWS)
    return Finding(f"secure {law} noise", "variance as declared", f"{ratio:.3f} of it", good)

"""Floating point: do the bits of an output reveal which table it came from?

Noise drawn in floating point has gaps: adding it to 0 and to 1 reaches different sets of numbers, so the low bits can
distinguish the two (Mironov 2012). The attack below sees a noisy 0 or 1 and asks whether the number is a
multiple of 2^-53; numbers near 0 on a finer grid can only have come from 0. It is shown to work on a textbook sampler
first, and then finds nothing on ours: their outputs are integers, times a public unit.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.attacked import ALL_FEATURES, LOOPS, PURSUITS
from dpsparse.audit.harness.neighbors import STORAGES, pairs
from dpsparse.audit.harness.tape import Run, run
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.gaussian import release_vector
from dpsparse.privacy.mechanisms.selection import peel
from dpsparse.privacy.noise import SecureSource

TRIALS = 2_000
SCALE = 2**10
LOW_BITS = 4
# Standard errors: a false alarm in 1e11 runs.
SIGMAS = 7
GUARANTEE = Guarantee(8.0, 1e-3)


# `tune` holds rows out by their place, so that its sums may depend on their order.
UNSPLIT = PURSUITS | ALL_FEATURES | LOOPS


def check_floating() -> Iterator[Finding]:
    """The attack on a textbook sampler and on ours; then the order of summation."""
    yield _attack("textbook Laplace in floating point (must be broken)", _textbook, broken=True)
    yield _attack("Gaussian release, secure noise", _gaussian, broken=False)
    yield _attack("Laplace peeling, secure noise", _peeled, broken=False)
    yield _low_bits()
    yield from map(_order, UNSPLIT)


def _textbook(value: int) -> NDArray[np.float64]:
    source = SecureSource()
    uniform = (np.array([source.bits(53) for _ in range(TRIALS)]) + 0.5) * 2.0**-53
    signs = np.array([1 - 2 * source.bits(1) for _ in range(TRIALS)])
    return value + signs * np.log(uniform)


def _gaussian(value: int) -> NDArray[np.float64]:
    """A number that stands for 0 or 1 in steps of 1 / SCALE, released as an integer and then put in units."""
    meter = Meter(GUARANTEE, 100, SecureSource())
    sums = np.full(TRIALS, value * SCALE)
    rho = GUARANTEE.rho_per_record
    return release_vector(meter, sums, sensitivity=SCALE, rho=rho, name="value").values / SCALE


def _peeled(value: int) -> NDArray[np.float64]:
    values: list[Any] = []
    for _ in range(TRIALS // 10):
        meter = Meter(GUARANTEE, 100, SecureSource())
        peeled = peel(
            meter, np.full(10, value * SCALE), sparsity=10, sensitivity=SCALE, scale=100.0 * SCALE, name="v", part=None
        )
        values.extend(peeled.values / SCALE)
    return np.array(values)


def _off_grid(outputs: NDArray[np.float64]) -> float:
    """The share of outputs that are no multiple of 2^-53."""
    scaled = outputs * 2.0**53
    return float(np.mean(scaled != np.rint(scaled)))


def _attack(name: str, sampler: Callable[..., Any], *, broken: bool) -> Finding:
    zero, one = (_off_grid(sampler(value)) for value in (0, 1))
    return Finding(
        name,
        "bits distinguish 0 from 1" if broken else "bits reveal nothing",
        f"off the grid: {zero:.1%} for 0, {one:.1%} for 1",
        abs(zero - one) > 0.1 if broken else zero == one == 0.0,
    )


def _low_bits() -> Finding:
    """A noisy 0 and a noisy 1: each low bit must be set equally often, as it is where noise falls on all integers."""
    shares = []
    for value in (0, 1):
        meter = Meter(GUARANTEE, 100, SecureSource())
        noisy = release_vector(meter, np.full(2 * TRIALS, value), sensitivity=1, rho=1e-4, name="value").values
        shares.append(np.array([np.mean((noisy >> bit) & 1) for bit in range(LOW_BITS)]))
    largest = float(np.abs(shares[0] - shares[1]).max())
    good = largest < SIGMAS * math.sqrt(0.5 / (2 * TRIALS))
    evidence = f"shares of {LOW_BITS} low bits differ by at most {largest:.3f}"
    return Finding("integers, secure noise", "bits reveal nothing", evidence, good)


def _order(name: str) -> Finding:
    """Rows in another order, other storages, and the same outputs: every sum must be the same integers."""
    model = UNSPLIT[name](adjacency="replace-one")
    table = pairs()[0].table(0, 0)
    base = run(model, table)
    # The loop's three parts are the rows modulo 3, and a pursuit pairs its first rows with its last ones: rows change
    # places within their part, or pairs do.
    order, half = np.arange(len(table)), len(table) // 2
    for rows in (
        [slice(k, None, 3) for k in range(3)] if name in LOOPS else [slice(half), slice(len(table) - half, None)]
    ):
        order[rows] = order[rows][::-1].copy()
    runs = [run(model, table[order], script=base.tape.script)]
    runs += [run(model, table, storage, base.tape.script) for storage in STORAGES if "float32" not in storage]
    good = all(_same_sums(base, other) for other in runs)
    evidence = "no bit of any sum moves" if good else "a sum moves"
    return Finding(f"{name}, order of summation", "cannot change a released bit", evidence, good)


def _same_sums(first: Run, second: Run) -> bool:
    return len(first.tape.sums) == len(second.tape.sums) and all(
        a.dtype == b.dtype and (a == b).all() for a, b in zip(first.tape.sums, second.tape.sums, strict=True)
    )

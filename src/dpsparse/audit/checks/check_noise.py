"""The noise itself: what OpenDP and the operating system return passes through unchanged, and nothing else is used.

A law by its variance is not enough: noise that is set to 0 beyond 4.5 scales has the right variance, and so have the
bits of a generator that the clock has seeded. Here the two doors through which randomness comes, OpenDP's samplers and
`secrets.randbits`, are held by the audit. It puts extremes through them, repeats whole fits on the same draws, and aims
at the edges of picks, whose place it knows to 100 digits.
"""

import bisect
import contextlib
import decimal
import math
import secrets
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import opendp.measurements
from numpy.typing import NDArray
from scipy import stats

from dpsparse import DPIHTH, PrivateSparseRegressor
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.neighbors import pairs
from dpsparse.audit.harness.patching import replaced
from dpsparse.audit.harness.tape import same
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.privacy import noise
from dpsparse.privacy.mechanisms import selection
from dpsparse.privacy.noise import LARGEST, SecureSource, SeededSource

DRAWS, SCALE = 20_000, 10**6
# A false alarm in 1e11 draws of the same size.
ALARM = 1e-11
# Bits of a number aimed at an edge.
_BITS = 1_216
TAILS = (0.5, 1.0, 2.0, 3.0, 4.0)
BEYOND: dict[str, Callable[..., Any]] = {"gaussian": lambda t: 2 * stats.norm.sf(t), "laplace": lambda t: math.exp(-t)}
FITS: dict[str, Callable[..., Any]] = {
    "DPIHTH": lambda: DPIHTH(sparsity=2, n_iter=2, epsilon=2.0, delta=1e-2),
    "PrivateSparseRegressor": lambda: PrivateSparseRegressor(sparsity=2, epsilon=2.0, delta=1e-2, **STANDARDIZED),
}


def check_noise() -> Iterator[Finding]:
    """Draws that pass through, samplers as they are made, tails, fits on the same draws, and the edges of picks."""
    for law in BEYOND:
        yield _passes_through(law)
        yield _sampler(law)
        yield _tails(law)
    yield _bits()
    for name in FITS:
        yield _only_these_draws(name)
    yield _edges()
    yield _cut_noise()


def _passes_through(law: str) -> Finding:
    """Outputs of every size, put in the place of OpenDP's: an integer comes out as it is, cut at +-2^62 alone."""
    steps = [0, 1, -1, 7, *(sign * int(SCALE * t) for t in (0.5, 3, 4.5, 6, 9, 40, 1e6) for sign in (1, -1))]
    made = [*steps, LARGEST, -LARGEST, LARGEST + 1, -LARGEST - 1, 2**63 - 1, -(2**63)]
    values = np.arange(len(made), dtype=np.int64) * 1_001 - 9_000
    asked: list[Any] = []

    def sampler(*kind: float | str) -> Callable[..., Any]:
        def sample(handed: list[int]) -> list[int]:
            asked.append((*kind, handed))
            return list(made)

        return sample

    with replaced(noise, _opendp_sampler=sampler):
        drawn = getattr(SecureSource(), law)(values, SCALE + 0.25)
    wanted = [max(-LARGEST, min(LARGEST, output)) for output in made]
    changed = sum(a != b for a, b in zip(drawn.tolist(), wanted, strict=True))
    good = not changed and asked == [(law, SCALE + 0.25, values.tolist())]
    evidence = f"{changed} of {len(made)} changed" if changed or good else "other values, law or scale asked for"
    return Finding(f"OpenDP's {law} draws", "pass through unchanged", evidence, good)


def _sampler(law: str) -> Finding:
    """OpenDP is asked for the law and the scale, its sampler is used as it is, and it states the price declared."""
    scale, made = 3.75, object()
    asked: list[Any] = []

    def maker(name: str) -> Callable[..., Any]:
        def make(space: object, metric: object, scale: float) -> object:
            asked.append((name, scale))
            return made

        return make

    with replaced(opendp.measurements, **{f"make_{name}": maker(name) for name in BEYOND}):
        given = noise._opendp_sampler.__wrapped__(law, scale)
    # OpenDP's own map: rho of Gaussian noise, epsilon of Laplace noise, for a change of 2.
    price = noise._opendp_sampler.__wrapped__(law, scale).map(2)
    exact = (2 / scale) ** 2 / 2 if law == "gaussian" else 2 / scale
    good = given is made and asked == [(law, scale)] and math.isclose(price, exact, rel_tol=1e-9)
    evidence = f"{price:.9g}" if given is made and asked == [(law, scale)] else "another sampler or scale"
    return Finding(f"OpenDP's {law} sampler", f"a price of {exact:.9g}", evidence, bool(good))


def _tails(law: str) -> Finding:
    """How many draws lie beyond each of some thresholds, and on either side."""
    values = np.arange(DRAWS, dtype=np.int64)
    draws = (getattr(SecureSource(), law)(values, float(SCALE)) - values) / SCALE
    counts = [(int((np.abs(draws) > t).sum()), BEYOND[law](t)) for t in TAILS] + [(int((draws > 0).sum()), 0.5)]
    least = min(2 * min(stats.binom.cdf(k, DRAWS, p), stats.binom.sf(k - 1, DRAWS, p)) for k, p in counts)
    return Finding(
        f"secure {law} noise, tails", "as often as the law says", f"smallest p-value {least:.2g}", bool(least > ALARM)
    )


def _bits() -> Finding:
    """Numbers in the place of the operating system's come out as they are; real ones have balanced bits."""
    made = [0, 2**64 - 1, 1, 2**63, 0x5555555555555555]
    left = list(made)
    asked: list[int] = []

    def randbits(count: int) -> int:
        asked.append(count)
        return left.pop(0)

    with replaced(secrets, randbits=randbits):
        drawn = [SecureSource().bits(64) for _ in made]
    source, trials = SecureSource(), 2_000
    ones = np.array([[number >> k & 1 for k in range(64)] for number in (source.bits(64) for _ in range(trials))])
    least = min(2 * stats.binom.cdf(min(k, trials - k), trials, 0.5) for k in ones.sum(axis=0))
    good = drawn == made and asked == [64] * len(made) and least > ALARM
    evidence = f"smallest p-value of a bit {least:.2g}" if drawn == made else "other bits"
    return Finding("the operating system's bits", "pass through unchanged", evidence, bool(good))


@contextlib.contextmanager
def _scripted(seed: int) -> Iterator[None]:
    """Both doors, held: draws repeat with the seed."""
    source = SeededSource(seed)

    def sampler(law: str, scale: float) -> Callable[..., Any]:
        return lambda values: getattr(source, law)(np.array(values, dtype=np.int64), scale).tolist()

    with replaced(noise, _opendp_sampler=sampler), replaced(secrets, randbits=source.bits):
        yield


def _only_these_draws(name: str) -> Finding:
    """Two fits on the same draws are the same to the last bit: there is no third door."""
    table, fitted = pairs()[0].table(0, 0), []
    for seed in (0, 0, 1):
        with _scripted(seed):
            model = FITS[name]().fit(table[:, 1:], table[:, 0])
        fitted.append((model.coef_, model.intercept_, model.support_))
    good = same(fitted[0], fitted[1]) and not same(fitted[0], fitted[2])
    return Finding(
        f"{name}, draws", "decide a fit alone", "repeated" if good else "another fit on the same draws", bool(good)
    )


class _Aimed:
    """A source whose bits are those of one number in [0, 1), from the first on."""

    noiseless = False

    def __init__(self, numerator: int) -> None:
        self._left, self._known = numerator, _BITS

    def bits(self, count: int) -> int:
        self._known -= count
        drawn = self._left >> self._known
        self._left -= drawn << self._known
        return drawn


def _edges() -> Finding:
    """Aim at both sides of every edge of the cumulative distribution, nearer than floating point can tell."""
    wrong = aimed = 0
    for scores, rate, excluded in _picks():
        allowed = np.delete(np.arange(len(scores)), np.asarray(excluded, dtype=int))
        edges = _exact_edges([int(scores[k]) for k in allowed], rate)
        for place in _some(len(allowed) - 1):
            for distance in (2**-44, 2**-54, 2**-58, 2**-62, 2**-66, 2**-90):
                for side in (0, 1):
                    numerator = _near(edges[place], (2 * side - 1) * decimal.Decimal(distance))
                    if not 0 <= numerator < 2**_BITS:
                        continue
                    wanted = int(allowed[_index(edges, numerator)])
                    aimed += 1
                    wrong += _picked(scores, rate, numerator, excluded) != wanted
    return Finding("edges of picks", "the exact index on either side", f"{wrong} of {aimed} wrong", not wrong)


def _picked(scores: NDArray[np.int64], rate: float, numerator: int, excluded: tuple[int, ...]) -> int | None:
    try:
        aimed: Any = _Aimed(numerator)
        return selection.pick_index(scores, rate, aimed, excluded)
    except IndexError:
        return None


def _picks() -> Iterator[tuple[NDArray[np.int64], float, tuple[int, ...]]]:
    """Few scores, equal ones, wide gaps, excluded ones, and more than fit into a block."""
    yield np.array([0, 3, -2, 1, 0], dtype=np.int64), 0.7, ()
    yield np.array([5, 5, 5, 5, 5, 5, 5], dtype=np.int64), 1e-3, (0, 4)
    yield np.array([0, 40, 17, 44, 21, -800], dtype=np.int64), 1.0, (2,)
    many = np.arange(20_000, dtype=np.int64)
    yield many * 7_919 % 31 - 60 * (many // 8_192 == 1), 0.31, (8_191, 12_000)


def _some(count: int) -> list[int]:
    """The first edges and the last, and some between, those of blocks among them."""
    between = range(8_188, 8_196) if count > 8_196 else ()
    return sorted({*range(min(count, 6)), *between, count // 2, count - 1})


def _exact_edges(scores: list[int], rate: float) -> list[Decimal]:
    with decimal.localcontext(decimal.Context(prec=100)):
        weight = {score: (decimal.Decimal(rate) * (score - max(scores))).exp() for score in set(scores)}
        total = sum((weight[score] for score in scores), decimal.Decimal(0))
        edges, edge = [], decimal.Decimal(0)
        for score in scores:
            edge += weight[score]
            edges.append(edge / total)
        return edges


def _near(edge: Decimal, distance: Decimal) -> int:
    with decimal.localcontext(decimal.Context(prec=400)):
        return int((edge + distance) * 2**_BITS)


def _index(edges: list[Decimal], numerator: int) -> int:
    """The first edge beyond the number."""
    with decimal.localcontext(decimal.Context(prec=400)):
        return bisect.bisect_right(edges, decimal.Decimal(numerator) / 2**_BITS)


class _Cut:
    """A source whose noise is given, draw by draw."""

    noiseless = False

    def __init__(self, *draws: list[int]) -> None:
        self._draws = list(draws)

    def laplace(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return np.array(self._draws.pop(0), dtype=np.int64)


def _largest(values: list[int], *draws: list[int]) -> int:
    source: Any = _Cut(*draws)
    return selection._largest(np.array(values), source, 2.0**60)


def _cut_noise() -> Finding:
    """Among values cut at +-2^62 the pick goes by what was cut off, of which a negative draw is none."""
    up, down = LARGEST, -LARGEST
    picked = [
        _largest([5, up, 3, up], [4], [9]),
        _largest([5, up, 3, up], [4], [-1], [9]),
        _largest([down, down, down], [7], [2], [5]),
        _largest([up, up], [LARGEST], [1], [LARGEST], [2]),
    ]
    good = picked == [3, 3, 1, 1]
    return Finding("noise cut at 2^62", "ranked by what was cut off", f"picks {picked}", bool(good))

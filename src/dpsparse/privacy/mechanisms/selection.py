"""Private selection: the paper's Laplace peeling, and picks by the exponential mechanism."""

import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.release import ExponentialMechanism, LaplacePeeling, Release, RepeatedPicks
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.noise import LARGEST, Integers, NoiseSource

# Scores per block: few enough for a cache.
_BLOCK = 2**13
# Beyond this scale nearly all noise is cut at 2^62, and ranking what was cut off takes ever more draws.
_LARGEST_SCALE = 2.0**64


@dataclass(frozen=True)
class Peeling:
    """The coordinates peeled off, in order of selection, and their noisy values."""

    support: Integers
    values: Integers


def peeling_cost(sparsity: int, sensitivity: float, scale: float) -> tuple[float, float]:
    """The zCDP and the pure epsilon of one peeling of `sparsity` coordinates.

    Proof. (Pick.) Fix the noise of all coordinates but j. Coordinate j wins iff its noise is at least some
    integer c. Between neighbours every score moves by at most the sensitivity D, so c moves by at most
    2D, and P(noise >= c + 2D) >= exp(-2D/b) P(noise >= c) for discrete Laplace noise of scale b: a pick is
    (2D/b)-DP. (Value.) A coordinate moves by at most D: a value is (D/b)-DP. Pure e-DP is e^2/2-zCDP (Bun and
    Steinke 2016, Proposition 1.4), and both add up over s adaptive picks and s values:
    rho = s ((2D/b)^2 + (D/b)^2) / 2 = 5 s (D/b)^2 / 2 and epsilon = 3 s D/b. A Laplace pick is not
    2D/b-bounded-range, so the factor of 1/8 of an exponential-mechanism pick does not apply to it.

    The proof compares integers that are not cut. Among values cut at +-2^62, with ties for the first index, the pick
    would cost more: where an earlier coordinate is cut, a later one never wins, whatever its noise. At scales far above
    2^62 the last of d coordinates would win iff it is cut above and all others below: its log-probability moves by
    d D/b. `peel` therefore ranks cut values by what was cut off.

    Examples
    --------
    >>> peeling_cost(4, 1, 8.0)
    (0.15625, 1.5)
    """
    ratio = Fraction(sensitivity) / Fraction(scale)
    return _rounded_up(5 * sparsity * ratio**2 / 2), _rounded_up(3 * sparsity * ratio)


def tight_peeling_scale(guarantee: Guarantee, sparsity: int, sensitivity: float) -> float:
    """The smallest scale at which one peeling keeps the guarantee, by zCDP or by pure composition.

    Both costs of `peeling_cost` fall as the scale grows: each is solved for the scale, and the smaller scale is taken.
    """
    by_zcdp = sensitivity * math.sqrt(2.5 * sparsity / guarantee.rho_per_record)
    by_pure = 3 * sparsity * sensitivity / guarantee.pure_epsilon_per_record
    return _checked_scale(min(by_zcdp, by_pure) * (1 + 1e-12))


def paper_peeling_scale(guarantee: Guarantee, sparsity: int, sensitivity: float) -> float:
    """The paper's closed form, 2 lambda sqrt(3 s log(1/delta)) / epsilon, times the records of a person.

    It is not sound for every epsilon: the meter refuses it where neither zCDP nor pure composition covers it.
    """
    spread = 2 * sensitivity * math.sqrt(-3 * sparsity * math.log(guarantee.delta))
    return _checked_scale(guarantee.records_per_person * spread / guarantee.epsilon)


def _checked_scale(scale: float) -> float:
    if not scale <= _LARGEST_SCALE:
        raise ValueError(
            f"the guarantee needs Laplace noise of scale {scale:.3g}, beyond 2**64: raise epsilon, or lower sparsity "
            "or records_per_person"
        )
    return scale


def paper_scale_is_sound(guarantee: Guarantee, sparsity: int) -> bool:
    """Whether the closed form keeps the guarantee, by zCDP or by pure composition; the sensitivity cancels."""
    rho, pure_epsilon = peeling_cost(sparsity, 1.0, paper_peeling_scale(guarantee, sparsity, 1.0))
    return rho <= guarantee.rho_per_record or pure_epsilon <= guarantee.pure_epsilon_per_record


def peel(
    meter: Meter,
    vector: Integers,
    *,
    sparsity: int,
    sensitivity: int,
    scale: float,
    name: str,
    part: int | None,
) -> Peeling:
    """Algorithm 2 of the paper: pick the largest |v| + noise, `sparsity` times, then release noisy values.

    The meter is charged before anything is drawn. The vector's entries move by at most `sensitivity` each between
    neighbours, and lie within +-2^62. `scale` is that of all Laplace noise, in the vector's units. `part` is the
    disjoint part of the rows behind the vector.
    """
    rho, pure_epsilon = peeling_cost(sparsity, sensitivity, scale)
    mechanism = LaplacePeeling(rho, pure_epsilon, words=f"Laplace peeling of {sparsity}")
    meter.charge(Release(name, mechanism, sensitivity, scale, part, 2 * sparsity))
    magnitude = np.abs(vector)
    support: list[int] = []
    for _ in range(sparsity):
        noisy = meter.source.laplace(magnitude, scale)
        noisy[support] = np.iinfo(np.int64).min
        support.append(_largest(noisy, meter.source, scale))
    values = meter.source.laplace(vector[support], scale)
    return Peeling(np.asarray(support, dtype=np.int64), values)


def _largest(noisy: Integers, source: NoiseSource, scale: float) -> int:
    """The first index of the largest value, as if the noise were not cut at +-2^62.

    Proof. P(noise = k) is proportional to exp(-k / b) for k >= 0. So for a score v <= 2^62, given v + noise >= 2^62,
    the excess over 2^62 has P(k) proportional to exp(-k / b), k >= 0, whatever v is. Drawn afterwards, it has the same
    law as what was cut off. The shortfall below -2^62 is its mirror image.
    """
    edge = int(noisy.max())
    tied = np.flatnonzero(noisy == edge)
    if abs(edge) < LARGEST or len(tied) == 1:
        return int(tied[0])
    beyond = [_geometric(source, scale) * (1 if edge > 0 else -1) for _ in tied]
    return int(tied[beyond.index(max(beyond))])


def _geometric(source: NoiseSource, scale: float) -> int:
    """Draw k >= 0 with probability proportional to exp(-k / scale), without a largest value."""
    zero, drawn = np.zeros(1, dtype=np.int64), 0
    while True:
        noise = int(source.laplace(zero, scale)[0])
        if noise >= 0:
            drawn += noise
            if noise < LARGEST:
                return drawn


def exponential_pick(
    meter: Meter, scores: Integers, *, sensitivity: int, rho: float, name: str, excluded: Sequence[int] = ()
) -> int:
    """Pick an index with probability proportional to exp(epsilon0 score / (2 sensitivity)), exactly.

    epsilon0 = sqrt(8 rho). Proof. Between neighbours every score moves by at most the sensitivity, so the
    log-probability of each index moves within a window of width epsilon0: the pick is epsilon0-bounded-range,
    hence epsilon0^2/8-zCDP (Cesar and Rogers 2021, Lemma 3.4) and epsilon0-DP. The excluded indices are public,
    so this is a pick among the others.

    The meter is charged before anything is drawn. Each score moves by at most `sensitivity` between neighbours. Indices
    that are `excluded` are so by public numbers and earlier releases alone.
    """
    epsilon0 = math.sqrt(8 * rho) * (1 - 1e-15)
    rate = math.nextafter(epsilon0 / (2 * sensitivity), 0.0)
    mechanism = ExponentialMechanism(rho, epsilon0, words="exponential-mechanism pick")
    meter.charge(Release(name, mechanism, sensitivity, 1 / rate))
    return pick_index(scores, rate, meter.source, excluded)


def exponential_picks(meter: Meter, scores: Integers, *, sensitivity: int, rho: float, name: str) -> Integers:
    """Pick an index in every row of some scores, each as `exponential_pick` does, all for `rho`.

    Proof. A record may move the scores of all k rows. The picks are independent given the table, and each is
    epsilon0-bounded-range with epsilon0^2 = 8 rho / k: they compose to rho (Bun and Steinke 2016, Lemma 1.7) and to
    k epsilon0, and `RepeatedPicks` takes the step of the Gaussian account k times.

    The meter is charged before anything is drawn. Each score moves by at most `sensitivity` between neighbours.
    """
    count = len(scores)
    epsilon0 = math.sqrt(8 * rho / count) * (1 - 1e-15)
    rate = math.nextafter(epsilon0 / (2 * sensitivity), 0.0)
    words = f"exponential-mechanism picks, {count} of equal price"
    pure_epsilon = max(count * epsilon0, _rounded_up(count * 2 * sensitivity * Fraction(rate)))
    mechanism = RepeatedPicks(rho, pure_epsilon, words=words, count=count)
    meter.charge(Release(name, mechanism, sensitivity, 1 / rate, size=count))
    return np.array([pick_index(row, rate, meter.source) for row in scores], dtype=np.int64)


def _rounded_up(exact: Fraction) -> float:
    """The least float that is not below a price: a limit on a pure epsilon leaves no room for rounding."""
    price = float(exact)
    return price if price >= exact else math.nextafter(price, math.inf)


def pick_index(scores: Integers, rate: float, source: NoiseSource, excluded: Sequence[int] = ()) -> int:
    """Draw j with probability exp(rate s_j) / sum_k exp(rate s_k), exactly, with one random number.

    Neither j nor k is an excluded index.

    The inverse of the cumulative distribution at a uniform u. In floating point first: a weight
    exp(-rate (max - s)) carries a relative error of at most 1502 units of 2^-53 (its argument, at most 745
    before the weight vanishes, is right to two units of relative error; the exponential to eight), the sum of d
    positive numbers in any order at most d more, the total the same again, and u is known to 2^-64. Weights below
    e^-45 < 2^-64 count as e^-46, or as 0 in blocks where all are: since the largest weight is 1, that moves an edge,
    and the total, by at most d 2^-64 of the total. If u stays that far from every edge of the block in which it
    falls, ends included, the float answer is the exact one. Otherwise, rarely, the sums are repeated in decimal
    arithmetic with more and more digits, and with more random bits of the same u, until u does.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.privacy.noise import SeededSource
    >>> from dpsparse.privacy.mechanisms.selection import pick_index
    >>> pick_index(np.array([0, 1000, 3]), 1.0, SeededSource(0))
    1
    """
    scores = np.asarray(scores, dtype=np.int64)
    blocks = _blocks(len(scores), excluded)
    most = _most(scores, blocks)
    largest = int(most.max())
    if source.noiseless:
        highest = blocks[int(np.argmax(most))]
        return int(highest.start + np.argmax(scores[highest]))
    sums = np.zeros(len(blocks))
    for k in np.flatnonzero(most >= largest - int(min(45.0 / rate + 1, 2.0**62))):
        sums[k] = _weights(scores[blocks[k]], largest, rate).sum()
    ends = np.cumsum(sums)
    total = float(ends[-1])
    margin = total * (len(scores) * (1 + 2.0**-10) + 2048) * 2.0**-52
    drawn = source.bits(64)
    low, high = total * drawn * 2.0**-64 - margin, total * (drawn + 1) * 2.0**-64 + margin
    where = int(np.searchsorted(ends, low, side="right"))
    edges = ends[where] - sums[where] + np.cumsum(_weights(scores[blocks[where]], largest, rate))
    first, last = (int(np.searchsorted(edges, *end)) for end in ((low, "right"), (high, "left")))
    if first == last < len(edges) and high < ends[where]:
        return int(blocks[where].start + first)
    candidates = np.delete(np.arange(len(scores)), np.asarray(excluded, dtype=np.int64))
    return int(candidates[_pick_in_decimals(largest - scores[candidates], rate, source, drawn)])


def _blocks(count: int, excluded: Sequence[int]) -> list[slice]:
    """The ranges of the candidates, in blocks."""
    return [
        slice(start, min(start + _BLOCK, end))
        for before, end in pairwise([-1, *sorted(excluded), count])
        for start in range(before + 1, end, _BLOCK)
    ]


def _most(scores: Integers, blocks: list[slice]) -> Integers:
    """The largest score of each block."""
    ends = np.array([(block.start, block.stop) for block in blocks]).ravel()
    # Every second range lies between blocks; the last one may be empty.
    most: Integers = np.maximum.reduceat(scores, ends[:-1] if ends[-1] == len(scores) else ends)[::2]
    return most


def _weights(scores: Integers, largest: int, rate: float) -> npt.NDArray[np.float64]:
    weights: npt.NDArray[np.float64] = np.exp(np.maximum(rate * (scores - largest), -46.0))
    return weights


def _pick_in_decimals(gaps: Integers, rate: float, source: NoiseSource, drawn: int) -> int:
    distinct, where = np.unique(gaps, return_inverse=True)
    known_bits, digits = 64, 30
    while True:
        digits *= 2
        drawn, known_bits = (drawn << 128) | source.bits(128), known_bits + 128
        with decimal.localcontext(decimal.Context(prec=digits, Emin=-(10**15), Emax=10**15)):
            exact_rate = -decimal.Decimal(rate)
            weight = [(exact_rate * int(gap)).exp() for gap in distinct]
            total = sum((weight[k] for k in where), decimal.Decimal(0))
            # A weight whose argument has k digits before the point keeps `digits - k` digits; arguments here stay
            # far below 10^20, and summing d weights loses fewer than 10 digits more.
            margin = total * decimal.Decimal(10) ** (30 - digits)
            low = total * drawn / 2**known_bits - margin
            high = total * (drawn + 1) / 2**known_bits + margin
            edge = decimal.Decimal(0)
            for index, k in enumerate(where):
                before, edge = edge, edge + weight[k]
                if before <= low and high <= edge:
                    return index

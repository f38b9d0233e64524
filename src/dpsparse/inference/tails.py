"""The law of norms from a noisy histogram, the clip that costs least, and what it leaves out of a mean.

Beyond a threshold t where the histogram still rises above its noise, the survival function is taken to be
A exp(-a x - q x^2 / 2) with x = log(u / t): a Pareto tail for q = 0, one that ends as a lognormal's does for q > 0.
(a, q) have a posterior on a grid, given the noisy counts, and a power mean over it is the law from there on.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsparse.inference import inference_constants as c


@dataclass(frozen=True)
class Clip:
    """What becomes of a norm u: u up to `start`, then faster by `rise` up to `bound`, and constant beyond.

    With a rise of 0 it is the usual clip at `bound`. The rise makes up for what lies beyond the bound, if vectors there
    point where those between `start` and `bound` do.
    """

    bound: float
    start: float = np.inf
    rise: float = 0.0

    @property
    def most(self) -> float:
        """The largest norm after it."""
        return float(self.of(np.array(np.inf)))

    def of(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Norms after it."""
        inside = np.minimum(norms, self.bound)
        return np.asarray(inside + self.rise * np.maximum(inside - self.start, 0.0))


@dataclass(frozen=True)
class Tails:
    """What is known of scores far out before they are seen.

    Parameters
    ----------
    index : float
        The typical index of a tail, where its prior is centred.
    bias : float
        How much what a clip of scores leaves out counts against noise where the clip is chosen.
    left_out : float
        What it leaves out of a mean in one white direction of k, in units of a sqrt(k)-th of what it leaves out of the
        norm, at most.
    power : float
        That of the mean over the laws of a tail that a histogram leaves possible: below 1 the heaviest count less.
    """

    index: float = c.TYPICAL_TAIL_INDEX
    bias: float = c.SCORE_BIAS
    left_out: float = c.LEFT_OUT
    power: float = c.TAIL_POWER

    def of_sums(self, root: float, bounded: bool) -> "Tails":
        """The same of sums over the rows of a person, `root` the mean root of their number.

        Rows partly cancel: where residuals are `bounded`, sums have lighter tails and are less skewed, so that what a
        clip leaves out points less to one side. One residual without a bound may outweigh all others of a person: far
        out a sum has the tail of its largest term, and the heaviest laws that a histogram leaves possible count in full
        (with the power of single rows intervals of RandHIE's dollars held in .75, for .85; `people.py`).

        Examples
        --------
        >>> from dpsparse.inference.tails import Tails
        >>> Tails(index=2.0, bias=0.5, left_out=1.2).of_sums(4.0, bounded=True)
        Tails(index=8.0, bias=0.125, left_out=0.15, power=0.5)
        """
        if not bounded:
            return self if root == 1 else replace(self, power=1.0)
        return Tails(self.index * root, self.bias / root, self.left_out / root**c.SUMS_LEFT_OUT, self.power)


# Where nothing better is known.
ANY_TAILS = Tails()


@dataclass(frozen=True)
class Bins:
    """How a histogram tells a tail: the bins that it is fitted to, and widths of windows that tell of equal values.

    Equal values may lie far out: the fit then starts there. Where bins are `wide` they are told by a window with more
    records than the one before it: where a tail falls, a fit that starts with few records starts where noise makes them
    more. And no clip lies within the fullest bin, for most numbers may be equal and lie at any place in it.
    """

    tail: int
    far: tuple[int, ...]
    wide: bool = False


FINE = Bins(c.TAIL_BINS, c.FAR_WINDOWS)
OCTAVES = Bins(c.TAIL_OCTAVES, c.FAR_OCTAVES, wide=True)


@dataclass(frozen=True)
class Norms:
    """A law of norms: records at some rising norms, of which there are `n_records`.

    `noise` is the standard deviation of a count of the histogram that it is from, `closest` the place of the norm from
    which on clips are considered, and `least` the least of these.
    """

    values: NDArray[np.float64]
    counts: NDArray[np.float64]
    n_records: float
    noise: float = 0.0
    closest: int = 0
    least: float = 0.0

    @classmethod
    def of(
        cls,
        edges: NDArray[np.float64],
        counts: NDArray[np.float64],
        noise: float,
        n_records: float,
        typical: float = c.TYPICAL_TAIL_INDEX,
        bins: Bins = FINE,
        power: float = 1.0,
    ) -> "Norms":
        """From noisy counts between edges in a geometric sequence; the last bin holds all that is above it, too.

        `noise` is the standard deviation of a count, `typical` the index of a typical tail, and `power` that of the
        mean over laws.
        """
        needed = max(c.TAIL_SHARE * n_records, c.TAIL_DEVIATIONS * noise)
        closest, start, needed = _threshold(counts, needed, noise, bins)
        fitted = counts[start : start + bins.tail]
        logs = np.log(edges[start : start + len(fitted) + 1] / edges[start])
        points = np.linspace(0, np.log(c.TAIL_REACH), c.TAIL_POINTS)
        beyond = _survival(logs, fitted, noise, needed, points, typical, bins, power)
        body = np.sqrt(edges[:start] * edges[1 : start + 1])
        tail = edges[start] * np.exp(points)
        middles = np.append((tail[1:] + tail[:-1]) / 2, tail[-1])
        masses = np.append(-np.diff(beyond), beyond[-1])
        if bins.wide:
            masses = _as_counted(masses, middles, edges[start:], counts[start:], noise)
        fullest = int(np.argmax(counts))
        surely = bins.wide and counts[fullest] >= c.TAIL_DEVIATIONS * noise
        least = float(edges[fullest + 1]) if surely else 0.0
        counts = np.append(np.maximum(counts[:start], 0.0), masses)
        return cls(np.append(body, middles), counts, n_records, noise, closest, least)

    def mean(self, of: NDArray[np.float64]) -> float:
        """The mean over records of a function of the norm, given at `values`."""
        return float(self.counts @ of) / self.n_records

    def beyond(self, bound: float) -> float:
        """The mean of (norm - bound)_+."""
        return self.mean(np.maximum(self.values - bound, 0.0))

    @property
    def farthest(self) -> float:
        """The largest norm that a record is expected to have, or more."""
        beyond = np.cumsum(self.counts[::-1])[::-1]
        return float(self.values[max(int(np.sum(beyond >= 1)) - 1, 0)])

    def clip_at(self, bound: float) -> Clip:
        """The clip at a bound that rises from half of it on, so that the mean norm stays as it is."""
        start = bound / 2
        between = self.mean(np.maximum(np.minimum(self.values, bound) - start, 0.0))
        rise = self.beyond(bound) / max(between, c.NO_VARIANCE)
        return Clip(bound, start, min(rise, c.MOST_RISE))

    def best_clip(
        self,
        noise: float,
        bias: float,
        rising: bool = False,
        least_noise: float = 0.0,
        most_noise: float = math.inf,
    ) -> Clip:
        """The clip with the least (noise most)^2 + (bias E(norm - bound)_+)^2, its noise between the two given."""
        clips = [self.clip_at(bound) if rising else Clip(bound) for bound in self.bounds]
        close = [clip for clip in clips if noise * clip.most <= most_noise] or clips[:1]
        wide = [clip for clip in close if noise * clip.most >= least_noise] or close[-1:]
        costs = [(noise * clip.most) ** 2 + (bias * self.beyond(clip.bound)) ** 2 for clip in wide]
        return wide[int(np.argmin(costs))]

    @property
    def bounds(self) -> NDArray[np.float64]:
        """The norms at which a clip may be."""
        bounds = np.append(self.values[self.closest : -c.TAIL_POINTS], self.values[-c.TAIL_POINTS :: c.TAIL_STRIDE])
        return np.append(self.least, bounds[bounds > self.least]) if self.least else bounds


def _as_counted(
    masses: NDArray[np.float64],
    values: NDArray[np.float64],
    edges: NDArray[np.float64],
    counts: NDArray[np.float64],
    noise: float,
) -> NDArray[np.float64]:
    """The records of a law at its values, with those of each bin between the law's and the counted ones.

    Bins have many records near the middle of all, where no tail begins yet: both count by their errors.
    """
    bin_of = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(counts) - 1)
    expected = np.bincount(bin_of, masses, minlength=len(counts))
    variance = (c.LAW_DOUBT * expected) ** 2
    trust = variance / np.maximum(variance + noise**2, c.NO_VARIANCE)
    combined = np.maximum(expected + trust * (counts - expected), 0.0)
    return np.asarray(masses * (combined / np.maximum(expected, c.NO_VARIANCE))[bin_of])


def _threshold(counts: NDArray[np.float64], needed: float, noise: float, bins: Bins) -> tuple[int, int, float]:
    """Two bins, and how many records the second has with the next ones at least.

    The first is the highest one with `needed` records in it and the next ones, looked for from where most records are.
    The second may lie further out: it takes as many in a window of any width as noise hardly makes anywhere, for equal
    values that lie far out are in one bin, or in a few.
    """
    sums = _window_sums(counts, bins.tail)
    mode = int(np.argmax(sums))
    enough = sums[mode:] >= needed
    closest = max(mode - 1 + (len(enough) if enough.all() else int(np.argmin(enough))), 0)
    start = closest
    for width in bins.far:
        surely = c.FAR_DEVIATIONS * noise * np.sqrt(width)
        sums = _window_sums(counts, width)
        before = np.append(np.zeros(width), np.maximum(sums[:-width], 0.0)) if bins.wide else 0.0
        far = np.flatnonzero(sums - before >= surely)
        if len(far) and far[-1] > start:
            start, needed = int(far[-1]), min(needed, surely)
    return closest, start, needed


def _window_sums(counts: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """For each bin the number of records in it and the next ones, `width` bins together."""
    return np.convolve(counts, np.ones(width))[width - 1 :]


def _survival(
    logs: NDArray[np.float64],
    counts: NDArray[np.float64],
    noise: float,
    needed: float,
    points: NDArray[np.float64],
    typical: float,
    bins: Bins,
    power: float,
) -> NDArray[np.float64]:
    """The posterior's power mean of the survival function, in records, at some log norms over the threshold."""
    slopes = np.geomspace(c.LEAST_TAIL_INDEX, c.MOST_TAIL_INDEX, c.TAIL_INDICES)
    a, q = (each.ravel()[:, None] for each in np.meshgrid(slopes, c.TAIL_CURVATURES, indexing="ij"))
    falls = (a + q * points[-1] >= c.LEAST_TAIL_INDEX).ravel()
    a, q = a[falls], q[falls]
    shares = -np.diff(np.exp(-a * logs - q * logs**2 / 2), axis=1)
    sizes = np.full((len(a), 1), max(needed / 2, float(counts[: bins.tail].sum())))
    for _ in range(c.TAIL_ROUNDS):
        precision = 1 / (noise**2 + sizes * shares)
        fitted = (precision * shares * counts).sum(1, keepdims=True) / (precision * shares**2).sum(1, keepdims=True)
        sizes = np.maximum(fitted, needed / c.TAIL_LEAST_SIZE)
    precision = 1 / (noise**2 + sizes * shares)
    misfit = (precision * (counts - sizes * shares) ** 2).sum(1) - np.log(precision).sum(1)
    prior = ((np.log(a) - np.log(typical)) / c.TAIL_INDEX_SPREAD) ** 2 + 2 * np.where(
        q > 0, q / c.TYPICAL_CURVATURE, -q / c.TYPICAL_CONVEXITY
    )
    loss = (misfit + prior[:, 0]) / 2
    weights = np.exp(loss.min() - loss)
    weights /= weights.sum()
    laws = sizes * np.exp(-a * points - q * points**2 / 2)
    return np.asarray((weights[:, None] * laws**power).sum(0) ** (1 / power))

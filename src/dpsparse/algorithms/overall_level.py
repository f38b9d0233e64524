"""The overall mean of a response in two parts: what is released of it once both parts are fitted.

p is the probability that a response y is above 0 and mu its mean where it is, both from released lines. The releases,
in order of time:

1. *Amount sizes*. A histogram of y where it is above 0, which tells where to clip.
2. *Mean response*. The mean of y, clipped there.
3. *Means*. Those of six numbers: p (1 - p) mu and p mu, both of effects that are not shrunk, whether y is above 0,
   p (1 - p), p mu as it predicts, and y^2, clipped.

The level: mu is moved by an offset, so that the mean of p mu is the mean response. Responses lie on one side of 0, so
their clipped mean has half the sensitivity that errors of predictions have. Where its noise is large, in small tables,
the mean prediction as it was counts beside it.

Marginal effects: the slope of p mu along a feature of effects g on the log odds and b on mu is p (1 - p) mu g + p b.
Its average needs two means of the records, whatever the number of features is: that of p (1 - p) mu, and that of p,
which in a logistic regression with an intercept is the share of responses above 0. Of mu, effects that are not shrunk
are meant, at such a height that the mean of p mu is the mean response: where mu and p rise together, p (1 - p) mu is
much smaller than shrunk effects make it. Sensitivities are proved in `privacy.sensitivity`.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.planned import Planned
from dpsparse.algorithms.pursuit.releases import Releases, mean_noise
from dpsparse.engine.protocols import Rows, Session
from dpsparse.engine.two_part_sums import MEANS_NORM, Lines, amount_counts, amount_sums, mean_sums
from dpsparse.inference.tails import Clip, Norms
from dpsparse.privacy.accounting.commitment import Commitment
from dpsparse.privacy.accounting.meter import Meter

WHETHER, HOW_MUCH, LEVEL = "whether", "how much", "level"
# What each has of the budget. A tenth more or less for one of the parts changes neither squared errors nor widths of
# intervals by more than chance does; half of the level's share makes levels a third worse. Set by `two_part.py`.
SHARES = {WHETHER: 0.38, HOW_MUCH: 0.44, LEVEL: 0.18}
# Shares of what these releases may cost. The mean response is what predictions rest on. Set by `two_part.py`.
AMOUNT_SIZES = Planned("amount sizes", 0.2, numbers=c.MOST_BINS)
MEAN_RESPONSE = Planned("mean response", 0.5)
MEANS = Planned("means", 0.3, numbers=6)
PLANNED = (AMOUNT_SIZES, MEAN_RESPONSE, MEANS)
# Bounds of p (1 - p) mu, in mean amounts, and of p mu, in mean amounts times the share above 0. The first is that of an
# amount four times the mean at even odds; few records have more. Set by `two_part.py`.
SLOPE_BOUND, MEAN_BOUND = 1.0, 4.0
# Responses are clipped no further in than at this many mean amounts, however few the histogram shows beyond. Amounts
# lump at round numbers, of which the last ones may not be seen for the noise: 15 % of gifts to charity lie there. At
# n = 5,000 and epsilon 1 it costs noise of a thirtieth of the mean. Set by `two_part.py`.
LEAST_BOUND = 5.0
# By how much, as a share of it, the mean prediction of both parts is off before it is set, typically. Set by
# `two_part.py`.
TYPICALLY_OFF = 0.15
# A share above 0 counts as at least this where something is divided by it, or a bound is made of it.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Line:
    """A released linear predictor: `constant` where the features are at their centres, and effects from there.

    `unshrunk` are the effects that are not shrunk, or the others where there are none.
    """

    features: tuple[int, ...]
    centers: tuple[float, ...]
    effects: tuple[float, ...]
    unshrunk: tuple[float, ...]
    constant: float


@dataclass(frozen=True)
class Parts:
    """Released lines of log odds and of amounts; the range and the mean of amounts; the share above 0."""

    odds: Line
    amounts: Line
    low: float
    high: float
    mean_amount: float
    share: float

    @property
    def lines(self) -> Lines:
        """Both as an engine needs them: columns are the constant, and then the features of each part in turn."""
        odds, amounts = self.odds, self.amounts
        of_odds = (0.0, *odds.effects, *(0.0 for _ in amounts.effects))
        before = (0.0, *(0.0 for _ in odds.effects))
        of_amounts, unshrunk = (*before, *amounts.effects), (*before, *amounts.unshrunk)
        return Lines(odds.constant, of_odds, amounts.constant, of_amounts, self.low, self.high, unshrunk)


@dataclass(frozen=True)
class Level:
    """What was released of the overall mean; the noise of a number is its standard deviation.

    Parameters
    ----------
    clipped_mean, mean_noise, spread : float
        The mean response as it was released, its noise, and the standard deviation of responses, clipped.
    prediction, unshrunk, prediction_noise : float
        The means of p mu as it predicts, and of effects that are not shrunk; each has that noise.
    share, share_noise : float
        The share of responses above 0.
    slope, slope_noise : float
        The mean of p (1 - p) mu, of effects that are not shrunk.
    variance : float
        The mean of p (1 - p).
    n_records : float
        The number of responses, as far as it is known.
    """

    clipped_mean: float
    mean_noise: float
    spread: float
    prediction: float
    unshrunk: float
    prediction_noise: float
    share: float
    share_noise: float
    slope: float
    slope_noise: float
    variance: float
    n_records: float

    @property
    def _weight(self) -> float:
        """What the released mean counts for beside the mean prediction, by their errors: about 1 in large tables."""
        variance = (TYPICALLY_OFF * max(self.prediction, self.clipped_mean)) ** 2
        total = variance + self.mean_noise**2
        return variance / total if total > 0 else 1.0

    @property
    def mean(self) -> float:
        """The mean response, from the released one and from the mean prediction."""
        return self.prediction + self._weight * (self.clipped_mean - self.prediction)

    @property
    def offset(self) -> float:
        """What is added to mu, so that the mean of p mu is the mean response."""
        return (self.mean - self.prediction) / max(self.share, LEAST_SHARE)

    @property
    def mean_slope(self) -> float:
        """The mean of p (1 - p) mu, of effects that are not shrunk and at such a height that p mu has the mean."""
        return self.slope + (self.mean - self.unshrunk) * self._per_mean

    @property
    def mean_slope_error(self) -> float:
        """Its standard error, as far as it is that of the level: noise and sampling."""
        return math.hypot(self.slope_noise, math.hypot(self.mean_error, self.prediction_noise) * self._per_mean)

    @property
    def _per_mean(self) -> float:
        """By how much the mean of p (1 - p) mu moves with the mean of p mu, where mu moves by a constant."""
        return self.variance / max(self.share, LEAST_SHARE)

    @property
    def mean_error(self) -> float:
        """The standard error of the mean response as that of the population: noise and sampling."""
        noise = math.sqrt(self._weight) * self.mean_noise
        return math.hypot(noise, self.spread / math.sqrt(self.n_records))


def level_commitment(rho: float) -> Commitment:
    """The releases at their prices."""
    return Commitment(tuple(each.slot(each.share * rho, 1, 0) for each in PLANNED))


def release_level(rows: Rows, meter: Meter, commitment: Commitment, parts: Parts, n_responses: float) -> Level:
    """Make the releases; responses of the rows are at least 0, or NaN."""
    releases = Releases(meter, rows.n_records, commitment.slots)
    releases.n_responses = n_responses
    session = rows.session((), constant=True, check_finite=False)
    try:
        for line in (parts.odds, parts.amounts):
            for feature, center in zip(line.features, line.centers, strict=True):
                session.add(feature)
                session.rescale(center, 1.0)
        return _released(session, releases, parts)
    finally:
        session.close()


@np.errstate(all="ignore")
def _released(session: Session, releases: Releases, parts: Parts) -> Level:
    edges = parts.mean_amount * c.NORM_BINS
    counts = session.evaluate(amount_counts, np.append(edges[1:-1], np.inf))
    counted, noise = releases.histogram(releases.due(AMOUNT_SIZES), np.diff(counts, prepend=0))
    clip = _clip(Norms.of(edges, counted, noise, releases.n_responses), releases, parts)
    sums = session.evaluate(amount_sums, clip.bound, clip.start, clip.rise)
    (mean,), mean_noise = releases.mean(releases.due(MEAN_RESPONSE), sums, 0.5)
    mean_bound = MEAN_BOUND * max(parts.share, LEAST_SHARE) * parts.mean_amount
    bounds = SLOPE_BOUND * parts.mean_amount, mean_bound, clip.bound
    sums = session.evaluate(mean_sums, parts.lines, *bounds)
    means, noise = releases.mean(releases.due(MEANS), sums, MEANS_NORM)
    return _level(_share(mean) * clip.most, mean_noise * clip.most, means, noise, bounds, releases.n_responses)


def _clip(law: Norms, releases: Releases, parts: Parts) -> Clip:
    """The clip that costs least, but not further in than `LEAST_BOUND`."""
    # Half of that of a number which may be on both sides of 0.
    noise = mean_noise(releases, MEAN_RESPONSE) / 2
    clip = law.best_clip(noise, c.LEVEL_BIAS, rising=True)
    return clip if clip.bound >= LEAST_BOUND * parts.mean_amount else law.clip_at(LEAST_BOUND * parts.mean_amount)


def _share(centred: float) -> float:
    """A number in [0, 1], from a noisy one less 1/2."""
    return float(np.clip(centred + 0.5, 0.0, 1.0))


def _level(
    mean: float,
    mean_noise: float,
    means: NDArray[np.float64],
    noise: float,
    bounds: tuple[float, float, float],
    n_records: float,
) -> Level:
    slope, unshrunk, share, variance, prediction, square = means
    slope_bound, mean_bound, bound = bounds
    return Level(
        clipped_mean=mean,
        mean_noise=mean_noise,
        spread=math.sqrt(max(bound**2 * _share(square) - mean**2, 0.0)),
        prediction=_share(prediction) * mean_bound,
        unshrunk=float(unshrunk) * mean_bound,
        prediction_noise=noise * mean_bound,
        share=_share(share),
        share_noise=noise,
        slope=float(slope) * slope_bound,
        slope_noise=noise * slope_bound,
        variance=_share(variance) / 4,
        n_records=float(n_records),
    )

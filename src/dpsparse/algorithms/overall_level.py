"""The overall mean of a response in two parts: what is released of it once both parts are fitted.

p is the probability that a response y is above 0 and mu its mean where it is, both from released lines. The releases,
in order of time:

1. *Amount sizes*. A histogram of y where it is above 0, which tells where to clip.
2. *Mean response*. The mean of y, clipped there.
3. *Means*. Those of five numbers: p mu as it predicts; p (1 - p) mu and p mu, both of effects that are not shrunk;
   whether y is above 0; and p (1 - p).
4. *Mean prediction*. That of p max(mu, 0) once mu has been moved.

The level: mu is moved by an offset, so that the mean of p mu is the mean response. Responses lie on one side of 0, so
their clipped mean has half the sensitivity that errors of predictions have. What then is predicted differs by the noise
of the means, which has grown with mu, and because nothing below 0 is predicted: a second offset makes up for that.

Growth: what clips of residuals leave out of amounts makes mu too small, by the mean response over the mean of p mu, R.
It makes effects on mu too small as well, where errors are in proportion to mu, as those of costs are. Of y = mu e with
errors e beyond a clip c the mean loses mu E(e - c / mu)_+, and its slope along mu loses E(e; e > c / mu), which is a
times as much of it for a Pareto tail of index a. So effects are R^a too small, about. They grow by that.

Marginal effects: the slope of p mu along a feature of effects g on the log odds and b on mu is p (1 - p) mu g + p b.
Its average needs two means of the records, whatever the number of features is: that of p (1 - p) mu, and that of p,
which in a logistic regression with an intercept is the share of responses above 0. Of mu, effects that are not shrunk
are meant, at such a height that the mean of p mu is the mean response: where mu and p rise together, p (1 - p) mu is
much smaller than shrunk effects make it. Sensitivities are proved in `privacy.sensitivity`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.releases import Planned, Releases, mean_noise
from dpsparse.engine.protocols import Rows, Session
from dpsparse.engine.two_part_sums import (
    BELOW,
    BESIDE,
    MEANS_NORM,
    Lines,
    amount_counts,
    amount_sums,
    mean_sums,
    prediction_sums,
)
from dpsparse.inference.inference_constants import TYPICAL_TAIL_INDEX
from dpsparse.inference.tails import OCTAVES, Clip, Norms
from dpsparse.privacy.accounting.meter import Commitment, Meter

WHETHER, HOW_MUCH, LEVEL = "whether", "how much", "level"
# What each has of the budget. The level of costs rests on few records: with .29 of it and half of that for the mean
# response, mean predictions were off by more than a tenth in one fit of five where the tail is longest. A tenth less
# for both parts makes intervals a twentieth wider. Set by `two_part.py`.
SHARES = {WHETHER: 0.3, HOW_MUCH: 0.34, LEVEL: 0.36}
# Shares of what these releases may cost. The mean response is what predictions rest on. Set by `two_part.py`.
AMOUNT_SIZES = Planned("amount sizes", 0.15, numbers=c.MOST_BINS)
MEAN_RESPONSE = Planned("mean response", 0.65)
MEANS = Planned("means", 0.12, numbers=5)
MEAN_PREDICTION = Planned("mean prediction", 0.08)
PLANNED = (AMOUNT_SIZES, MEAN_RESPONSE, MEANS, MEAN_PREDICTION)
# The largest share of records that may lie beyond the bounds of p mu, however large the noise is.
MOST_BEYOND = 0.05
# Responses are clipped no further in than at this many mean amounts, however few the histogram shows beyond. Amounts
# lump at round numbers, of which the last ones may not be seen for the noise: 15 % of gifts to charity lie there. At
# n = 5,000 and epsilon 1 it costs noise of a thirtieth of the mean. Set by `two_part.py`.
LEAST_BOUND = 5.0
# How much what a clip of responses leaves out counts against noise where the clip is chosen. A third of it: the rise
# makes up for most. Set by `two_part.py`.
BIAS = 0.35
# By how much, as a share of it, the mean prediction of both parts is off before it is set: a third of it and more is
# missing where amounts have long tails. Set by `two_part.py`.
TYPICALLY_OFF = 0.4
# The same once it is set, beside the noise of the means: where predictions below 0 are taken for 0. Set by
# `two_part.py`.
OFF_ONCE_SET = 0.1
# The most that mean predictions may be too small by for effects to grow with them; more is not the tail's doing.
MOST_MISSING = 2.0
# What errors of effects grow by, as a power of what effects do: noise grows as these, and the allowance for what clips
# leave out not at all. Set by `two_part.py`.
ERROR_GROWTH = 0.75
# The standard error of the growth beside its noise, as a share of it: errors are not in proportion to the mean
# everywhere. Set by `two_part.py`.
GROWTH_DOUBT = 0.25
# Mean amounts are predicted up to this many times their mean: further out is noise, where few records have an amount.
# Set by `two_part.py`.
MOST_AMOUNT = 6.0
# A share above 0 counts as at least this where something is divided by it, or a bound is made of it.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Line:
    """A released linear predictor: `constant` where the features are at their centres, and effects from there.

    `unshrunk` are the effects that are not shrunk, or the others where there are none, and `spread` is what these make
    of features that lie a scale from their centres.
    """

    features: tuple[int, ...]
    centers: tuple[float, ...]
    effects: tuple[float, ...]
    unshrunk: tuple[float, ...]
    constant: float
    spread: float


@dataclass(frozen=True)
class Parts:
    """Released lines of log odds and of amounts; the range and the mean of amounts; the share above 0."""

    odds: Line
    amounts: Line
    low: float
    high: float
    mean_amount: float
    share: float

    def at_scale(self, mean_amount: float) -> "Parts":
        """The same with another mean of amounts, and predictions that do not exceed it by far."""
        high = min(self.high, MOST_AMOUNT * mean_amount)
        return replace(self, low=min(self.low, high), high=high, mean_amount=mean_amount)

    def bounds(self, noise: float) -> tuple[float, float]:
        """Bounds of p (1 - p) mu and of p mu, of predictors beyond which about as many records lie as `noise` says."""
        reach = float(ndtri(1 - min(noise, MOST_BEYOND)))
        p = float(expit(logit(min(max(self.share, LEAST_SHARE), 1 - LEAST_SHARE)) + reach * self.odds.spread))
        amount = min(self.mean_amount + reach * self.amounts.spread, MOST_AMOUNT * self.mean_amount)
        even = min(p, 0.5)
        return even * (1 - even) * amount, p * amount

    def moved(self, level: "Level") -> "Parts":
        """The same at a level, as predictions are made: nothing below 0."""
        growth, low, high = level.growth, level.moved(self.low), level.moved(self.high)
        amounts = replace(
            self.amounts,
            effects=tuple(growth * effect for effect in self.amounts.effects),
            constant=level.moved(self.amounts.constant),
            spread=growth * self.amounts.spread,
        )
        return replace(self, amounts=amounts, low=max(low, 0.0), high=max(high, 0.0))

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
    prediction, prediction_noise : float
        The mean of p mu as it predicts.
    unshrunk : float
        That of effects that are not shrunk.
    share, share_noise : float
        The share of responses above 0.
    slope, slope_noise : float
        The mean of p (1 - p) mu, of effects that are not shrunk.
    variance : float
        The mean of p (1 - p); it has the noise of the share.
    n_records : float
        The number of responses, as far as it is known.
    range : tuple of float
        That of mu as it predicts, before it grows.
    second_offset : float
        What is added to mu beside the first one, from the mean of p mu as it then predicts.
    """

    clipped_mean: float
    mean_noise: float
    spread: float
    prediction: float
    prediction_noise: float
    unshrunk: float
    share: float
    share_noise: float
    slope: float
    slope_noise: float
    variance: float
    n_records: float
    range: tuple[float, float]
    second_offset: float = 0.0

    @property
    def unshrunk_noise(self) -> float:
        """The noise of `unshrunk`: it is in the same vector as `prediction`, in a range of its own."""
        return self.prediction_noise * (1 + BELOW) / BESIDE

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
    def growth(self) -> float:
        """What effects on mu are multiplied by, to make up for what clips leave out of amounts; 1 or more."""
        missing = self.mean / self.prediction if self.prediction > 0 else 1.0
        return math.pow(float(np.clip(missing, 1.0, MOST_MISSING)), TYPICAL_TAIL_INDEX)

    @property
    def growth_error(self) -> float:
        """Its standard error: its noise, which is no more than the growth itself, and doubt."""
        if not self.growth > 1:
            return 0.0
        noise = math.hypot(self.mean_noise / self.mean, self.prediction_noise / self.prediction)
        more = self.growth - 1
        return math.hypot(min(TYPICAL_TAIL_INDEX * self.growth * noise, more), GROWTH_DOUBT * more)

    @property
    def error_growth(self) -> float:
        """What the errors of effects on mu are multiplied by, beside the growth's own error."""
        return math.pow(self.growth, ERROR_GROWTH)

    @property
    def offset(self) -> float:
        """What is added to mu, once it has grown, so that the mean of p mu is the mean response."""
        return self._per_amount(self.mean - self.growth * self.prediction) + self.second_offset

    def moved(self, amount: float) -> float:
        """Where mu is predicted, once it has grown and moved."""
        return self.growth * amount + self.offset

    def set_by(self, prediction: float, noise: float) -> "Level":
        """The same with the offset that a mean prediction asks for, less of it the noisier this is."""
        off = math.hypot(self.growth * self.prediction_noise, OFF_ONCE_SET * self.mean) ** 2
        weight = off / (off + noise**2) if off > 0 else 0.0
        return replace(self, second_offset=self._per_amount(weight * (self.mean - prediction)))

    def _per_amount(self, difference: float) -> float:
        """What mu must move by for the mean of p mu to move by a difference."""
        return difference / max(self.share, LEAST_SHARE)

    @property
    def mean_slope(self) -> float:
        """The mean of p (1 - p) mu, of effects that are not shrunk and at such a height that p mu has the mean."""
        return self.mean * self._per_mean + self.growth * self._tilt

    @property
    def _tilt(self) -> float:
        """By how much that of the line as it was differs from what it is where mu does not vary."""
        return self.slope - self.unshrunk * self._per_mean

    @property
    def mean_slope_error(self) -> float:
        """Its standard error, as far as it is that of the level: noise and sampling."""
        of_tilt = math.hypot(self.slope_noise, self.unshrunk_noise * self._per_mean)
        return math.hypot(self.growth * of_tilt, self.growth_error * self._tilt, self.mean_error * self._per_mean)

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
    edges = parts.mean_amount * c.OCTAVES
    counts = session.evaluate(amount_counts, np.append(edges[1:-1], np.inf))
    counted, noise = releases.histogram(releases.due(AMOUNT_SIZES), np.diff(counts, prepend=0))
    law = Norms.of(edges, counted, noise, releases.n_responses, bins=OCTAVES)
    parts = parts.at_scale(_mean_amount(law, parts))
    clip = _clip(law, releases, parts)
    sums = session.evaluate(amount_sums, clip.bound, clip.start, clip.rise)
    (mean,), noise_of_mean = releases.mean(releases.due(MEAN_RESPONSE), sums, 0.5)
    bounds = parts.bounds(mean_noise(releases, MEANS) * MEANS_NORM)
    sums = session.evaluate(mean_sums, parts.lines, *bounds)
    means, noise = releases.mean(releases.due(MEANS), sums, MEANS_NORM)
    released = _share(mean) * clip.most
    spread = math.sqrt(max(law.mean(clip.of(law.values) ** 2) - released**2, 0.0))
    known = {"clipped_mean": released, "mean_noise": noise_of_mean * clip.most, "spread": spread}
    known |= {"n_records": releases.n_responses}
    return _predicting(session, releases, parts, _level(means, noise, bounds, (parts.low, parts.high), **known))


def _predicting(session: Session, releases: Releases, parts: Parts, level: Level) -> Level:
    """The level with its second offset."""
    moved = parts.moved(level)
    _, bound = moved.bounds(mean_noise(releases, MEAN_PREDICTION) / 2)
    sums = session.evaluate(prediction_sums, moved.lines, bound)
    (mean,), noise = releases.mean(releases.due(MEAN_PREDICTION), sums, 0.5)
    return level.set_by(_share(mean) * bound, noise * bound)


def _mean_amount(law: Norms, parts: Parts) -> float:
    """The mean of amounts by their histogram, which has no part in a fit that went astray."""
    amounts = law.mean(np.ones_like(law.values))
    mean = law.mean(law.values) / amounts if amounts > 0 else 0.0
    return mean if mean > 0 else parts.mean_amount


def _clip(law: Norms, releases: Releases, parts: Parts) -> Clip:
    """The clip that costs least, but not further in than `LEAST_BOUND`."""
    # Half of that of a number which may be on both sides of 0.
    noise = mean_noise(releases, MEAN_RESPONSE) / 2
    clip = law.best_clip(noise, BIAS, rising=True)
    return clip if clip.bound >= LEAST_BOUND * parts.mean_amount else law.clip_at(LEAST_BOUND * parts.mean_amount)


def _share(centred: float) -> float:
    """A number in [0, 1], from a noisy one less 1/2."""
    return float(np.clip(centred + 0.5, 0.0, 1.0))


def _level(
    means: NDArray[np.float64],
    noise: float,
    bounds: tuple[float, float],
    of_amounts: tuple[float, float],
    **known: float,
) -> Level:
    (prediction, *beside), (slope_bound, mean_bound) = means, bounds
    slope, unshrunk, share, variance = (float(each) / BESIDE for each in beside)
    noise_beside = noise / BESIDE
    return Level(
        prediction=_share(prediction) * mean_bound,
        prediction_noise=noise * mean_bound,
        unshrunk=_signed(unshrunk) * mean_bound,
        share=_share(share),
        share_noise=noise_beside,
        slope=_signed(slope) * slope_bound,
        slope_noise=noise_beside * (1 + BELOW) * slope_bound,
        variance=_share(variance) / 4,
        range=of_amounts,
        **known,
    )


def _signed(centred: float) -> float:
    """A number from -`BELOW` to 1, from its noisy share of that range, less 1/2."""
    return _share(centred) * (1 + BELOW) - BELOW

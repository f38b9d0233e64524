"""Likelihood ratios of outcomes between two neighbouring tables: the strongest attack there is.

By Neyman and Pearson no test distinguishes two tables better than the likelihood ratio of all that was released. It can
be computed, because each statistic is a known function of a table and of earlier releases.
"""

import numpy as np
from scipy.special import log_ndtr, logsumexp

from dpsparse.privacy.accounting.release import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplacePeeling,
    PartitionSelection,
    RepeatedPicks,
)


def gaussian_loss(output, first, second, scale):
    """Log likelihood ratio of noisy integers with Gaussian noise of this scale (one number or one an entry)."""
    output, first, second = (np.asarray(values, dtype=np.float64) for values in (output, first, second))
    return float((((output - second) ** 2 - (output - first) ** 2) / (2 * np.square(scale))).sum())


def pick_loss(index, first, second, rate):
    """Log likelihood ratio of an exponential-mechanism pick between two vectors of scores."""
    return float(rate * (first[index] - second[index]) - logsumexp(rate * first) + logsumexp(rate * second))


def peeling_loss(support, values, first, second, scale):
    """Log likelihood ratio of the picks and values of a Laplace peeling between two integer vectors."""
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    loss = float(np.abs(values - second[support]).sum() - np.abs(values - first[support]).sum()) / scale
    for k, winner in enumerate(support):
        left = np.delete(np.arange(len(first)), support[:k])
        place = int(np.flatnonzero(left == winner)[0])
        loss += _log_win(np.abs(first[left]), place, scale) - _log_win(np.abs(second[left]), place, scale)
    return loss


def _log_win(sizes, place, scale):
    """Log probability that one of several sizes is the largest once Laplace noise is added, by the trapezoid rule."""
    z = np.linspace(-14, 14, 1121)
    others = np.delete(sizes, place)
    above = z + (sizes[place] - others)[:, None] / scale
    below = np.where(above < 0, 0.5 * np.exp(np.minimum(above, 0)), 1 - 0.5 * np.exp(-np.maximum(above, 0)))
    density = 0.5 * np.exp(-np.abs(z)) * below.prod(axis=0)
    return float(np.log(np.trapezoid(density, z)))


# The log likelihood ratio of an outcome that one table alone allows, in games: more than any budget.
CERTAIN = 1e3


def names_loss(released, first, second, scale, threshold):
    """Log likelihood ratio of the names of one column and their noisy counts, all in steps, between two tables.

    Parameters
    ----------
    released : dict of str to int
        The names and their noisy counts.
    first, second : dict of str to int
        Exact counts; a value that a table does not hold is not there.
    scale : float
        The scale of the noise.
    threshold : int
        Noisy counts above it are released.
    """
    loss = 0.0
    for value in {*first, *second}:
        sides = [counts.get(value) for counts in (first, second)]
        if value not in released:
            within = [0.0 if count is None else float(log_ndtr((threshold - count) / scale)) for count in sides]
            loss += within[0] - within[1]
        elif None in sides:
            loss += CERTAIN if sides[1] is None else -CERTAIN
        else:
            loss += gaussian_loss(released[value], *sides, scale)
    return loss


def _names_on_tape(output, first, second, scale):
    first, second = first.item(), second.item()
    step = 2**24
    return sum(
        names_loss(names, *({value: step * n for value, n in side.items()} for side in sides), scale, first.threshold)
        for names, *sides in zip(output, first.counts, second.counts, strict=True)
    )


_RATIOS = {
    ExponentialMechanism: pick_loss,
    RepeatedPicks: pick_loss,
    GaussianMechanism: gaussian_loss,
    PartitionSelection: _names_on_tape,
}


def transcript_loss(first, second):
    """Log likelihood ratio of everything a fit released, from the tapes of two runs that saw the same outputs."""
    loss = 0.0
    for (release, draws), (_, others) in zip(first.releases(), second.releases(), strict=True):
        if all((a.statistic == b.statistic).all() for a, b in zip(draws, others, strict=True)):
            continue
        if isinstance(release.mechanism, LaplacePeeling):
            loss += _peeled_on_tape(draws, others)
            continue
        ratio = _RATIOS[type(release.mechanism)]
        for a, b in zip(draws, others, strict=True):
            loss += ratio(a.output, a.statistic, b.statistic, a.scale)
    return loss


def _peeled_on_tape(draws, others):
    """The loss of a peeling on tape: it releases the places of the largest noisy entries, then their noisy values."""
    support = []
    for draw in draws[:-1]:
        noisy = draw.output.copy()
        noisy[support] = np.iinfo(np.int64).min
        support.append(int(np.argmax(noisy)))
    # Magnitudes decide the picks, signed entries the values: both are on the tape.
    vectors = []
    for made in (draws, others):
        vector = made[0].statistic.astype(np.float64)
        vector[support] = made[-1].statistic
        vectors.append(vector)
    return peeling_loss(support, draws[-1].output, *vectors, draws[0].scale)

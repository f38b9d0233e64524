"""Likelihood ratios of outcomes between two neighbouring tables: the strongest attack there is.

By Neyman and Pearson no test distinguishes two tables better than the likelihood ratio of all that was released. It can
be computed, because each statistic is a known function of a table and of earlier releases.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

from dpsparse.privacy.accounting.release import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplacePeeling,
    PartitionSelection,
    RepeatedPicks,
)

if TYPE_CHECKING:
    from dpsparse.audit.harness.tape import Draw, Tape


def gaussian_loss(output: Any, first: Any, second: Any, scale: Any) -> float:
    """Log likelihood ratio of noisy integers with Gaussian noise of this scale (one number or one an entry)."""
    output, first, second = (np.asarray(values, dtype=np.float64) for values in (output, first, second))
    return float((((output - second) ** 2 - (output - first) ** 2) / (2 * np.square(scale))).sum())


def pick_loss(index: int, first: Any, second: Any, rate: float) -> float:
    """Log likelihood ratio of an exponential-mechanism pick between two vectors of scores."""
    return float(rate * (first[index] - second[index]) - logsumexp(rate * first) + logsumexp(rate * second))


def peeling_loss(support: list[int], values: NDArray[Any], first: Any, second: Any, scale: float) -> float:
    """Log likelihood ratio of the picks and values of a Laplace peeling between two integer vectors."""
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    loss = float(np.abs(values - second[support]).sum() - np.abs(values - first[support]).sum()) / scale
    for k, winner in enumerate(support):
        left = np.delete(np.arange(len(first)), support[:k])
        place = int(np.flatnonzero(left == winner)[0])
        loss += _log_win(np.abs(first[left]), place, scale) - _log_win(np.abs(second[left]), place, scale)
    return loss


def _log_win(sizes: NDArray[np.float64], place: int, scale: float) -> float:
    """Log probability that one of several sizes is the largest once Laplace noise is added, by the trapezoid rule."""
    z = np.linspace(-14, 14, 1121)
    others = np.delete(sizes, place)
    above = z + (sizes[place] - others)[:, None] / scale
    below = np.where(above < 0, 0.5 * np.exp(np.minimum(above, 0)), 1 - 0.5 * np.exp(-np.maximum(above, 0)))
    density = 0.5 * np.exp(-np.abs(z)) * below.prod(axis=0)
    return float(np.log(np.trapezoid(density, z)))


# The log likelihood ratio of an outcome that one table alone allows, in games: more than any budget.
CERTAIN = 1e3


def names_loss(
    released: Mapping[str, float], first: Mapping[str, float], second: Mapping[str, float], scale: float, threshold: int
) -> float:
    """Log likelihood ratio of the names of one column and their noisy counts, all in steps, between two tables.

    `released`: the names and their noisy counts.
    `first`, `second`: exact counts; a value that a table does not hold is not there.
    `scale`: the scale of the noise.
    `threshold`: noisy counts above it are released.
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
            loss += gaussian_loss(released[value], sides[0], sides[1], scale)
    return loss


def _names_on_tape(output: Any, first: Any, second: Any, scale: float) -> float:
    first, second = first.item(), second.item()
    step, loss = 2**24, 0.0
    for names, *sides in zip(output, first.counts, second.counts, strict=True):
        before, after = ({value: step * n for value, n in side.items()} for side in sides)
        loss += names_loss(names, before, after, scale, first.threshold)
    return loss


_RATIOS: dict[type, Callable[[Any, Any, Any, Any], float]] = {
    ExponentialMechanism: pick_loss,
    RepeatedPicks: pick_loss,
    GaussianMechanism: gaussian_loss,
    PartitionSelection: _names_on_tape,
}


def transcript_loss(first: "Tape", second: "Tape") -> float:
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


def _peeled_on_tape(draws: list["Draw"], others: list["Draw"]) -> float:
    """The loss of a peeling on tape: it releases the places of the largest noisy entries, then their noisy values."""
    support: list[int] = []
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
    return peeling_loss(support, draws[-1].output, vectors[0], vectors[1], draws[0].scale)

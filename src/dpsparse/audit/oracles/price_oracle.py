"""The cost of a release, computed from the draws that were really made; it shares no code with the package's prices."""

import math
from typing import Any

from scipy import stats

from dpsparse.audit.harness.tape import Draw
from dpsparse.privacy.accounting.release import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplacePeeling,
    PartitionSelection,
    Release,
    RepeatedPicks,
)

# More than the package's own steps to the safe side.
ROUNDING = 1e-9


def wrong_price(release: Release, draws: list[Draw], records_per_person: int = 1) -> str | None:
    """Say what is wrong with the draws made on a charge, or None."""
    if not release.size:
        return f"skipped, and made {len(draws)} draws" if draws else None
    if isinstance(release.mechanism, PartitionSelection):
        return _partitions(release, draws, records_per_person)
    return _ORACLES[type(release.mechanism)](release, draws)


def _pick(release: Release, draws: list[Draw]) -> str | None:
    if [draw.kind for draw in draws] != ["pick"]:
        return f"charged for one pick, made {len(draws)} draws"
    # Scores move by D, so log-odds of the indices move within 2 D rate: bounded range, an eighth of its square.
    bounded_range = 2 * release.sensitivity * draws[0].scale
    return _compare(release, bounded_range**2 / 8, bounded_range)


def _picks(release: Release, draws: list[Draw]) -> str | None:
    mechanism: Any = release.mechanism
    count = mechanism.count
    if any(draw.kind != "pick" for draw in draws) or not len(draws) == release.size == count:
        return f"charged for {count:g} picks, made {len(draws)} draws"
    # Each is of bounded range by itself; a record may move all of them, so their prices add.
    ranges = [2 * release.sensitivity * draw.scale for draw in draws]
    return _compare(release, sum(bounded_range**2 / 8 for bounded_range in ranges), sum(ranges))


def _gaussian(release: Release, draws: list[Draw]) -> str | None:
    sizes = [draw.statistic.size for draw in draws]
    is_gram = "Gram matrix" in release.mechanism.words
    if any(draw.kind != "gaussian" for draw in draws) or len(draws) != 1 + is_gram or sum(sizes) != release.size:
        return f"charged for {release.size} numbers, drew {sizes}"
    if not is_gram:
        return _compare(release, release.sensitivity**2 / (2 * draws[0].scale ** 2), math.inf)
    # For a symmetric change C of Frobenius norm D: an entry above the diagonal holds two of its squares.
    off, diagonal = (draw.scale for draw in draws)
    per_square = 1 / (2 * diagonal**2) if not sizes[0] else max(1 / (2 * diagonal**2), 1 / (4 * off**2))
    return _compare(release, release.sensitivity**2 * per_square, math.inf)


def _laplace(release: Release, draws: list[Draw]) -> str | None:
    picks, values = draws[:-1], draws[-1:]
    if (
        any(draw.kind != "laplace" for draw in draws)
        or not picks
        or values[0].statistic.size != len(picks)
        or release.size != 2 * len(picks)
    ):
        return f"charged for {release.size} numbers, made {len(draws)} draws"
    # Report noisy max is 2 D / b, a value D / b; pure e is e^2 / 2 of zCDP, and no eighth without Gumbel noise.
    costs = [2 * release.sensitivity / draw.scale for draw in picks]
    costs += [release.sensitivity / values[0].scale] * values[0].statistic.size
    return _compare(release, sum(cost**2 for cost in costs) / 2, sum(costs))


def _partitions(release: Release, draws: list[Draw], most: int) -> str | None:
    if [draw.kind for draw in draws] != ["names"]:
        return f"charged for one selection of names, made {len(draws)} draws"
    scale, names = draws[0].scale, draws[0].statistic.item()
    if sum(map(len, names.counts)) > release.size:
        return f"charged for {release.size} values, drew more"
    # A person alone may hold any number of values, each any number of times, up to `most` records a column. A step
    # of 2^-24 records is far below the noise: its law is the continuous one.
    step = 2**24
    appears = {held: stats.norm.sf((names.threshold - held * step) / scale) for held in range(1, most + 1)}
    worst = max((values - 1) * appears[1] + appears[most - values + 1] for values in range(1, most + 1))
    failure = len(names.counts) * worst
    if failure > release.mechanism.failure_probability * (1 + 1e-6):
        return f"fails with probability {failure:.3g}, charged {release.mechanism.failure_probability:.3g}"
    return _compare(release, release.sensitivity**2 / (2 * scale**2), math.inf)


def _compare(release: Release, rho: float, pure_epsilon: float) -> str | None:
    if rho > release.rho * (1 + ROUNDING):
        return f"costs rho {rho:.6g}, charged {release.rho:.6g}"
    if pure_epsilon > release.pure_epsilon * (1 + ROUNDING):
        return f"costs epsilon {pure_epsilon:.6g}, charged {release.pure_epsilon:.6g}"
    return None


_ORACLES = {
    ExponentialMechanism: _pick,
    RepeatedPicks: _picks,
    GaussianMechanism: _gaussian,
    LaplacePeeling: _laplace,
}

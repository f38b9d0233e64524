"""Distinguishing games: a lower bound on epsilon from outputs alone.

A game draws many outputs on a table and on its neighbour, scores each by its likelihood ratio, and bets on an event of
the form "score above t", with t chosen on a third of the outputs. If the event has probability p on one table and q on
the other, (epsilon, delta)-DP means p <= e^epsilon q + delta. With Clopper-Pearson bounds on p and q from the other two
thirds, log((p - delta) / q) is a lower bound on epsilon, wrong in at most one game in a thousand. An attack that finds
more than was claimed has broken the guarantee; the reverse proves nothing, so the table shows how close it came.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpsparse.algorithms.evaluation_sums import EvaluationReleases
from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit.grids import Tally
from dpsparse.algorithms.pursuit.releases import Releases
from dpsparse.audit.checks.check_replay import cached_schedules
from dpsparse.audit.finding import Finding
from dpsparse.audit.harness.attacked import ESTIMATORS
from dpsparse.audit.harness.neighbors import N_FEATURES, N_RECORDS, Pair
from dpsparse.audit.harness.tape import run
from dpsparse.audit.oracles.likelihood import gaussian_loss, names_loss, peeling_loss, pick_loss, transcript_loss
from dpsparse.data.as_table import as_table
from dpsparse.engine import queries, vector_sums
from dpsparse.engine.errors import Errors
from dpsparse.learning.noisy_counts import release_counts
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.meter import Commitment, Meter
from dpsparse.privacy.accounting.release import GaussianMechanism, RepeatedPicks, Slot
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.gaussian import release_gram, release_vector
from dpsparse.privacy.mechanisms.partition import RECORD_STEPS, name_threshold, release_names
from dpsparse.privacy.mechanisms.quantile import release_point, release_quantile
from dpsparse.privacy.mechanisms.selection import exponential_pick, peel, tight_peeling_scale
from dpsparse.privacy.noise import NoiseSource, SecureSource, SeededSource

GUARANTEE = Guarantee(1.5, 1e-3)
# Whole fits allow fewer trials, and need a weaker guarantee for the attack to see anything.
FIT_EPSILON = 3.0
SURE, ALMOST_CERTAIN = 1e-3, 1e-9
SENSITIVITY = 1_000


def lower_bound(first: NDArray[np.float64], second: NDArray[np.float64], delta: float, wrong: float = SURE) -> float:
    """A lower bound on epsilon from scores drawn on two tables, wrong with probability `wrong` at most."""
    third = len(first) // 3
    events = []
    for sign, p, q in ((1, first, second), (-1, second, first)):
        for threshold in np.quantile(sign * np.concatenate([p[:third], q[:third]]), np.linspace(0.02, 0.995, 60)):
            events.append((_bound(sign * p[:third], sign * q[:third], threshold, delta, wrong), sign, threshold, p, q))
    _, sign, threshold, p, q = max(events, key=lambda event: event[:3])
    return _bound(sign * p[third:], sign * q[third:], threshold, delta, wrong)


def _bound(p: NDArray[np.float64], q: NDArray[np.float64], threshold: float, delta: float, wrong: float) -> float:
    hits, false_hits, n = int((p >= threshold).sum()), int((q >= threshold).sum()), len(p)
    at_least = stats.beta.ppf(wrong / 2, hits, n - hits + 1) if hits else 0.0
    at_most = stats.beta.isf(wrong / 2, false_hits + 1, n - false_hits) if false_hits < n else 1.0
    return max(0.0, math.log(max(at_least - delta, 1e-300) / at_most))


def _vector(version: int, meter: Meter) -> float:
    """A vector that moves along the diagonal, the whole way."""
    step = np.full(2, int(SENSITIVITY / math.sqrt(2)))
    noisy = release_vector(meter, version * step, sensitivity=SENSITIVITY, rho=GUARANTEE.rho_per_record, name="vector")
    return gaussian_loss(noisy.values, 0 * step, step, noisy.scale)


def _gram(version: int, meter: Meter) -> float:
    """The Gram terms of two orthogonal records at the norm."""
    sides = np.array([[0, 700], [700, 0]]), np.array([[0, -700], [-700, 0]])
    change = float(np.linalg.norm((sides[0] - sides[1]).astype(float)))
    noisy = release_gram(meter, sides[version], sensitivity=change, rho=GUARANTEE.rho_per_record, name="Gram")
    upper = np.triu_indices(2)
    return gaussian_loss(noisy.values[upper], sides[0][upper], sides[1][upper], noisy.scale[upper])


def _pick(version: int, meter: Meter) -> float:
    """One score falls and the others rise, each the whole way."""
    sides = np.array([SENSITIVITY] + [0] * 5), np.array([0] + [SENSITIVITY] * 5)
    picked = exponential_pick(meter, sides[version], sensitivity=SENSITIVITY, rho=GUARANTEE.rho_per_record, name="pick")
    return pick_loss(picked, *sides, math.sqrt(8 * GUARANTEE.rho_per_record) / (2 * SENSITIVITY))


def _quantile(version: int, meter: Meter) -> float:
    """A record that leaves the lowest point of the grid for above all others."""
    grid = np.arange(6.0)
    counts = np.array([1, 2, 2, 2, 2, 2]), np.array([0, 1, 1, 1, 1, 1])
    point = release_quantile(meter, counts[version], grid, target=1, rho=GUARANTEE.rho_per_record, name="median")
    sides = [-np.abs(side - 1) for side in counts]
    return pick_loss(int(point), sides[0], sides[1], math.sqrt(8 * GUARANTEE.rho_per_record) / 2)


def _located(version: int, meter: Meter) -> float:
    """A record at one point of a grid, and in its window, that leaves for the other."""
    grid, sides = grids.Grid.of([3.0, 60.0], [0.0, -1.0]), []
    for value in grid.points:
        values = np.array([value, 0.5, 50.0, 50.0])
        window = grid.points - 0.5, grid.points + 0.5
        sides.append(Tally.of(partial(vector_sums.counts_at_most, values), grid.points, window).located())
    rho, change = GUARANTEE.rho_per_record, sensitivity.located_utility("replace-one")
    point = release_point(
        meter, sides[version], grid.points, sensitivity=change, rho=rho, name="located", log_prior=grid.log_prior
    )
    rate = math.sqrt(8 * rho) / (2 * change)
    first, second = (side + grid.log_prior / rate for side in sides)
    return pick_loss(int(point == 60.0), first, second, rate)


def _splits(version: int, meter: Meter) -> float:
    """A record above all of every feature, or below: one threshold divides more evenly, and the other less."""
    counts = np.array([[2, 5]] * 3) - version
    grid = grids.Grid.of([0.0, 1.0])
    slot = Slot("splits", RepeatedPicks(GUARANTEE.rho_per_record, count=3))
    chosen = Releases(meter, 7).splits(slot, counts, grid)
    sides = [np.minimum(side, 7 - side) for side in (counts[0] + version, counts[0] + version - 1)]
    rate = math.sqrt(8 * GUARANTEE.rho_per_record / 3) / 2
    return sum(pick_loss(int(point), sides[0], sides[1], rate) for point in chosen)


def _pair_table(version: int) -> NDArray[np.int64]:
    """Seven records: one equals its partner, or lies far from it; the middle one has none."""
    X = np.array([[1.0], [3.0], [2.0], [7.0], [2.5], [3.0 if version else 1e9], [1.5]])
    pairs = as_table(X).rows(np.zeros(7)).differences().session((), check_finite=False)
    pairs.add(0)
    sums: NDArray[np.int64] = pairs.evaluate(queries.spread_sums, 0, 1.0, 6.0)
    return sums


def _spread(version: int, meter: Meter) -> float:
    """The mean size of differences of pairs, as that record moves."""
    sides = _pair_table(0), _pair_table(1)
    slot = Slot("spread", GaussianMechanism(GUARANTEE.rho_per_record))
    mean, _ = Releases(meter, 7).mean(slot, sides[version], math.sqrt(0.5), 3)
    levels = mean * 3 * vector_sums.VECTOR_LEVELS / math.sqrt(0.5)
    scale = 2 * vector_sums.VECTOR_LEVELS / math.sqrt(2 * GUARANTEE.rho_per_record)
    return gaussian_loss(levels, *sides, scale)


def _scores(version: int, meter: Meter) -> float:
    """The squares of an evaluation, as a record without any error becomes one beyond all bounds."""
    sides = [
        Errors.of(np.array([first, 1.0, -3.0]), np.array([second, 0.5, -2.0]), 0.0).square_sums(1.0, 1.0)
        for first, second in ((0.0, 0.0), (9.0, 6.0))
    ]
    commitment = Commitment((Slot("squares", GaussianMechanism(GUARANTEE.rho_per_record)),))
    noisy, scale = EvaluationReleases(meter, commitment).sums("squares", sides[version])
    first, second = (side / vector_sums.VECTOR_LEVELS for side in sides)
    return gaussian_loss(noisy, first, second, scale)


def _peeling(version: int, meter: Meter) -> float:
    """Two entries that change places."""
    sides = np.array([SENSITIVITY, 0, 0]), np.array([0, SENSITIVITY, 0])
    scale = tight_peeling_scale(GUARANTEE, 1, SENSITIVITY)
    noisy = peel(meter, sides[version], sparsity=1, sensitivity=SENSITIVITY, scale=scale, name="peeling", part=None)
    return peeling_loss(noisy.support.tolist(), noisy.values, *sides, scale)


def _votes(version: int, meter: Meter) -> float:
    """A record whose cells in three columns all change their class."""
    sides = np.array([[[5, 1], [9, 0], [2, 3]], [[4, 2], [8, 1], [3, 2]]])
    slot = Slot("kinds", GaussianMechanism(GUARANTEE.rho_per_record))
    votes = release_counts(meter, slot, sides[version], sensitivity.histograms(3, "replace-one"))
    return gaussian_loss(votes.values, sides[0], sides[1], math.sqrt(6 / (2 * GUARANTEE.rho_per_record)))


def _names(version: int, meter: Meter) -> float:
    """A record that leaves a value of its own for one that many hold: whether the value appears, and the other's count.

    The failure takes a tenth of delta, and what is left pays for 0.9 of rho.
    """
    sides = {"common": 60, "own": 1}, {"common": 61}
    rho, failure = 0.9 * GUARANTEE.rho_per_record, GUARANTEE.delta / 10
    released = release_names(meter, [sides[version]], rho=rho, failure=failure, name="names")[0]
    scale = RECORD_STEPS * math.sqrt(2 / (2 * rho))
    threshold = name_threshold(scale, failure=failure)
    made, first, second = (
        {value: RECORD_STEPS * count for value, count in side.items()} for side in (released, *sides)
    )
    return names_loss(made, first, second, scale, threshold)


def _norms(version: int, meter: Meter) -> float:
    """A histogram of norms of scores, as a record moves from one bin to another."""
    sides = np.array([5, 2, 0]), np.array([4, 2, 1])
    slot = Slot("norms", GaussianMechanism(GUARANTEE.rho_per_record))
    noisy, _ = Releases(meter, 7).histogram(slot, sides[version])
    return gaussian_loss(noisy, *sides, 1 / math.sqrt(GUARANTEE.rho_per_record))


MECHANISMS: dict[str, Callable[[int, Meter], float]] = {
    "Gaussian vector": _vector,
    "Gram matrix": _gram,
    "exponential pick": _pick,
    "private median": _quantile,
    "located point with a prior": _located,
    "splits of three features": _splits,
    "mean over pairs": _spread,
    "norms of scores": _norms,
    "squares of an evaluation": _scores,
    "Laplace peeling": _peeling,
    "votes of three columns": _votes,
    "names of values": _names,
}


def check_mechanisms(trials: int = 6_000) -> Iterator[Finding]:
    """Games on single mechanisms that spend a whole guarantee, with seeded noise."""
    return (mechanism_game(name, trials, [SeededSource(k) for k in (1, 2)]) for name in MECHANISMS)


def check_secure(trials: int = 1_500) -> Iterator[Finding]:
    """The same games on secure noise; since it takes no seed, at a confidence that excludes false alarms."""
    source = SecureSource()
    return (mechanism_game(name, trials, [source, source], ALMOST_CERTAIN) for name in MECHANISMS)


def mechanism_game(name: str, trials: int, sources: Sequence[NoiseSource], wrong: float = SURE) -> Finding:
    """Play a mechanism against itself on two statistics."""
    scores, claimed = [], 0.0
    for version, source in enumerate(sources):
        made = []
        for _ in range(trials):
            meter = Meter(GUARANTEE, 100, source)
            made.append(MECHANISMS[name](version, meter))
        scores.append(np.array(made))
        claimed = meter.record().epsilon
    kind = "secure noise" if sources[0].private else "seeded noise"
    return _finding(
        name, kind, claimed, GUARANTEE.delta, lower_bound(scores[0], scores[1], GUARANTEE.delta, wrong), wrong
    )


def worst_pair() -> Pair:
    """A record against the grain of all others, so that nearly every release moves the whole way."""
    row = np.array([50.0, 50.0, -50.0, -50.0])
    companions = np.column_stack([np.ones(N_RECORDS), np.full((N_RECORDS, N_FEATURES), 50.0)])
    companions[::2] *= -1
    return Pair("against the grain", (companions, companions), np.array([1e6, *row]), np.array([-1e6, *row]))


def exact_or_far() -> Pair:
    """A record that the audit's public model and its constant predict exactly, or that is far from both."""
    exact, far = np.array([0.25, 0.0, 0.0, 0.0, 0.0]), np.array([1e6, 40.0, 0.0, 0.0, 0.0])
    return Pair("exact or far", worst_pair().companions, exact, far)


# The loops are faster and get more trials.
FITS = {
    "PrivateSparseRegressor, public response, no intercept": 1,
    "PrivateSparseRegressor, units unknown": 1,
    "PrivateSparseRegressor, step to the mean": 1,
    "PrivateSparseRegressor, step to the typical response": 1,
    "PrivateSparseClassifier": 1,
    "PrivateSparsePoissonRegressor": 1,
    "evaluate": 1,
    "DPIHTH": 2,
    "DPIHTL": 2,
    "DPSLR": 2,
}


def check_fits(trials: int = 300) -> Iterator[Finding]:
    """Games on whole fits: the likelihood ratio of everything that was released."""
    return (fit_game(name, trials * share) for name, share in FITS.items())


def fit_game(name: str, trials: int) -> Finding:
    """Play an estimator against itself on neighbouring tables."""
    pair = exact_or_far() if name == "evaluate" else worst_pair()
    tables = [pair.table(0, version) for version in (0, 1)]
    model = ESTIMATORS[name](adjacency="replace-one").set_params(epsilon=FIT_EPSILON, delta=GUARANTEE.delta)
    scores = [np.empty(trials), np.empty(trials)]
    with cached_schedules():
        for version in (0, 1):
            source = SeededSource(10 + version)
            for trial in range(trials):
                played = run(model, tables[version], source=source)
                replayed = run(model, tables[1 - version], script=played.tape.script)
                loss = transcript_loss(played.tape, replayed.tape)
                scores[version][trial] = -loss if version else loss
    record = played.fitted["privacy_"]
    return _finding(
        name, "whole fit", record.epsilon, record.delta, lower_bound(scores[0], scores[1], record.delta), SURE
    )


def _finding(name: str, kind: str, claimed: float, delta: float, epsilon: float, wrong: float) -> Finding:
    return Finding(
        f"{name}, {kind}",
        f"epsilon {claimed:.4g} at delta {delta:g}",
        f"epsilon of at least {epsilon:.4g} (confidence 1 - {wrong:g})",
        epsilon <= claimed,
    )

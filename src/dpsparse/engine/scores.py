"""Scores of records on the selected columns, transformed and clipped by their norm: sums, second moments, histograms.

A record's vector is A z f, with z its selected columns, A a public matrix (in practice the inverse root of an earlier
release) and f the bounded residual, the root of its slope (`links`) or 1: for linear responses the residual clipped at
tau, and whether it lies within tau. Every entry of A z is added up one column after another, elementwise, so that it
depends on that record alone and has the same bits on every engine.

Where people have several records, all rows have the same weight, as in the estimators that these scores are of, but for
people with very many (`people.MOST_ROWS`). With m the mean number of rows, a person's score is the sum of those of
their rows over sqrt m, and their second moments are the sum of those of their rows over m. So a person of m rows in
random directions has a score as long as a row's. Second moments of rows do not cancel: there people with very many rows
have the square of their weight, or a few of them would make up the matrix. It is the slope of the mean score as far as
rows of these people are like those of others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine import vector_sums
from dpsparse.engine.arrays import Array, as_float64, like, module_of, quotient, square_root
from dpsparse.engine.links import Effects
from dpsparse.engine.people import Held
from dpsparse.engine.queries import Records, Thresholds

Factor: TypeAlias = Literal["score", "slope", "row"]
# A clip of sizes: the bound, from where they rise faster, and by how much.
Side: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True)
class LongRows:
    """How scores of long rows are weighted down: those of a row u = matrix z by min(1, (bound / |u|)^2).

    The second moments of rows that are clipped to this norm are then the derivative of the mean score.
    """

    matrix: NDArray[np.float64]
    bound: float


@dataclass(frozen=True)
class Terms:
    """Public numbers that make a vector of a record.

    `factor`: what the row is multiplied by: the residual, bounded by `tau`, or the root of its slope, or 1.
    `matrix` of shape (entries, k), with at most k entries: what the row is transformed by.
    `positions`: the k columns.
    `center`, `effects`: the prediction, of all columns.
    `tau`: infinity for least squares.
    `row_bound`: a transformed row u has the weight min(1, row_bound / |u|), and its score a norm of at most row_bound
      tau.
    `long_rows`: how scores of long rows are weighted down in addition; those of a person together.
    """

    factor: Factor
    matrix: NDArray[np.float64]
    positions: Sequence[int]
    center: float
    effects: Effects
    tau: float = np.inf
    row_bound: float = np.inf
    long_rows: LongRows | None = None


def norm_counts(records: Records, terms: Terms, thresholds: Thresholds) -> NDArray[np.int64]:
    """For each of some rising thresholds how many vectors have a norm at or below it; blank records count nowhere.

    A person counts once: by the norm of their score, by the root of the sum of their squared norms where vectors are of
    slopes, and by the row that stands for them where they are of rows.
    """
    vectors, blank = _vectors(records, terms)
    people = records.people
    if terms.factor == "score":
        vectors = _person_scores(vectors, records, terms)
    norms = vector_sums.norms(vectors)
    if people is None or terms.factor == "row":
        return records.counts_at_most(module_of(norms).where(blank, like(np.nan, norms), norms), thresholds)
    if terms.factor == "slope":
        norms = _person_norms(norms, people, terms)
    all_blank = people.sums(as_float64(blank)) == people.sizes
    return vector_sums.counts_at_most(np.where(all_blank, np.nan, norms), thresholds)


def score_counts(records: Records, terms: Terms, thresholds: Thresholds) -> NDArray[np.int64]:
    """For each of some rising thresholds how many scores on one column are at or below it; with their signs.

    A person counts once, as in `norm_counts`.
    """
    vectors, blank = _vectors(records, terms)
    (scores,), people = _person_scores(vectors, records, terms), records.people
    if people is None:
        return records.counts_at_most(module_of(scores).where(blank, like(np.nan, scores), scores), thresholds)
    all_blank = people.sums(as_float64(blank)) == people.sizes
    return vector_sums.counts_at_most(np.where(all_blank, np.nan, scores), thresholds)


def clipped_sums(records: Records, terms: Terms, bound: float, start: float, rise: float) -> NDArray[np.int64]:
    """Sums of the vectors, their norms clipped: a norm u becomes min(u, bound) + rise (min(u, bound) - start)_+."""
    vectors = _person_scores(_vectors(records, terms)[0], records, terms)
    norms = vector_sums.norms(vectors)
    with np.errstate(all="ignore"):
        factor = quotient(_clipped(norms, bound, start, rise), norms)
    return vector_sums.vector_sums(vectors, factor, _most(bound, start, rise))


def ranged_sums(records: Records, terms: Terms, below: Side, above: Side, unit: float) -> NDArray[np.int64]:
    """The sum of scores on one column, their sizes clipped apart below 0 and above it.

    Each side is a bound, a start and a rise, as in `clipped_sums`. `unit` has the levels of a norm bound, and no bound
    needs to be so small: see `sensitivity.interval_sum`.
    """
    (scores,) = _person_scores(_vectors(records, terms)[0], records, terms)
    with np.errstate(all="ignore"):
        values = _clipped(scores.clip(0.0, None), *above) - _clipped((-scores).clip(0.0, None), *below)
    return vector_sums.interval_sums(values, _most(*below), _most(*above), unit)


def _clipped(sizes: Array, bound: float, start: float, rise: float) -> Array:
    """Sizes up to `start`, then faster by `rise` up to `bound`, and constant beyond."""
    inside = sizes.clip(None, bound)
    return inside + (inside - start).clip(0.0, None) * rise


def _most(bound: float, start: float, rise: float) -> float:
    """The largest of them."""
    return bound + max(bound - start, 0.0) * rise


def second_moment_sums(records: Records, terms: Terms, bound: float) -> NDArray[np.int64]:
    """Sums of v v', v a vector clipped to norm `bound`; of slopes all vectors of a person are clipped together."""
    vectors, _ = _vectors(records, terms)
    people = records.people
    if people is None or terms.factor == "score":
        vectors = _person_scores(vectors, records, terms) if terms.factor == "score" else vectors
        return vector_sums.gram_sums(vectors, vector_sums.clip_factor(vector_sums.norms(vectors), bound), bound)
    factor = vector_sums.clip_factor(_person_norms(vector_sums.norms(vectors), people, terms), bound)
    scale = factor * np.sqrt(_moment_weights(people, terms))
    return vector_sums.gram_sums(vectors, people.each(scale), bound, people)


def _person_scores(vectors: Array, records: Records, terms: Terms) -> Array:
    """The sum of each person's vectors over the root of the mean number of rows; those of long rows weighted down."""
    people = records.people
    if people is not None:
        vectors = vector_sums.sanitized(people.sums(vectors) * (people.weights / math.sqrt(people.mean)))
    if terms.long_rows is None:
        return vectors
    rows = replace(terms, factor="row", matrix=terms.long_rows.matrix, long_rows=None)
    norms = vector_sums.norms(_vectors(records, rows)[0])
    if people is not None:
        norms = _person_norms(norms, people, rows)
    weights = vector_sums.clip_factor(norms, terms.long_rows.bound)
    return vectors * (weights * weights)


def _person_norms(norms: Array, people: Held, terms: Terms) -> Array:
    """The root of the sum of each person's squared norms over the mean number of rows."""
    with np.errstate(all="ignore"):
        return square_root(people.sums(norms * norms) * _moment_weights(people, terms))


def _moment_weights(people: Held, terms: Terms) -> NDArray[np.float64]:
    """What each person's second moments of rows are multiplied by.

    Where rows are bounded, sums of scores are clipped at what one row can add. So are those of second moments then,
    with the same weights, for a step that goes by both.
    """
    if terms.row_bound < np.inf:
        return people.weights / people.mean
    return people.weights**2 / people.limited


def _vectors(records: Records, terms: Terms) -> tuple[Array, Array]:
    """The vectors, one row for each entry, and which records are blank; their vectors are 0."""
    xp, blank = module_of(records.y), module_of(records.y).isnan(records.y)
    model = terms.center, terms.effects, terms.tau
    columns = records.sanitized(terms.positions)
    with np.errstate(all="ignore"):
        if terms.factor == "row":
            factor = xp.ones_like(records.y)
        elif terms.factor == "slope":
            factor = records.slope_roots(*model)
        else:
            factor = records.residuals(*model).clip(-terms.tau, terms.tau)
        # Rows and slopes need no response. A blank record adds nothing all the same.
        factor = xp.where(blank, like(np.nan, factor), factor)
        # A residual that overflowed is beyond every bound; a vector of NaN becomes 0. One entry at a time: all of them
        # would take the memory of all columns for each operation.
        vectors = xp.empty_like(columns[: len(terms.matrix)])
        for entry, row in zip(vectors, terms.matrix, strict=True):
            entry[:] = _combined(columns, row)
        weights = _row_weights(vectors, terms) if terms.row_bound < np.inf else None
        for entry in vectors:
            entry[:] = vector_sums.sanitized(entry * factor)
        if weights is not None:
            vectors *= weights
    return vectors, blank


def _row_weights(rows: Array, terms: Terms) -> Array:
    """The weights of rows by their norm, or the roots of these where vectors are of slopes."""
    weights = vector_sums.clip_factor(vector_sums.norms(vector_sums.sanitized(rows)), terms.row_bound)
    return square_root(weights) if terms.factor == "slope" else weights


def _combined(columns: Array, weights: NDArray[np.float64]) -> Array:
    """A sum of columns with these weights, one after another."""
    total = columns[0] * float(weights[0])
    for column, weight in zip(columns[1:], weights[1:], strict=True):
        total = total + column * float(weight)
    return total

"""Vectors of scores: their norms, clipped sums and second moments are NumPy's, record by record."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dpsparse.data.as_table import as_table
from dpsparse.engine.config import configured
from dpsparse.engine.people import MOST_ROWS, People
from dpsparse.engine.queries import Column, Records
from dpsparse.engine.scores import (
    LongRows,
    Terms,
    clipped_sums,
    norm_counts,
    ranged_sums,
    score_counts,
    second_moment_sums,
)
from dpsparse.engine.threads import threads
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS
from dpsparse.inference.ranges import Range
from dpsparse.inference.tails import Clip

N, CENTER, EFFECTS, TAU = 2_001, 0.2, np.array([0.3, -0.8, 0.5]), 1.1
MATRIX = np.array([[1.3, -0.4], [0.2, 0.9]])
POSITIONS = (0, 2)
EDGES = np.append(np.geomspace(0.05, 30, 20), np.inf)
ROWS, LONG = np.array([[0.7, 0.3], [-0.2, 1.1]]), 1.2
KINDS = {
    "score": ("score", np.inf),
    "score of one entry": ("score", np.inf),
    "weighted score": ("score", np.inf),
    "cut score": ("score", TAU),
    "slope": ("slope", TAU),
    "row": ("slope", np.inf),
}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.standard_t(2, N), np.column_stack([np.ones(N), rng.standard_t(3, (N, 2))])


def records_of(y, X):
    return Records(y, None, tuple(Column.of(column) for column in X.T))


def terms_of(kind):
    factor, tau = KINDS[kind]
    long_rows = LongRows(ROWS, LONG) if kind.startswith("weighted") else None
    return Terms(factor, matrix_of(kind), POSITIONS, CENTER, EFFECTS, tau, long_rows=long_rows)


def matrix_of(kind):
    """All entries, or fewer than there are columns."""
    return MATRIX[:1] if kind.endswith("one entry") else MATRIX


def naive(table, kind):
    """The vectors by their definition, a row each."""
    (y, X), (factor, tau) = table, KINDS[kind]
    residuals = y - CENTER - X @ EFFECTS
    weights = np.clip(residuals, -tau, tau) if factor == "score" else (np.abs(residuals) <= tau).astype(float)
    if kind.startswith("weighted"):
        weights = weights * np.minimum(1, (LONG / np.linalg.norm(X[:, POSITIONS] @ ROWS.T, axis=1)) ** 2)
    return X[:, POSITIONS] @ matrix_of(kind).T * weights[:, None]


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_numpys(table, kind):
    vectors, records, terms = naive(table, kind), records_of(*table), terms_of(kind)
    norms = np.linalg.norm(vectors, axis=1)
    assert norm_counts(records, terms, EDGES).tolist() == [(norms <= edge).sum() for edge in EDGES]
    for clip in (Clip(1.7), Clip(1.7, 0.85, 0.6), Clip(1e9)):
        expected = (vectors * (clip.of(norms) / np.maximum(norms, 1e-300))[:, None]).sum(axis=0)
        sums = clipped_sums(records, terms, clip.bound, clip.start, clip.rise) * clip.most / VECTOR_LEVELS
        np.testing.assert_allclose(sums, expected, atol=N * clip.most / VECTOR_LEVELS)
    inside = vectors * np.minimum(1, 1.7 / np.maximum(norms, 1e-300))[:, None]
    moments = second_moment_sums(records, terms, 1.7) * (1.7 / GRAM_LEVELS) ** 2
    np.testing.assert_allclose(moments, inside.T @ inside, atol=3 * N * 1.7**2 / GRAM_LEVELS)


def test_scores_on_one_column_keep_their_signs(table):
    (y, X), records = table, records_of(*table)
    terms = Terms("score", np.eye(1), (0,), CENTER, EFFECTS)
    residuals = y - CENTER - X @ EFFECTS
    thresholds = np.append(-EDGES[-2::-1], EDGES)
    assert score_counts(records, terms, thresholds).tolist() == [(residuals <= each).sum() for each in thresholds]
    for below, above in ((Clip(0.6), Clip(9.0, 4.5, 0.8)), (Clip(1e9), Clip(1e9)), (Clip(3.0, 1.5, 2.0), Clip(0.2))):
        unit = (below.most + above.most) / 2
        sides = [(each.bound, each.start, each.rise) for each in (below, above)]
        (total,) = ranged_sums(records, terms, *sides, unit) * unit / VECTOR_LEVELS
        assert total == pytest.approx(Range(below, above).of(residuals).sum(), abs=N * unit / VECTOR_LEVELS)


def test_every_record_with_a_response_is_in_one_bin():
    hostile = [0.0, 5e-324, 1.0, -1e300, 1.7e308, np.inf, -np.inf, np.nan]
    y, x = (each.ravel() for each in np.meshgrid(hostile, hostile))
    columns = np.column_stack([np.ones(len(y)), x, -x])
    for kind in KINDS:
        for k in range(len(y)):
            counts = norm_counts(records_of(y[k : k + 1], columns[k : k + 1]), terms_of(kind), EDGES)
            bins = np.diff(counts, prepend=0)
            assert set(bins.tolist()) <= {0, 1}
            assert bins.sum() <= 1
            if np.isfinite(y[k]) and abs(x[k]) < 1e300:
                assert bins.sum() == 1
            if np.isnan(y[k]):
                assert not bins.any()


def test_bins_may_fall_together(table):
    """Edges of a unit that overflows, or underflows to 0, still count each record once."""
    for edges in ([0.0, 0.0, 0.0, np.inf], [1e300, np.inf, np.inf, np.inf]):
        counts = np.diff(norm_counts(records_of(*table), terms_of("score"), np.array(edges)), prepend=0)
        assert counts.min() >= 0
        assert counts.sum() == N


@pytest.mark.parametrize("rise", [0.0, 0.5, 2.0])
def test_a_vector_beyond_a_rising_clip_has_the_norm_that_was_said(rise):
    clip = Clip(2.0, 1.0, rise)
    records = records_of(np.array([1e6]), np.array([[1.0, 0.0, 0.0]]))
    sums = clipped_sums(records, terms_of("score"), clip.bound, clip.start, clip.rise)
    norm = np.linalg.norm(sums.astype(float))
    assert clip.most == pytest.approx(2.0 + rise)
    assert VECTOR_LEVELS - 3 <= norm <= VECTOR_LEVELS


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_threads_and_storages_give_the_same_bits(table, kind):
    y, X = table[0], table[1][:, 1:]
    y[::17] = np.nan
    terms = terms_of(kind)
    one = replace(terms, matrix=np.eye(1), positions=(2,), long_rows=None)
    asked = (
        (norm_counts, terms, EDGES),
        (clipped_sums, terms, 1.7, np.inf, 0.0),
        (clipped_sums, terms, 1.7, 0.85, 0.6),
        (second_moment_sums, terms, 1.7),
        (score_counts, one, EDGES),
        (ranged_sums, one, (0.4, np.inf, 0.0), (1.7, 0.85, 0.6), 1.3),
    )
    found = []
    for store, records, compiled, count in (
        (np.ascontiguousarray, 2**15, False, 1),
        (np.ascontiguousarray, 97, True, 2),
        (np.asfortranarray, 333, True, 1),
        (sparse.csr_matrix, 97, True, 2),
    ):
        with (
            configured(compiled=compiled, least_records=1, most_records=records, block_bytes=8 * records),
            threads(count),
        ):
            session = as_table(store(X)).rows(y.copy()).session((), constant=True, check_finite=False)
            session.add(0)
            session.add(1)
            found.append([session.evaluate(*query) for query in asked])
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
            assert one.dtype == same.dtype == np.int64


def test_people_with_very_many_rows_weigh_less_and_in_second_moments_still_less():
    rng, sizes = np.random.default_rng(1), np.array([1] * 1_001 + [1_000])
    people, X = People.of(np.repeat(np.arange(len(sizes)), sizes)), rng.standard_normal((N, 3))
    X[1_001:] *= 10
    records, vectors = replace(records_of(np.zeros(N), X), people=people.held()), naive((np.zeros(N), X), "row")
    bounded = replace(terms_of("row"), row_bound=1e9)
    for terms, counted in ((terms_of("row"), MOST_ROWS), (bounded, np.sqrt(MOST_ROWS * 1_000))):
        weights = np.repeat([1.0, counted / 1_000], [1_001, 1_000]) * len(sizes) / (1_001 + counted)
        moments = second_moment_sums(records, terms, 200.0) * (200.0 / GRAM_LEVELS) ** 2
        # A level is a tenth here.
        np.testing.assert_allclose(np.trace(moments), np.sum(weights[:, None] * vectors**2), rtol=0.15)

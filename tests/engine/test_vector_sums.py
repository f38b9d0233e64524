import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse.data.as_table import as_table
from dpsparse.engine import queries, scores
from dpsparse.engine.quantize import EXACT_BELOW, FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer, check_exact
from dpsparse.engine.vector_sums import (
    GRAM_LEVELS,
    VECTOR_LEVELS,
    clipped_psi,
    counts_at_most,
    gram_sums,
    integer_vectors,
    norms,
    sanitized,
    subtract_columns,
    vector_sums,
)

RNG = np.random.default_rng(0)
hostile = st.one_of(
    st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1.0, 3.0, 1e150, 1e300, -1e300, np.inf, -np.inf, np.nan]),
    st.floats(allow_nan=True, allow_infinity=True),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(hostile, hostile, hostile), min_size=1, max_size=4), hostile, st.floats(1e-6, 1e6))
def test_integer_vectors_never_exceed_their_norm(rows, scale, bound):
    columns = np.array(rows).T
    for entries in (columns, sanitized(columns)):
        with np.errstate(all="ignore"):
            row_scale = np.full(len(rows), scale) * np.minimum(1.0, bound / norms(entries))
        for levels in (GRAM_LEVELS, VECTOR_LEVELS, 3):
            for factor in (row_scale, np.full(len(rows), scale)):
                vectors = integer_vectors(entries, factor, bound, levels)
                assert all((vector == np.trunc(vector)).all() for vector in vectors)
                squared = [sum(int(vector[i]) ** 2 for vector in vectors) for i in range(len(rows))]
                assert max(squared) <= levels**2


@pytest.mark.parametrize("scale", [np.nan, np.inf, -np.inf])
def test_a_row_whose_scale_is_no_number_counts_as_zero(scale):
    columns = np.array([[30.0, 30.0], [-40.0, -40.0]])
    vectors = integer_vectors(columns, np.array([1.0, scale]), 100.0, VECTOR_LEVELS)
    assert vectors[:, 0].all()
    assert not vectors[:, 1].any()


def test_sums_agree_with_floats():
    columns = RNG.normal(size=(4, 2_000))
    scale = np.minimum(1, 1.5 / norms(columns))
    clipped = columns * scale
    np.testing.assert_allclose(vector_sums(columns, scale, 1.5) * 1.5 / VECTOR_LEVELS, clipped.sum(axis=1), atol=4e-3)
    gram = gram_sums(columns, scale, 1.5) * (1.5 / GRAM_LEVELS) ** 2
    np.testing.assert_allclose(gram, clipped @ clipped.T, rtol=2e-3, atol=1.0)
    assert (gram == gram.T).all()


def test_gram_sums_are_sums_of_outer_products_of_integers():
    columns = RNG.normal(size=(3, 50))
    vectors = integer_vectors(columns, np.full(50, 0.3), 1.0, GRAM_LEVELS).astype(np.int64)
    expected = sum(np.outer(z, z) for z in vectors.T)
    np.testing.assert_array_equal(gram_sums(columns, np.full(50, 0.3), 1.0), expected)


SCORES = scores.Terms("score", np.array([[1.3, -0.4], [0.2, 0.9]]), [0, 1], 0.1, [0.7, -1.1])
ONE = scores.Terms("score", np.eye(1), [0], 0.1, [0.7, -1.1])
QUERIES = (
    (queries.residual_counts, 0.1, [0.7, -1.1], np.linspace(-3, 3, 50)),
    (queries.residual_counts, 0.1, [0.7, -1.1], np.linspace(0, 3, 50), True),
    (queries.product_sums, [0, 1], 1.7),
    (queries.column_counts, 1, np.linspace(-3, 3, 50)),
    (queries.slope_counts, [0.7, -1.1], 1, np.linspace(-3, 3, 50)),
    (queries.spread_sums, 0, 0.7, 6.0),
    (queries.mean_sums, 1, 0.1, 0.7, 2.5),
    (queries.gain_sums, 0.1, [0.7, -1.1], 4.0, 0.3),
    (queries.calibration_sums, 0.1, [0.7, -1.1], -0.2, 1.5, 2.0),
    (queries.median_line_sums, 0.1, [0.7, -1.1], -0.2, 1.5, 0.9),
    (queries.gradient_sums, 0.1, [0.7, -1.1], 0.8, [0, 1], 1.2, 1.4),
    (queries.gram_sums, [0, 1], 1.2, 1.4),
    (queries.jacobian_sums, 0.1, [0.7, -1.1], 0.8, [0, 1], 1.2, 1.4),
    (queries.variance_sums, 0.1, [0.7, -1.1], 0.8, [0, 1], 1.2, 1.4),
    (scores.norm_counts, SCORES, np.linspace(0, 3, 50)),
    (scores.clipped_sums, SCORES, 1.9, 0.95, 1.4),
    (scores.score_counts, ONE, np.linspace(-3, 3, 50)),
    (scores.ranged_sums, ONE, (0.4, np.inf, 0.0), (1.9, 0.95, 1.4), 1.8),
    (scores.second_moment_sums, SCORES, 1.2),
)


@pytest.mark.parametrize("order", ["C", "F"])
def test_row_order_cannot_change_a_sum(order):
    X, y = np.asarray(RNG.standard_t(2, size=(500, 6)), order=order), RNG.normal(size=500)
    shuffled = RNG.permutation(500)
    evaluated = []
    for rows in (np.arange(500), shuffled):
        session = as_table(np.asarray(X[rows], order=order)).rows(y[rows]).session((Quantizer(1.0, 0.1, 2.0),))
        session.add(3)
        session.add(0)
        evaluated.append([session.evaluate(*query) for query in QUERIES])
    for first, second in zip(*evaluated, strict=True):
        np.testing.assert_array_equal(np.hstack(first), np.hstack(second))


def test_columns_are_raw_until_they_are_rescaled():
    X = RNG.normal(size=(10, 2))
    session = as_table(X).rows(np.zeros(10)).session(())
    session.add(1)
    assert session.evaluate(lambda records: records.columns[0].units.tolist()) == X[:, 1].tolist()
    session.rescale(-1.0, 4.0)
    assert session.evaluate(lambda records: records.columns[0].units.tolist()) == ((X[:, 1] + 1.0) / 4.0).tolist()


def test_counts():
    values = np.array([1.0, 2.0, 2.0, np.inf, np.nan, -np.inf])
    assert counts_at_most(values, np.array([-1.0, 1.0, 2.0, 1e308])).tolist() == [1, 2, 4, 4]


def test_sums_of_the_largest_terms_of_the_most_records_are_exact():
    most = (EXACT_BELOW - 1) // (FEATURE_LEVELS * WEIGHT_LEVELS)
    check_exact(most)
    assert max(VECTOR_LEVELS, GRAM_LEVELS**2) * most < EXACT_BELOW == 2**53


def test_huge_values_are_cut_where_their_squares_are_finite():
    assert sanitized(np.array([1e300, -np.inf, np.nan, 1e149])).tolist() == [1e150, -1e150, 0.0, 1e149]


@pytest.mark.parametrize("effects", [[], [1.0, 2.0]])
def test_there_is_an_effect_for_each_column(effects):
    with pytest.raises(ValueError, match="zip"):
        subtract_columns(np.zeros(3), [np.ones(3)], effects)


def test_a_residual_that_is_no_number_counts_as_zero():
    assert clipped_psi(np.array([np.nan, 3.0, -1.0, -np.inf]), 2.0).tolist() == [0.0, 1.0, -0.5, -1.0]


def test_a_vector_as_long_as_its_bound_is_kept():
    vectors = integer_vectors(np.array([[3.0, 7.0, 7.0], [4.0, 0.0, 1.0]]) / 5, np.full(3, 1.0 + 1e-9), 1.0, 5)
    assert vectors.tolist() == [[3.0, 5.0, 0.0], [4.0, 0.0, 0.0]]

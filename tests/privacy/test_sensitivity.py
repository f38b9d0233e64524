"""Adversarial neighbours: the actual change of every summed statistic against its declared sensitivity."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dpsparse.algorithms.losses import Absolute, Huber, Squared
from dpsparse.data.as_table import as_table
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS, Quantizer, weight_levels
from dpsparse.privacy import sensitivity
from dpsparse.privacy.guarantee import ADJACENCIES

CLIP = 1.7
EDGE = [CLIP, np.nextafter(CLIP, 9), np.nextafter(CLIP, 0), CLIP / 127, CLIP / 254, 0.0]
HOSTILE = [*EDGE, 5e-324, 2.2e-308, 1e300, 1.7976931348623157e308, np.inf, np.nan]
value = st.one_of(
    st.sampled_from(HOSTILE + [-v for v in HOSTILE]),
    st.floats(allow_nan=True, allow_infinity=True, width=32),
    st.floats(-4, 4, width=32),
)
LOSSES = [Huber(0.3), Huber(1e300), Absolute(), Squared(2.5)]


@st.composite
def neighbors(draw, adjacency):
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    table = np.array(draw(st.lists(st.lists(value, min_size=d + 1, max_size=d + 1), min_size=n, max_size=n)))
    if draw(st.booleans()):
        table[:] = table[0]
    other = table.copy()
    i = draw(st.integers(0, n - 1))
    kind = draw(st.sampled_from(["new", "flip"]))
    if adjacency == "zero-out-one":
        other[i] = 0.0
    elif kind == "flip":
        other[i] = -other[i]
    else:
        other[i] = draw(st.lists(value, min_size=d + 1, max_size=d + 1))
    return table, other


def statistic(table, loss, coef, dtype, storage):
    with np.errstate(over="ignore"):
        X = table[:, 1:].astype(dtype)
    rows = as_table(sparse.csr_matrix(X) if storage == "csr" else np.asarray(X, order=storage)).rows(table[:, 0])
    grid = Quantizer(CLIP)
    with np.errstate(all="ignore"):
        psi = loss.psi(rows.residuals(coef, np.flatnonzero(coef), grid))
    return rows.weighted_sums(grid, weight_levels(psi, loss.bound))


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_clipped_sums_never_move_more_than_declared(adjacency, loss):
    bound = sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, adjacency)

    @settings(max_examples=150, deadline=None)
    @given(
        neighbors(adjacency),
        st.lists(value, min_size=4, max_size=4),
        st.sampled_from([np.float32, np.float64]),
        st.sampled_from(["C", "F", "csr"]),
    )
    def check(pair, coef, dtype, storage):
        coef = np.nan_to_num(np.array(coef[: pair[0].shape[1] - 1]), posinf=1e308, neginf=-1e308)
        change = statistic(pair[0], loss, coef, dtype, storage) - statistic(pair[1], loss, coef, dtype, storage)
        assert np.abs(change).max() <= bound
        # The absolute value of a coordinate shifted by a public number, as peeling sees it, moves no more.
        shifted = [np.abs(statistic(t, loss, coef, dtype, storage) + 10**6) for t in pair]
        assert np.abs(shifted[0] - shifted[1]).max() <= bound

    check()


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("loss", [Huber(0.3), Absolute(), Squared(2.5)], ids=repr)
def test_clipped_sums_reach_the_bound(adjacency, loss):
    table = np.array([[5.0, 9.0, -9.0], [1.0, 0.2, 0.1]])
    other = table.copy()
    other[0] = [-5.0, 9.0, -9.0] if adjacency == "replace-one" else 0.0
    change = statistic(table, loss, np.zeros(2), np.float64, "C") - statistic(other, loss, np.zeros(2), np.float64, "C")
    bound = sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, adjacency)
    np.testing.assert_array_equal(np.abs(change), [bound, bound])


def truncated(vector, norm_bound):
    """An integer vector within the bound: scaled into the ball, truncated toward zero."""
    vector = np.nan_to_num(np.clip(np.nan_to_num(vector, nan=0.0), -1e150, 1e150))
    norm = np.sqrt((vector**2).sum())
    return np.trunc(vector * min(1.0, norm_bound / norm) if norm > 0 else vector).astype(object)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_norm_bounded_sums_and_gram_matrices(adjacency, size):
    norm_bound = 1000.0

    @settings(max_examples=200, deadline=None)
    @given(
        *[
            st.lists(
                st.one_of(st.sampled_from([1e300, 999.999, 1000.0, 707.2]), value),
                min_size=size,
                max_size=size,
            )
        ]
        * 2
    )
    def check(first, second):
        z = truncated(np.array(first), norm_bound)
        w = truncated(np.array(second), norm_bound) * (adjacency == "replace-one")
        slack = 1 + 1e-12
        assert ((z - w) ** 2).sum() <= sensitivity.bounded_norm_sum(norm_bound, adjacency) ** 2 * slack
        change = np.outer(z, z) - np.outer(w, w)
        assert (change**2).sum() <= sensitivity.gram(norm_bound, adjacency, size) ** 2 * slack

    check()


def test_norm_and_gram_bounds_are_reached():
    z, w = np.array([1000, 0]), np.array([0, 1000])
    assert np.linalg.norm(z + z) == sensitivity.bounded_norm_sum(1000, "replace-one")
    assert np.linalg.norm(z) == sensitivity.bounded_norm_sum(1000, "zero-out-one")
    replaced = np.linalg.norm(np.outer(z, z) - np.outer(w, w))
    assert replaced == pytest.approx(sensitivity.gram(1000, "replace-one", 2))
    assert np.linalg.norm(np.outer(z, z)) == sensitivity.gram(1000, "zero-out-one", 2)
    assert sensitivity.gram(1000, "replace-one", 1) == 1000**2


@given(st.lists(value, min_size=1, max_size=8), value, st.integers(0, 7), st.integers(0, 8))
def test_counts_and_quantile_utilities_move_by_at_most_one(responses, replacement, i, target):
    grid = np.array([-1e300, -1.0, 0.0, 0.5, CLIP, 1e300])
    y = np.array(responses)
    other = y.copy()
    other[i % len(y)] = replacement
    counts = [(t[:, None] <= grid).sum(axis=0) for t in (y, other)]
    utilities = [-np.abs(c - target) for c in counts]
    assert np.abs(counts[0] - counts[1]).max() <= sensitivity.count("replace-one")
    assert np.abs(utilities[0] - utilities[1]).max() <= sensitivity.quantile_utility("replace-one")


def test_unknown_relations_are_refused():
    with pytest.raises(ValueError, match="adjacency"):
        sensitivity.clipped_sum(1, 1, "add-or-remove")

"""The log link: a public table of exponentials, exposures, and bounded sums of responses and residuals.

The table is held against an exponential in exact arithmetic, means against scipy's.
"""

import decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpsparse.engine import queries, scores
from dpsparse.engine.links import BESIDE, EXPONENTIAL_BITS, LARGEST_LOG, LOG, STEPS, Log, _exponentials
from dpsparse.engine.queries import Column, Records, total
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS

ANY = st.one_of(st.sampled_from([0.0, -1.0, 1.0, 5e-324, 1e300, -1e300, np.inf, -np.inf, np.nan]), st.floats())
EFFECTS, CENTER = np.array([0.7, -1.1]), 2.5
ONE = scores.Terms("score", np.eye(1), (0,), CENTER, EFFECTS)


def means(predictors):
    predictors = np.asarray(predictors, dtype=np.float64)
    return -LOG.residuals(np.zeros_like(predictors), 1.0, [predictors], [1.0])


def records_of(y, *columns, exposure=None):
    columns = tuple(Column.of(np.asarray(each, dtype=np.float64)) for each in columns)
    if exposure is None:
        return Records(np.asarray(y, dtype=np.float64), None, columns, LOG)
    return Records(np.asarray(y, dtype=np.float64), None, columns, Log(BESIDE), np.asarray(exposure, dtype=np.float64))


class TestTable:
    def test_its_bits_are_those_of_exact_arithmetic_on_every_machine(self):
        """No entry lies so near half a level that an error of an exponential's last bits would round it elsewhere."""
        table, most = _exponentials(), LARGEST_LOG * STEPS
        mantissas, exponents = np.frexp(table)
        levels = mantissas * 2**EXPONENTIAL_BITS
        np.testing.assert_array_equal(levels, np.rint(levels))
        with decimal.localcontext(prec=40):
            root, power = (decimal.Decimal(1) / STEPS).exp(), (decimal.Decimal(-LARGEST_LOG)).exp()
            off = []
            for place in range(2 * most + 1):
                exact = power * decimal.Decimal(2) ** (EXPONENTIAL_BITS - int(exponents[place]))
                rounded = int(exact.to_integral_value())
                assert rounded == levels[place]
                off.append(abs(abs(exact - rounded) - decimal.Decimal("0.5")))
                power *= root
        # Two units in the last place of a double, of 2^-53, are this many levels.
        assert float(min(off)) > 2 * 2.0 ** (EXPONENTIAL_BITS - 53)

    @given(st.floats(-LARGEST_LOG, LARGEST_LOG))
    def test_means_are_exponentials_to_nine_digits(self, predictor):
        assert means([predictor]) == pytest.approx(np.exp(predictor), rel=2e-9)

    def test_far_predictors_are_clipped(self):
        np.testing.assert_allclose(means([1e9, -1e9, np.inf]), np.exp([40.0, -40.0, 40.0]), rtol=1e-8)


QUERIES = {
    "response sums": ((queries.response_sums, 3.0, 1.5, 0.7), VECTOR_LEVELS),
    "response counts": ((queries.response_counts, np.array([0.0, 1.0, np.inf])), np.sqrt(3)),
    "score": (
        (scores.clipped_sums, scores.Terms("score", np.eye(2), (0, 1), CENTER, EFFECTS), 4.0, 2.0, 0.5),
        VECTOR_LEVELS,
    ),
    "residuals": ((scores.score_counts, ONE, np.array([-1.0, 0.0, 2.0, np.inf])), np.sqrt(4)),
    "mean residual": ((scores.ranged_sums, ONE, (0.9, np.inf, 0.0), (4.0, 2.0, 0.5), 5.0), VECTOR_LEVELS),
    "slope": (
        (scores.second_moment_sums, scores.Terms("slope", np.eye(2), (0, 1), CENTER, EFFECTS), 2.0),
        GRAM_LEVELS**2,
    ),
    "level": ((queries.gradient_sums, CENTER, EFFECTS, 0.5, [0], 1.0, 1.0), VECTOR_LEVELS),
}  # fmt: skip


def evaluated(name, records):
    (query, *public), _ = QUERIES[name]
    value = query(records, *public)
    return value[0] if isinstance(value, tuple) else value


class TestSums:
    @pytest.mark.parametrize("name", QUERIES)
    @settings(max_examples=60, deadline=None)
    @given(values=hnp.arrays(np.float64, (4, 1), elements=ANY))
    def test_a_record_adds_no_more_than_its_bound_whatever_it_holds(self, name, values):
        *values, exposure = values
        for records in (records_of(*values), records_of(*values, exposure=exposure)):
            sums = evaluated(name, records).astype(object)
            assert sum(int(each) ** 2 for each in np.ravel(sums)) <= QUERIES[name][1] ** 2 * (1 + 1e-12)

    @settings(max_examples=60, deadline=None)
    @given(values=hnp.arrays(np.float64, (2, 1), elements=ANY))
    def test_an_exposure_adds_no_more_than_its_bound(self, values):
        records = records_of(values[0], [1.0], exposure=values[1])
        assert abs(int(queries.exposure_sums(records, 3.0)[0])) <= VECTOR_LEVELS
        assert queries.exposure_counts(records, np.array([np.inf]))[0] <= 1

    @pytest.mark.parametrize("name", QUERIES)
    @settings(max_examples=30, deadline=None)
    @given(values=hnp.arrays(np.float64, (4, 7), elements=ANY), at=st.integers(0, 7))
    def test_blocks_add_up_to_the_last_bit(self, name, values, at):
        records = records_of(*values[:3], exposure=values[3])
        parts = [evaluated(name, records.take(part)) for part in (slice(0, at), slice(at, None))]
        np.testing.assert_array_equal(total(parts), evaluated(name, records))

    @pytest.mark.parametrize("name", QUERIES)
    def test_a_blank_record_adds_nothing(self, name):
        for exposure in (None, [2.0]):
            assert not evaluated(name, records_of([np.nan], [1.0], [1e300], exposure=exposure)).any()

    @pytest.mark.parametrize("exposure", [0.0, -1.0, np.nan])
    @pytest.mark.parametrize("name", ["score", "slope", "level"])
    def test_a_record_without_an_exposure_has_no_residual(self, name, exposure):
        assert not evaluated(name, records_of([3.0], [1.0], [1.0], exposure=[exposure])).any()

    def test_means_are_in_proportion_to_the_exposure(self):
        rng = np.random.default_rng(0)
        y, x, exposure = rng.poisson(3, 50), rng.standard_normal(50), rng.uniform(0.1, 20, 50)
        found = records_of(y, np.ones(50), x, exposure=exposure).residuals(CENTER, EFFECTS)
        np.testing.assert_allclose(found, y / CENTER - exposure * np.exp(0.7 - 1.1 * x), rtol=1e-7)

    def test_slopes_are_the_derivatives_of_residuals(self):
        y, x, step = np.full(9, 3.0), np.linspace(-2, 2, 9), 2.0**-12
        records = records_of(y, np.ones(9), x)
        after, before = (records.residuals(CENTER, EFFECTS + way * np.array([step, 0.0])) for way in (1, -1))
        np.testing.assert_allclose(records.slope_roots(CENTER, EFFECTS) ** 2, (before - after) / (2 * step), rtol=1e-5)

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.data.public_units import PublicUnits, public_units, units_known

COLUMNS = ["age", "income", "steps"]


def test_numbers_for_all_features_stay_numbers():
    units = public_units(0.0, 1.0, COLUMNS)
    assert (units.center, units.scale) == (0.0, 1.0)
    assert units.known() == "all"
    assert units.of(2) == (0.0, 1.0)


def test_nothing_given_is_one_nan():
    for unknown in (None, {}, [None, None, None], np.full(3, np.nan), pd.Series(dtype=float), {"age": None}):
        units = public_units(unknown, None, COLUMNS)
        assert np.ndim(units.center) == 0
        assert np.isnan(units.center)
        assert np.isnan(units.scale)
        assert units.known() == units_known(unknown, None, 3) == "none"


@pytest.mark.parametrize(
    "center",
    [
        {"income": 7.0},
        {"age": None, "income": 7.0},
        {"age": float("nan"), "income": 7},
        pd.Series([7.0], index=["income"]),
        pd.Series([7.0, np.nan], index=["income", "age"]),
        [None, 7.0, None],
        np.array([np.nan, 7.0, np.nan]),
    ],
)
def test_units_of_some_columns(center):
    units = public_units(center, None, COLUMNS)
    np.testing.assert_array_equal(units.center, [np.nan, 7.0, np.nan])
    np.testing.assert_array_equal(units.of(1), (7.0, np.nan))
    np.testing.assert_array_equal(units.of(0), (np.nan, np.nan))
    assert units.known() == units_known(center, None, 3) == "some"


def test_one_of_the_two_alone():
    assert public_units(0.0, None, COLUMNS).known() == units_known(0.0, None, 3) == "some"
    assert public_units(None, [1, 2, 3], COLUMNS).known() == units_known(None, [1, 2, 3], 3) == "some"


numbers = st.one_of(st.none(), st.just(float("nan")), st.floats(1e-8, 1e8))
by_position = st.lists(numbers, min_size=4, max_size=4)
by_name = st.dictionaries(st.sampled_from("abcd"), numbers)
parameters = st.one_of(st.none(), st.floats(1e-8, 1e8), by_position, by_name)


@given(center=parameters, scale=parameters)
def test_what_is_committed_to_before_names_are_read_is_what_names_give(center, scale):
    units = public_units(center, scale, list("abcd"))
    assert units.known() == units_known(center, scale, 4)
    given_numbers = [np.isfinite(unit) for place in range(4) for unit in units.of(place)]
    expected = "all" if all(given_numbers) else "some" if any(given_numbers) else "none"
    assert units.known() == expected
    if isinstance(center, dict):
        for place, name in enumerate("abcd"):
            value = center.get(name)
            np.testing.assert_array_equal(units.of(place)[0], np.nan if value is None else value)


@pytest.mark.parametrize(
    ("center", "scale", "message"),
    [
        ({"agee": 1.0}, None, "feature_center names 'agee', but X has no such column"),
        (None, {"age": 0.0}, "feature_scale must be above 0"),
        (None, {"age": -1.0}, "feature_scale must be above 0"),
        (None, 0.0, "feature_scale must be above 0"),
        ({"age": 1e101}, None, "feature_center must lie within"),
        ({"age": "x"}, None, "feature_center must be a number, one number for each feature, or None"),
        ("x", None, "feature_center must be a number, one number for each feature, or None"),
        (float("nan"), None, "feature_center=nan.*None to have them learned"),
        ([1.0, 2.0], None, r"feature_center has shape \(2,\); give a number or 3 finite numbers, None for those"),
        ([np.inf, 1.0, 1.0], None, "finite numbers"),
    ],
)
def test_bad_units_are_refused(center, scale, message):
    with pytest.raises(ValueError, match=message):
        public_units(center, scale, COLUMNS)


def test_two_columns_of_one_name_have_no_units_by_name():
    with pytest.raises(ValueError, match="two columns of X have the same name; give it by position"):
        public_units({"a": 1.0}, None, ["a", "a"])
    assert public_units([1.0, None], None, ["a", "a"]).known() == "some"


def test_filled_units():
    center, scale = PublicUnits(np.array([np.nan, 3.0]), np.float64(np.nan)).filled()
    np.testing.assert_array_equal(center, [0.0, 3.0])
    assert scale == 1.0

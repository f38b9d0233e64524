import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpsparse.data.given_values import responses_of

EXPECTED = np.array([1.0, np.nan, 3.0])


@pytest.mark.parametrize(
    "y",
    [
        [1, None, 3],
        (1.0, np.nan, 3.0),
        np.array([1.0, np.nan, 3.0], dtype=np.float32),
        np.array([[1.0], [np.nan], [3.0]]),
        np.array([1, None, 3], dtype=object),
        pd.Series([1.0, None, 3.0]),
        pd.Series([1, pd.NA, 3], dtype="Int64"),
        pd.Series([1, pd.NA, 3], dtype=object),
        pl.Series([1, None, 3]),
        [1, "a secret", "3"],
        [1, 1j, 3],
        [1, [2.0, 3.0], 3],
        [1, np.timedelta64(1, "s"), 3],
        np.array([1, np.complex128(1), 3], dtype=object),
    ],
    ids=lambda y: type(y).__module__,
)
def test_missing_responses_are_nan(y):
    np.testing.assert_array_equal(responses_of(y, 3), EXPECTED)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is None"),
        (np.array(["1", "2", "3"]), "y could not be converted to numbers"),
        (pd.Series(["a secret", "b", "c"]), "y could not be converted to numbers"),
        (np.array([1j, 2, 3]), "Complex data not supported"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 3)), "y could not be converted to numbers"),
        ([1.0, 2.0], "one response for each of the 3 rows"),
        (np.ones((3, 2)), "one response for each of the 3 rows"),
    ],
)
def test_what_is_refused_and_no_value_is_quoted(y, message):
    with pytest.raises(ValueError, match=message) as caught:
        responses_of(y, 3)
    assert "secret" not in str(caught.value)


def test_a_masked_array_is_refused():
    with pytest.raises(TypeError, match="masked"):
        responses_of(np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), 3)

"""Hostile arrays, frames, sparse matrices and parameters: a fit or a clear error, never a value in a message."""

import datetime
import os
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dpsparse import DPIHTH, NotPrivateWarning, PrivateSparseRegressor
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.privacy.accounting.meter import Meter

pytestmark = pytest.mark.slow

# More for a long run: DPSPARSE_FUZZ_EXAMPLES=20000 pytest tests/fuzz/test_estimators.py
EXAMPLES = int(os.environ.get("DPSPARSE_FUZZ_EXAMPLES", "250"))
SECRET = 7391.0625
CELLS = [SECRET, -SECRET, 0.0, -0.0, 1.0, 1e308, -1e308, 5e-324, 1e-300, np.nan, np.inf, -np.inf, 2.0**53, 0.1]
# Objects that stringify to the secret, as do the numbers.
OBJECTS = [
    "qzx7391",
    None,
    SECRET,
    b"7391",
    7391j,
    datetime.date(7391, 1, 1),
    [7391],
    {},
    10**400,
    np.datetime64("7391"),
]


def columns(draw, n, d):
    cells = st.sampled_from(CELLS[:9] if draw(st.booleans()) else CELLS)
    return draw(hnp.arrays(np.float64, (n, d), elements=cells, fill=st.nothing()))


@st.composite
def tables(draw):
    """Two-dimensional data of all kinds, and how many rows it seems to have."""
    n, d = draw(st.sampled_from((0, 1, 2, 3, 30))), draw(st.sampled_from((0, 1, 2, 5)))
    X = columns(draw, n, d)
    kind = draw(st.sampled_from(("plain", "plain", "dtype", "objects", "frame", "sparse", "sparse", "shape", "ragged")))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "dtype":
            X = X.astype(
                draw(st.sampled_from(("f2", "f4", "f16", "i1", "i8", "u8", "?", "c16", "U9", "S9", "M8[D]", ">f8")))
            )
        elif kind == "objects":
            X = X.astype(object)
            if X.size:
                X.flat[draw(st.integers(0, X.size - 1))] = draw(st.sampled_from(OBJECTS))
        elif kind == "frame":
            names = draw(st.lists(st.sampled_from(["a", "b", "7391", 3, "", None]), min_size=d, max_size=d))
            X = pd.DataFrame(X, columns=names, dtype=draw(st.sampled_from(("float64", "float32", "object"))))
        elif kind == "sparse":
            X = draw(broken_sparse(X))
        elif kind == "shape":
            X = X.reshape(draw(st.sampled_from(((-1,), (1, n, d), (n, d, 1))))) if X.size else X
        elif kind == "ragged":
            X, n = [*X.tolist(), [SECRET]], n + 1
    return X, n


@st.composite
def broken_sparse(draw, X):
    """A sparse matrix, often with one of its arrays spoiled behind its back."""
    made = draw(st.sampled_from((sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array)))(X)
    arrays = [name for name in ("indices", "indptr", "row", "col") if getattr(made, name, np.empty(0)).size]
    if arrays and draw(st.booleans()):
        name = draw(st.sampled_from(arrays))
        spoiled = getattr(made, name).copy()
        spoiled[draw(st.integers(0, spoiled.size - 1))] = draw(st.sampled_from((-1, 0, 7391, 2**31 - 1, -(2**31))))
        setattr(made, name, spoiled)
    return made


@st.composite
def responses(draw, n):
    y = columns(draw, n + draw(st.sampled_from((0, 0, 0, 0, 1))), 1).ravel()
    kind = draw(st.sampled_from(("plain", "plain", "plain", "objects", "column", "strings", "none")))
    if kind == "objects" and n:
        y = y.astype(object)
        y[0] = draw(st.sampled_from(OBJECTS))
    if kind == "strings":
        y = y.astype(str)
    return {"column": y[:, None], "none": None}.get(kind, y)


def check_message(message):
    assert "7391" not in message
    assert "qzx" not in message
    assert len(message) < 1000


@pytest.fixture(scope="module")
def charges():
    made = []
    with pytest.MonkeyPatch.context() as patch:
        charge = Meter.charge
        patch.setattr(Meter, "charge", lambda meter, *releases: (made.append(1), charge(meter, *releases)))
        yield made


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.parametrize("method", [PrivateSparseRegressor, DPIHTH])
def test_hostile_data_end_in_a_fit_or_in_a_clear_error(method, data, charges, units_of):
    X, n = data.draw(tables())
    y = data.draw(responses(n))
    model = method(sparsity=data.draw(st.sampled_from((1, 2, 9))), epsilon=9.0, delta=0.01, **units_of(method))
    charges.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except (ValueError, TypeError) as error:
            check_message(str(error))
            assert not charges
        else:
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.intercept_)
            assert model.privacy_.epsilon <= 9.0
            assert model.predict(X).shape == (n,)
    for warning in caught:
        assert warning.category in (UserWarning, NotPrivateWarning) or warning.category.__module__.startswith("sklearn")
        check_message(str(warning.message))


RNG = np.random.default_rng(0)
FITTED = [
    PrivateSparseRegressor(sparsity=1, response_scale=1.0, **STANDARDIZED).fit(
        RNG.normal(size=(2_000, d)), RNG.normal(size=2_000)
    )
    for d in (1, 2, 5)
]


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hostile_data_end_in_predictions_or_in_a_clear_error(data):
    X, n = data.draw(tables())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            predictions = data.draw(st.sampled_from(FITTED)).predict(X)
        except (ValueError, TypeError) as error:
            check_message(str(error))
        else:
            assert predictions.shape == (n,)


HOSTILE = [None, True, 0, -1, 1e308, 1e-320, np.nan, np.inf, "x", "auto", b"", [], {}, 10**400, 1.5, 3, 1j, 1e90, 1e-90]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
@pytest.mark.parametrize("method", [PrivateSparseRegressor, DPIHTH])
def test_hostile_parameters_end_in_a_fit_or_in_an_error_that_names_them(method, value, charges, units_of):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 6)), rng.normal(size=2_000)
    for name in method().get_params():
        model = method(**units_of(method)).set_params(**{name: value})
        charges.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(X, y)
            except (ValueError, TypeError) as error:
                message = str(error)
                assert name in message
                assert "\n" not in message
                assert not charges
            else:
                assert np.isfinite(model.coef_).all()
                assert np.isfinite(model.intercept_)
                assert model.privacy_.epsilon <= model.epsilon

"""The tables of `speed.py`: normal features, five of them with effects, and a response with Student's t noise."""

import warnings

import numpy as np
from scipy import sparse

from dpsparse import PrivateSparseRegressor
from dpsparse.data.public_units import STANDARDIZED

EFFECTS = 5


def features(n, d, dtype, order="C", seed=0):
    """A table in one piece of memory."""
    generator = np.random.default_rng(seed)
    if order == "F":
        return generator.standard_normal((d, n), dtype=dtype).T
    return generator.standard_normal((n, d), dtype=dtype)


def response(X, seed=1):
    """Responses of any table, from its first columns."""
    effects = np.asarray(X[:, :EFFECTS].sum(axis=1), dtype=np.float64).ravel()
    return effects + np.random.default_rng(seed).standard_t(3, len(effects))


def sparse_features(n, d, stored, seed=0, rows_at_a_time=10_000):
    """CSR in float32 with `stored` cells in every row, one in each of `stored` equal spans of columns."""
    generator = np.random.default_rng(seed)
    span = d // stored
    data, indices = np.empty(n * stored, dtype=np.float32), np.empty(n * stored, dtype=np.int32)
    first = np.arange(stored, dtype=np.int32) * span
    for start in range(0, n, rows_at_a_time):
        rows = min(rows_at_a_time, n - start)
        part = slice(start * stored, (start + rows) * stored)
        generator.standard_normal(dtype=np.float32, out=data[part])
        indices[part] = (generator.integers(span, size=(rows, stored), dtype=np.int32) + first).ravel()
    starts = np.arange(0, n * stored + 1, stored, dtype=np.int64 if n * stored > 2**31 - 1 else np.int32)
    table = sparse.csr_array((data, indices, starts), shape=(n, d))
    table.has_canonical_format = True
    return table


def fit(X, y, sparsity=EFFECTS, seed=None):
    """A private fit as a user with public units calls it; with a seed, one whose bits can be compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PrivateSparseRegressor(sparsity=sparsity, random_state=seed, **STANDARDIZED).fit(X, y)


def warm_up(dtype, order="C", method=fit):
    """A fit of a small table of the same kind, so that nothing is compiled or imported afterwards."""
    X = features(2_000, 100, dtype, order)
    method(X, response(X))

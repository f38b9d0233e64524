import numpy as np
import pytest
from scipy import sparse

from dpsparse import DPIHTH, PrivateSparseRegressor

Y = np.zeros(30)


def spoiled(made, **arrays):
    """A valid matrix whose arrays were changed behind scipy's back."""
    for name, (place, value) in arrays.items():
        array = getattr(made, name).copy()
        array[place] = value
        setattr(made, name, array)
    return made


def lists_of_rows():
    made = sparse.lil_matrix((30, 4))
    made[3, 2] = 1.0
    made.rows[3] = [10**6]
    return made


@pytest.mark.parametrize(
    "X",
    [
        spoiled(sparse.csr_matrix(np.ones((30, 4))), indices=(5, 10**9)),
        spoiled(sparse.csr_matrix(np.ones((30, 4))), indices=(5, -1)),
        spoiled(sparse.csr_matrix(np.ones((30, 4))), indptr=(3, 10**9)),
        spoiled(sparse.csr_matrix(np.ones((30, 4))), indptr=(30, 10**9)),
        spoiled(sparse.csc_matrix(np.ones((30, 4))), indices=(5, 10**9)),
        spoiled(sparse.csc_matrix((30, 4)), indptr=(2, 10**9)),
        spoiled(sparse.csr_matrix((30, 4)), indptr=(2, 10**9)),
        spoiled(sparse.coo_matrix(np.ones((30, 4))), row=(5, 10**9)),
        spoiled(sparse.coo_matrix(np.ones((30, 4))), col=(5, -(10**9))),
        lists_of_rows(),
    ],
    ids=lambda X: X.format,
)
@pytest.mark.parametrize("method", [PrivateSparseRegressor, DPIHTH])
def test_indices_out_of_range_are_an_error_before_compiled_code_follows_them(X, method, units_of):
    with pytest.raises(ValueError, match="inconsistent or out-of-range indices"):
        method(sparsity=1, **units_of(method)).fit(X, Y)

import numpy as np
import pytest

from dpsparse.datasets import make_heavy_tailed


def test_rows_are_correlated_as_asked():
    X, _, _ = make_heavy_tailed(40_000, 6, 2, correlation=0.7, random_state=0)
    correlations = np.corrcoef(X.T)
    expected = 0.7 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    np.testing.assert_allclose(correlations, expected, atol=0.03)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=0.03)


def test_the_response_is_linear_with_student_noise():
    X, y, coef = make_heavy_tailed(40_000, 8, 3, df=3.0, coef_scale=5.0, random_state=1)
    noise = y - X @ coef
    # Quartiles of Student's t with 3 degrees of freedom.
    np.testing.assert_allclose(np.quantile(noise, [0.25, 0.5, 0.75]), [-0.7649, 0, 0.7649], atol=0.03)
    assert np.count_nonzero(coef) == 3


def test_seeds_repeat():
    first, second = (make_heavy_tailed(10, 4, 1, random_state=3) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("change", "name"), [({"correlation": 1.0}, "correlation"), ({"df": 0}, "df")])
def test_bad_parameters(change, name):
    with pytest.raises(ValueError, match=name):
        make_heavy_tailed(10, 4, 1, **change)
    with pytest.raises(ValueError, match="sparsity"):
        make_heavy_tailed(10, 4, 5)

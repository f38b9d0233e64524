"""The paper's DP-IHT-H, DP-IHT-L and its baseline DP-SLR, as this package has them."""

import warnings

from peers.problem import Line

# At this delta only pure composition can keep a fit within epsilon, so that one that is within it is purely private.
NO_DELTA = 1e-300


def fit(X, y, budget, rng, *, method):
    """One of the paper's methods with its default parameters, replace-one adjacency.

    Tian, Ding, Tao, Xiang and Wang (2025), "Differentially private sparse linear regression with heavy-tailed
    responses", arXiv 2506.06861; DP-SLR is Cai, Wang and Zhang (2021). They take features of about unit size, fit no
    intercept, and know no scale of the response: exact units are a gift. All their noise is Laplace's, so that pure
    composition accounts for them where delta is 0.
    """
    model = method(
        sparsity=min(budget.sparsity, X.shape[1]),
        epsilon=budget.epsilon,
        delta=budget.delta or NO_DELTA,
        random_state=int(rng.integers(2**32)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if model.privacy_.epsilon > budget.epsilon * (1 + 1e-9):
        raise ValueError(f"the fit cost epsilon {model.privacy_.epsilon}")
    return Line(model.coef_, model.intercept_)

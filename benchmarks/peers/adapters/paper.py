"""The paper's DP-IHT-H, DP-IHT-L and its baseline DP-SLR, as this package has them."""

import warnings

from peers.problem import Line


def fit(X, y, budget, rng, *, method):
    """One of the paper's methods with its default parameters, replace-one adjacency.

    Tian, Ding, Tao, Xiang and Wang (2025), "Differentially private sparse linear regression with heavy-tailed
    responses", arXiv 2506.06861; DP-SLR is Cai, Wang and Zhang (2021). They take features of about unit size, fit no
    intercept, and know no scale of the response: exact units are a gift.
    """
    model = method(
        sparsity=min(budget.sparsity, X.shape[1]),
        epsilon=budget.epsilon,
        delta=budget.delta,
        random_state=int(rng.integers(2**32)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return Line(model.coef_, model.intercept_)

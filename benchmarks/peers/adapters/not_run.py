"""Rivals that are named and not run, with the reason of each, so that nobody has to ask."""

import numpy as np

DD_SSP = (
    "not run: it is AIM (adaptive private marginals) with Private-PGM below least squares, for columns of few values; "
    "it takes minutes a fit"
)
SPARSE_DEBIASED = (
    "not run: its estimate is DP-SLR, which is here; its intervals need more of the paper than the abstract at hand"
)
DPRIVSTATS = (
    "not run: no Debian package; its noise is scaled by the smallest eigenvalue of the records themselves, and by "
    "default features count as public: tests/benchmarks has neighbours for which it is too small"
)


def fit(X, y, budget, rng):
    """No line: such a peer has a reason in `missing`."""
    raise NotImplementedError("this peer is named for its reason and not run")


def dprivstats_sensitivity(X, response_width, *, public_design=False):
    """The l2 sensitivity of least squares that DPrivStats' `dp_lm_sensitivity` (R, 2026) computes of the records.

    The longest row times the response's width over the smallest eigenvalue of X'X, three times that where features are
    private.
    """
    smallest = np.linalg.eigvalsh(X.T @ X)[0]
    return (1 if public_design else 3) * np.linalg.norm(X, axis=1).max() * response_width / smallest

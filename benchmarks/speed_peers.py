"""Other libraries' sparse and robust regressions on the same table, at their defaults. Needs ``.[peers]``.

Each runs in a process of its own, in turns with ours. What a first fit compiles is left out of the comparison.
"""

import warnings

import numpy as np
from speed_harness import Failed, TimedOut, fresh, in_turn, record, seconds
from speed_tables import fit

from dpsparse.datasets import make_heavy_tailed

SHAPE = 20_000, 5_000
TIME_OUT, ENOUGH, MOST_ROUNDS = 180, 45, 7


def huber_regressor():
    """scikit-learn's Huber regression with a ridge penalty."""
    from sklearn.linear_model import HuberRegressor

    return HuberRegressor()


def lasso():
    """scikit-learn's lasso."""
    from sklearn.linear_model import Lasso

    return Lasso()


def skglm_huber():
    """Huber's loss with an l1 penalty: neither has a default, so those of scikit-learn's Huber and of lassos."""
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Huber
    from skglm.penalties import L1

    return GeneralizedLinearEstimator(Huber(1.35), L1(1.0))


def abess():
    """Best subsets, their size chosen by its criterion."""
    from abess import LinearRegression

    return LinearRegression()


def celer():
    """The lasso of celer."""
    from celer import Lasso

    return Lasso()


PEERS = {
    "scikit-learn HuberRegressor": huber_regressor,
    "scikit-learn Lasso": lasso,
    "skglm Huber + L1": skglm_huber,
    "abess LinearRegression": abess,
    "celer Lasso": celer,
}


def measure_peer(make, n, d):
    """A first fit, then more in turns until there are seven or 45 seconds are spent; for a fresh process."""
    warnings.simplefilter("ignore")
    X, y, coef = make_heavy_tailed(n, d, 5, random_state=0)
    models = {}

    def theirs():
        models["theirs"] = make().fit(X, y)

    def ours():
        models["ours"] = fit(X, y)

    first = seconds(theirs)
    ours()
    pairs = [[first, seconds(ours)]] if first > ENOUGH else []
    while len(pairs) < MOST_ROUNDS and np.sum(pairs) < ENOUGH:
        pairs.append([seconds(theirs), seconds(ours)])
    errors = {f"{whose}_error": float(np.linalg.norm(model.coef_ - coef)) for whose, model in models.items()}
    return first, np.array(pairs), errors


def our_seconds(n, d):
    """Our own fit alone; for a fresh process."""
    X, y, _ = make_heavy_tailed(n, d, 5, random_state=0)
    return float(np.median(in_turn(lambda: fit(X, y))))


def peer_section(scale=1):
    """Our private fit in units of theirs, and the l2 errors of the coefficients."""
    n, d = SHAPE[0] // scale, SHAPE[1]
    for peer, make in PEERS.items():
        name, asked = f"our fit against {peer}, {n:,} x {d:,}", {"unit": "of its time", "at_most": 1.0}
        try:
            first, pairs, errors = fresh(measure_peer, make, n, d, timeout=TIME_OUT)
        except TimedOut as failure:
            ours = fresh(our_seconds, n, d)
            yield record(
                name, ours / TIME_OUT, **asked, seconds=ours, their_seconds_above=TIME_OUT, failed=str(failure)
            )
            continue
        except Failed as failure:
            yield record(name, None, **asked, failed=str(failure))
            continue
        theirs, ours = pairs.T
        yield record(
            name,
            np.median(ours / theirs),
            **asked,
            seconds=float(np.median(ours)),
            their_seconds=float(np.median(theirs)),
            their_first_seconds=first,
            repeats=len(pairs),
            **errors,
        )

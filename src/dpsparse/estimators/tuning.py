"""`tune`: choose among candidates privately, for one promise.

Theorem. `tune` keeps the promise that its candidates state, for everything it returns: all fitted candidates and the
choice.

Proof. Every fifth row, by position, is held out; which rows these are is public. Part 0, the other rows, is read by the
candidates' fits alone. Part 1, the rows held out, is read by two picks alone, given the fitted candidates:

1. *The bound*. With e_j the absolute error of candidate j on a record, its regret is e_j - min_k e_k. The bound b is an
   upper quartile, over records, of the largest regret, by an exponential-mechanism pick on a public grid, with the
   utility of `sensitivity.quantile_utility`.
2. *The choice*. Regrets are clipped at b, to an integer level in [0, 2^16]. A candidate's score is minus the sum of its
   regrets, of sensitivity 2^16 by `sensitivity.regret`, and the exponential mechanism picks one.

A record's errors are computed from it and the released coefficients alone, elementwise and in one order. A record
lies in one part, and pays for that part's releases only (`commitment.seen_by_one`): in part 0 for k fits, which
compose; in part 1 for the two picks. The commitment to all of these is made, and refused if the promise does not cover
the dearer part, before a row is read; `MeterShare` charges every release to it first. QED.

Regrets order candidates as absolute errors do, since each record's smallest error is taken off all of them, but for the
clip. They need no room for the noise, however wild: what is clipped is only by how much candidates differ. So b can be
small, and the choice is far sharper than one by clipped errors.

Each candidate gets 1/k of mu^2, of the tight account. Giving each a k-th of the rows instead, with the whole promise,
would multiply the noise of the fits by k rather than by its square root.
"""

import math
from collections import namedtuple
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from dpsparse.algorithms.pursuit.schedule import SIZES, median_share
from dpsparse.data.elsewhere import is_elsewhere
from dpsparse.data.units import public_units
from dpsparse.engine import regrets, vector_sums
from dpsparse.engine.cpu.rows import rows_of
from dpsparse.engine.quantize import WEIGHT_LEVELS
from dpsparse.estimators._spending import reserved
from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.commitment import Commitment, Price
from dpsparse.privacy.accounting.gdp import mu_of_sequence
from dpsparse.privacy.accounting.sharing import MeterShare, in_part
from dpsparse.privacy.guarantee import split
from dpsparse.privacy.mechanisms.gaussian import release_quantile
from dpsparse.privacy.mechanisms.selection import exponential_pick

# One row in so many is held out.
HELD_OUT_EVERY = 5
TRAINING, HELD_OUT = 0, 1
# What the candidates must agree on: it is the promise of the whole.
PROMISE = ("epsilon", "delta", "adjacency", "records_per_person", "random_state", "ledger", "dataset")

Tuned = namedtuple("Tuned", ["estimator", "index", "candidates", "privacy"])
Tuned.__doc__ = """What `tune` found; all of it is covered by `privacy`.

estimator : the candidate chosen, fitted; its `privacy_` is the record of the whole.
index : its place in the list.
candidates : all candidates, fitted.
privacy : the PrivacyRecord of all fits and the choice.
"""


@dataclass(frozen=True)
class _Plan:
    """What will be released, from public numbers: the promise of each fit, the prices of the picks, all of it."""

    share: object
    bound_price: float
    choice_price: float
    commitment: Commitment


def tune(candidates: list[PrivateSparseRegressor], X: object, y: object) -> Tuned:
    """Fit every candidate and choose one by a private score on rows held out, all for one promise.

    The candidates state the promise of the whole, and each gets a share of it. Every fifth row is held out for the
    choice, so shuffle rows of which every fifth is special. The list of candidates must be public: made without a look
    at these records.

    Parameters
    ----------
    candidates : list of PrivateSparseRegressor
        Unfitted, and with the same `epsilon`, `delta`, `adjacency`, `records_per_person`, `random_state`, `ledger` and
        `dataset`. They are cloned. A ledger is charged once for the whole.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite features.
    y : array-like of shape (n_samples,)
        Finite responses.

    Returns
    -------
    Tuned
        `estimator`, the candidate chosen, fitted on the rows not held out; its `index` in the list; all fitted
        `candidates`; and `privacy`, the record of the whole, which is every candidate's `privacy_` too.

    Notes
    -----
    A choice is not free: with k candidates each fit has the noise of sqrt(k) times less epsilon, and a fifth fewer
    rows. Two to four candidates that differ much are worth it, a fine grid is not. For the number of features alone
    ``sparsity="auto"`` does better.

    Examples
    --------
    >>> from dpsparse import PrivateSparseRegressor, tune
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, _ = make_heavy_tailed(10_000, 50, 8, random_state=0)
    >>> tuned = tune([PrivateSparseRegressor(sparsity=s, epsilon=2.0) for s in (1, 8)], X, y)
    >>> tuned.estimator.sparsity, tuned.privacy.private, tuned.privacy.epsilon <= 2.0
    (8, True, True)
    """
    models = [clone(candidate) for candidate in _checked(candidates)]
    X = np.asarray(X) if isinstance(X, np.memmap) else X
    X = X.astype(np.float64) if isinstance(X, np.ndarray) and X.dtype.kind in "biu" else X
    if is_elsewhere(X):
        raise TypeError("tune reads X in memory; pass an array, a data frame or a sparse matrix")
    lead = clone(models[0])
    n, d = lead._public_shape(X, y)
    if n < 2 * HELD_OUT_EVERY:
        raise ValueError(f"X has {n} rows; tune needs at least {2 * HELD_OUT_EVERY}, to fit and to choose")
    meter = lead._open_meter(n)
    about = {"estimator": "tune", "n_records": n, "candidates": len(models)}
    planned = lru_cache(lambda guarantee: _plan(guarantee, models, n, d))
    with reserved(lead.ledger, lead.dataset, meter, lambda guarantee: planned(guarantee).commitment, **about):
        table, response = lead._validated(X, y, (n, d))
        for model in models:
            public_units(model.feature_center, model.feature_scale, getattr(lead, "feature_names_in_", range(d)))
        lead._warn_if_weak(meter)
        rows = rows_of(table, response)
        if lead._must_look():
            rows.require_finite()
    plan = planned(meter.guarantee)
    training = np.flatnonzero(np.arange(n) % HELD_OUT_EVERY != HELD_OUT_EVERY - 1)
    # A data frame keeps its names, which candidates may need.
    X = _safe_indexing(X, training) if hasattr(lead, "feature_names_in_") else table[training]
    for k, model in enumerate(models):
        share = MeterShare(meter, plan.share, len(training), part=TRAINING, name=f"candidate {k}")
        _fit_within(model, share, X, response[training])
    held_out = rows.part(HELD_OUT_EVERY - 1, HELD_OUT_EVERY)
    share = MeterShare(meter, meter.guarantee, held_out.n_records, part=HELD_OUT, name="held out")
    index = _choose(held_out, models, share, plan)
    for model in models:
        model._publish(replace(model.released_, privacy=meter.record()))
    return Tuned(models[index], index, models, meter.record())


def _checked(candidates):
    candidates = list(candidates)
    if not candidates or not all(isinstance(candidate, PrivateSparseRegressor) for candidate in candidates):
        raise ValueError("candidates must be a list of one or more PrivateSparseRegressor")
    for candidate in candidates:
        candidate._check_parameters()
        for name in PROMISE:
            if getattr(candidate, name) != getattr(candidates[0], name):
                raise ValueError(f"candidates must have the same {name}: it is part of the promise of the whole")
    return candidates


def _plan(guarantee, models, n, d):
    """Even shares of mu^2 for the fits, or of rho where the tight account fails; the two picks get what is held."""
    n_held_out = len(range(HELD_OUT_EVERY - 1, n, HELD_OUT_EVERY))
    mu = guarantee.mu_per_record * (1 - 1e-9)
    rho = guarantee.rho_per_record
    # A quartile is as near to the end of its grid as a median of half the records.
    bound = median_share(n_held_out / 2, rho, SIZES, 0.1, 0.5)
    prices = split(rho, {"bound": bound, "choice": 1 - bound})
    mu_of_picks = mu_of_sequence([("pick", price) for price in prices.values()])
    factor = min(1.0, (mu / mu_of_picks) ** 2) if mu_of_picks < math.inf else 1.0
    bound_price, choice_price = (factor * price for price in prices.values())
    picks = tuple(Price("pick", price, math.sqrt(8 * price), HELD_OUT) for price in (bound_price, choice_price))
    # A k-th of delta, at which any share of a promise still has an epsilon above 0.
    count = len(models)
    share = replace(guarantee, delta=guarantee.delta / count)
    for spent in ({"rho": math.inf, "mu": mu / math.sqrt(count)}, {"rho": rho / count * (1 - 1e-9)}):
        share = replace(share, epsilon=share.epsilon_spent(**spent))
        fits = [model._schedule(share, n - n_held_out, d).commitment for model in models]
        training = tuple(price for fit in fits for price in in_part(fit, TRAINING))
        commitment = Commitment((*training, *picks), math.fsum(fit.excess for fit in fits))
        if commitment.is_within(guarantee):
            break
    return _Plan(share, bound_price, choice_price, commitment)


def _fit_within(model, meter, X, y):
    model._shared_meter = meter
    try:
        model.fit(X, y)
    finally:
        del model._shared_meter


def _choose(rows, models, meter, plan):
    coefs, intercepts = [model.coef_ for model in models], [model.intercept_ for model in models]
    errors = regrets.absolute_errors(rows, coefs, intercepts)
    counts = vector_sums.counts_at_most(regrets.regrets(errors).max(axis=0), SIZES)
    target = 3 * rows.n_records // 4
    bound = release_quantile(meter, counts, SIZES, target=target, rho=plan.bound_price, name="size of regrets")
    scores = -regrets.regret_sums(errors, bound)
    unit = sensitivity.regret(WEIGHT_LEVELS, meter.guarantee.adjacency)
    return exponential_pick(meter, scores, sensitivity=unit, rho=plan.choice_price, name="choice")

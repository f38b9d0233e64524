"""`tune`: choose among candidates privately, for one guarantee.

Theorem. `tune` keeps the guarantee that its candidates state, for everything it returns: all fitted candidates and the
choice.

Proof. Every fifth row, by position, is held out; which rows these are is public. Part 0, the other rows, is read by the
candidates' fits alone. Part 1, the rows held out, is read by two picks alone, given the fitted candidates:

1. *The bound*. With e_j the absolute error of candidate j on a record, its regret is e_j - min_k e_k. The bound b is an
   upper quartile, over records, of the largest regret, by an exponential-mechanism pick on a public grid, with the
   utility of `sensitivity.quantile_utility`.
2. *The choice*. Regrets are clipped at b, to an integer level in [0, 2^16]. A candidate's score is minus the sum of its
   regrets, of sensitivity 2^16 by `sensitivity.regret`, and the exponential mechanism selects one.

A record's errors are computed from it and the released coefficients alone, elementwise and in one order. A record
lies in one part, and pays for the releases of that part only (`compose.releases_per_record`): in part 0 for k fits,
which compose; in part 1 for the two picks. The commitment to all of these is made before a row is read, and is refused
if the guarantee does not cover the more costly part; `MeterShare` charges every release to it first. QED.

But for the clip, regrets order candidates as absolute errors do, since each record's smallest error is subtracted from
all of them. The clip bounds only the difference between candidates, not the noise of the response, however heavy its
tails. So b can be small, and the choice is far sharper than one by clipped errors.

Each candidate gets 1/k of mu^2, of the Gaussian account. Giving each a k-th of the rows instead, with the whole
guarantee, would multiply the noise of the fits by k rather than by its square root.
"""

import math
from collections import namedtuple
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from sklearn.base import clone

from dpsparse.algorithms.pursuit.schedule import SIZES, median_share
from dpsparse.data.as_table import in_memory
from dpsparse.data.raw_data import RawData
from dpsparse.data.units import public_units
from dpsparse.engine import regrets, vector_sums
from dpsparse.engine.quantize import WEIGHT_LEVELS
from dpsparse.estimators._raw_fit import PreparedTable, n_expected, raw_schedule
from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor
from dpsparse.model.tables import ModelTable
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.commitment import Commitment, in_part
from dpsparse.privacy.accounting.compose import compose_gdp
from dpsparse.privacy.accounting.meter import MeterShare
from dpsparse.privacy.accounting.release import ExponentialMechanism, Slot
from dpsparse.privacy.accounting.zcdp import split
from dpsparse.privacy.mechanisms.quantile import release_quantile
from dpsparse.privacy.mechanisms.selection import exponential_pick

# Every fifth row is held out.
HELD_OUT_EVERY = 5
TRAINING, HELD_OUT = 0, 1
HELD_OUT_NAME, TABLE_NAME = "held out", "table"
# The candidates must agree on these: they are the guarantee of the whole.
OF_THE_GUARANTEE = ("epsilon", "delta", "adjacency", "records_per_person", "random_state", "ledger", "dataset")

Tuned = namedtuple("Tuned", ["estimator", "index", "candidates", "privacy"])
Tuned.__doc__ = """The result of `tune`; all of it is covered by `privacy`.

estimator : the candidate chosen, fitted; its `privacy_` is the record of the whole.
index : its place in the list.
candidates : all candidates, fitted.
privacy : the PrivacyRecord of all fits and the choice.
"""


@dataclass(frozen=True)
class _Plan:
    """The releases, from public numbers: the guarantee of each fit, the two picks on rows held out, and all of them.

    `table` is the schedule that has the releases about a raw table, if it is one.
    """

    share: object
    picks: Commitment
    commitment: Commitment
    table: object


def tune(candidates: list[PrivateSparseRegressor], X: object, y: object = None) -> Tuned:
    """Fit every candidate and choose one by a private score on rows held out, all for one guarantee.

    The candidates state the guarantee of the whole, and each gets a share of it. Every fifth row is held out for the
    choice, so shuffle the rows if every fifth one is special. The list of candidates must be public: made without
    reading these records.

    Parameters
    ----------
    candidates : list of PrivateSparseRegressor
        Unfitted, and with the same `epsilon`, `delta`, `adjacency`, `records_per_person`, `random_state`, `ledger` and
        `dataset`. They are cloned. A ledger is charged once for the whole.
    X : array-like or sparse matrix of shape (n_samples, n_features), or what `read_table` gives
        Features. What the columns of a raw table are is learned once for all candidates.
    y : array-like of shape (n_samples,) or None
        Responses; None where X is from `read_table`.

    Returns
    -------
    Tuned
        `estimator`, the candidate chosen, fitted on the rows not held out; its `index` in the list; all fitted
        `candidates`; and `privacy`, the record of the whole, also every candidate's `privacy_`.

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
    >>> public = {"epsilon": 2.0, "feature_center": 0, "feature_scale": 1}
    >>> tuned = tune([PrivateSparseRegressor(sparsity=s, **public) for s in (1, 8)], X, y)
    >>> tuned.estimator.sparsity, tuned.privacy.private, tuned.privacy.epsilon <= 2.0
    (8, True, True)
    """
    models = [clone(candidate) for candidate in _checked(candidates)]
    if isinstance(X, RawData):
        if y is not None:
            raise ValueError("y must be left out: the table from read_table names its response")
        return _tune_raw(models, X)
    table, lead = in_memory(X, "tune"), clone(models[0])
    n, d = lead._public_shape(table, y)
    _require_rows(n)
    meter = lead._open_meter(n)
    about = {"estimator": "tune", "candidates": len(models)}

    def fits(share):
        return [model._schedule(share, n - _n_held_out(n), d).commitment for model in models]

    planned = lru_cache(lambda guarantee: _plan(guarantee, n, fits))
    with lead._reserved(meter, lambda guarantee: planned(guarantee).commitment, **about):
        response = lead._validated(table, y, (n, d))
        columns = range(d) if table.names is None else table.names
        for model in models:
            public_units(model.feature_center, model.feature_scale, columns)
        lead._warn_if_weak(meter)
        rows = table.rows(response)
        if lead._must_check_finite() and not lead._allow_missing:
            rows.require_finite()
    plan = planned(meter.guarantee)
    training = np.flatnonzero(np.arange(n) % HELD_OUT_EVERY != HELD_OUT_EVERY - 1)
    # A data frame keeps its names, which candidates may need.
    X = table.take(training)
    for k, model in enumerate(models):
        share = MeterShare(meter, plan.share, len(training), part=TRAINING, name=_candidate(k))
        _fit_within(model, share, X, response[training])
    held_out = rows.part(HELD_OUT_EVERY - 1, HELD_OUT_EVERY)
    share = MeterShare(meter, meter.guarantee, held_out.n_records, part=HELD_OUT, name=HELD_OUT_NAME)
    errors = regrets.absolute_errors(held_out, [_coefs(model) for model in models], [m.intercept_ for m in models])
    return _tuned(models, _choose(errors, share, plan.picks.slots), meter)


def _tune_raw(models, data):
    """`tune` on a raw table: kinds, categories and names are releases of their own, made once for all candidates."""
    lead, n = models[0], data.table.n_records
    _require_rows(n)
    training = data.part(HELD_OUT_EVERY, range(HELD_OUT_EVERY - 1))
    meter = lead._open_meter(n)

    def fits(share):
        return [raw_schedule(model, training, share, prepare=False).commitment for model in models]

    def plan_for(guarantee):
        most = max(models, key=lambda model: model._picks(n_expected(data)))
        return _plan(guarantee, n, fits, raw_schedule(most, training, guarantee))

    planned = lru_cache(plan_for)
    about = {"estimator": "tune", "candidates": len(models)}
    with lead._reserved(meter, lambda guarantee: planned(guarantee).commitment, **about):
        lead._warn_if_weak(meter)
    plan, n_training = planned(meter.guarantee), training.table.n_records
    once = MeterShare(meter, meter.guarantee, n_training, part=TRAINING, name=TABLE_NAME)
    table, results = PreparedTable(training, once, plan.table), []
    for k, model in enumerate(models):
        share = MeterShare(meter, plan.share, n_training, part=TRAINING, name=_candidate(k))
        results.append(table.pursue(share, raw_schedule(model, training, plan.share, prepare=False)))
    support = list(dict.fromkeys(place for result in results for place in result.support.tolist()))
    names = table.named(once, plan.table, support)
    held_out = data.part(HELD_OUT_EVERY, [HELD_OUT_EVERY - 1]).table
    for model, result in zip(models, results, strict=True):
        table.publish(model, result, meter, *names)
    tables = [ModelTable(model.released_, held_out) for model in models]
    errors = np.abs(tables[0].responses() - np.array([each.predictions() for each in tables]))
    share = MeterShare(meter, meter.guarantee, held_out.n_records, part=HELD_OUT, name=HELD_OUT_NAME)
    return _tuned(models, _choose(errors, share, plan.picks.slots), meter)


def _tuned(models, index, meter):
    for model in models:
        model._publish(replace(model.released_, privacy=meter.record()))
    return Tuned(models[index], index, models, meter.record())


def _require_rows(n):
    if n < 2 * HELD_OUT_EVERY:
        raise ValueError(f"X has {n} rows; tune needs at least {2 * HELD_OUT_EVERY}, to fit and to choose")


def _n_held_out(n):
    return len(range(HELD_OUT_EVERY - 1, n, HELD_OUT_EVERY))


def _coefs(model):
    """The coefficients of the features and, where they may be missing, of their indicators, a gap counting as 0."""
    if not model._allow_missing:
        return model.coef_
    return np.concatenate([model.coef_, model.missing_coef_ + model.coef_ * model.center_])


def _checked(candidates):
    candidates = list(candidates)
    if not candidates or not all(isinstance(candidate, PrivateSparseRegressor) for candidate in candidates):
        raise ValueError("candidates must be a list of one or more PrivateSparseRegressor")
    for candidate in candidates:
        candidate._check_parameters()
        for name in OF_THE_GUARANTEE:
            if getattr(candidate, name) != getattr(candidates[0], name):
                raise ValueError(f"candidates must have the same {name}: it is part of the guarantee of the whole")
    return candidates


def _plan(guarantee, n, fits, table=None):
    """Even shares of mu^2 for the fits, or of rho where the Gaussian account fails; the picks get their own part's.

    Parameters
    ----------
    guarantee : Guarantee
        Of the whole.
    n : int
        Records.
    fits : callable
        Gives the commitments of the fits from the guarantee of each.
    table : Schedule or None
        Of a fit on a raw table with the whole guarantee: its releases about the table are made once.
    """
    n_held_out = _n_held_out(n)
    first, last = ((), ()) if table is None else (table.preparation, table.naming)
    # What the fits have together.
    left = 1.0
    if table is not None:
        left -= math.fsum(slot.rho for slot in (*first, *last)) / math.fsum(slot.rho for slot in table.slots())
    mu = guarantee.mu_per_record * (1 - 1e-9)
    rho = guarantee.rho_per_record
    # A quartile is as near to the end of its grid as a median of half the records.
    bound = median_share(n_held_out / 2, rho, SIZES, 0.1, 0.5)
    shares = split(rho, {"bound": bound, "choice": 1 - bound})
    mu_of_picks = compose_gdp([ExponentialMechanism(share) for share in shares.values()])
    factor = min(1.0, (mu / mu_of_picks) ** 2) if mu_of_picks < math.inf else 1.0
    prices = [factor * share for share in shares.values()]
    mechanisms = [ExponentialMechanism(price, math.sqrt(8 * price)) for price in prices]
    picks = Commitment((Slot("size of regrets", mechanisms[0]), Slot("choice", mechanisms[1])))
    # A k-th of delta, at which any share of a guarantee still has an epsilon above 0.
    count = len(fits(guarantee))
    share = replace(guarantee, delta=guarantee.delta / count)
    for spent in (
        {"rho": math.inf, "mu": mu * math.sqrt(left / count)},
        {"rho": rho * left / count * (1 - (1e-9 if table is None else 1e-3))},
    ):
        share = replace(share, epsilon=share.epsilon_spent(**spent))
        training = [slot for k, fit in enumerate(fits(share)) for slot in in_part(fit, TRAINING, _candidate(k))]
        about = [in_part(Commitment(slots), TRAINING, TABLE_NAME) for slots in (first, last)]
        commitment = Commitment((*about[0], *training, *about[1], *in_part(picks, HELD_OUT, HELD_OUT_NAME)))
        if commitment.is_within(guarantee):
            break
    return _Plan(share, picks, commitment, table)


def _candidate(k):
    return f"candidate {k}"


def _fit_within(model, meter, X, y):
    model._shared_meter = meter
    try:
        model.fit(X, y)
    finally:
        del model._shared_meter


def _choose(errors, meter, slots):
    """The place of the best candidate, from the absolute errors of all on the rows held out."""
    size_slot, choice_slot = slots
    counts = vector_sums.counts_at_most(regrets.regrets(errors).max(axis=0), SIZES)
    target = 3 * errors.shape[1] // 4
    bound = release_quantile(meter, counts, SIZES, target=target, rho=size_slot.rho, name=size_slot.name)
    scores = -regrets.regret_sums(errors, bound)
    unit = sensitivity.regret(WEIGHT_LEVELS, meter.guarantee.adjacency)
    return exponential_pick(meter, scores, sensitivity=unit, rho=choice_slot.rho, name=choice_slot.name)

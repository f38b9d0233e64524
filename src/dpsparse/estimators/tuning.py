"""`tune`: choose among candidates privately, for one guarantee.

Theorem. `tune` keeps the guarantee that its candidates state, for everything it returns: all fitted candidates and the
choice.

Proof. Every fifth row, by position, is held out; which rows these are is public. Part 0, the other rows, is read by the
candidates' fits alone, one after the other. What they have in common is released once, in slots of the whole:

- what the columns of a raw table are, before all fits, and the names of selected texts after them;
- *units*: the number of responses, the response's centre and scale if a candidate does not give them, and the units of
  the features that the candidate that leads selects. It is fitted first.

A later candidate has no slots about units. It selects among the features whose units are released by then, or public by
its own parameters, and reads them in these units; a unit that it gives is replaced by the released one where a fit of
its own would have learned it (`decisions.learns_units`). Which features these are is itself a release: which feature a
pick selected, and what was released of it. So the later fit is an algorithm on part 0 whose queries follow from public
numbers and earlier releases, as those of every adaptive composition do: each of its own releases has the sensitivity
that `sensitivity` proves for *any* set of candidate features, any centre and any scale. To use an earlier release again
is post-processing, and costs nothing. Its price and kind are fixed (`_tuning_plan`): those of the slots about units
depend on the candidate that leads, which is a function of the candidates' parameters, and not on the number of
candidates; a slot for which no feature is left is skipped, and stays paid.

Part 1, the rows held out, is read by two picks alone, given the fitted candidates; no unit is learned from them:

1. *The bound*. With e_j the error of candidate j on a record, its regret is e_j - min_k e_k. Errors are absolute ones,
   and where responses are yes or no squared ones of probabilities, (y - p_j)^2. The bound b is an
   upper quartile, over records, of the largest regret, by an exponential-mechanism pick on a public grid, with the
   utility of `sensitivity.quantile_utility`.
2. *The choice*. Regrets are clipped at b, to an integer level in [0, 2^16]. A candidate's score is minus the sum of its
   regrets, of sensitivity 2^16 by `sensitivity.regret`, and the exponential mechanism selects one.

A record's errors are computed from it and the released coefficients alone, elementwise and in one order. A record
lies in one part, and pays for the releases of that part only (`compose.releases_per_record`): in part 0 for the slots
of the whole and for k fits, which compose; in part 1 for the two picks. The commitment to all of these is made before a
row is read, and is refused if the guarantee does not cover the more costly part; `MeterShare` charges every release to
it first. QED.

But for the clip, regrets order candidates as errors do, since each record's smallest error is subtracted from all of
them. The clip bounds only the difference between candidates, not the noise of the response, however heavy its
tails. So b can be small, and the choice is far sharper than one by clipped errors.

Each candidate gets 1/k of what the slots of the whole leave of mu^2, of the Gaussian account. Giving each a k-th of the
rows instead, with the whole guarantee, would multiply the noise of the fits by k rather than by its square root.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpsparse.algorithms.pursuit.grids import SIZES
from dpsparse.algorithms.pursuit.schedule import Schedule
from dpsparse.algorithms.pursuit.shared_units import SharedUnits
from dpsparse.data.as_table import MemoryTable, in_memory
from dpsparse.data.people_split import Split
from dpsparse.data.person_ids import without_ids
from dpsparse.data.public_units import units_known
from dpsparse.data.raw_data import RawData, refuse_beside
from dpsparse.data.validation import name_of_response
from dpsparse.data.within_person import NOT_WITHIN
from dpsparse.engine import regrets, vector_sums
from dpsparse.engine.quantize import WEIGHT_LEVELS
from dpsparse.estimators._pursuit import PursuitEstimator
from dpsparse.estimators._raw_fit import PreparedTable, n_expected, raw_schedule
from dpsparse.estimators._tuning_apart import ArrayApart, RawApart, RecordsApart, fit_apart, plan_apart
from dpsparse.estimators._tuning_plan import (
    HELD_OUT,
    HELD_OUT_EVERY,
    HELD_OUT_NAME,
    TABLE_NAME,
    TRAINING,
    Plan,
    Schedules,
    in_order,
    n_held_out,
    name_of,
    plan_for,
)
from dpsparse.model.table_predictions import ModelTable
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.meter import Meter, MeterShare
from dpsparse.privacy.accounting.release import Slot
from dpsparse.privacy.mechanisms.quantile import release_quantile
from dpsparse.privacy.mechanisms.selection import exponential_pick

# The candidates must agree on these: they are the guarantee of the whole, and what a unit and a record are.
OF_THE_GUARANTEE = ("epsilon", "delta", "adjacency", "records_per_person", "random_state", "ledger", "dataset")
OF_THE_UNITS = ("fit_intercept", "missing")

Tuned = namedtuple("Tuned", ["estimator", "index", "candidates", "privacy"])
Tuned.__doc__ = """The result of `tune`; all of it is covered by `privacy`.

estimator : the candidate chosen, fitted; its `privacy_` is the record of the whole.
index : its place in the list.
candidates : all candidates, fitted.
privacy : the PrivacyRecord of all fits and the choice.
"""


def tune(candidates: list[PursuitEstimator], X: object, y: object = None, *, person: object = None) -> Tuned:
    """Fit every candidate and choose one by a private score on rows held out, all for one guarantee.

    The candidates state the guarantee of the whole, and each gets a share of it. Every fifth row is held out for the
    choice, so shuffle the rows if every fifth one is special. The list of candidates must be public: made without
    reading these records.

    Parameters
    ----------
    candidates : list of PrivateSparseRegressor, or of another private sparse estimator
        Unfitted, all of one kind, and with the same `epsilon`, `delta`, `adjacency`, `records_per_person`,
        `random_state`, `ledger`, `dataset`, `fit_intercept` and `missing`, and for classifiers `positive`. They are
        cloned. A ledger is charged once for the whole.
    X : array-like or sparse matrix of shape (n_samples, n_features), or what `read_table` gives
        Features. What the columns of a raw table are is learned once for all candidates, and so are units.
    y : array-like of shape (n_samples,) or None
        Responses; None where X is from `read_table`.
    person : array-like of shape (n_samples,), str or None, default=None
        Whose row it is, as in `fit`: every fifth person is held out then, with all their rows, and one row of each
        serves the choice. A raw table names its column in `read_table`.

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

    Units that are not given are learned once: the candidate that selects the most features is fitted first, and the
    others select among the features whose units it learned.

    Examples
    --------
    >>> from dpsparse import PrivateSparseRegressor, tune
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, _ = make_heavy_tailed(10_000, 50, 8, random_state=0)
    >>> public = {"epsilon": 2.0, "feature_center": 0, "feature_scale": 1}
    >>> tuned = tune([PrivateSparseRegressor(sparsity=s, **public) for s in (1, 8)], X, y)
    >>> tuned.estimator.sparsity, tuned.privacy.private, tuned.privacy.epsilon <= 2.0
    (8, True, True)

    Candidates for a yes/no response are compared by squared errors of their probabilities:

    >>> from dpsparse import PrivateSparseClassifier
    >>> public["epsilon"] = 4.0
    >>> tuned = tune([PrivateSparseClassifier(sparsity=s, **public) for s in (1, 8)], X, y > 0)
    >>> tuned.estimator.sparsity
    8
    """
    models = [clone(candidate) for candidate in _checked(candidates)]
    for model in models:
        if model.within:
            raise ValueError(NOT_WITHIN.format(name="tune"))
        model._expose(X, person=person)
    if all(model._has_text(X) for model in models):
        X, y, person = models[0]._as_raw(X, y, person), None, None
    if isinstance(X, RawData):
        refuse_beside(y, person)
    if models[0]._tuned_apart and (person is not None or getattr(X, "person", None) is not None):
        raise ValueError("person: tune does not take fits in two parts by person; fit one with sparsity='auto' instead")
    if isinstance(X, RawData):
        return _tune_apart(models, RawApart(models, X)) if models[0]._tuned_apart else _tune_raw(models, X)
    if models[0]._tuned_apart:
        return _tune_apart(models, ArrayApart(models, in_memory(X, "tune"), y))
    X, ids = without_ids(X, person)
    return _tune_array(models, in_memory(X, "tune"), y, ids)


def _tune_array(models: list[PursuitEstimator], table: MemoryTable, y: Any, ids: Any) -> Tuned:
    """`tune` on an array, a sparse matrix or a data frame of numbers."""
    first = clone(models[0])
    n_rows, d = first._public_shape(table, y)
    split = Split.of(ids, n_rows, lambda count: np.arange(count) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1)
    n = split.n_people
    _require_rows(n)
    meter, n_training = first._open_meter(n, split.n_rows), split.n_training
    known = [units_known(model.feature_center, model.feature_scale, d) == "all" for model in models]
    order = in_order(known, [model._picks(d, n_training, meter.guarantee) for model in models])
    center, scale = _common_response(models, models[order[0]])
    schedules = Schedules(
        order,
        lambda k, share, whole, leads: models[k]._schedule(
            share, n_training, d, of_units=whole, leads=leads, rows=split.rows
        ),
        lambda share: models[order[0]]._schedule(
            share, n_training, d, center_known=center is not None, scale_known=scale is not None, rows=split.rows
        ),
    )
    planned = lru_cache(partial(plan_for, n=n, schedules=schedules))
    for model in models:
        model._target = name_of_response(y, table.names)
    with _reserved(first, meter, planned, models):
        response = first._validated(table, y, (n_rows, d))
        for model in models:
            model._public_units(table, d)
        first._warn_if_weak(meter)
        rows = table.rows(response)
        if first._refuses_gaps:
            rows.require_finite()
    training = split.training
    # A data frame keeps its names, which candidates may need.
    X, y = table.take(training), first._part_of(y, response, training)
    plan = planned(meter.guarantee)
    units = SharedUnits(center, scale)
    # How: by which meter and schedule, and with which units.
    data = X, y, split.training_ids
    _fit_all(plan, meter, n_training, units, lambda k, *how: _fit_within(models[k], *how, *data))  # type: ignore[call-arg]
    held_out = rows.take(split.held_out)
    share = MeterShare(meter, meter.guarantee, held_out.n_records, part=HELD_OUT, name=HELD_OUT_NAME)
    if first._is_log_mean:
        means = [model.predict(table.take(split.held_out)) for model in models]
        errors = regrets.deviances(response[split.held_out], means)
    elif first._is_yes_no:
        others = MemoryTable(table.take(split.held_out))
        odds = [others.predict(model.released_) for model in models]
        errors = regrets.squared_errors(response[split.held_out], odds)
    else:
        lines = [model._line() for model in models]
        coefs, intercepts = [_coefs(line) for line in lines], [line.intercept_ for line in lines]
        errors = regrets.absolute_errors(held_out, coefs, intercepts)
    return _tuned(models, _choose(errors, share, plan.picks.slots), meter)


def _tune_raw(models: list[PursuitEstimator], data: RawData) -> Tuned:
    """`tune` on a raw table: kinds, categories and names are releases of their own, made once for all candidates."""
    n = data.n_people
    _require_rows(n)
    training = data.part(HELD_OUT_EVERY, range(HELD_OUT_EVERY - 1))
    meter, n_training = models[0]._open_meter(n, data.n_rows), training.n_people
    picks = [model._picks(n_expected(data), n_training, meter.guarantee, raw=True) for model in models]
    order = in_order([data.units_known() == "all"] * len(models), picks)
    of_lead = partial(raw_schedule, models[order[0]], training)
    schedules = Schedules(
        order,
        lambda k, *plan, leads: raw_schedule(
            models[k], training, plan[0], prepare=False, of_units=plan[1], leads=leads
        ),
        partial(of_lead, prepare=False),
        of_lead,
    )
    planned = lru_cache(partial(plan_for, n=n, schedules=schedules))
    with _reserved(models[0], meter, planned, models):
        models[0]._warn_if_weak(meter, data.table.names, features=data.columns)
    plan = planned(meter.guarantee)
    assert plan.table is not None  # a raw table has a schedule of its own
    once = MeterShare(meter, meter.guarantee, n_training, part=TRAINING, name=TABLE_NAME)
    table = PreparedTable(training, once, plan.table)
    shared = SharedUnits(data.bounds.response_center, data.bounds.response_scale)
    results = _fit_all(plan, meter, n_training, shared, lambda _, *how: table.pursue(*how))
    support = list(dict.fromkeys(place for k in range(len(models)) for place in results[k].features.support.tolist()))
    names = table.named(once, plan.table, support)
    held_out = data.part(HELD_OUT_EVERY, [HELD_OUT_EVERY - 1]).standing
    for k, model in enumerate(models):
        table.publish(model, results[k], meter, *names)
    tables = [ModelTable(model.released_, held_out) for model in models]
    predictions, response = [each.predictions() for each in tables], tables[0].responses()
    if models[0]._is_log_mean:
        errors = regrets.deviances(response, predictions)
    elif models[0]._is_yes_no:
        errors = regrets.squared_errors(response, predictions)
    else:
        errors = np.abs(response - np.array(predictions, dtype=np.float64))
    share = MeterShare(meter, meter.guarantee, held_out.n_records, part=HELD_OUT, name=HELD_OUT_NAME)
    return _tuned(models, _choose(errors, share, plan.picks.slots), meter)


def _tune_apart(models: list[PursuitEstimator], table: RecordsApart) -> Tuned:
    """`tune` of candidates that share nothing but the guarantee."""
    n = table.n_records
    _require_rows(n)
    meter = models[0]._open_meter(n)
    planned = lru_cache(lambda whole: plan_apart(whole, n, models, table.commitment))
    with _reserved(models[0], meter, planned, models):
        table.check(meter)
    plan = planned(meter.guarantee)
    fit_apart(models, plan, meter, table)
    share = MeterShare(meter, meter.guarantee, n_held_out(n), part=HELD_OUT, name=HELD_OUT_NAME)
    return _tuned(models, _choose(table.errors(), share, plan.picks.slots), meter)


def _reserved(model: PursuitEstimator, meter: Meter, planned: Any, models: Sequence[PursuitEstimator]) -> Any:
    about = {"estimator": "tune", "candidates": len(models)}
    return model._reserved(meter, lambda guarantee: planned(guarantee).commitment, **about)


def _common_response(models: list[PursuitEstimator], lead: PursuitEstimator) -> list[Any]:
    """Centre and scale of the response that need no release: those of the candidate that leads, if all give one."""
    names = ("response_center", "response_scale")
    return [
        getattr(lead, name) if all(getattr(model, name) is not None for model in models) else None for name in names
    ]


def _fit_all(plan: Plan, meter: Meter, n_records: int, shared: SharedUnits, fit: Callable[..., Any]) -> dict[int, Any]:
    """What `fit` gives for each candidate from its place, meter, schedule and the units shared by all, in order."""
    return {
        k: fit(k, MeterShare(meter, plan.share, n_records, part=TRAINING, name=name_of(k, schedule)), schedule, shared)
        for k, schedule in plan.schedules.items()
    }


def _tuned(models: list[PursuitEstimator], index: int, meter: Meter) -> Tuned:
    for model in models:
        model._publish(replace(model.released_, privacy=meter.record()))
    return Tuned(models[index], index, models, meter.record())


def _require_rows(n: int) -> None:
    if n < 2 * HELD_OUT_EVERY:
        raise ValueError(f"X has {n} rows; tune needs at least {2 * HELD_OUT_EVERY}, to fit and to choose")


def _coefs(model: PursuitEstimator) -> NDArray[Any]:
    """The coefficients of the features and, where they may be missing, of their indicators, a gap counting as 0."""
    if not model._allow_missing:
        result: NDArray[Any] = model.coef_
        return result
    return np.concatenate([model.coef_, model.missing_coef_ + model.coef_ * model.center_])


def _checked(candidates: Iterable[PursuitEstimator]) -> list[PursuitEstimator]:
    candidates = list(candidates)
    if not candidates or not all(isinstance(each, PursuitEstimator) for each in candidates):
        raise ValueError(
            "candidates must be a list of one or more PrivateSparseRegressor, PrivateSparseClassifier, "
            "PrivateSparsePoissonRegressor or PrivateSparseTwoPartRegressor"
        )
    for candidate in candidates:
        candidate._check_parameters()
        for name in OF_THE_GUARANTEE:
            if getattr(candidate, name) != getattr(candidates[0], name):
                raise ValueError(f"candidates must have the same {name}: it is part of the guarantee of the whole")
        if type(candidate) is not type(candidates[0]):
            raise ValueError("candidates must be all of one class, such as PrivateSparseClassifier")
        if getattr(candidate, "positive", None) != getattr(candidates[0], "positive", None):
            raise ValueError("candidates must have the same positive: it says which responses are yes")
        if getattr(candidate, "exposure", None) != getattr(candidates[0], "exposure", None):
            raise ValueError("candidates must have the same exposure: it says what means are in proportion to")
        for name in OF_THE_UNITS:
            if getattr(candidate, name) != getattr(candidates[0], name):
                raise ValueError(f"candidates must have the same {name}: units are learned once for all of them")
    return candidates


def _fit_within(
    model: PursuitEstimator,
    meter: Meter,
    schedule: Schedule,
    shared: SharedUnits | None,
    X: Any,
    y: NDArray[Any],
    person: NDArray[np.intp] | None,
) -> None:
    model._shared_meter, model._planned = meter, (schedule, shared)
    try:
        model.fit(X, y, person=person)
    finally:
        del model._shared_meter, model._planned
        model.__dict__.pop("_target", None)


def _choose(errors: NDArray[np.float64], meter: Meter, slots: tuple[Slot, ...]) -> int:
    """The place of the best candidate, from the errors of all on the rows held out."""
    size_slot, choice_slot = slots
    counts = vector_sums.counts_at_most(regrets.regrets(errors).max(axis=0), SIZES)
    target = 3 * errors.shape[1] // 4
    bound = release_quantile(meter, counts, SIZES, target=target, rho=size_slot.rho, name=size_slot.name)
    scores = -regrets.regret_sums(errors, bound)
    unit = sensitivity.regret(WEIGHT_LEVELS, meter.guarantee.adjacency)
    return exponential_pick(meter, scores, sensitivity=unit, rho=choice_slot.rho, name=choice_slot.name)

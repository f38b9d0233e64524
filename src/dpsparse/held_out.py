"""`fit_and_evaluate`: a fit on some of the records and an evaluation on the others, for one guarantee.

Theorem. `fit_and_evaluate` keeps the guarantee that its estimator states, for the model and the evaluation together.

Proof. Which rows are held out follows from their positions, which are public. Part 0, the other rows, is read by the
fit alone; part 1 by the evaluation alone, given the fitted model. A record lies in one part and pays for the releases
of that part only (`compose`). The commitment to the releases of both is made before a row is read. QED.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from dpsparse.data.as_table import MemoryTable, in_memory
from dpsparse.data.people_split import Split
from dpsparse.data.person_ids import without_ids
from dpsparse.data.raw_data import RawData, refuse_beside
from dpsparse.data.validation import name_of_response
from dpsparse.data.within_person import NOT_WITHIN
from dpsparse.estimators._private import MIN_ROWS
from dpsparse.estimators._pursuit import PursuitEstimator
from dpsparse.estimators._types import Progress
from dpsparse.evaluation import plan_of, release_scores_of
from dpsparse.model.evaluation_result import Evaluation
from dpsparse.model.table_predictions import ModelTable
from dpsparse.privacy.accounting.meter import Commitment, Meter, MeterShare, in_part
from dpsparse.privacy.guarantee import Guarantee

TRAINING, HELD_OUT = 0, 1
FIT_NAME, HELD_OUT_NAME = "fit", "held out"
# The pattern of rows held out repeats after at most this many.
_LONGEST_PATTERN = 1000


class FittedAndEvaluated(NamedTuple):
    """The result of `fit_and_evaluate`; one guarantee covers both.

    Parameters
    ----------
    estimator : PrivateSparseRegressor or PrivateSparseClassifier
        The fitted estimator.
    evaluation : Evaluation
        How well it predicts the records held out.
    """

    estimator: PursuitEstimator
    evaluation: Evaluation


def fit_and_evaluate(
    estimator: PursuitEstimator,
    X: Any,
    y: Any = None,
    *,
    person: Any = None,
    holdout: float = 0.2,
    progress: Progress = None,
) -> FittedAndEvaluated:
    """Fit on some of the records and evaluate on the others, all for one guarantee.

    Rows are held out by position: with ``holdout=0.2`` every fifth one. Shuffle the rows if their order means
    something. Whatever the fit learns, it learns from the other rows alone. A record lies in one part, so both have the
    whole of epsilon: the evaluation costs a fifth of the records, and no privacy.

    Parameters
    ----------
    estimator : PrivateSparseRegressor or PrivateSparseClassifier
        Unfitted; it states the guarantee of the whole, and is cloned. A ledger is charged once for the whole.
    X : array-like or sparse matrix of shape (n_samples, n_features), or what `read_table` gives
        Finite features, unless the estimator has ``missing="center"``, or a raw table.
    y : array-like of shape (n_samples,) or None
        Responses, finite under the same condition; None for a raw table.
    person : array-like of shape (n_samples,), str or None, default=None
        Whose row it is, as in `fit`: people are held out then, with all their rows, and one row of each is evaluated.
        A raw table names its column in `read_table`.
    holdout : float, default=0.2
        The share of the rows, or of the people, to hold out.
    progress : callable or None, default=None
        As in `PrivateSparseRegressor.fit`.

    Returns
    -------
    FittedAndEvaluated
        `estimator`, fitted on the rows not held out, whose `privacy_` is the record of the whole; and `evaluation`.

    Examples
    --------
    >>> from dpsparse import PrivateSparseRegressor, fit_and_evaluate
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, _ = make_heavy_tailed(10_000, 20, 2, coef_scale=3.0, random_state=0)
    >>> public = {"feature_center": 0, "feature_scale": 1}
    >>> model, evaluation = fit_and_evaluate(PrivateSparseRegressor(sparsity=2, epsilon=1.0, **public), X, y)
    >>> model.privacy_ == evaluation.privacy, evaluation.scores.n_records, evaluation.improvement.low > 0
    (True, 2000, True)
    """
    if not isinstance(estimator, PursuitEstimator):
        raise ValueError(
            "fit_and_evaluate needs a PrivateSparseRegressor or PrivateSparseClassifier; use evaluate for other models"
        )
    model = clone(estimator)
    model._check_parameters()
    if model.within:
        raise ValueError(NOT_WITHIN.format(name="fit_and_evaluate"))
    model._expose(X, person=person)
    if model._has_text(X):
        X, y, person = model._as_raw(X, y, person), None, None
    if isinstance(X, RawData):
        refuse_beside(y, person)
        return _fit_and_evaluate_raw(model, X, holdout, progress)
    X, ids = without_ids(X, person)
    table = in_memory(X, "fit_and_evaluate")
    n, d = model._public_shape(table, y)
    split = Split.of(ids, n, lambda count: held_out_rows(count, holdout))
    meter = model._open_meter(split.n_people, split.n_rows)
    planned = cache(lambda guarantee: _plan(guarantee, model, split, d))
    with model._reserved(meter, planned, estimator="fit_and_evaluate"):
        response = model._validated(table, y, (n, d))
        model._public_units(table, d)
        rows = table.rows(response)
        if model._refuses_gaps:
            rows.require_finite()
    # A data frame keeps its names, and so does a response.
    model._target = name_of_response(y, table.names)
    X, y = table.take(split.training), model._part_of(y, response, split.training)
    _fit_part(meter, split.n_training, model, X, y, progress, split.training_ids)
    released, others = model.released_, table.take(split.held_out)
    table_of_others = MemoryTable(others)
    predictions = released.predict(others) if model._is_log_mean else released.predicted(table_of_others.predict)
    return _evaluate_part(meter, model, response[split.held_out], predictions, released.exposures(others))


def _fit_and_evaluate_raw(
    model: PursuitEstimator, data: RawData, holdout: float, progress: Progress
) -> FittedAndEvaluated:
    """`fit_and_evaluate` on a raw table: what its columns are is learned from the training part too."""
    n = data.n_people
    held_out_rows(n, holdout)
    modulus = Fraction(holdout).limit_denominator(_LONGEST_PATTERN).denominator
    pattern = held_out_rows(MIN_ROWS * modulus, holdout)[:modulus]
    training, held_out = data.part(modulus, np.flatnonzero(~pattern)), data.part(modulus, np.flatnonzero(pattern))
    meter = model._open_meter(n, data.n_rows)
    planned = cache(
        lambda guarantee: _in_parts(
            model._raw_schedule(training, guarantee).commitment,
            plan_of(guarantee, held_out.n_people, _estimand_of(model)).commitment,
        )
    )
    with model._reserved(meter, planned, estimator="fit_and_evaluate"):
        model._warn_if_weak(meter)
    _fit_part(meter, training.n_people, model, training, None, progress)
    table = ModelTable(model.released_, held_out.standing)
    return _evaluate_part(meter, model, table.responses(), table.predictions(), table.exposures())


def _fit_part(
    meter: Meter, n_records: int, model: PursuitEstimator, X: Any, y: Any, progress: Progress, person: Any = None
) -> None:
    model._shared_meter = MeterShare(meter, meter.guarantee, n_records, part=TRAINING, name=FIT_NAME)
    try:
        model.fit(X, y, person=person, progress=progress)
    finally:
        del model._shared_meter
        model.__dict__.pop("_target", None)


def _evaluate_part(
    meter: Meter,
    model: PursuitEstimator,
    responses: NDArray[np.float64],
    predictions: NDArray[np.float64],
    exposures: ArrayLike,
) -> FittedAndEvaluated:
    share = MeterShare(meter, meter.guarantee, len(responses), part=HELD_OUT, name=HELD_OUT_NAME)
    scores = release_scores_of(share, model.released_, responses, predictions, exposures)
    model._publish(replace(model.released_, privacy=meter.record(), scores=scores))
    return FittedAndEvaluated(model, model.released_.evaluation_of(scores, meter.record()))


def held_out_rows(n_records: int, holdout: float) -> NDArray[np.bool_]:
    """Which rows are held out, by position: evenly spread, every fifth one for a share of 0.2.

    Examples
    --------
    >>> held_out_rows(10, 0.2).nonzero()[0]
    array([4, 9])
    """
    if not isinstance(holdout, int | float) or not 0 < holdout < 1:
        raise ValueError(f"holdout={holdout!r} must lie strictly between 0 and 1; 0.2 is common")
    share = Fraction(holdout).limit_denominator(_LONGEST_PATTERN)
    rows = np.arange(n_records)
    held_out: NDArray[np.bool_] = (rows + 1) * share.numerator // share.denominator > (
        rows * share.numerator // share.denominator
    )
    if min(held_out.sum(), (~held_out).sum()) < MIN_ROWS:
        raise ValueError(f"X has {n_records} rows; holdout={holdout!r} must leave at least {MIN_ROWS} in each part")
    return held_out


def _estimand_of(model: PursuitEstimator) -> str | None:
    estimand = model._family.estimand
    return None if estimand is None else estimand.name


def _plan(guarantee: Guarantee, model: PursuitEstimator, split: Split, d: int) -> Commitment:
    """The releases of the fit and of the evaluation: both have the whole guarantee, each on its own part."""
    evaluation = plan_of(guarantee, split.n_held_out, _estimand_of(model)).commitment
    return _in_parts(model._schedule(guarantee, split.n_training, d, rows=split.rows).commitment, evaluation)


def _in_parts(fit: Commitment, evaluation: Commitment) -> Commitment:
    return Commitment((*in_part(fit, TRAINING, FIT_NAME), *in_part(evaluation, HELD_OUT, HELD_OUT_NAME)))

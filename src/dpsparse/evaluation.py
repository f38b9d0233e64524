"""`evaluate`: how well a released model predicts records held out, privately; `fit_and_evaluate` holds some out itself.

Theorem 1. `evaluate` keeps the guarantee that it is given, for its result.

Proof. The model is a release, or public: nothing here changes it. A record's prediction is computed from the record and
the model alone. The rest is `algorithms.evaluation_sums`, seven releases of sums over records, or where responses are
yes or no `algorithms.evaluation_outcomes`, two histograms of records: each of a sensitivity proved in
`privacy.sensitivity`, at prices that public numbers fix. The commitment to all of them is made before a value is read,
and is refused if the guarantee does not cover it; the meter charges each before it is drawn. QED.

Theorem 2. `fit_and_evaluate` keeps the guarantee that its estimator states, for the model and the evaluation together.

Proof. Which rows are held out follows from their positions, which are public. Part 0, the other rows, is read by the
fit alone; part 1 by the evaluation alone, given the fitted model. A record lies in one part and pays for the releases
of that part only (`compose`). The commitment to the releases of both is made before a row is read. QED.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dpsparse.algorithms.evaluation_means import MeanPlan, release_means
from dpsparse.algorithms.evaluation_outcomes import OutcomePlan, OutcomeScores, release_outcomes
from dpsparse.algorithms.evaluation_sums import EvaluationPlan, Scores, release_scores
from dpsparse.data.as_table import MemoryTable, as_table, in_memory
from dpsparse.data.missing_responses import responses_of
from dpsparse.data.people_split import Split
from dpsparse.data.person_ids import people_of, without_ids
from dpsparse.data.public_units import public_units
from dpsparse.data.raw_data import RawData, refuse_beside
from dpsparse.data.within_person import NOT_WITHIN
from dpsparse.engine.people import People
from dpsparse.estimators._private import MIN_ROWS, PrivateEstimator
from dpsparse.estimators._pursuit import PursuitEstimator
from dpsparse.estimators._types import LedgerLocation, Progress
from dpsparse.families.estimands import LOG_MEAN, LOG_ODDS
from dpsparse.model.evaluation_result import Evaluation
from dpsparse.model.exposures import exposure_name, is_log_mean
from dpsparse.model.odds import odds_ratio
from dpsparse.model.released import LinearModel
from dpsparse.model.table_predictions import ModelTable
from dpsparse.privacy.accounting.commitment import Commitment, in_part
from dpsparse.privacy.accounting.meter import Meter, MeterShare
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.protection import Adjacency

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


class _Evaluator(PrivateEstimator):
    """The guarantee, the ledger and the noise of an evaluation."""

    def __init__(
        self,
        epsilon: float,
        delta: float | None,
        adjacency: Adjacency,
        records_per_person: int,
        random_state: int | None,
        ledger: LedgerLocation,
        dataset: str | None,
    ) -> None:
        self.epsilon, self.delta, self.adjacency = epsilon, delta, adjacency
        self.records_per_person, self.random_state = records_per_person, random_state
        self.ledger, self.dataset = ledger, dataset


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    ledger: LedgerLocation = None,
    dataset: str | None = None,
    person: Any = None,
    records_per_person: int = 1,
    adjacency: Adjacency = "replace-one",
    random_state: Any = None,
) -> Evaluation:
    """Say privately how well a released model predicts records that were held out from its fit.

    Three means are released, each with a 95 % interval: of ``min(|error|, c)`` for the model, the same for the constant
    that it would predict without any feature (for a model of the mean, the training mean), and of how much nearer the
    model is than the constant, each record's clipped at +-b. The cut c and the bound b are releases too; they leave out
    about one record in twenty. R2, with squared errors cut at c too, follows from the releases.

    Where responses are yes or no, the Brier score of the predicted probabilities, that of the share of yes in the fit,
    their difference, log losses, the AUC and calibration in deciles follow from two released histograms, each with a
    95 % interval.

    Parameters
    ----------
    model : estimator or LinearModel
        A fitted private estimator, or what `load_model` gives. It must not have been fitted on these records: errors
        on records that a model has seen are too small.
    X : array-like, sparse matrix or other table of shape (n_samples, n_features)
        The features of the records as the model's `predict` takes them: finite, unless the model knows of gaps.
    y : array-like of shape (n_samples,)
        Their responses. A record whose response is missing (NaN, None) or not finite counts as blank. Where they are
        labels, the model's label of yes is yes, and every other one is no.
    epsilon : float
        The guarantee to each person; smaller is more private.
    delta : float or None, default=None
        The guarantee's failure probability; None for n**-1.1.
    ledger : path, URL or PrivacyLedger, default=None
        Where the budget of `dataset` is kept. It is charged before anything is released.
    dataset : str or None, default=None
        The name under which that budget was granted.
    person : array-like of shape (n_samples,) or None, default=None
        Whose row it is, as in `fit`. One row stands for each person, and the guarantee is to people with any number of
        rows.
    records_per_person : int, default=1
        The most rows one person may have in X, where no ids say it.
    adjacency : {"replace-one", "zero-out-one"}, default="replace-one"
        Which tables the guarantee covers: one record changed to any other, or blanked. n is public in both.
    random_state : int, RandomState or None, default=None
        Leave None for a private evaluation. A seed makes it repeatable and not private.

    Returns
    -------
    Evaluation
        With `model`, `constant`, `improvement` and `r2`, each of which has `value`, `low`, `high` and `cut` (`r2` is
        None where it cannot be told); `summary()`; and `privacy`, the record of what was spent. Where responses are yes
        or no, `scores` has log losses, `auc` and `calibration` too.

    Examples
    --------
    >>> from dpsparse import PrivateSparseRegressor, evaluate
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, _ = make_heavy_tailed(10_000, 20, 2, coef_scale=3.0, random_state=0)
    >>> public = {"feature_center": 0, "feature_scale": 1}
    >>> model = PrivateSparseRegressor(sparsity=2, epsilon=1.0, **public).fit(X[:8_000], y[:8_000])
    >>> found = evaluate(model, X[8_000:], y[8_000:], epsilon=1.0)
    >>> found.privacy.epsilon <= 1.0, found.improvement.low > 0
    (True, True)

    A yes/no response:

    >>> import numpy as np
    >>> from dpsparse import PrivateSparseClassifier
    >>> rng = np.random.default_rng(0)
    >>> answers = rng.random(10_000) < 1 / (1 + np.exp(-2 * X[:, 4]))
    >>> model = PrivateSparseClassifier(sparsity=1, epsilon=1.0, **public).fit(X[:8_000], answers[:8_000])
    >>> found = evaluate(model, X[8_000:], answers[8_000:], epsilon=1.0)
    >>> 0.75 < found.scores.auc.value < 0.95, len(found.scores.calibration)
    (True, 10)
    """
    released = released_model(model)
    if released.reads_cells:
        cells = ModelTable(released, X)
        n, predictions, exposures = cells.n_records, cells.predictions, cells.exposures
    else:
        table = as_table(X)
        n, _ = table.shape
        exposures = cache(lambda: np.asarray(released.for_statistic().exposures(X), dtype=np.float64))

        def predictions() -> NDArray[np.float64]:
            if is_log_mean(released):
                return np.asarray(released.predict(X), dtype=np.float64)
            return np.asarray(released.predicted(table.predict), dtype=np.float64)

    return evaluate_records(
        released,
        n,
        lambda: (responses_of(y, n, released.classes), predictions(), exposures()),
        epsilon=epsilon,
        delta=delta,
        ledger=ledger,
        dataset=dataset,
        people=None if person is None else people_of(person, n),
        records_per_person=records_per_person,
        adjacency=adjacency,
        random_state=random_state,
    )


def evaluate_records(
    model: LinearModel,
    n_records: int,
    read: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64], ArrayLike]],
    *,
    epsilon: float,
    delta: float | None = None,
    ledger: LedgerLocation = None,
    dataset: str | None = None,
    people: People | None = None,
    records_per_person: int = 1,
    adjacency: Adjacency = "replace-one",
    random_state: Any = None,
) -> Evaluation:
    """`evaluate` for records wherever they are.

    `read` gives responses, NaN where there is none, predictions, and exposures, 1 where there are none. It is called
    once the cost is reserved, and a failure is refunded. Predictions of a yes/no response are log odds. `people` says
    whose records they are: one of each person's is evaluated. The others are as in `evaluate`.
    """
    spender = _Evaluator(epsilon, delta, adjacency, records_per_person, random_state, ledger, dataset)
    spender._check_guarantee()
    if n_records < MIN_ROWS:
        raise ValueError(f"X has {n_records} rows; evaluate needs at least {MIN_ROWS}")
    if model.exposure is not None and exposure_name(model) is None:
        raise ValueError(
            "the exposure of this model was given beside X, and an evaluation would not know it: fit with the exposure "
            "as a column of X"
        )
    if model.within:
        raise ValueError(NOT_WITHIN.format(name="evaluate"))
    n_all = n_records
    n_rows: int | None = None
    rows: Any = slice(None)
    if people is not None:
        n_rows, n_records, rows = n_records, people.n_people, people.order[people.chosen]
        _require_people(n_records)
    meter = spender._open_meter(n_records, n_rows)
    plan = cache(lambda guarantee: _plan_of(guarantee, n_records, model.estimand).commitment)
    with spender._reserved(meter, plan, estimator="evaluate"):
        responses, predictions, exposures = (np.broadcast_to(each, n_all)[rows] for each in read())
        spender._warn_if_weak(meter)
    scores = _scores(meter, model, responses, predictions, exposures)
    return model.evaluation_of(scores, meter.record())


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
        public_units(model.feature_center, model.feature_scale, range(d) if table.names is None else table.names)
        rows = table.rows(response)
        if model._must_check_finite() and not model._allow_missing:
            rows.require_finite()
    # A data frame keeps its names.
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
            _plan_of(guarantee, held_out.n_people, _estimand_of(model)).commitment,
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


def _evaluate_part(
    meter: Meter,
    model: PursuitEstimator,
    responses: NDArray[np.float64],
    predictions: NDArray[np.float64],
    exposures: ArrayLike,
) -> FittedAndEvaluated:
    share = MeterShare(meter, meter.guarantee, len(responses), part=HELD_OUT, name=HELD_OUT_NAME)
    scores = _scores(share, model.released_, responses, predictions, exposures)
    model._publish(replace(model.released_, privacy=meter.record(), scores=scores))
    return FittedAndEvaluated(model, model.released_.evaluation_of(scores, meter.record()))


def _require_people(n_people: int) -> None:
    if n_people < MIN_ROWS:
        raise ValueError(f"person names {n_people} person; evaluate needs at least {MIN_ROWS} people")


def held_out_rows(n_records: int, holdout: float) -> NDArray[np.bool_]:
    """Which rows are held out, by position: evenly spread, every fifth one for a share of 0.2.

    Examples
    --------
    >>> from dpsparse.evaluation import held_out_rows
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


def released_model(model: Any) -> LinearModel:
    """The released model of a fitted private estimator, or a released model itself."""
    if not isinstance(model, LinearModel):
        check_is_fitted(model, "released_", msg="only a fitted private estimator or a loaded model can be evaluated")
        return model.released_  # type: ignore[no-any-return]  # scikit-learn's estimators have no types
    return model


def _plan_of(guarantee: Guarantee, n_records: int, estimand: str | None) -> EvaluationPlan | OutcomePlan | MeanPlan:
    """The releases of an evaluation of so many records, of a model of an estimand."""
    if estimand == LOG_ODDS.name:
        return OutcomePlan(guarantee, n_records)
    return MeanPlan(guarantee) if estimand == LOG_MEAN.name else EvaluationPlan(guarantee)


def _estimand_of(model: PursuitEstimator) -> str | None:
    estimand = model._family.estimand
    return None if estimand is None else estimand.name


def _plan(guarantee: Guarantee, model: PursuitEstimator, split: Split, d: int) -> Commitment:
    """The releases of the fit and of the evaluation: both have the whole guarantee, each on its own part."""
    evaluation = _plan_of(guarantee, split.n_held_out, _estimand_of(model)).commitment
    return _in_parts(model._schedule(guarantee, split.n_training, d, rows=split.rows).commitment, evaluation)


def _in_parts(fit: Commitment, evaluation: Commitment) -> Commitment:
    return Commitment((*in_part(fit, TRAINING, FIT_NAME), *in_part(evaluation, HELD_OUT, HELD_OUT_NAME)))


def _scores(
    meter: Meter,
    model: LinearModel,
    responses: NDArray[np.float64],
    predictions: NDArray[np.float64],
    exposures: ArrayLike,
) -> Scores | OutcomeScores:
    plan, constant = _plan_of(meter.guarantee, len(responses), model.estimand), model.constant_prediction
    if isinstance(plan, OutcomePlan):
        return release_outcomes(meter, plan, responses, predictions, constant)
    if isinstance(plan, MeanPlan):
        with np.errstate(all="ignore"):
            means = odds_ratio(constant) * np.asarray(exposures)
        return release_means(meter, plan.commitment, responses, predictions, means, None)
    return release_scores(meter, plan.commitment, responses, predictions, constant, model.response_scale)

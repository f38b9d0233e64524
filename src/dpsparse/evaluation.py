"""`evaluate`: how well a released model predicts records held out, privately.

Theorem. `evaluate` keeps the guarantee that it is given, for its result.

Proof. The model is a release, or public: nothing here changes it. A record's prediction is computed from the record and
the model alone. The rest is `algorithms.evaluation_sums`, seven releases of sums over records, or where responses are
yes or no `algorithms.evaluation_outcomes`, two histograms of records: each of a sensitivity proved in
`privacy.sensitivity`, at prices that public numbers fix. The commitment to all of them is made before a value is read,
and is refused if the guarantee does not cover it; the meter charges each before it is drawn. QED.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from dpsparse.algorithms.evaluation_means import PARTS, release_means
from dpsparse.algorithms.evaluation_outcomes import OutcomePlan, OutcomeScores, release_outcomes
from dpsparse.algorithms.evaluation_sums import EvaluationPlan, Scores, release_scores
from dpsparse.data.as_table import as_table
from dpsparse.data.given_values import responses_of
from dpsparse.data.person_ids import people_of
from dpsparse.data.within_person import NOT_WITHIN
from dpsparse.engine.people import People
from dpsparse.estimators._private import MIN_ROWS, PrivateEstimator
from dpsparse.estimators._types import LedgerLocation
from dpsparse.families.estimands import LOG_MEAN, LOG_ODDS
from dpsparse.model.evaluation_result import Evaluation
from dpsparse.model.exposures import exposure_name, is_log_mean
from dpsparse.model.ratios import odds_ratio
from dpsparse.model.released import LinearModel
from dpsparse.model.table_predictions import ModelTable
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.protection import Adjacency


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
        The guarantee's failure probability; None for n**-1.1, or the ledger's if that is smaller.
    ledger : path, URL or PrivacyLedger, default=None
        Where the budget of `dataset` is kept. It is charged before anything is released.
    dataset : str or None, default=None
        The name under which that budget was granted.
    person : array-like of shape (n_samples,) or None, default=None
        Whose row it is, as in `fit`. One row stands for each person, and the guarantee is to people with any number of
        rows. Where the model was fitted by person and this is missing, a warning says so before anything is spent.
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
    spender._warn_if_weak(meter, fitted_by_person=model.privacy.guarantee.rows is not None)
    plan = cache(lambda guarantee: plan_of(guarantee, n_records, model.estimand).commitment)
    with spender._reserved(meter, plan, estimator="evaluate"):
        responses, predictions, exposures = (np.broadcast_to(each, n_all)[rows] for each in read())
    scores = release_scores_of(meter, model, responses, predictions, exposures)
    return model.evaluation_of(scores, meter.record())


def _require_people(n_people: int) -> None:
    if n_people < MIN_ROWS:
        raise ValueError(f"person names {n_people} person; evaluate needs at least {MIN_ROWS} people")


def released_model(model: Any) -> LinearModel:
    """The released model of a fitted private estimator, or a released model itself."""
    if not isinstance(model, LinearModel):
        check_is_fitted(model, "released_", msg="only a fitted private estimator or a loaded model can be evaluated")
        return model.released_  # type: ignore[no-any-return]  # scikit-learn's estimators have no types
    return model


def plan_of(guarantee: Guarantee, n_records: int, estimand: str | None) -> EvaluationPlan | OutcomePlan:
    """The releases of an evaluation of so many records, of a model of an estimand."""
    if estimand == LOG_ODDS.name:
        return OutcomePlan(guarantee, n_records)
    return EvaluationPlan(guarantee, PARTS) if estimand == LOG_MEAN.name else EvaluationPlan(guarantee)


def release_scores_of(
    meter: Meter,
    model: LinearModel,
    responses: NDArray[np.float64],
    predictions: NDArray[np.float64],
    exposures: ArrayLike,
) -> Scores | OutcomeScores:
    """Release how near predictions are to responses, by the plan of the model's estimand."""
    plan, constant = plan_of(meter.guarantee, len(responses), model.estimand), model.constant_prediction
    if isinstance(plan, OutcomePlan):
        return release_outcomes(meter, plan, responses, predictions, constant)
    if is_log_mean(model):
        with np.errstate(all="ignore"):
            means = odds_ratio(constant) * np.asarray(exposures)
        return release_means(meter, plan.commitment, responses, predictions, means, None)
    return release_scores(meter, plan.commitment, responses, predictions, constant, model.response_scale)

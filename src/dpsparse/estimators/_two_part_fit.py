"""A fit in two parts, under one commitment and one charge: on an array, and on a raw table.

Theorem. The fit keeps the guarantee that its estimator states.

Proof. Both pursuits and the last releases read all rows, each record through a function of that record: whether its
response is above 0; the response where it is, and otherwise no response, so that the record is null and its place stays
taken; and the response, at least 0. Units of features are learned in both pursuits from the records as the first one
reads them: where most have no amount, hardly any pair would have two. So neighbouring tables stay neighbours, of the
same public number of rows, in each of the three; where people have several rows, these are records of theirs, and each
of the three is as it is with one response. What the last releases know of the parts are releases. The commitment to all
of them is made before a value is read, as one sum: none of them is on a part of the rows. QED.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsparse.algorithms.overall_level import HOW_MUCH, LEVEL, WHETHER, release_level
from dpsparse.algorithms.progress import Progress
from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.pursuit import Pursuit
from dpsparse.algorithms.pursuit.result import PursuitResult
from dpsparse.algorithms.pursuit.schedule import Schedule
from dpsparse.data.as_table import as_table
from dpsparse.data.person_ids import people_rows, without_ids
from dpsparse.data.validation import cap_sparsity, name_of_response
from dpsparse.engine.people import ONE_ROW
from dpsparse.engine.protocols import Rows
from dpsparse.estimators._private import as_dtype
from dpsparse.estimators._raw_fit import PreparedTable, committed
from dpsparse.estimators._results import set_results
from dpsparse.estimators._two_part_plan import TABLE, TwoPartPlan
from dpsparse.model.numeric_columns import NumericColumns
from dpsparse.model.released import LinearModel
from dpsparse.model.two_parts import TwoParts, at_level, parts_of
from dpsparse.privacy.accounting.meter import Meter, MeterShare
from dpsparse.schema import FileError

if TYPE_CHECKING:
    from dpsparse.data.raw_data import RawData
    from dpsparse.estimators._pursuit import PursuitEstimator
    from dpsparse.estimators.two_part_regressor import PrivateSparseTwoPartRegressor

NO_LABEL = "positive is for yes/no responses: leave it out, here a response above 0 is a yes"
NO_UNITS = (
    "the bounds have a centre or a scale of the response, and a response in two parts has none: delete them there"
)


# The names by which people know the parts' estimators.
PURSUITS = {WHETHER: "PrivateSparseClassifier", HOW_MUCH: "PrivateSparseRegressor"}


@np.errstate(all="ignore")
def responses_of(part: str, y: Any) -> Any:
    """The responses of a part, or of the level, from those of the table: finite numbers, or NaN where there is none."""
    if part == WHETHER:
        return np.where(y > 0, 1.0, 0.0 * y)
    return np.where(y > 0, y, np.nan if part == HOW_MUCH else 0.0 * y)


def fit_array(estimator: "PrivateSparseTwoPartRegressor", X: Any, y: Any, person: Any, progress: Progress) -> None:
    """Fit an estimator on an array, or on another table of numbers."""
    estimator._check_parameters()
    X, ids = without_ids(X, person)
    table = as_table(X)
    n_rows, d = estimator._public_shape(table, y)
    people = None if ids is None else estimator._people(table, ids, n_rows)
    n = n_rows if people is None else people.n_people
    meter = estimator._open_meter(n, None if people is None else n_rows)
    rows_per_person = ONE_ROW if people is None else people.rows
    planned = cache(lambda guarantee: estimator._schedule(guarantee, n, d, rows=rows_per_person))
    with estimator._reserved(meter, lambda guarantee: planned(guarantee).commitment):
        given, y = y, estimator._validated(table, y, (n_rows, d))
        names = getattr(estimator, "feature_names_in_", None)
        units = estimator._public_units(table, d)
        asked = getattr(estimator, estimator._sparsity_parameter)
        if asked is not None:
            cap_sparsity(asked, estimator._n_candidates(d), estimator._sparsity_parameter)
        estimator._warn_if_weak(meter, names, features=names)
        estimator._warn_if_hopeless(n, d, meter, planned(meter.guarantee).parts[WHETHER].facts.known)
        if estimator._refuses_gaps:
            table.rows(y).require_finite()
    estimator._reset()
    plan, parts = planned(meter.guarantee), estimator._parts()
    features = NumericColumns(d, names, np.array(units.center), np.array(units.scale), estimator._allow_missing)

    def rows_of(name: str) -> Rows:
        rows: Rows = table.rows(responses_of(name, y))
        return rows if people is None or not people.rows.many else people_rows(rows, people)

    for (name, part), told in zip(parts.items(), _progress(plan, progress), strict=True):
        share = _share(meter, plan, name)
        unit_rows = rows_of(WHETHER) if name == HOW_MUCH else None
        result = Pursuit(
            rows_of(name),
            share,
            plan.parts[name],
            units=units,
            unit_rows=unit_rows,
            check_finite=False,
            progress=told,
        ).run()
        part.n_features_in_ = d
        if names is not None:
            part.feature_names_in_ = names
        described = {"target": estimator._target or name_of_response(given, names)} | part._described()
        set_results(part, _counted(name, result), features, table.dtype, share, **described)
    _publish(estimator, parts, rows_of(LEVEL), meter, plan, table.dtype)


def fit_raw_parts(estimator: "PrivateSparseTwoPartRegressor", data: "RawData", progress: Progress) -> None:
    """Fit an estimator on a raw table: what its columns are is learned once, for both parts."""
    estimator._check_parameters()
    if data.positive is not None:
        raise ValueError(NO_LABEL)
    if data.bounds.response_center is not None or data.bounds.response_scale is not None:
        raise FileError(NO_UNITS)
    meter, plan = committed(estimator, data, lambda guarantee: estimator._raw_schedule(data, guarantee))
    parts = estimator._parts()
    assert plan.table is not None  # a raw table has a schedule of its own
    once = MeterShare(meter, meter.guarantee, data.n_people, part=None, name=TABLE)
    table = PreparedTable(data, once, plan.table)
    estimator._reset()
    y = table.responses()
    y = np.where(np.isfinite(y), y, np.nan)
    results = {}
    for name, told in zip(parts, _progress(plan, progress), strict=True):
        share, rows = _share(meter, plan, name), table.rows_with(responses_of(name, y))
        unit_rows = table.rows_with(responses_of(WHETHER, y)) if name == HOW_MUCH else None
        result = table.pursue(share, plan.parts[name], progress=told, rows=rows, unit_rows=unit_rows)
        results[name] = _counted(name, result)
    support = dict.fromkeys(place for result in results.values() for place in result.features.support.tolist())
    names = table.named(once, plan.table, list(support))
    for name, part in parts.items():
        table.publish(part, results[name], meter, *names)
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = len(table.features)
    _publish(estimator, parts, table.rows_with(responses_of(LEVEL, y)), meter, plan, np.dtype(np.float64))


def _share(meter: Meter, plan: TwoPartPlan, name: str) -> MeterShare:
    """What a part, or the level, spends by."""
    return MeterShare(meter, plan.shares[name], meter.n_records, part=None, name=name)


def _counted(name: str, result: PursuitResult) -> PursuitResult:
    """A result without the number of its responses where these are amounts: most records may have none."""
    return replace(result, response=replace(result.response, count=None)) if name == HOW_MUCH else result


def _progress(plan: TwoPartPlan, progress: Progress) -> Iterator[Progress]:
    """A listener for each part, whose steps follow each other; their numbers are public."""
    totals = [_n_steps(part) for part in plan.parts.values()]
    for place in range(len(totals)):
        yield None if progress is None else partial(_told, progress, sum(totals[:place]), sum(totals))


def _told(progress: Callable[[float, int], object], before: int, total: int, done: float, _: int) -> None:
    progress(before + done, total)


def _n_steps(schedule: Schedule) -> int:
    return 2 + 2 * decisions.n_picks(schedule.facts)


def _publish(
    estimator: "PrivateSparseTwoPartRegressor",
    parts: "dict[str, PursuitEstimator]",
    rows: Rows,
    meter: Meter,
    plan: TwoPartPlan,
    dtype: np.dtype[Any],
) -> None:
    """Make the last releases, and set the results of an estimator."""
    whether, how_much = (parts[name].released_ for name in (WHETHER, HOW_MUCH))
    n_responses = float(rows.n_records) if whether.responses is None else whether.responses.number
    level = release_level(rows, _share(meter, plan, LEVEL), plan.level, parts_of(whether, how_much), n_responses)
    how_much = at_level(how_much, level)
    # Only now: a part alone has a record of its share, and a fit that is interrupted leaves no result.
    estimator.whether_, estimator.how_much_ = parts[WHETHER], parts[HOW_MUCH]
    _set_grown(estimator.how_much_, how_much, level.growth)
    for name, part in {WHETHER: whether, HOW_MUCH: how_much}.items():
        parts[name]._publish(replace(part, privacy=meter.record(), estimator=PURSUITS[name]))
    model = two_part_model(estimator, TwoParts(estimator.whether_.released_, estimator.how_much_.released_, level))
    size, d, places = len(model.features), estimator.n_features_in_, model._places
    errors, clear = np.full(size, np.nan), np.zeros(size, dtype=bool)
    errors[places] = [np.nan if each.standard_error is None else each.standard_error for each in model.effects]
    clear[places] = [each.clear for each in model.effects]
    estimator.coef_, estimator.coef_se_ = as_dtype(model.coef_, dtype), errors[:d]
    estimator.pvalues_, estimator.clear_ = model.pvalues[:d], clear[:d]
    estimator.support_, estimator.intercept_ = np.array(places, dtype=np.int64), model.intercept
    estimator.explains_ = model.explains
    estimator.noise_floor_ = np.nan if model.noise_floor is None else model.noise_floor
    estimator._publish(model)


def _set_grown(part: "PursuitEstimator", model: LinearModel, growth: float) -> None:
    """Set the attributes of a part to those of a model whose effects have grown."""
    part.intercept_, part.prediction_range_ = model.intercept, model.prediction_range
    part.coef_ = as_dtype(growth * part.coef_, part.coef_.dtype)
    if hasattr(part, "missing_coef_"):
        part.missing_coef_ = as_dtype(growth * part.missing_coef_, part.missing_coef_.dtype)
    d, places = part.n_features_in_, model._places
    part.coef_se_[:], part.pvalues_[:] = np.nan, np.nan
    for place, effect in zip(places, model.effects, strict=True):
        if place < d and effect.standard_error is not None:
            part.coef_se_[place], part.pvalues_[place] = effect.standard_error, effect.p_value
    part.noise_floor_ = np.nan if model.noise_floor is None else model.noise_floor


def two_part_model(estimator: "PrivateSparseTwoPartRegressor", parts: TwoParts) -> LinearModel:
    """The released model of two parts together."""
    whether, how_much = parts.whether, parts.how_much
    reasons = {WHETHER: whether.reason, HOW_MUCH: how_much.reason}
    return replace(
        how_much,
        estimator=type(estimator).__name__,
        effects=parts.effects(),
        intercept=parts.at_zero(),
        noise_floor=parts.noise_floor,
        prediction_range=None,
        explains=whether.explains or how_much.explains,
        reason="; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason),
        nearly_exact=False,
        cut=None,
        lumped=False,
        constant=parts.level.mean,
        spread_explained=None,
        median_shift=None,
        calibration_slope=1.0,
        left_out=parts.left_out(),
        responses=whether.responses,
        variables=(),
        correlations=None,
        parts=parts,
    )

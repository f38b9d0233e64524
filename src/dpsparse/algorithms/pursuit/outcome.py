"""The result of a pursuit, from its last state: nothing here reads data."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.result import (
    NO_MEAN,
    NOTHING_EXPLAINED,
    NOTHING_LEARNED,
    ON_A_LUMP,
    EstimatingEquation,
    FeatureEffects,
    Predictions,
    PursuitResult,
    ResponseCount,
    ResponseSummary,
)
from dpsparse.algorithms.pursuit.schedule import Schedule
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.updates import doubts_of, doubts_of_step, left_out, widened
from dpsparse.families.estimands import MEAN
from dpsparse.inference.bias_aware import widened_errors
from dpsparse.inference.inference_constants import INTERVAL_LEVEL
from dpsparse.privacy import sensitivity
from dpsparse.privacy.protection import of_people


@dataclass(frozen=True)
class Problem:
    """Why the scales were not learned, as a sentence without a full stop; empty, and false, where they were.

    Where the fit is nearly exact all that is not known is how small the residuals are: effects have errors then.
    """

    words: str = ""
    nearly_exact: bool = False

    def __bool__(self) -> bool:
        return bool(self.words)


def result_of(schedule: Schedule, state: State) -> PursuitResult:
    """Everything released, as the estimator needs it."""
    facts, problem = schedule.facts, problem_of(schedule, state)
    features = _features_of(state, facts, bool(problem) and not problem.nearly_exact)
    equation = _equation_of(state, facts, features)
    response = ResponseSummary(
        scale=float(state.response_scale),
        scale_known=not problem,
        spread_explained=None if problem else spread_explained(state, facts),
        cut=float(equation.tau),
        lumped=state.concluded.lumped,
        count=_count_of(state, facts),
        nearly_exact=problem.nearly_exact,
    )
    return PursuitResult(
        features=features,
        predictions=_predictions_of(state, facts),
        response=response,
        selected=decisions.selects(facts),
        reason=problem.words or _why_nothing(state, facts),
        equation=equation,
        left_out=left_out(state),
    )


def _features_of(state: State, facts: PublicFacts, has_problem: bool) -> FeatureEffects:
    concluded, columns, units = state.concluded, state.kept_features, state.kept_units
    kept, step = slice(state.constants, None), state.evidence.step
    if step is None:
        effects = state.evidence.estimate.effects[kept]
        errors = widened(state, (decisions.caution(facts) if facts.known else 1.0) * concluded.errors[kept])
        doubts = doubts_of(state, facts)
        if not concluded.explains:
            doubts = np.full_like(doubts, NOTHING_EXPLAINED)
        if facts.family.estimand == MEAN:
            doubts = np.full_like(doubts, NO_MEAN)
    else:
        effects = step.effects[kept]
        errors = widened_errors(np.sqrt(np.diagonal(step.covariance)), step.bias, INTERVAL_LEVEL)[kept]
        doubts = doubts_of_step(state, facts)
        if math.isfinite(step.tau) and concluded.at_center > c.MOSTLY_EQUAL:
            doubts = np.full_like(doubts, ON_A_LUMP)
    if has_problem:
        doubts = np.full_like(doubts, NOTHING_LEARNED)
    return FeatureEffects(
        support=np.array(state.features, dtype=np.int64)[columns - state.constants],
        effects=effects,
        shrunk_effects=concluded.effects[columns],
        standard_errors=errors,
        covariance=concluded.covariance[kept, kept],
        center=np.array([unit.center for unit in units]),
        scale=np.array([unit.scale for unit in units]),
        mean=concluded.means,
        learned=np.array([unit.learned for unit in units], dtype=bool),
        doubts=doubts,
    )


def _equation_of(state: State, facts: PublicFacts, features: FeatureEffects) -> EstimatingEquation:
    unit = features.support, features.center, features.scale
    if state.evidence.step is None or facts.family.estimand is None:
        last = state.evidence.last
        return EstimatingEquation(*unit, last.tau, last.weight.inner, last.weight.outer)
    # The residual scale that the step's residuals were clipped by, and rows as they are.
    return EstimatingEquation(*unit, state.evidence.step.tau, math.inf, math.inf)


def _predictions_of(state: State, facts: PublicFacts) -> Predictions:
    concluded = state.concluded
    constant = concluded.effects[0] + concluded.offset if state.constants else 0.0
    if concluded.all_equal:
        # All points of a grid are as far from a median that holds all values; the centre is near it.
        constant = 0.0
    has_shift = state.constants and not concluded.all_equal
    center = facts.family.intercept(state.center)
    alone = center - math.log(state.response.released.exposure or 1.0)
    mean = float(center + constant + state.mean_of_effects) if state.constants else 0.0
    return Predictions(
        constant=mean,
        # Probabilities do not average as their log odds do.
        alone=mean if facts.family.scaled is not None else float(alone),
        median_shift=float(concluded.median.height - concluded.offset) if has_shift else 0.0,
        median_slope=concluded.median.slope if has_shift else 1.0,
        calibration_slope=concluded.slope,
        range=facts.family.range(alone if facts.family.scaled is None else state.center, c.REACH * concluded.distance),
        explains=concluded.explains,
    )


def _count_of(state: State, facts: PublicFacts) -> ResponseCount | None:
    """The released number of responses; None where every record has one."""
    released = state.response.released
    if released.n_records is None or released.noise is None:
        return None
    return ResponseCount(float(released.n_records), float(released.noise), facts.n)


def problem_of(schedule: Schedule, state: State) -> Problem:
    """Why the scales were not learned."""
    facts, concluded = schedule.facts, state.concluded
    n, words, said = facts.n, facts.family.words, _said(facts)
    if not response_is_safe(schedule, n):
        return Problem(said(words.too_few_records).format(n=n))
    # Their number is noisy: where half of the records have a response, it says less than the public one.
    if state.n_records < n / 2 and not response_is_safe(schedule, state.n_records):
        return Problem(said(words.too_few_responses).format(count=state.n_records, n=n))
    if state.response.released.lost:
        return Problem(said(words.too_few_records).format(n=n))
    if concluded.all_equal:
        return Problem(words.all_equal)
    if facts.family.scaled is None or (state.evidence.step is not None and facts.family.estimand == MEAN):
        # A mean needs no scale of residuals, and most responses may be equal.
        return Problem()
    if concluded.exact:
        nearly = concluded.explains and not concluded.lumped
        cause = words.nearly_exact if nearly else words.most_equal
        return Problem(words.nothing_left.format(cause=cause), nearly_exact=nearly)
    # Steps to Huber's estimator find the scale of their residuals anew, from wherever they start.
    if (
        state.evidence.step is None
        and state.residual_scale >= c.AT_UPPER_END * facts.scaled.scale_range[1] * state.response_scale
    ):
        return Problem(said(words.astray))
    return Problem()


def response_is_safe(schedule: Schedule, n_responses: float) -> bool:
    """From public numbers or releases: are the response's centre and scale safe from points far from all responses?"""
    facts = schedule.facts
    pairs = n_responses if facts.amounts else facts.n // 2 * (n_responses / facts.n) ** 2
    change = sensitivity.located_utility("replace-one")
    for name, count in {"response size": pairs, "response centre": n_responses}.items():
        slot = schedule.response_slot(name)
        if (
            slot is not None
            and c.SAFE_LEAD * count * math.sqrt(c.BOUNDED_RANGE * slot.rho) / (2 * change) < c.SAFE_NATS
        ):
            return False
    return True


def spread_explained(state: State, facts: PublicFacts) -> float | None:
    """1 less the residuals' scale over the response's, or None.

    The two are not comparable where one is given, where a lump was left out of the other, or where residuals are
    skewed. Both are of typical records, and say nothing of a mean.
    """
    concluded, scale = state.concluded, state.response_scale
    if (
        facts.family.scaled is None
        or facts.family.estimand == MEAN
        or facts.scale_known
        or concluded.lumped
        or state.evidence.fraction_noise > c.LARGEST_FRACTION_NOISE
    ):
        return None
    shift = concluded.effects[0] + state.mean_of_effects if state.constants else 0.0
    if concluded.distance > c.LARGEST_TAIL * scale or abs(shift) > c.LARGEST_SHIFT * scale:
        return None
    if abs(concluded.median.height) > c.SKEWED * scale:
        return None
    explained = 1 - float(state.residual_scale / scale)
    return max(0.0, explained) if explained > c.LEAST_EXPLAINED else None


def _why_nothing(state: State, facts: PublicFacts) -> str:
    """Why the features explain nothing; empty where they do."""
    if state.concluded.explains:
        return ""
    words = facts.family.words
    if decisions.features_pay(facts):
        return words.no_gain
    return _said(facts)(words.units_not_learned).format(n=facts.n, needed=decisions.n_for_features(facts))


def _said(facts: PublicFacts) -> Callable[[str], str]:
    """How a sentence about records is said: of people, where they have several rows."""
    return of_people if facts.rows.many else str

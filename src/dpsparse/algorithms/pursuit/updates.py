"""How a state takes in releases: functions of a state, releases and public numbers that give a new state."""

import math
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.descent import Descent
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.result import (
    FEW_CARRIERS,
    HARDLY_VARIES,
    MAYBE_FEW,
    MOVED_FAR,
    OUTLYING,
    TOO_NOISY,
    UNIT_WRONG,
)
from dpsparse.algorithms.pursuit.state import Column, Fallback, Moments, Response, ResponseUnit, State
from dpsparse.inference import reliability
from dpsparse.inference.gls import Gradient, solve_gls
from dpsparse.inference.inference_constants import KEEP_ABOVE, LEAST_EIGENVALUE
from dpsparse.inference.matrices import NoisyMatrix, clean_gram
from dpsparse.inference.one_step import OneStep
from dpsparse.inference.sandwich import Jacobian, covariance
from dpsparse.inference.shrinkage import any_sure, combined, shrunk
from dpsparse.inference.weights import RowWeight, row_weight

# Effects and their covariance.
Beside: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]


def initial(facts: PublicFacts, given: ResponseUnit, released: ResponseUnit, final_tau: float) -> State:
    """The state before any release, with what is known of the response by then."""
    constants = int(facts.fit_intercept)
    nothing = np.zeros(constants)
    return State(
        constants,
        final_tau,
        Response(given, released, 0.0, np.nan, facts.n),
        (),
        nothing,
        np.arange(constants),
        residual_scale=np.nan,
        fallback=Fallback(nothing, np.inf),
        moments=Moments(np.eye(constants)),
    )


def with_response(state: State, facts: PublicFacts, response: Response) -> State:
    """Take in the centre and the scale of the response, before there are any effects."""
    # A public scale may be wrong: it says nothing of the residuals.
    fallback = Fallback(state.effects, np.inf if facts.scale_known else response.scale)
    return replace(state, response=response, residual_scale=response.scale, fallback=fallback)


def with_residual_scale(state: State, scale: float) -> State:
    """Take in the median size of the residuals; where it is clearly larger than before, take back what made it so.

    A start from slopes may be far off, and gradients from there would saturate: it is taken back. A step that follows
    from gradients goes the right way, but too far: half of it is.
    """
    best = state.fallback
    if scale > max(c.WORSE * best.scale, c.SMALL * state.response_scale):
        effects = best.before_slopes
        if effects is None:
            padded = np.append(best.effects, np.zeros(len(state.effects) - len(best.effects)))
            effects = (padded + state.effects) / 2
        fallback = replace(best, before_slopes=None)
        return replace(state, effects=effects, residual_scale=best.scale, fallback=fallback)
    return replace(state, residual_scale=scale, fallback=Fallback(state.effects, scale))


def with_column(state: State, feature: int, unit: FeatureUnit) -> State:
    """Add a selected feature, with no effect yet."""
    return replace(with_new(state, Column(feature, unit)), kept=np.append(state.kept, len(state.effects)))


def with_new(state: State, column: Column) -> State:
    """Add a column, uncorrelated with the others as far as is known."""
    size = len(state.effects) + 1
    gram = np.eye(size)
    gram[:-1, :-1] = state.moments.gram
    moments = replace(state.moments, gram=gram)
    return replace(state, columns=(*state.columns, column), effects=np.append(state.effects, 0.0), moments=moments)


def with_newest_unit(state: State, unit: FeatureUnit) -> State:
    """Replace the newest feature's unit by a refined one."""
    return replace(state, columns=(*state.columns[:-1], replace(state.columns[-1], unit=unit)))


def with_unit_settled(state: State) -> State:
    """Take in the newest feature's second moment, once its unit is known."""
    gram = state.moments.gram.copy()
    gram[state.newest, state.newest] = state.newest_unit.second_moment
    return replace(state, moments=replace(state.moments, gram=gram))


def with_slope(state: State, column: int, slope: float) -> State:
    """Move an effect, and the constant so that records at the feature's median keep their predictions.

    Most records of a rare feature are at its median: a slope that is roughly right for its carriers is wrong for these
    if it turns about the mean.
    """
    fallback = state.fallback
    if slope and fallback.before_slopes is None:
        fallback = replace(fallback, before_slopes=state.effects)
    effects = state.effects.copy()
    effects[column] += slope
    if state.constants:
        effects[0] -= slope * state.columns[column - 1].unit.median
    return replace(state, effects=effects, fallback=fallback)


def with_constant_moved(state: State, step: float) -> State:
    """Move the constant; before there is any feature, what is returned to moves too."""
    effects = state.effects.copy()
    effects[0] += step
    fallback = state.fallback if state.columns else replace(state.fallback, effects=effects)
    return replace(state, effects=effects, fallback=fallback)


def with_gram_row(state: State, row: NDArray[np.float64], noise: float) -> State:
    """Take in the newest feature's released second moments with the features before it and itself."""
    gram = state.moments.gram.copy()
    newest, before, kept = state.newest, state.kept_features[:-1], np.ix_(state.kept, state.kept)
    expected = gram[newest, newest]
    row = row * expected / max(row[-1], c.LEAST_OWN_MOMENT * expected)
    row = np.where(np.abs(row) > KEEP_ABOVE * noise, row, 0.0)[:-1]
    gram[newest, before] = gram[before, newest] = row
    root = np.sqrt(np.diagonal(gram)[state.kept])
    if np.linalg.eigvalsh(gram[kept] / np.outer(root, root))[0] < LEAST_EIGENVALUE:
        gram[newest, before] = gram[before, newest] = c.DAMPED * row
    return replace(state, moments=replace(state.moments, gram=gram))


def with_gram(state: State, moments: NDArray[np.float64], noise: float) -> State:
    """Replace the second moments of the kept columns by released ones."""
    gram = state.moments.gram.copy()
    gram[np.ix_(state.kept, state.kept)] = clean_gram(moments, noise, np.diagonal(gram)[state.kept], c.TRUST)
    return replace(state, moments=replace(state.moments, gram=gram, noise=noise / np.sqrt(2)))


def with_jacobian(state: State, released: NoisyMatrix) -> State:
    """Use the released Jacobian of the last gradient in place of the kept columns' second moments from here on."""
    place, last = np.ix_(state.kept, state.kept), state.evidence.last
    jacobian = Jacobian.of(released, state.moments.gram[place], last.slope, last.weight)
    gram = state.moments.gram.copy()
    gram[place] = jacobian.gram
    return replace(state, moments=replace(state.moments, gram=gram, noise=jacobian.noise, jacobian=jacobian))


def with_gradient(
    state: State,
    facts: PublicFacts,
    value: NDArray[np.float64],
    noise: float,
    tau: float,
    fraction: float,
    fraction_noise: float,
) -> State:
    """Take in a released gradient on the kept columns and the fraction of residuals within tau, with their noise.

    A noisy fraction is pulled toward what the residual scale so far lets one expect; it then gives that scale.
    """
    family = facts.scaled
    slope = family.slope(fraction, fraction_noise, tau, state.residual_scale)
    square, weight = family.score_square(tau, slope), weight_of_rows(state, facts)
    gradient = Gradient(state.kept, value, noise, state.effects, tau, slope, square, weight, facts.rows.root)
    evidence = replace(state.evidence, gradients=(*state.evidence.gradients, gradient), fraction_noise=fraction_noise)
    scale = family.residual_scale(tau, slope, state.response_scale)
    return replace(state, evidence=evidence, residual_scale=scale)


def weight_of_rows(state: State, facts: PublicFacts) -> RowWeight:
    """The weight of the rows of the kept columns."""
    bounds = decisions.inner_bound(facts), decisions.outer_bound(facts)
    return row_weight(len(state.kept), *bounds, state.constants)


def with_step(
    state: State, facts: PublicFacts, descent: Descent, gradient: NDArray[np.float64], noise: float, tau: float
) -> State:
    """Take in a released gradient on all columns, and follow it by a short step."""
    slope = facts.rows.root * facts.scaled.expected_slope(tau, state.residual_scale)
    taken, effects = descent.step(state.effects, gradient, noise, slope, state.residual_scale)
    return replace(state, effects=effects, descent=taken)


def solved(state: State) -> State:
    """Effects by least squares over all gradients so far; those of categories that came with others stay."""
    size = len(state.effects)
    effects = np.where(state.came_with >= 0, state.effects, 0.0)
    prior = np.full(size, c.PRIOR_SCALE * state.response_scale / np.sqrt(max(1, size - state.constants)))
    prior[: state.constants] = c.PRIOR_SCALE * state.response_scale
    # An effect that is known to be far from 0 is not pulled back; a wider prior would let collinear ones swing.
    prior = np.maximum(prior, np.abs(state.effects))
    estimate = solve_gls(
        state.evidence.gradients,
        state.moments.gram,
        state.kept,
        effects,
        prior_scale=prior,
        n_records=state.n_records,
        gram_noise=state.moments.noise,
    )
    effects[state.kept] = estimate.effects
    return replace(state, effects=effects, evidence=replace(state.evidence, solution=estimate))


def covariance_of(state: State) -> NDArray[np.float64]:
    """The covariance of the kept columns' effects."""
    evidence, moments = state.evidence, state.moments
    last = evidence.last.columns
    gram = moments.gram[np.ix_(last, last)]
    return covariance(
        evidence.estimate, evidence.gradients, state.kept, gram, state.n_records, moments.jacobian, moments.variance
    )


def knows_kept(state: State) -> bool:
    """Whether the pursuit's estimate is of the columns that are kept now.

    Not where one came with a selected feature since, even if another proved absent, so that there are as many.
    """
    as_many = len(state.kept) == len(state.evidence.estimate.effects)
    return as_many and bool(np.isin(state.kept, state.evidence.last.columns).all())


def spare_dropped(state: State, facts: PublicFacts) -> State:
    """Keep the constant and as many features as asked for: those most standard errors from 0.

    A category also counts for the others of its variable, which go where it goes.
    """
    state = solved(state)
    size = np.zeros(len(state.effects))
    errors = np.sqrt(np.diagonal(covariance_of(state)))
    size[state.kept] = np.abs(state.evidence.estimate.effects) / errors
    size[state.constants :] = np.hypot(size[state.constants :], [column.beside for column in state.columns])
    size[: state.constants] = np.inf
    out = np.zeros(len(size), dtype=bool)
    if state.constants:
        # Without an intercept something must be left to estimate.
        out[state.constants :] = np.isin(state.features, list(left_out(state)))
    size[out] = -1
    kept = state.kept[np.argsort(-size[state.kept], kind="stable")][: state.constants + facts.sparsity]
    kept = np.sort(kept[~out[kept]])
    stays = np.isin(np.arange(len(size)), kept) | np.isin(state.came_with, kept)
    return solved(replace(state, kept=kept, effects=np.where(stays, state.effects, 0.0)))


def left_out(state: State) -> dict[int, str]:
    """The selected features that get no effect, and why; a constant one says what the intercept says, if any."""
    whys = {}
    for column in state.columns:
        if column.unit.differing.constant and state.constants:
            whys[column.feature] = HARDLY_VARIES
        elif column.unit.astray:
            whys[column.feature] = UNIT_WRONG
    return whys


def rare(state: State, facts: PublicFacts) -> NDArray[np.bool_]:
    """Which kept features may have too few carriers for a reliable error; none where units are not learned."""
    shares = np.array([unit.differing.least for unit in state.kept_units])
    return reliability.is_rare(state.n_records, shares) & decisions.learns_units(facts)


def surely_rare(state: State, facts: PublicFacts) -> NDArray[np.bool_]:
    """Which of these have too few, whatever the noise of the released share is."""
    shares = np.array([unit.differing.most for unit in state.kept_units])
    return reliability.is_rare(state.n_records, shares) & decisions.learns_units(facts)


def seen(state: State, facts: PublicFacts) -> NDArray[np.bool_]:
    """Which kept features have enough carriers among records with a response, by their units and by how many have one.

    Pairs that differ have a carrier each, and of these no more lack a response than records do. None where units are
    not learned.
    """
    response = state.response.released
    blank = 0.0
    if response.n_records is not None and response.noise is not None:
        blank = max(0.0, facts.n - response.n_records) + c.LEAST_SHARE_DEVIATIONS * response.noise
    shares = np.array([unit.differing.least for unit in state.kept_units]) - 2 * blank / facts.n
    return ~reliability.is_rare(facts.n, shares) & decisions.learns_units(facts)


def last_move(state: State) -> NDArray[np.float64]:
    """How far the last gradient moved the effects of the kept features."""
    return np.abs(state.effects - state.evidence.last.origin)[state.kept_features]


def trusted(state: State, facts: PublicFacts, errors: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which kept features have an error that can be relied on as it is.

    Not those that have not settled or may have too few carriers; none where the noise of a gradient is so large that
    gradients saturate within it.
    """
    last = state.evidence.last
    arrived = reliability.has_arrived(last_move(state), errors, last)
    settled = arrived & ~reliability.is_weak(state.kept_features, last, state.moments.jacobian)
    return np.asarray(settled & ~rare(state, facts) & (not reliability.is_noisy(last)))


def doubts_of(state: State, facts: PublicFacts) -> NDArray[np.object_]:
    """For each kept feature why even a wider error cannot be relied on; empty where it can."""
    columns, last, out = state.kept_features, state.evidence.last, left_out(state)
    doubts = np.full(len(columns), TOO_NOISY if reliability.is_noisy(last) else "", dtype=object)
    doubts[reliability.moved_too_far(last_move(state), last)] = MOVED_FAR
    doubts[reliability.is_weak(columns, last, state.moments.jacobian)] = OUTLYING
    doubts[rare(state, facts)] = MAYBE_FEW
    doubts[surely_rare(state, facts)] = FEW_CARRIERS
    for place, column in enumerate(columns):
        doubts[place] = out.get(state.columns[column - state.constants].feature, doubts[place])
    return doubts


def doubts_of_step(state: State, facts: PublicFacts) -> NDArray[np.object_]:
    """The same for effects of a step to a reference estimator, whose errors tell what a pursuit's leave open."""
    out = left_out(state)
    step = state.evidence.step
    doubts = np.full(len(state.kept_features), "" if step is None or step.settled else MOVED_FAR, dtype=object)
    if step is not None and step.noisy:
        doubts[:] = TOO_NOISY
    doubts[rare(state, facts)] = MAYBE_FEW
    doubts[surely_rare(state, facts)] = FEW_CARRIERS
    for place, column in enumerate(state.kept_features):
        doubts[place] = out.get(state.columns[column - state.constants].feature, doubts[place])
    return doubts


def widened(state: State, errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The kept features' errors, wider by what the last move and near collinearity leave open.

    Where all features are taken, errors cover directions of near collinearity.
    """
    errors = reliability.with_last_move(errors, last_move(state), state.evidence.last)
    if state.descent is not None:
        return errors
    gram = state.moments.gram[np.ix_(state.kept, state.kept)]
    along = reliability.along_collinear(state.effects[state.kept], gram)[state.constants :]
    return reliability.with_collinearity(errors, along, np.diagonal(state.moments.gram)[state.kept_features])


def with_reference(
    state: State,
    facts: PublicFacts,
    step: OneStep,
    moments: NDArray[np.float64],
    beside: Beside | None = None,
    only_beside: bool = False,
) -> State:
    """Take in the step: predictions follow its effects, shrunk by their errors, through the same mean response.

    A pursuit's own effects are more precise and a little off: those of predictions have a part of them, the more the
    better both agree. So they have of other effects `beside` these, with their covariance, where these are given. With
    `only_beside` they are by these alone, as the step led astray.

    The bound on the bias is above what a clip leaves out of most tables. It counts in the weights of typical effects,
    of which the pursuit's are, too, and in those of effects on the mean where it is large. Effects on the mean are not
    the pursuit's, and sums of people's rows are clipped closer in a pursuit, which makes them less steep than its model
    says: its covariance has the step's sampling errors in addition there. With both, errors of simulated people are
    smaller by 3 to 16 % (`people.py`), and effects on the mean are nearer to those of OLS by 6 to 13 % on tables
    (`answers.py --set development`), and at 0.6 of the distance where noise is symmetric.
    """
    features, concluded = slice(state.constants, None), state.concluded
    covariance = step.covariance + np.diag(step.bias**2)
    means = moments[0, 1:] / moments[0, 0] if state.constants else np.zeros(len(step.effects))
    best, errors = step.effects, step.covariance if facts.rows.many else covariance
    if beside is not None:
        best, errors = combined(step.effects, covariance, *beside)
    if only_beside and beside is not None:
        best, errors = beside
    sure = any_sure(best[features], errors[features, features])
    explains = (sure or concluded.explains) and not concluded.all_equal
    if beside is None:
        of_mean = facts.rows.many or not math.isfinite(step.tau)
        if of_mean and not facts.rows.many:
            errors = step.with_large_bias
        # Categories that came with others have no effects of the pursuit.
        if knows_kept(state):
            of_pursuit = covariance_of(state) + (step.sampling if of_mean else 0.0)
            best, errors = combined(best, errors, state.evidence.estimate.effects, of_pursuit)
    kept = explains * shrunk(best[features], errors[features, features], ~rare(state, facts))
    effects = np.zeros(len(state.effects))
    effects[state.kept_features] = kept
    if state.constants:
        effects[0] = best[0] + means @ (best[features] - kept)
    concluded = replace(
        concluded, covariance=covariance, effects=effects, means=means, offset=0.0, slope=1.0, explains=explains
    )
    return replace(state, evidence=replace(state.evidence, step=step), conclusion=concluded)

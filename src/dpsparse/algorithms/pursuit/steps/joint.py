"""All effects together: second moments of all columns, starts from slopes again, final gradients, the sandwich."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpsparse.algorithms.pursuit import budget, decisions
from dpsparse.algorithms.pursuit.descent import Descent
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit_constants import DROP_AFTER
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import NOTHING, Planned, Releases
from dpsparse.algorithms.pursuit.shares import Formula
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.gradients import (
    equation,
    with_released_gradient,
    with_released_residual_scale,
    with_start_from_slopes,
)
from dpsparse.algorithms.pursuit.updates import solved, spare_dropped, weight_of_rows, with_gram, with_jacobian
from dpsparse.engine import queries
from dpsparse.privacy.accounting.release import Slot


def _has_extra(facts: PublicFacts) -> bool:
    """Whether second moments have a part of what is left: where features in unknown units are selected."""
    return decisions.selects(facts) and not facts.known


@dataclass(frozen=True)
class GramStep:
    """Second moments of all columns, each row weighted as in the gradients."""

    facts: PublicFacts

    @cached_property
    def gram(self) -> Planned:
        """The matrix."""
        extra = budget.EXTRA_GRAM_MATRIX if _has_extra(self.facts) else NOTHING
        return Planned("Gram matrix", budget.GRAM_MATRIX.of(self.facts), extra=extra)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.gram,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and use them for effects, or for steps where all features are taken."""
        weight = weight_of_rows(state, self.facts)
        sums = data.records.evaluate(queries.gram_sums, state.kept, weight.inner, weight.outer)
        released = releases.gram(releases.due(self.gram), sums, weight.inner * weight.outer)
        # Second moments of standard normal rows with this weight are diagonal, with entries `gain`.
        unit = np.sqrt(np.outer(weight.gain, weight.gain))
        squares = np.diagonal(state.moments.gram)[state.kept]
        state = with_gram(state, released.values / unit, released.noise / unit[-1, -1])
        if decisions.selects(self.facts):
            return solved(state)
        return replace(state, descent=Descent.of(released, weight.gain, squares))


@dataclass(frozen=True)
class SlopesStep:
    """Starts of the kept effects again, now that the others are known; at most `count` of them."""

    facts: PublicFacts
    count: int

    @cached_property
    def slopes(self) -> tuple[Planned, ...]:
        """One for each place."""
        share = budget.share_of_each(budget.SLOPE, self.facts)
        return tuple(Planned(f"second slope {place}", share, "pick") for place in range(1, self.count + 1))

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.slopes

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them for the kept features; skip the others."""
        kept = state.kept_features
        for place, planned in enumerate(self.slopes):
            slot = releases.due(planned)
            if place < len(kept):
                state = with_start_from_slopes(slot, data, releases, state, kept[place])
            else:
                releases.skip(slot)
        return state


@dataclass(frozen=True)
class ResidualScaleStep:
    """The median size of the residuals again."""

    scale: Planned

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.scale,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them."""
        slot = releases.slot(self.scale)
        return state if slot is None else with_released_residual_scale(slot, data, releases, state)


@dataclass(frozen=True)
class FinalGradientStep:
    """A final gradient; after the first one the spare feature is dropped, and constant ones. `place` counts from 1."""

    facts: PublicFacts
    place: int

    @cached_property
    def gradient(self) -> tuple[Planned, Planned]:
        """A gradient on the kept columns, and the fraction of residuals within tau."""
        name, share = f"final gradient {self.place}", budget.share_of_each(budget.FRACTION, self.facts)
        return Planned(name, 0.0, is_final=True), Planned(f"fraction at {name}", share)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.gradient

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and solve for the effects."""
        tau = state.final_tau * state.residual_scale
        state = with_released_gradient(self.gradient, data, releases, state, self.facts, tau)
        if state.moments.released_jacobian is not None:
            state = with_jacobian(state, state.moments.released_jacobian)
        return spare_dropped(state, self.facts) if self.place == DROP_AFTER else solved(state)


@dataclass(frozen=True)
class SandwichStep:
    """The Jacobian of the last gradient, which is the next one where features were selected, and its variance."""

    facts: PublicFacts

    @cached_property
    def jacobian(self) -> Planned:
        """The Jacobian."""
        return self._planned(budget.JACOBIAN, budget.EXTRA_JACOBIAN)

    @cached_property
    def variance(self) -> Planned:
        """The variance of a record's term in that gradient, in units of tau."""
        return self._planned(budget.SCORE_VARIANCE, budget.EXTRA_SCORE_VARIANCE)

    def _planned(self, price: budget.Price, extra: Formula) -> Planned:
        has_extra = _has_extra(self.facts) and decisions.releases_sandwich(self.facts)
        return Planned(price.release, price.of(self.facts), extra=extra if has_extra else NOTHING)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.jacobian, self.variance

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, where they would not be noise."""
        if slot := releases.slot(self.jacobian):
            state = self._with_jacobian(slot, data, releases, state)
        if slot := releases.slot(self.variance):
            state = self._with_variance(slot, data, releases, state)
        return state

    def _with_jacobian(self, slot: Slot, data: Data, releases: Releases, state: State) -> State:
        weight = weight_of_rows(state, self.facts)
        sums = data.records.evaluate(queries.jacobian_sums, *equation(state, self._tau(state), weight))
        released = releases.gram(slot, sums, weight.inner * weight.outer)
        return replace(state, moments=replace(state.moments, released_jacobian=released))

    def _with_variance(self, slot: Slot, data: Data, releases: Releases, state: State) -> State:
        weight = weight_of_rows(state, self.facts)
        sums = data.records.evaluate(queries.variance_sums, *equation(state, self._tau(state), weight))
        variance = releases.gram(slot, sums, weight.inner**2)
        state = replace(state, moments=replace(state.moments, variance=variance))
        if decisions.selects(self.facts) or state.moments.released_jacobian is None:
            return state
        return with_jacobian(state, state.moments.released_jacobian)

    def _tau(self, state: State) -> float:
        """Where the last gradient clips residuals: its fraction within tau is that of the Jacobian only there."""
        if decisions.selects(self.facts):
            return state.final_tau * state.residual_scale
        return state.evidence.last.tau

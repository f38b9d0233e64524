"""The steps of a pursuit that takes all features: short steps along gradients, their average, the final effects."""

from dataclasses import dataclass, replace
from functools import cached_property

from dpsparse.algorithms.pursuit import budget
from dpsparse.algorithms.pursuit.descent import Descent
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit_constants import LOOKS, N_AVERAGED, N_STEPS
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Planned, Releases
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.gradients import equation, mean_score
from dpsparse.algorithms.pursuit.updates import solved, spare_dropped, weight_of_rows, with_gradient, with_step
from dpsparse.engine import queries


@dataclass(frozen=True)
class DescentStep:
    """A gradient on all columns, and a short step; `place` counts from 1."""

    facts: PublicFacts
    place: int

    @cached_property
    def gradient(self) -> Planned:
        """The gradient."""
        return Planned(f"descent {self.place}", 0.0, is_final=True)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.gradient,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them."""
        descent = _descent(state)
        if self.place == N_STEPS - N_AVERAGED + 1:
            descent = descent.averaging_from_here()
        tau = state.final_tau * state.residual_scale
        gradient, noise, _ = mean_score(releases.due(self.gradient), data, releases, state, self.facts, tau)
        state = with_step(state, self.facts, descent, gradient, noise, tau)
        if self.place in LOOKS:
            descent = _descent(state)
            # At first all gradients are far more than noise.
            descent = descent.looking_from_here() if self.place == LOOKS[0] else descent.bolder()
            state = replace(state, descent=descent)
        return state


@dataclass(frozen=True)
class AverageStep:
    """The averages of the last steps, and the fraction of residuals within tau there."""

    facts: PublicFacts

    @cached_property
    def fraction(self) -> Planned:
        """The fraction."""
        return Planned("fraction", budget.FRACTION.of(self.facts))

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return (self.fraction,)

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them, and one Newton step from there."""
        effects, gradient, noise = _descent(state).average()
        state = replace(state, effects=effects)
        tau, weight = state.final_tau * state.residual_scale, weight_of_rows(state, self.facts)
        _, within = data.records.evaluate(queries.gradient_sums, *equation(state, tau, weight))
        fraction = releases.fraction(releases.due(self.fraction), within)
        return solved(with_gradient(state, self.facts, gradient, noise, tau, *fraction))


@dataclass(frozen=True)
class SettleStep:
    """The final effects, without features that are constant or in wrong units; nothing is released."""

    facts: PublicFacts

    def planned(self) -> tuple[Planned, ...]:
        """Nothing."""
        return ()

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Drop them."""
        return spare_dropped(state, self.facts)


def _descent(state: State) -> Descent:
    assert state.descent is not None, "second moments come first"
    return state.descent

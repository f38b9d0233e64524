"""The newest feature's effect: second moments, a start from slopes, a gradient, and least squares over all of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpsparse.algorithms.pursuit import budget, decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.planned import Planned
from dpsparse.algorithms.pursuit.pursuit_constants import GRAM_ROW_NORM
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Releases, skip_all
from dpsparse.algorithms.pursuit.state import State
from dpsparse.algorithms.pursuit.steps.gradients import (
    with_released_gradient,
    with_released_residual_scale,
    with_start_from_slopes,
)
from dpsparse.algorithms.pursuit.updates import solved, with_gram_row
from dpsparse.engine import queries
from dpsparse.privacy.accounting.release import Slot


@dataclass(frozen=True)
class EffectStep:
    """Estimate the effects of all features so far; `place` counts from 1."""

    facts: PublicFacts
    place: int

    @cached_property
    def gram_row(self) -> Planned:
        """Second moments of the newest feature with those before it; the first one has none."""
        others = decisions.n_picks(self.facts) - 1
        share = budget.GRAM_ROWS.of(self.facts) / others if self.place > 1 else 0.0
        return Planned(f"Gram row {self.place}", share)

    @cached_property
    def slope(self) -> Planned:
        """A start for the newest effect."""
        return Planned(f"slope {self.place}", budget.each(budget.SLOPE, self.facts), "pick")

    @cached_property
    def residual_scale(self) -> Planned:
        """The median size of the residuals."""
        share = budget.each(budget.RESIDUAL_SCALE, self.facts)
        return Planned(f"residual scale {self.place}", share, "pick")

    @cached_property
    def gradient(self) -> tuple[Planned, Planned]:
        """A gradient on all columns so far, and the fraction of residuals within tau."""
        grows = np.arange(1, decisions.n_picks(self.facts) + 1) ** budget.EARLY_RISE
        name, share = f"gradient {self.place}", budget.EARLY_GRADIENTS.of(self.facts) * grows[self.place - 1]
        fraction = budget.each(budget.FRACTION, self.facts)
        return Planned(name, share / grows.sum()), Planned(f"fraction at {name}", fraction)

    def planned(self) -> tuple[Planned, ...]:
        """The releases of this step."""
        return self.gram_row, self.slope, self.residual_scale, *self.gradient

    def run(self, data: Data, releases: Releases, state: State) -> State:
        """Make them; where there is no newest feature, those about all effects alone."""
        if self.place > len(state.columns):
            skip_all(releases, (self.gram_row, self.slope))
        else:
            if slot := releases.slot(self.gram_row):
                state = _with_gram_row(slot, data, releases, state)
            if slot := releases.slot(self.slope):
                state = with_start_from_slopes(slot, data, releases, state, state.newest)
        state = with_released_residual_scale(releases.due(self.residual_scale), data, releases, state)
        tau = self.facts.scaled.early_tau(state.residual_scale)
        return solved(with_released_gradient(self.gradient, data, releases, state, self.facts, tau))


def _with_gram_row(slot: Slot, data: Data, releases: Releases, state: State) -> State:
    """Second moments of the newest feature with itself and those before; each pair is released once."""
    columns = range(state.constants, len(state.effects))
    bound = float(GRAM_ROW_NORM * np.sqrt(len(columns)))
    sums = data.records.evaluate(queries.product_sums, columns, bound)
    return with_gram_row(state, *releases.mean(slot, sums, bound))

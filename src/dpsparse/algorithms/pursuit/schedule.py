"""The schedule of a private pursuit: its steps, their releases in order and their prices, from public facts alone."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dpsparse.algorithms.pursuit import budget, decisions
from dpsparse.algorithms.pursuit.facts import PublicFacts, Sharing
from dpsparse.algorithms.pursuit.pursuit_constants import (
    FINAL_GRADIENTS,
    INNER,
    N_STEPS,
    NEWTON_STEPS,
    RESCALED,
    SCORES_OF_ALL,
)
from dpsparse.algorithms.pursuit.reference_budget import pursuit_share
from dpsparse.algorithms.pursuit.releases import Planned
from dpsparse.algorithms.pursuit.steps.all_at_once import AverageStep, DescentStep, SettleStep
from dpsparse.algorithms.pursuit.steps.all_columns import AllColumnsStep, RowMomentsStep
from dpsparse.algorithms.pursuit.steps.bounded import BoundedReferenceStep
from dpsparse.algorithms.pursuit.steps.category_means import CategoryMeansStep
from dpsparse.algorithms.pursuit.steps.closing import CalibrationStep, GainStep, RangeStep
from dpsparse.algorithms.pursuit.steps.joint import (
    FinalGradientStep,
    GramStep,
    ResidualScaleStep,
    SandwichStep,
    SlopesStep,
)
from dpsparse.algorithms.pursuit.steps.mean_response import MeanResponseStep
from dpsparse.algorithms.pursuit.steps.median import MedianLineStep, MedianStep
from dpsparse.algorithms.pursuit.steps.newest_feature import EffectStep, UnitStep
from dpsparse.algorithms.pursuit.steps.newton import ConcludeStep, NewtonStep
from dpsparse.algorithms.pursuit.steps.odds_line import OddsLineStep
from dpsparse.algorithms.pursuit.steps.ratio_level import RatioLevelStep
from dpsparse.algorithms.pursuit.steps.reference import CurvedReferenceStep, LevelStep, ReferenceStep
from dpsparse.algorithms.pursuit.steps.response import ResponseStep
from dpsparse.algorithms.pursuit.steps.select import CompanionsStep, SelectStep, SplitsStep, TakeStep
from dpsparse.algorithms.pursuit.steps.share_of_yes import OutcomeStep
from dpsparse.algorithms.pursuit.steps.step import Step
from dpsparse.algorithms.pursuit.steps.typical_reference import TypicalReferenceStep
from dpsparse.learning.table_prices import TableReleases, preparation_slot
from dpsparse.privacy.accounting.compose import largest_factor
from dpsparse.privacy.accounting.meter import Commitment
from dpsparse.privacy.accounting.release import Slot
from dpsparse.privacy.guarantee import Guarantee


def steps_of(facts: PublicFacts, reference_rho: float = 0.0) -> tuple[Step, ...]:
    """The steps of a fit, in order of time; the last ones lead to the estimand's estimator if they may cost anything.

    Examples
    --------
    >>> from dpsparse.algorithms.pursuit.facts import PublicFacts
    >>> [type(step).__name__ for step in steps_of(PublicFacts(2_000, 50, 1, 0.02, units_known="none"))]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['SplitsStep', 'ResponseStep', 'SelectStep', 'UnitStep', 'EffectStep', 'GramStep', 'FinalGradientStep',
     'FinalGradientStep', 'SandwichStep', 'FinalGradientStep', 'RangeStep', 'GainStep', 'CalibrationStep',
     'MedianLineStep', 'MedianStep']
    """
    if facts.family.scaled is None:
        opening, level = (OutcomeStep(facts), ()) if facts.family.bounded else _of_ratios(facts)
        return (
            SplitsStep(facts),
            opening,
            *_by_newton(facts, reference_follows=reference_rho > 0),
            *level,
            ConcludeStep(reference_follows=reference_rho > 0),
            *(_to_reference(facts, reference_rho) if reference_rho else (OddsLineStep(facts),)),
        )
    most = decisions.most_columns(facts, reference_rho) if reference_rho else 0
    middle = _one_by_one(facts, most) if decisions.selects(facts) else _all_at_once(facts)
    closing: tuple[Step, ...] = (
        RangeStep(facts),
        GainStep(facts),
        CalibrationStep(facts),
        *_to_reference(facts, reference_rho),
        MedianLineStep(facts),
        MedianStep(facts),
    )
    return SplitsStep(facts), ResponseStep(facts), *middle, *closing


def _to_reference(facts: PublicFacts, rho: float) -> Iterator[Step]:
    """One step to the estimator that the estimand names, and for a mean the level."""
    if not rho:
        return
    most = decisions.most_columns(facts, rho)
    yield CompanionsStep(most, unsure=not facts.family.bounded)
    reliable = decisions.reliable_columns(facts, rho)
    if facts.family.bounded:
        yield BoundedReferenceStep(facts, most, reliable)
        return
    if facts.family.scaled is None:
        yield CurvedReferenceStep(facts, most, reliable)
        yield RatioLevelStep.after(facts)
        return
    of_typical = facts.family.estimand is not None and math.isfinite(facts.family.estimand.tuning)
    yield TypicalReferenceStep(facts, most) if of_typical else ReferenceStep(facts, most)
    if decisions.releases_mean_residual(facts):
        yield LevelStep(facts)


def _of_ratios(facts: PublicFacts) -> tuple[Step, tuple[Step, ...]]:
    """The first step where effects are ratios, and the one that brings predictions to the right level."""
    return MeanResponseStep(facts), (RatioLevelStep.before(facts),)


def _one_by_one(facts: PublicFacts, most: int) -> Iterator[Step]:
    """Select a feature, learn its unit and its effect, and so on; then all effects together.

    Other categories come with a selected one where a step to the estimand's estimator follows, on `most` columns.
    """
    n_picks, of_units = decisions.n_picks(facts), budget.unit_shares(facts)
    for place in range(1, n_picks + 1):
        yield SelectStep(facts, place)
        yield UnitStep(facts, place, of_units)
        if most:
            yield CategoryMeansStep(facts, place, most)
        yield EffectStep(facts, place)
    if n_picks:
        yield GramStep(facts)
    for place in range(1, FINAL_GRADIENTS + 1):
        if place == 2 and decisions.starts_from_slopes_again(facts):
            yield SlopesStep(facts, min(facts.sparsity, n_picks))
            yield ResidualScaleStep(
                Planned("residual scale", budget.share_of_each(budget.RESIDUAL_SCALE, facts), "pick")
            )
        if place == FINAL_GRADIENTS:
            yield SandwichStep(facts)
        yield FinalGradientStep(facts, place)


def _all_at_once(facts: PublicFacts) -> Iterator[Step]:
    """Learn the units of all features, then all effects together."""
    n_picks, of_units = decisions.n_picks(facts), budget.unit_shares(facts)
    for place in range(1, n_picks + 1):
        yield TakeStep(facts, place)
        yield UnitStep(facts, place, of_units)
    yield GramStep(facts)
    scale = budget.RESIDUAL_SCALE_OF_STEPS.of(facts)
    for place in range(1, N_STEPS + 1):
        if place == RESCALED[0] and decisions.starts_steps_from_slopes(facts):
            yield SlopesStep(facts, n_picks)
        if place in RESCALED:
            yield ResidualScaleStep(Planned(f"residual scale {1 + RESCALED.index(place)}", scale, "pick"))
        yield DescentStep(facts, place)
    yield AverageStep(facts)
    yield SandwichStep(facts)
    yield SettleStep(facts)


def _by_newton(facts: PublicFacts, reference_follows: bool) -> Iterator[Step]:
    """Select a feature, learn its unit, step; or take all features, and step some times."""
    n_picks, of_units, selects = decisions.n_picks(facts), budget.unit_shares(facts), decisions.selects(facts)
    for place in range(1, n_picks + 1):
        yield SelectStep(facts, place) if selects else TakeStep(facts, place)
        yield UnitStep(facts, place, of_units)
        if selects:
            yield NewtonStep(facts, place, n_picks, columns=place)
    if selects:
        return
    if facts.family.bounded:
        yield RowMomentsStep(facts)
        for place in range(1, SCORES_OF_ALL + 1):
            yield AllColumnsStep(facts, place, reference_follows)
        return
    for place in range(1, NEWTON_STEPS + 1):
        yield NewtonStep(facts, place, NEWTON_STEPS, columns=0)


def _of_pursuit(planned: tuple[Planned, ...]) -> tuple[Planned, ...]:
    """The releases before the step to the estimand's estimator."""
    return tuple(each for each in planned if not each.of_reference)


def _share(schedule: "Schedule", planned: Planned) -> float:
    """The share of a release of the pursuit's rho."""
    whole = 1 + schedule.reference_rho / schedule.facts.rho
    return planned.share * whole if planned.of_whole else planned.share


@dataclass(frozen=True)
class Schedule:
    """The releases of a pursuit in order of time, each at its price.

    `facts`: what everything here follows from.
    `factor`: the prices in units of the zCDP budget; above 1 where the Gaussian account allows it.
    `of_units`: has the releases about units that this fit shares with others.
    `table`: the releases about a raw table, before all others, and the names of its texts, after them.
    `reference_rho`: what the steps to the estimand's estimator may cost beside the rho of `facts`; 0 where there are
      none.
    """

    facts: PublicFacts
    factor: float = 1.0
    of_units: "Schedule | None" = None
    table: TableReleases = field(default_factory=TableReleases)
    reference_rho: float = 0.0

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in order of time."""
        return steps_of(self.facts, self.reference_rho)

    @cached_property
    def planned(self) -> tuple[Planned, ...]:
        """The releases of all steps."""
        return tuple(planned for step in self.steps for planned in step.planned())

    def at_factor(self, factor: float) -> "Schedule":
        """The same releases at other prices."""
        other = replace(self, factor=factor)
        # What is planned does not depend on prices: it is not worked out again.
        other.__dict__.update(steps=self.steps, planned=self.planned)
        return other

    @cached_property
    def commitment(self) -> Commitment:
        """The releases that this fit pays for, as a commitment."""
        return Commitment((*self.preparation, *self._own.values(), *self.naming))

    def slots(self) -> tuple[Slot, ...]:
        """One slot for each release."""
        return self.commitment.slots

    @cached_property
    def preparation(self) -> tuple[Slot, ...]:
        """The first slots, which tell what the columns of a raw table are."""
        priced = ((name, self._price(share)) for name, share in self.table.preparation)
        return tuple(preparation_slot(name, rho, self.facts.n) for name, rho in priced if rho > 0)

    @cached_property
    def naming(self) -> tuple[Slot, ...]:
        """The last slot, if any, which names the selected features of a raw table that are text."""
        rho = self._price(self.table.naming)
        return (preparation_slot("names", rho, self.facts.n, self.table.failure),) if rho > 0 else ()

    @cached_property
    def shared(self) -> tuple[Slot, ...]:
        """The slots about the response's and the features' units, which one fit can fill for several."""
        return tuple(self._own[each.name] for each in self.planned if each.about_units and each.name in self._own)

    @property
    def pursuit(self) -> tuple[Slot, ...]:
        """The slots which the steps fill; where the fit leads, those that it fills for other fits too."""
        if self.of_units is None or not self.facts.releases_for_others:
            return tuple(self._own.values())
        by_name = self._own | {slot.name: slot for slot in self.of_units.shared}
        return tuple(by_name[each.name] for each in self.planned if each.name in by_name)

    def response_slot(self, name: str) -> Slot | None:
        """The slot of a release about the response, here or where units are shared; None where it is public."""
        public = self.facts.center_known if name == "response centre" else self.facts.scale_known
        return None if public else (self.of_units or self)._own.get(name)

    @cached_property
    def _others(self) -> float:
        """What all releases but the final gradients ask for, as a share of rho."""
        of_table = *(share for _, share in self.table.preparation), self.table.naming
        return math.fsum((*of_table, *(_share(self, each) for each in _of_pursuit(self.planned) if not each.is_final)))

    @cached_property
    def final_share(self) -> float:
        """What the other releases leave for the final gradients together."""
        return max(budget.final_least(self.facts), 1 - self._others)

    @cached_property
    def _own(self) -> dict[str, Slot]:
        """The slots of the steps that this fit pays for, by name."""
        n_picks, prices = decisions.n_picks(self.facts), prices_of(self)
        return {
            each.name: each.slot(prices[each.name], n_picks, self.facts.n_split)
            for each in self.planned
            if each.name in prices
        }

    def _price(self, share: float, extra: float = 0.0, shrink: bool = True) -> float:
        """The price of a share of rho and of a part of what is left."""
        factor = min(1.0, (1 - budget.final_least(self.facts)) / self._others) if shrink else 1.0
        return (factor * share + extra) * (self.factor * self.facts.rho * (1 - budget.ROUNDING))

    @property
    def final_tau(self) -> float:
        """Where final residuals are clipped, in residual scales: tighter where privacy noise dominates."""
        k, facts = decisions.n_picks(self.facts) + 1, self.facts
        price = self.final_share * self.factor * facts.rho
        if facts.family.scaled is None:
            return math.inf
        return facts.scaled.final_tau(2 * INNER * math.sqrt(k) / math.sqrt(2 * price) / math.sqrt(facts.n))


def prices_of(schedule: Schedule) -> dict[str, float]:
    """The rho of each release of the steps that a fit of this schedule pays for, by name."""
    pursuit = _of_pursuit(schedule.planned)
    extra = {each.name: each.extra.of(schedule.facts) for each in pursuit if not each.is_final}
    final = schedule.final_share * (1 - math.fsum(extra.values())) / sum(each.is_final for each in pursuit)
    whole, prices = schedule._price(1.0, shrink=False), {}
    for each in schedule.planned:
        if each.of_reference:
            rho = each.share * schedule.factor * schedule.reference_rho * (1 - budget.ROUNDING)
        else:
            rho = (
                final * whole
                if each.is_final
                else schedule._price(_share(schedule, each), schedule.final_share * extra[each.name])
            )
        if rho > 0:
            prices[each.name] = rho
    return prices


def n_with_units(of_units: Schedule, n_known: int) -> int:
    """The most features that a fit which takes over units may select: the released ones, and `n_known` public ones."""
    return n_known + decisions.n_picks(of_units.facts)


def schedule_for(
    guarantee: Guarantee,
    n: int,
    d: int,
    sparsity: int,
    *,
    of_units: Schedule | None = None,
    n_selectable: int | None = None,
    table: TableReleases | None = None,
    **public: Any,
) -> Schedule:
    """The schedule that spends a guarantee: shares of the zCDP budget, stretched to fill the Gaussian account.

    `of_units` is a schedule that pays for the releases about units, if another one than this does; this fit makes them,
    unless `n_selectable` says how many features have units by then. `public` are further facts.

    Examples
    --------
    >>> from dpsparse.algorithms.pursuit.decisions import n_picks
    >>> from dpsparse.privacy.guarantee import Guarantee
    >>> schedule = schedule_for(Guarantee(1.0, 1e-6), 10_000, 1_000, 5)
    >>> n_picks(schedule.facts), schedule.factor > 1
    (6, True)
    """
    sharing = Sharing(of_units.facts, n_selectable) if of_units else None
    facts = PublicFacts(n, d, sparsity, guarantee.rho_per_record, sharing=sharing, **public)
    # What is asked for beyond what can be looked for changes nothing.
    facts = replace(facts, sparsity=max(1, min(sparsity, decisions.most_features(facts))))
    share = pursuit_share(facts)
    facts, reference_rho = replace(facts, rho=share * facts.rho), (1 - share) * facts.rho
    at_zcdp = Schedule(facts, of_units=of_units, table=table or TableReleases(), reference_rho=reference_rho)
    factor = largest_factor([slot.mechanism for slot in at_zcdp.slots()], guarantee.mu_per_record)
    stretched = at_zcdp.at_factor(factor)
    if factor > 1 and stretched.commitment.composed.tv_slack_fits(guarantee):
        return stretched
    return at_zcdp.at_factor(budget.MAY_FAIL) if at_zcdp.table.naming else at_zcdp

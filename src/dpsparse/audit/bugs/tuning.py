"""Bugs to plant in the choice among candidates, and in the units that they share."""

from dpsparse.algorithms.pursuit import data, pursuit
from dpsparse.algorithms.pursuit.steps import unit
from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.engine import regrets
from dpsparse.estimators import tuning
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting import meter

TUNED = "replay of tuning"

TUNING = (
    Mutation(
        "the choice made on all rows",
        TUNED,
        {tuning._tune_array: [("rows.part(HELD_OUT_EVERY - 1, HELD_OUT_EVERY)", "rows")]},
    ),
    Mutation(
        "candidates fitted on all rows",
        TUNED,
        {tuning._tune_array: [("% HELD_OUT_EVERY != HELD_OUT_EVERY - 1", ">= 0"), ("len(training)", "n")]},
    ),
    Mutation(
        "regrets unclipped",
        TUNED,
        {
            regrets.regret_sums: [
                (
                    "weight_levels(regrets(errors), bound)",
                    "np.nan_to_num(regrets(errors) * (WEIGHT_LEVELS / bound))",
                ),
                ("np.clip(levels, 0, WEIGHT_LEVELS)", "np.rint(np.clip(levels, 0, 2.0**52 / levels.size))"),
            ]
        },
    ),
    Mutation(
        "errors less their mean over records",
        TUNED,
        {
            regrets.regret_sums: [
                ("regrets(errors), bound", "errors - np.nanmean(errors[:, np.isfinite(errors).all(axis=0)]), bound")
            ]
        },
    ),
    Mutation(
        "a bound from the errors themselves",
        TUNED,
        {
            tuning._choose: [
                ("regret_sums(errors, bound)", "regret_sums(errors, 1.0 + np.nanmean(np.minimum(errors, 9.0)))")
            ]
        },
    ),
    Mutation("a regret's sensitivity halved", TUNED, {sensitivity.regret: [("return levels", "return levels // 2")]}),
    Mutation(
        "scores that leave with the choice",
        TUNED,
        {tuning._tune_array: [("slots), meter)", "slots), meter)._replace(index=np.abs(response).max())")]},
    ),
    Mutation(
        "a share that is not charged",
        TUNED,
        {meter.MeterShare.charge: [("self._whole.charge(", "self._releases or self._whole.charge(")]},
    ),
)

# Of the units that candidates share.
SHARED_UNITS = (
    Mutation(
        "units released again for a later candidate, and not charged to the whole",
        TUNED,
        {
            unit.UnitStep.run: [
                (
                    "    unit = unit.settled()\n",
                    "    if data.taken_over:\n"
                    "        meter = releases._meter\n"
                    "        apart = Releases(type(meter).__base__(meter.guarantee, 9, meter.source), 9)\n"
                    "        slot = self.size.slot(1e-3, self.facts)\n"
                    "        unit = _with_size(unit, slot, data, apart, state)\n"
                    "    unit = unit.settled()\n",
                )
            ]
        },
    ),
    Mutation(
        "a later candidate that selects outside the released units, and reads a centre off the records",
        TUNED,
        {
            pursuit.Pursuit.__init__: [("selectable(units, taken_over, rows.n_features)", "None")],
            data.Data.add_column: [
                (
                    "self.taken_over.get(feature)",
                    "FeatureUnit(float(__import__('numpy').nanmedian(self.records._records.columns[-1].units)), 1.0)"
                    " if self.taken_over else None",
                )
            ],
        },
    ),
    Mutation(
        "units learned from the rows held out too",
        TUNED,
        {
            tuning._tune_array: [
                (
                    "_fit_within(models[k], *how, X, y)",
                    "_fit_within(models[k], *how, *((table.take(np.arange(n)), response)"
                    " if how[1].facts.leads else (X, y)))",
                )
            ]
        },
    ),
    Mutation(
        "the candidate that leads chosen by the responses",
        TUNED,
        {
            tuning._tune_array: [
                (
                    "order = in_order(known, ",
                    "order = in_order([k == (np.nanmax(np.abs(y)) > 1e5) for k in range(2)], ",
                )
            ]
        },
    ),
)

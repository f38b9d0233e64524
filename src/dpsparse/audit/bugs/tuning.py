"""Bugs to plant in the choice among candidates."""

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
        {tuning.tune: [("rows.part(HELD_OUT_EVERY - 1, HELD_OUT_EVERY)", "rows")]},
    ),
    Mutation(
        "candidates fitted on all rows",
        TUNED,
        {tuning.tune: [("% HELD_OUT_EVERY != HELD_OUT_EVERY - 1", ">= 0"), ("len(training)", "n")]},
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
        {tuning.tune: [("slots), meter)", "slots), meter)._replace(index=np.abs(response).max())")]},
    ),
    Mutation(
        "a share that is not charged",
        TUNED,
        {meter.MeterShare.charge: [("self._whole.charge(", "self._releases or self._whole.charge(")]},
    ),
)

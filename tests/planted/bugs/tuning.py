"""Bugs to plant in the choice among candidates, and in the units that they share."""

from planting import Bug

TUNED = "replay of tuning"
_HELD_OUT = "held_out = rows.take(split.held_out)"

TUNING = (
    Bug(
        "the choice made on all rows",
        TUNED,
        {
            "estimators.tuning:_tune_array": [
                (_HELD_OUT, f"split = Split(split.training, np.arange(n_rows))\n    {_HELD_OUT}")
            ]
        },
    ),
    Bug(
        "candidates fitted on all rows",
        TUNED,
        {
            "estimators.tuning:_tune_array": [
                (
                    "n = split.n_people\n",
                    "n = split.n_people\n"
                    "    split = Split(np.arange(n_rows), split.held_out, split.people, split.people)\n",
                )
            ]
        },
    ),
    Bug(
        "regrets unclipped",
        TUNED,
        {
            "engine.regrets:regret_sums": [
                (
                    "weight_levels(regrets(errors), bound)",
                    "np.nan_to_num(regrets(errors) * (WEIGHT_LEVELS / bound))",
                ),
                ("np.clip(levels, 0, WEIGHT_LEVELS)", "np.rint(np.clip(levels, 0, 2.0**52 / levels.size))"),
            ]
        },
    ),
    Bug(
        "errors less their mean over records",
        TUNED,
        {
            "engine.regrets:regret_sums": [
                ("regrets(errors), bound", "errors - np.nanmean(errors[:, np.isfinite(errors).all(axis=0)]), bound")
            ]
        },
    ),
    Bug(
        "a bound from the errors themselves",
        TUNED,
        {
            "estimators.tuning:_choose": [
                ("regret_sums(errors, bound)", "regret_sums(errors, 1.0 + np.nanmean(np.minimum(errors, 9.0)))")
            ]
        },
    ),
    Bug(
        "a regret's sensitivity halved",
        TUNED,
        {"privacy.sensitivity:regret": [("return levels", "return levels // 2")]},
    ),
    Bug(
        "scores that leave with the choice",
        TUNED,
        {
            "estimators.tuning:_tune_array": [
                ("slots), meter)", "slots), meter)._replace(index=np.abs(response).max())")
            ]
        },
    ),
    Bug(
        "a share that is not charged",
        TUNED,
        {
            "privacy.accounting.meter:MeterShare.charge": [
                ("self._whole.charge(", "self._releases or self._whole.charge(")
            ]
        },
    ),
)

# Of the units that candidates share.
SHARED_UNITS = (
    Bug(
        "units released again for a later candidate, and not charged to the whole",
        TUNED,
        {
            "algorithms.pursuit.steps.newest_feature:UnitStep.run": [
                (
                    "    unit = data.companions.of_product(",
                    "    if data.taken_over:\n"
                    "        meter = releases._meter\n"
                    "        apart = Releases(type(meter).__base__(meter.guarantee, 9, meter.source), 9)\n"
                    "        slot = self.size.slot(1e-3, 9, 9)\n"
                    "        unit = _with_size(unit, slot, data, apart, state)\n"
                    "    unit = data.companions.of_product(",
                )
            ]
        },
    ),
    Bug(
        "a later candidate that selects outside the released units, and reads a centre off the records",
        TUNED,
        {
            "algorithms.pursuit.pursuit:Pursuit.__init__": [("selectable(units, taken_over, rows.n_features)", "None")],
            "algorithms.pursuit.pursuit_data:Data.add_column": [
                (
                    "self.taken_over.get(feature)",
                    "FeatureUnit(float(np.nanmedian(self.records._records.columns[-1].units)), 1.0)"
                    " if self.taken_over else None",
                )
            ],
        },
    ),
    Bug(
        "units learned from the rows held out too",
        TUNED,
        {
            "estimators.tuning:_tune_array": [
                (
                    "_fit_within(models[k], *how, *data)",
                    "_fit_within(models[k], *how, *("
                    "(table.take(np.arange(n_rows)), response, split.people and split.people.number)"
                    " if how[1].facts.releases_for_others else data))",
                )
            ]
        },
    ),
    Bug(
        "the candidate that leads chosen by the responses",
        TUNED,
        {
            "estimators.tuning:_tune_array": [
                (
                    "order = in_order(known, ",
                    "order = in_order([k == (np.nanmax(np.abs(y)) > 1e5) for k in range(2)], ",
                )
            ]
        },
    ),
)

"""Bugs to plant where a response is modelled in two parts."""

from planting import Bug

CHECK = "replay of two parts"

TWO_PART = (
    Bug(
        "records that have no amount dropped",
        CHECK,
        {
            "estimators._two_part_fit:fit_array": [
                (
                    "rows: Rows = table.rows(responses_of(name, y))",
                    "rows = table.rows(responses_of(name, y))\n"
                    "        rows = rows.take(np.flatnonzero(~np.isnan(responses_of(name, y))))",
                )
            ]
        },
    ),
    Bug(
        "the second part not charged",
        CHECK,
        {
            "estimators._two_part_fit:fit_array": [
                (
                    "share = _share(meter, plan, name)",
                    "share = _share(meter, plan, name) if name == WHETHER else Meter(\n"
                    "            plan.shares[name], n, meter.source\n"
                    "        )",
                )
            ]
        },
    ),
    Bug(
        "the mean of responses that are not clipped",
        CHECK,
        {
            "engine.two_part_sums:amount_sums": [
                ("records.y.clip(0.0, bound)", "records.y.clip(0.0, None)"),
                (".clip(0.0, 1.0)", ""),
                (
                    "return bounded_sums(records, [share - 0.5], 0.5)",
                    "return np.array([np.nansum((share - 0.5) * 2**21)]).clip(-(2**60), 2**60).astype(np.int64)",
                ),
            ]
        },
    ),
    Bug(
        "amounts counted in every bin below theirs",
        CHECK,
        {
            "algorithms.overall_level:_released": [
                ("np.diff(counts, prepend=0)", "counts"),
            ]
        },
    ),
    Bug(
        "means of both parts with vectors of any norm",
        CHECK,
        {
            "engine.two_part_sums:mean_sums": [
                (".clip(0.0, mean_bound)", ""),
                (
                    "return bounded_sums(records, entries, MEANS_NORM)",
                    "vectors = np.nan_to_num(np.stack(entries) * ~np.isnan(records.y), posinf=1e9, neginf=-1e9)\n"
                    "        return (vectors * 2**20 / MEANS_NORM).clip(-(2**40), 2**40).sum(1).astype(np.int64)",
                ),
            ]
        },
    ),
    Bug(
        "mean predictions that are not clipped",
        CHECK,
        {
            "engine.two_part_sums:prediction_sums": [
                (
                    "return bounded_sums(records, [quotient((p * predicted).clip(0.0, bound), bound) - 0.5], 0.5)",
                    "share = np.nan_to_num(quotient(p * predicted, bound) * ~np.isnan(records.y), posinf=1e9)\n"
                    "        return np.array([(share * 2**21).sum()]).clip(-(2**60), 2**60).astype(np.int64)",
                ),
            ]
        },
    ),
    Bug(
        "the bound of responses from the largest one",
        CHECK,
        {
            "engine.two_part_sums:amount_sums": [
                ("inside = records.y.clip(0.0, bound)", "inside = records.y / np.nanmax(records.y) * bound"),
            ]
        },
    ),
    Bug(
        "amounts about the mean of a batch",
        CHECK,
        {"engine.two_part_sums:Lines._line": [("column * float(effect)", "(column - column.mean()) * float(effect)")]},
    ),
    Bug(
        "the mean response without its noise",
        CHECK,
        {
            "algorithms.overall_level:_released": [
                ("_share(mean) * clip.most", "_share(sums_of_y[0] / 2**21 / releases.n_responses) * clip.most"),
                (
                    "(mean,), noise_of_mean = releases.mean(releases.due(MEAN_RESPONSE), sums, 0.5)",
                    "sums_of_y = sums\n"
                    "    (mean,), noise_of_mean = releases.mean(releases.due(MEAN_RESPONSE), sums, 0.5)",
                ),
            ]
        },
    ),
    Bug(
        "the share above 0 as it is",
        CHECK,
        {
            "estimators._two_part_fit:_publish": [
                ("n_responses = float(rows.n_records)", "n_responses = float((rows.y > 0).sum())"),
            ]
        },
    ),
)

# Of the choice among candidates in two parts.
TUNED_TWO_PARTS = (
    Bug(
        "the choice among fits in two parts made on all rows",
        CHECK,
        {
            "estimators._tuning_apart:ArrayApart.errors": [
                (
                    "X = self._table.take(self._held_out)",
                    "self._held_out = np.arange(self.n_records)\n    X = self._table.take(self._held_out)",
                )
            ]
        },
    ),
    Bug(
        "fits in two parts that are tuned on all rows",
        CHECK,
        {
            "estimators._tuning_apart:ArrayApart.training": [
                (
                    "return self._table.take(self._training), self._response[self._training]",
                    "few = np.append(self._held_out, self._training)[: len(self._training)]\n"
                    "    return self._table.take(few), self._response[few]",
                )
            ]
        },
    ),
    Bug(
        "deviances in units of the mean response of rows held out",
        CHECK,
        {
            "estimators._tuning_apart:_errors_of_means": [
                (
                    "unit = max(models[0].released_.constant_prediction, np.finfo(np.float64).tiny)",
                    "unit = 1.0 + np.nanmean(np.clip(responses, 0.0, 1e9))",
                )
            ]
        },
    ),
    Bug(
        "a candidate in two parts that is not charged to the whole",
        CHECK,
        {
            "estimators._tuning_apart:fit_apart": [
                (
                    "model._shared_meter = MeterShare(meter, plan.share, n_training, part=TRAINING, name=_name(k))",
                    "model._shared_meter = MeterShare(\n"
                    "            meter if k else Meter(meter.guarantee, n_training, meter.source),\n"
                    "            plan.share, n_training, part=TRAINING, name=_name(k),\n"
                    "        )",
                )
            ]
        },
    ),
)

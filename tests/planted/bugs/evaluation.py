"""Bugs to plant in the evaluation of a model."""

from planting import Bug

EVALUATED = "replay of evaluations"

EVALUATION = (
    Bug(
        "errors unclipped",
        EVALUATED,
        {
            "engine.errors:levels": [
                (
                    "np.clip(np.asarray(values, dtype=np.float64) / bound, -1.0, 1.0)",
                    "np.clip(np.asarray(values, dtype=np.float64) / bound, -2.0**20, 2.0**20)",
                )
            ]
        },
    ),
    Bug(
        "a record without a response that counts in the shift",
        EVALUATED,
        {"engine.errors:Errors._sums": [("np.where(self._answered, term, 0)", "np.asarray(term)")]},
    ),
    Bug(
        "errors of an evaluation less their mean over records",
        EVALUATED,
        {
            "engine.errors:Errors.improvement_sums": [
                ("levels(self.improvement, bound)", "levels(self.improvement - np.nanmedian(self.improvement), bound)")
            ]
        },
    ),
    Bug(
        "a cut from the errors themselves",
        EVALUATED,
        {
            "algorithms.evaluation_sums:release_errors": [
                ("errors.error_sums(cut)", "errors.error_sums(1.0 + np.nanmean(np.minimum(errors.model, 9.0)))")
            ]
        },
    ),
    Bug(
        "the number of responses without noise",
        EVALUATED,
        {"algorithms.evaluation_sums:release_errors": [("max(1.0, float(answered))", "float(errors.count()[0])")]},
    ),
    Bug(
        "sampling errors from the records themselves",
        EVALUATED,
        {
            "algorithms.evaluation_sums:release_errors": [
                ("squares[2], shares[2]", "float(np.nanvar(errors.improvement)), shares[2]")
            ]
        },
    ),
    Bug(
        "an R2 from the records themselves",
        EVALUATED,
        {
            "algorithms.evaluation_sums:release_errors": [
                ("mean.r2(squares,", "mean.r2(errors.square_sums(cut, bound) / VECTOR_LEVELS,")
            ]
        },
    ),
    Bug(
        "a constant fitted to the records held out",
        EVALUATED,
        {"evaluation:release_scores_of": [("model.constant_prediction", "float(np.nanmedian(responses))")]},
    ),
    Bug(
        "three sums at the price of one",
        EVALUATED,
        {"privacy.sensitivity:nonnegative_sums": [("levels * math.sqrt(size)", "float(levels)")]},
    ),
    Bug(
        "two errors at the price of one",
        EVALUATED,
        {
            "algorithms.evaluation_sums:sums_of": [
                ("bounded_norm_sum(math.sqrt(2) * HALF_LEVELS", "bounded_norm_sum(HALF_LEVELS")
            ]
        },
    ),
    Bug(
        "an evaluation on all rows",
        EVALUATED,
        {
            "held_out:fit_and_evaluate": [
                ("table.take(split.held_out)", "table.take(np.arange(n))"),
                ("response[split.held_out], predictions", "response, predictions"),
            ]
        },
    ),
    Bug(
        "a fit on the rows held out too",
        EVALUATED,
        {
            "held_out:fit_and_evaluate": [
                (
                    "planned = cache(",
                    "split = Split(np.arange(n), split.held_out, split.people, split.people)\n    planned = cache(",
                )
            ]
        },
    ),
    Bug(
        "rows held out by their responses",
        EVALUATED,
        {
            "held_out:fit_and_evaluate": [
                ("held_out_rows(count, holdout)", "np.argsort(np.argsort(np.asarray(y)[:count])) % 5 == 4")
            ]
        },
    ),
    Bug(
        "log odds less their mean over records",
        EVALUATED,
        {
            "engine.errors:Outcomes.of": [
                ("cls(log_odds[seen],", "cls(log_odds[seen] - np.clip(log_odds[seen], -9, 9).mean(),")
            ]
        },
    ),
    Bug(
        "a record without a response in the histogram of log odds",
        EVALUATED,
        {
            "engine.errors:Outcomes.of": [
                ("((responses == 0) | (responses == 1)) & ~np.isnan(log_odds)", "~np.isnan(log_odds)")
            ]
        },
    ),
    Bug(
        "groups of log odds from the records themselves",
        EVALUATED,
        {
            "algorithms.evaluation_outcomes:release_outcomes": [
                ("shares = plausible(noisy_counts)", "shares = plausible(outcomes.counts(edges).astype(float))")
            ]
        },
    ),
    Bug(
        "counts of yes and no without noise",
        EVALUATED,
        {
            "algorithms.evaluation_outcomes:release_outcomes": [
                (
                    "Cells(groups, counts.reshape(2, groups.n), noise)",
                    "Cells(groups, outcomes.table(edges, groups.of, groups.n).astype(float), noise)",
                )
            ]
        },
    ),
    Bug(
        "a histogram of log odds at half its price",
        EVALUATED,
        {
            "algorithms.evaluation_outcomes:change": [
                ("VECTOR_LEVELS * sensitivity.histograms", "0.7 * VECTOR_LEVELS * sensitivity.histograms")
            ]
        },
    ),
)

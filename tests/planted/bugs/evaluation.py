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
            "algorithms.evaluation_sums:release_scores": [
                ("errors.error_sums(cut)", "errors.error_sums(1.0 + np.nanmean(np.minimum(errors.model, 9.0)))")
            ]
        },
    ),
    Bug(
        "the number of responses without noise",
        EVALUATED,
        {"algorithms.evaluation_sums:release_scores": [("max(1.0, float(answered))", "float(errors.count()[0])")]},
    ),
    Bug(
        "sampling errors from the records themselves",
        EVALUATED,
        {
            "algorithms.evaluation_sums:release_scores": [
                ("squares[2], shares[2]", "float(np.nanvar(errors.improvement)), shares[2]")
            ]
        },
    ),
    Bug(
        "an R2 from the records themselves",
        EVALUATED,
        {
            "algorithms.evaluation_sums:release_scores": [
                ("mean.r2(squares,", "mean.r2(errors.square_sums(cut, bound) / VECTOR_LEVELS,")
            ]
        },
    ),
    Bug(
        "a constant fitted to the records held out",
        EVALUATED,
        {"evaluation:_scores": [("constant, model.response_scale", "np.nanmedian(responses), model.response_scale")]},
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
            "evaluation:fit_and_evaluate": [
                ("table.take(np.flatnonzero(held_out))", "table.take(np.arange(n))"),
                ("response[held_out], predictions", "response, predictions"),
            ]
        },
    ),
    Bug(
        "a fit on the rows held out too",
        EVALUATED,
        {"evaluation:fit_and_evaluate": [("training = np.flatnonzero(~held_out)", "training = np.arange(n)")]},
    ),
    Bug(
        "rows held out by their responses",
        EVALUATED,
        {
            "evaluation:fit_and_evaluate": [
                ("held_out = held_out_rows(n, holdout)", "held_out = np.argsort(np.argsort(y)) % 5 == 4")
            ]
        },
    ),
)

"""Bugs to plant in the evaluation of a model."""

from dpsparse import evaluation
from dpsparse.algorithms import evaluation as releases
from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.engine import errors
from dpsparse.privacy import sensitivity

EVALUATED = "replay of evaluations"

EVALUATION = (
    Mutation(
        "errors unclipped",
        EVALUATED,
        {
            errors.levels: [
                (
                    "np.clip(np.asarray(values, dtype=np.float64) / bound, -1.0, 1.0)",
                    "np.clip(np.asarray(values, dtype=np.float64) / bound, -2.0**20, 2.0**20)",
                )
            ]
        },
    ),
    Mutation(
        "a record without a response that counts in the shift",
        EVALUATED,
        {errors.Errors._sums: [("np.where(self._answered, term, 0)", "np.asarray(term)")]},
    ),
    Mutation(
        "errors of an evaluation less their mean over records",
        EVALUATED,
        {
            errors.Errors.improvement_sums: [
                ("levels(self.improvement, bound)", "levels(self.improvement - np.nanmedian(self.improvement), bound)")
            ]
        },
    ),
    Mutation(
        "a cut from the errors themselves",
        EVALUATED,
        {
            releases.release_scores: [
                ("errors.error_sums(cut)", "errors.error_sums(1.0 + np.nanmean(np.minimum(errors.model, 9.0)))")
            ]
        },
    ),
    Mutation(
        "the number of responses without noise",
        EVALUATED,
        {releases.release_scores: [("max(1.0, float(answered))", "float(errors.count()[0])")]},
    ),
    Mutation(
        "sampling errors from the records themselves",
        EVALUATED,
        {releases.release_scores: [("squares[2], shares[2]", "float(np.nanvar(errors.improvement)), shares[2]")]},
    ),
    Mutation(
        "a constant fitted to the records held out",
        EVALUATED,
        {evaluation._scores: [("model.constant_prediction,", "float(np.nanmedian(responses)),")]},
    ),
    Mutation(
        "three sums at the price of one",
        EVALUATED,
        {sensitivity.nonnegative_sums: [("levels * math.sqrt(size)", "float(levels)")]},
    ),
    Mutation(
        "two errors at the price of one",
        EVALUATED,
        {releases.sums_of: [("bounded_norm_sum(math.sqrt(2) * HALF_LEVELS", "bounded_norm_sum(HALF_LEVELS")]},
    ),
    Mutation(
        "an evaluation on all rows",
        EVALUATED,
        {
            evaluation.fit_and_evaluate: [
                ("table.take(np.flatnonzero(held_out))", "table.take(np.arange(n))"),
                ("response[held_out], predictions", "response, predictions"),
            ]
        },
    ),
    Mutation(
        "a fit on the rows held out too",
        EVALUATED,
        {evaluation.fit_and_evaluate: [("training = np.flatnonzero(~held_out)", "training = np.arange(n)")]},
    ),
    Mutation(
        "rows held out by their responses",
        EVALUATED,
        {
            evaluation.fit_and_evaluate: [
                ("held_out = held_out_rows(n, holdout)", "held_out = np.argsort(np.argsort(y)) % 5 == 4")
            ]
        },
    ),
)

"""Bugs to plant where responses are yes or no."""

from planting import Bug

CHECK, RAW = "replay of classifiers", "replay of raw tables"

CLASSIFIERS = (
    Bug(
        "probabilities from a batch's mean",
        CHECK,
        {"engine.links:_predictors": [("column * float(effect)", "(column - column.mean()) * float(effect)")]},
    ),
    Bug(
        "linear predictors clipped at the largest of a batch",
        CHECK,
        {
            "engine.links:_predictors": [
                (".clip(-most, most)", ".clip(-abs(predictors).max(initial=0.0) / 2, most).clip(-most, None)")
            ]
        },
    ),
    Bug(
        "residuals weighted by a batch's mean probability",
        CHECK,
        {"engine.links:_weights": [("quotient(bound, larger)", "quotient(bound * larger.mean(), larger)")]},
    ),
    Bug(
        "rows weighted by the longest of a batch",
        CHECK,
        {
            "engine.scores:_row_weights": [
                (
                    "vector_sums.sanitized(rows)), terms.row_bound",
                    "vector_sums.sanitized(rows / abs(rows).max())), terms.row_bound",
                )
            ]
        },
    ),
    Bug(
        "a pick of residuals up to 1 charged as up to 1/2",
        CHECK,
        {
            "engine.queries:pick_weights": [
                ("records.residuals(center, effects, bound)", "records.residuals(center, effects)"),
                ("weight_levels(residuals, bound, most)", "zero_for_nan((residuals * (most / bound)).round())"),
            ]
        },
    ),
    Bug(
        "the share of yes without its noise",
        CHECK,
        {
            "algorithms.pursuit.steps.share_of_yes:_share": [
                ("(1 + mean) / 2", "(1 + sums[0] / 2**20 / releases.n_responses) / 2")
            ]
        },
    ),
    Bug(
        "the exact number of yes/no responses",
        CHECK,
        {
            "algorithms.pursuit.steps.share_of_yes:OutcomeStep.run": [
                (
                    "released = with_number_of_responses(self.count, data, releases, state)",
                    "released = with_number_of_responses(self.count, data, releases, state)\n"
                    "    everywhere = np.array([np.inf])\n"
                    "    counted = data.records.evaluate(queries.residual_counts, 0.0, state.effects, everywhere)\n"
                    "    releases.n_responses = float(counted[0])",
                )
            ]
        },
    ),
    Bug(
        "a norm counted twice",
        CHECK,
        {"engine.scores:norm_counts": [("return records.counts_at_most", "return 2 * records.counts_at_most")]},
    ),
    Bug(
        "the norms of blank records counted",
        CHECK,
        {
            "engine.scores:norm_counts": [
                ("module_of(norms).where(blank, like(np.nan, norms), norms)", "norms"),
            ]
        },
    ),
    Bug(
        "which label is yes learned from the labels",
        CHECK,
        {
            "data.labels:as_labels": [
                ("1.0 if positive is None", "max(map(float, y)) if positive is None"),
            ]
        },
    ),
    Bug(
        "one text among labels makes texts of them all",
        CHECK,
        {
            "data.labels:_array": [("listed(y) if isinstance(y, list | tuple) else np.asarray(y)", "np.asarray(y)")],
            "data.labels:label_of": [
                ("_number_of(str.strip(cell)) if isinstance(cell, str) else real_number(cell)", "real_number(cell)")
            ],
        },
    ),
    Bug(
        "a response that is no label counted as no",
        CHECK,
        {"data.labels:_of_label": [("return math.nan", "return 0.0")]},
    ),
    Bug(
        "the number of yes kept by a classifier",
        CHECK,
        {
            "estimators.sparse_classifier:PrivateSparseClassifier._validated": [
                ("return super()", "self._n_yes = float(np.nansum(labels))\n    return super()")
            ]
        },
    ),
    Bug(
        "a warning where few are yes",
        CHECK,
        {
            "estimators.sparse_classifier:PrivateSparseClassifier._validated": [
                (
                    "return super()",
                    '__import__("warnings").warn(f"{np.nansum(labels):.0f} are yes")\n    return super()',
                )
            ]
        },
    ),
    Bug(
        "an empty response counted as no",
        RAW,
        {"io.cells.encoding:yes_or_no": [("np.where(raw.buckets(column) < 0, np.nan, 0.0)", "0.0")]},
    ),
    Bug(
        "the commonest response is yes",
        RAW,
        {
            "io.cells.encoding:yes_or_no": [
                ("spellings(positive)", "[max(sorted(set(raw.texts(column))), key=raw.texts(column).count)]")
            ]
        },
    ),
)

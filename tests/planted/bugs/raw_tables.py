"""Bugs to plant where a fit learns of a raw table: kinds, categories, names, gaps and responses."""

from planting import Bug

RAW = "replay of raw tables"

_LEARNING = (
    Bug(
        "kinds without noise",
        RAW,
        {"learning.kinds:release_kinds": [("zip(columns, votes.values,", "zip(columns, counts.astype(float),")]},
    ),
    Bug(
        "votes of all columns for the price of one",
        RAW,
        {"learning.kinds:release_kinds": [("sensitivity.histograms(len(columns),", "sensitivity.histograms(1,")]},
    ),
    Bug(
        "a changed cell moves one count",
        RAW,
        {"privacy.sensitivity:histograms": [("(2 if _replaced(adjacency) else 1) * columns", "columns")]},
    ),
    Bug(
        "distinct values of all columns for the price of one",
        RAW,
        {"privacy.sensitivity:distinct_counts": [("math.sqrt(columns)", "1.0")]},
    ),
    Bug(
        "identifiers dropped by exact counts",
        RAW,
        {
            "learning.categories:release_categorical": [
                (
                    "zip(columns, distinct.values, strict=True)",
                    "zip(columns, raw.distinct_counts(columns), strict=True)",
                )
            ]
        },
    ),
    Bug(
        "categories by exact counts",
        RAW,
        {
            "learning.categories:release_buckets": [
                (
                    "return release_counts(",
                    "noisy = release_counts(",
                ),
                (
                    "meter.guarantee.adjacency))",
                    "meter.guarantee.adjacency))\n    return type(noisy)(np.array(counts, dtype=float), noisy.noise)",
                ),
            ]
        },
    ),
    Bug(
        "bucket counts of all columns for the price of one",
        RAW,
        {
            "learning.categories:release_buckets": [
                ("sensitivity.histograms(len(buckets),", "sensitivity.histograms(0.5,")
            ]
        },
    ),
)

_NAMES = (
    Bug(
        "names without noise",
        RAW,
        {"privacy.mechanisms.partition:select_names": [("source.gaussian(exact, scale).tolist()", "exact.tolist()")]},
    ),
    Bug(
        "noise of names halved",
        RAW,
        {
            "privacy.mechanisms.partition:select_names": [
                ("source.gaussian(exact, scale)", "source.gaussian(exact, scale / 2)")
            ]
        },
    ),
    Bug(
        "a threshold for one record a person",
        RAW,
        {"privacy.mechanisms.partition:name_threshold": [("m = records_per_person", "m = 1")]},
    ),
    Bug(
        "a threshold for values that are held once",
        RAW,
        {
            "privacy.mechanisms.partition:name_threshold": [
                ("max(m * record_steps + math.ceil(reaches[0]), ", "max(0, ")
            ]
        },
    ),
    Bug(
        "a threshold for one of several columns",
        RAW,
        {"privacy.mechanisms.partition:name_threshold": [("failure / columns / values", "failure / values")]},
    ),
    Bug(
        "a threshold of no noise",
        RAW,
        {"privacy.mechanisms.partition:select_names": [("if count > threshold", "if count > RECORD_STEPS")]},
    ),
    Bug(
        "names of two columns for the price of one",
        RAW,
        {
            "privacy.mechanisms.partition:release_names": [
                ("sensitivities.histograms(columns,", "sensitivities.histograms(columns / 2,")
            ]
        },
    ),
    Bug(
        "a failure that no account knows of",
        RAW,
        {
            "privacy.mechanisms.partition:release_names": [
                ("failure_probability=failure,", "failure_probability=failure / 1e6,")
            ]
        },
    ),
    Bug(
        "a record that tells how many values there are",
        RAW,
        {
            "privacy.mechanisms.partition:release_names": [
                ("size = columns * meter.n_records", "size = sum(map(len, counts))")
            ]
        },
    ),
    Bug(
        "names drawn before they are charged",
        RAW,
        {
            "privacy.mechanisms.partition:release_names": [
                (
                    "    meter.charge(",
                    "    released = select_names(counts, scale, threshold, meter.source)\n    meter.charge(",
                ),
                ("    released = select_names(counts, scale, threshold, meter.source)\n    return", "    return"),
            ]
        },
    ),
    Bug(
        "every name in a selected bucket",
        RAW,
        {
            "learning.categories:release_labels": [
                ("zip(wanted, released, strict=True)", "zip(wanted, counts, strict=True)")
            ]
        },
    ),
)

_FITS = (
    Bug(
        "the exact number of responses",
        RAW,
        {
            "algorithms.pursuit.steps.gradients:with_number_of_responses": [
                (
                    "n_records, noise = releases.responses(slot, int(count(np.array([np.inf]))[0]))",
                    "releases.responses(slot, int(count(np.array([np.inf]))[0]))\n"
                    "        n_records, noise = int(count(np.array([np.inf]))[0]), 1.0",
                )
            ]
        },
    ),
    Bug(
        "mean residuals of categories without noise",
        RAW,
        {
            "algorithms.pursuit.steps.category_means:CategoryMeansStep.run": [
                (
                    "return with_category_means(state, means, noise, np.array(shares))",
                    "return with_category_means(state, sums * (tau / 2**20 / releases.n_responses), noise,"
                    " np.array(shares))",
                )
            ]
        },
    ),
    Bug(
        "categories come along where their residuals are large",
        RAW,
        {
            "algorithms.pursuit.steps.category_means:CategoryMeansStep.run": [
                (
                    "if state is before:",
                    "if state is before or data.records.evaluate("
                    "scores.clipped_sums, Scores(data, releases, 0.0, state.effects, (0,), 1e9)"
                    ".terms('score', np.eye(1)), 1e9, 1e9, 0.0)[0] % 2:",
                )
            ]
        },
    ),
    Bug(
        "gaps filled with the mean of a column",
        RAW,
        {
            "estimators._raw_fit:PreparedTable._encoded": [
                (
                    "return encode(table, self.features, self._buckets_of)",
                    "X = encode(table, self.features, self._buckets_of)\n"
                    "    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)",
                )
            ]
        },
    ),
    Bug(
        "records without a response dropped",
        RAW,
        {
            "estimators._raw_fit:PreparedTable.rows_with": [
                (
                    "DenseRows(X, responses)",
                    "DenseRows(X[~np.isnan(responses)], responses[~np.isnan(responses)])",
                )
            ]
        },
    ),
    Bug(
        "a blank record with the response 0",
        RAW,
        {
            "estimators._raw_fit:PreparedTable.rows_with": [
                (
                    "DenseRows(X, responses)",
                    "DenseRows(X, np.nan_to_num(responses))",
                )
            ]
        },
    ),
)

RAW_TABLES = (*_LEARNING, *_NAMES, *_FITS)

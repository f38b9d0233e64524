"""Bugs to plant where a fit learns of a raw table: kinds, categories, names, gaps and responses."""

from dpsparse.algorithms.pursuit.steps import response
from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.estimators import _raw_fit
from dpsparse.learning import categories, kinds, names
from dpsparse.privacy import sensitivity
from dpsparse.privacy.mechanisms import partition

RAW = "replay of raw tables"

_LEARNING = (
    Mutation(
        "kinds without noise",
        RAW,
        {kinds.release_kinds: [("zip(columns, votes.values,", "zip(columns, counts.astype(float),")]},
    ),
    Mutation(
        "votes of all columns for the price of one",
        RAW,
        {kinds.release_kinds: [("sensitivity.histograms(len(columns),", "sensitivity.histograms(1,")]},
    ),
    Mutation(
        "a changed cell moves one count",
        RAW,
        {sensitivity.histograms: [("(2 if _replaced(adjacency) else 1) * columns", "columns")]},
    ),
    Mutation(
        "distinct values of all columns for the price of one",
        RAW,
        {sensitivity.distinct_counts: [("math.sqrt(columns)", "1.0")]},
    ),
    Mutation(
        "identifiers dropped by exact counts",
        RAW,
        {
            categories.release_categorical: [
                (
                    "zip(columns, distinct.values, strict=True)",
                    "zip(columns, raw.distinct_counts(columns), strict=True)",
                )
            ]
        },
    ),
    Mutation(
        "categories by exact counts",
        RAW,
        {
            categories.release_buckets: [
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
    Mutation(
        "bucket counts of all columns for the price of one",
        RAW,
        {categories.release_buckets: [("sensitivity.histograms(len(buckets),", "sensitivity.histograms(0.5,")]},
    ),
)

_NAMES = (
    Mutation(
        "names without noise",
        RAW,
        {partition.select_names: [("source.gaussian(exact, scale).tolist()", "exact.tolist()")]},
    ),
    Mutation(
        "noise of names halved",
        RAW,
        {partition.select_names: [("source.gaussian(exact, scale)", "source.gaussian(exact, scale / 2)")]},
    ),
    Mutation(
        "a threshold for one record a person",
        RAW,
        {partition.name_threshold: [("m = records_per_person", "m = 1")]},
    ),
    Mutation(
        "a threshold for values that are held once",
        RAW,
        {partition.name_threshold: [("max(m * record_steps + math.ceil(reaches[0]), ", "max(0, ")]},
    ),
    Mutation(
        "a threshold for one of several columns",
        RAW,
        {partition.name_threshold: [("failure / columns / values", "failure / values")]},
    ),
    Mutation(
        "a threshold of no noise",
        RAW,
        {partition.select_names: [("if count > threshold", "if count > RECORD_STEPS")]},
    ),
    Mutation(
        "names of two columns for the price of one",
        RAW,
        {partition.release_names: [("sensitivities.histograms(columns,", "sensitivities.histograms(columns / 2,")]},
    ),
    Mutation(
        "a failure that no account knows of",
        RAW,
        {partition.release_names: [("failure_probability=failure,", "failure_probability=failure / 1e6,")]},
    ),
    Mutation(
        "a record that tells how many values there are",
        RAW,
        {partition.release_names: [("size = columns * meter.n_records", "size = sum(map(len, counts))")]},
    ),
    Mutation(
        "names drawn before they are charged",
        RAW,
        {
            partition.release_names: [
                (
                    "    meter.charge(",
                    "    released = select_names(counts, scale, threshold, meter.source)\n    meter.charge(",
                ),
                ("    released = select_names(counts, scale, threshold, meter.source)\n    return", "    return"),
            ]
        },
    ),
    Mutation(
        "every name in a selected bucket",
        RAW,
        {names.release_labels: [("zip(wanted, released, strict=True)", "zip(wanted, counts, strict=True)")]},
    ),
)

_FITS = (
    Mutation(
        "the exact number of responses",
        RAW,
        {
            response._count: [
                (
                    "return releases.responses(slot, int(count(np.array([np.inf]))[0]))",
                    "releases.responses(slot, int(count(np.array([np.inf]))[0]))\n"
                    "    return int(count(np.array([np.inf]))[0])",
                )
            ]
        },
    ),
    Mutation(
        "gaps filled with the mean of a column",
        RAW,
        {
            _raw_fit.PreparedTable.rows: [
                (
                    "    return DenseRows(",
                    "    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)\n    return DenseRows(",
                )
            ]
        },
    ),
    Mutation(
        "records without a response dropped",
        RAW,
        {
            _raw_fit.PreparedTable.rows: [
                (
                    "return DenseRows(X, self.encoding.responses(table))",
                    "y = self.encoding.responses(table)\n    return DenseRows(X[~np.isnan(y)], y[~np.isnan(y)])",
                )
            ]
        },
    ),
    Mutation(
        "a blank record with the response 0",
        RAW,
        {
            _raw_fit.PreparedTable.rows: [
                (
                    "return DenseRows(X, self.encoding.responses(table))",
                    "return DenseRows(X, np.nan_to_num(self.encoding.responses(table)))",
                )
            ]
        },
    ),
)

RAW_TABLES = (*_LEARNING, *_NAMES, *_FITS)

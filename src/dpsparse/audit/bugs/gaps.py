"""Bugs to plant where cells and responses are missing."""

from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.data import as_table as _as_table
from dpsparse.data import objects as _objects
from dpsparse.data import validation as _validation
from dpsparse.engine import gaps, queries
from dpsparse.engine.cpu import dense, rows, sparse

CHECK = "gaps"

GAPS = (
    Mutation(
        "a gap filled with the column's mean",
        CHECK,
        {gaps.as_column: [("like(np.nan, y)", "like(np.nanmean(np.where(np.isfinite(values), values, np.nan)), y)")]},
    ),
    Mutation(
        "a gap filled with the cell above",
        CHECK,
        {
            _objects._floats: [
                (
                    "numbers.reshape(array.shape)",
                    "__import__('pandas').Series(numbers).ffill().bfill().to_numpy().reshape(array.shape)",
                )
            ]
        },
    ),
    Mutation(
        "a missing response filled with the mean",
        CHECK,
        {_validation.validate_table: [("np.where(missing, np.nan, y)", "np.where(missing, y.mean(), y)")]},
    ),
    Mutation(
        "records with gaps dropped, so that pairs shift",
        CHECK,
        {
            _as_table.MemoryTable.rows: [
                (
                    "DenseRows(self.X, y)",
                    "DenseRows(self.X[np.isfinite(self.X).all(axis=1)], y[np.isfinite(self.X).all(axis=1)])",
                )
            ]
        },
    ),
    Mutation(
        "blank records dropped, so that pairs shift",
        CHECK,
        {_as_table.MemoryTable.rows: [("DenseRows(self.X, y)", "DenseRows(self.X[y == y], y[y == y])")]},
    ),
    Mutation(
        "the constant of a blank record counted",
        CHECK,
        {gaps.as_column: [("xp.isfinite(values) & ~xp.isnan(y)", "xp.isfinite(values)")]},
    ),
    Mutation(
        "a blank record that adds a shift",
        CHECK,
        {
            queries._bounded_sums: [
                ("xp.isnan(vectors).any(0) | xp.isnan(records.y)", "xp.isnan(vectors).any(0)"),
            ]
        },
    ),
    Mutation(
        "a blank record with the weight of a level",
        CHECK,
        {queries.pick_weights: [("shift * as_float64(residuals == residuals)", "shift")]},
    ),
    Mutation(
        "blank records in the counts of features",
        CHECK,
        {dense.DenseRows.feature_counts: [("if blank.any():", "if False:")]},
    ),
    Mutation(
        "blank records in the counts of stored cells",
        CHECK,
        {sparse.SparseRows.feature_counts: [("~np.isnan(self.y)", "np.ones(self.n_records, dtype=bool)")]},
    ),
    Mutation(
        "a pair of a blank record with another",
        CHECK,
        {rows.pair_differences: [("values[first] - values[second]", "np.nan_to_num(values[first]) - values[second]")]},
    ),
)

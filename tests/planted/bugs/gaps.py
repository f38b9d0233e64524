"""Bugs to plant where cells and responses are missing."""

from planting import Bug

CHECK = "gaps"

GAPS = (
    Bug(
        "a gap filled with the column's mean",
        CHECK,
        {
            "engine.quantize:as_column": [
                ("like(np.nan, y)", "like(np.nanmean(np.where(np.isfinite(values), values, np.nan)), y)")
            ]
        },
    ),
    Bug(
        "a gap filled with the cell above",
        CHECK,
        {
            "data.object_tables:_floats": [
                (
                    "numbers.reshape(array.shape)",
                    "__import__('pandas').Series(numbers).ffill().bfill().to_numpy().reshape(array.shape)",
                )
            ]
        },
    ),
    Bug(
        "a missing response filled with the mean",
        CHECK,
        {"data.validation:validate_table": [("np.where(missing, np.nan, y)", "np.where(missing, y.mean(), y)")]},
    ),
    Bug(
        "records with gaps dropped, so that pairs shift",
        CHECK,
        {
            "data.as_table:MemoryTable.rows": [
                (
                    "DenseRows(self.X, y)",
                    "DenseRows(self.X[np.isfinite(self.X).all(axis=1)], y[np.isfinite(self.X).all(axis=1)])",
                )
            ]
        },
    ),
    Bug(
        "blank records dropped, so that pairs shift",
        CHECK,
        {"data.as_table:MemoryTable.rows": [("DenseRows(self.X, y)", "DenseRows(self.X[y == y], y[y == y])")]},
    ),
    Bug(
        "the constant of a blank record counted",
        CHECK,
        {"engine.quantize:as_column": [("xp.isfinite(values) & ~xp.isnan(y)", "xp.isfinite(values)")]},
    ),
    Bug(
        "a blank record that adds a shift",
        CHECK,
        {
            "engine.queries:bounded_sums": [
                ("xp.isnan(vectors).any(0) | xp.isnan(records.y)", "xp.isnan(vectors).any(0)"),
            ]
        },
    ),
    Bug(
        "a blank record with the weight of a level",
        CHECK,
        {"engine.queries:pick_weights": [("shift * as_float64(residuals == residuals)", "shift")]},
    ),
    Bug(
        "blank records in the counts of features",
        CHECK,
        {"engine.cpu.dense_rows:DenseRows.feature_counts": [("if blank.any():", "if False:")]},
    ),
    Bug(
        "blank records in the counts of stored cells",
        CHECK,
        {
            "engine.cpu.sparse_rows:SparseRows.feature_counts": [
                ("~np.isnan(self.y)", "np.ones(self.n_records, dtype=bool)")
            ]
        },
    ),
    Bug(
        "a pair of a blank record with another",
        CHECK,
        {
            "engine.cpu.local_rows:pair_differences": [
                ("return values[:half] - backward", "return np.nan_to_num(values[:half]) - backward")
            ]
        },
    ),
)

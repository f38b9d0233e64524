"""Bugs to plant where rows are read: in the engines, the algorithms and the estimators."""

from dpsparse.algorithms.iht import iht
from dpsparse.algorithms.pursuit import closing, pursuit, releases
from dpsparse.algorithms.pursuit import selection as pursuit_selection
from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.data import as_table as _as_table
from dpsparse.data import validation as _validation
from dpsparse.engine import quantize, threads, vector_sums
from dpsparse.engine.cpu import dense, rows

PURSUITS, LOOPS = "replay of pursuits", "replay of loops"

TERMS = (
    Mutation(
        "entrywise Gram rounding",
        PURSUITS,
        {
            vector_sums.gram_sums: [
                (
                    "integer_vectors(columns, row_scale, norm_bound, GRAM_LEVELS)",
                    "columns * (row_scale * (GRAM_LEVELS / norm_bound))",
                ),
                ("np.rint(host(vectors @ vectors.T))", "np.rint(vectors[:, None] * vectors[None]).sum(axis=2)"),
            ]
        },
    ),
    Mutation(
        "rounding before the clip",
        "terms",
        {
            vector_sums.integer_vectors: [
                ("vectors = columns *", "vectors = xp.trunc(columns) *"),
                (
                    "xp.trunc(xp.clip(vectors, -levels, levels, out=vectors), out=vectors)",
                    "xp.clip(vectors, -levels, levels, out=vectors)",
                ),
            ]
        },
    ),
    Mutation(
        "nearest rounding after a norm clip",
        "terms",
        {
            vector_sums.integer_vectors: [
                ("xp.trunc(", "xp.round("),
                ("_squares(vectors) <= levels**2", "vectors == vectors"),
            ]
        },
    ),
    Mutation(
        "NaN unmapped", "terms", {quantize.rounded: [("levels[np.isnan(levels) | ~np.isfinite(values)] = 0", "pass")]}
    ),
    Mutation(
        "weights unclipped",
        "terms",
        {quantize.weight_levels: [("levels.clip(-most, most)", "levels")]},
    ),
    Mutation(
        "integer overflow at large n",
        "terms",
        {dense.feature_sums: [("dtype=np.int64", "dtype=np.int32")]},
    ),
    Mutation(
        "threads that add up the same rows",
        "terms",
        {threads.slices: [("min(first + step, start + size)", "min(first + step + 1, start + size)")]},
    ),
    Mutation(
        "sums beyond 2^53 accepted",
        "terms",
        {quantize.check_exact: [(">= EXACT_BELOW", ">= 2 * EXACT_BELOW")]},
    ),
    Mutation(
        "CSR data clipped before duplicates are summed",
        PURSUITS,
        {_validation._canonical: [("fresh.sum_duplicates()", "pass")]},
    ),
    Mutation(
        "clipping before centring",
        "terms",
        {
            quantize.rounded: [
                ("values - center", "np.clip(values, -FEATURE_LEVELS / rate, FEATURE_LEVELS / rate) - center"),
                ("np.clip(levels, -FEATURE_LEVELS, FEATURE_LEVELS, out=levels)", "pass"),
            ],
        },
    ),
    Mutation(
        "a BLAS residual",
        "terms",
        {
            vector_sums.subtract_columns: [
                ("for column, effect in zip(columns, effects, strict=True):", "if columns := list(columns):"),
                ("column * float(effect)", "np.array(columns).T @ np.fromiter(effects, float)"),
            ]
        },
    ),
    Mutation(
        "scaling by a block's maximum",
        "terms",
        {quantize.weight_levels: [("/ bound)", "/ min(bound, np.nanmax(np.abs(weights), initial=1e-9)))")]},
    ),
    Mutation(
        "a part of the data reused between the paper's splits",
        LOOPS,
        {rows.LocalRows.part: [("slice(index, None, of)", "slice(index % max(1, of - 1), None, of)")]},
    ),
)

FITS = (
    Mutation(
        "a fraction released without noise",
        PURSUITS,
        {releases.Releases.fraction: [("float(noisy.values[0] * unit)", "count / self._n")]},
    ),
    Mutation(
        "a share computed from residuals",
        PURSUITS,
        {releases.Releases.fraction: [("rho=slot.rho", "rho=slot.rho * count / self._n")]},
    ),
    Mutation(
        "a noise scale from residuals",
        LOOPS,
        {iht.private_iht: [("scale=scale, name", "scale=scale * (1 + float(np.mean(rows.y > 0))), name")]},
    ),
    Mutation(
        "a scale from the raw data",
        PURSUITS,
        {
            pursuit_selection.Selection.tau: [
                ("state.residual_scale", "float(np.median(np.abs(self._session._records.y)))")
            ]
        },
    ),
    Mutation(
        "standard errors from residuals",
        PURSUITS,
        {
            closing.Closing.release_gain: [
                (
                    "np.sqrt(np.diagonal(self._covariance))",
                    "np.sqrt(np.diagonal(self._covariance)) * np.median(np.abs(pursuit.session._records.y))",
                )
            ]
        },
    ),
    Mutation(
        "the exact median in the place of the released one",
        PURSUITS,
        {
            closing.Closing.release_median: [
                ("self._median = ", "self._median = float(np.median(pursuit.session._records.y)) + 0 * ")
            ]
        },
    ),
    Mutation(
        "a median's grid from the data",
        PURSUITS,
        {
            closing.Closing.release_median: [
                ("times(state.residual_scale)", "times(np.median(np.abs(pursuit.session._records.y)) + 1.0)")
            ]
        },
    ),
    Mutation(
        "n after dropping rows",
        PURSUITS,
        {pursuit.Pursuit.__init__: [("Releases(meter, rows.n_records)", "Releases(meter, np.count_nonzero(rows.y))")]},
    ),
    Mutation(
        "an error on constant columns",
        PURSUITS,
        {
            _as_table.MemoryTable.rows: [
                (
                    "return SparseRows",
                    "if not sparse.issparse(self.X) and (self.X.max(0) == self.X.min(0)).any():\n"
                    "        raise ValueError('constant column')\n"
                    "    return SparseRows",
                )
            ]
        },
    ),
    Mutation(
        "a warning that reveals a value",
        PURSUITS,
        {quantize.weight_levels: [('np.errstate(all="ignore")', 'np.errstate(over="warn")')]},
    ),
    Mutation(
        "a coordinate selected twice",
        PURSUITS,
        {pursuit_selection.Selection.scores: [("for feature in state.features]", "for feature in ()]")]},
    ),
)

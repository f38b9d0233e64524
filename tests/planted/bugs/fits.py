"""Bugs to plant where rows are read: in the engines, the algorithms and the estimators."""

from planting import Bug

PURSUITS, LOOPS = "replay of pursuits", "replay of loops"

TERMS = (
    Bug(
        "entrywise Gram rounding",
        PURSUITS,
        {
            "engine.vector_sums:gram_sums": [
                (
                    "integer_vectors(columns, row_scale, norm_bound, GRAM_LEVELS)",
                    "columns * (row_scale * (GRAM_LEVELS / norm_bound))",
                ),
                ("np.rint(host(vectors @ vectors.T))", "np.rint(vectors[:, None] * vectors[None]).sum(axis=2)"),
            ]
        },
    ),
    Bug(
        "rounding before the clip",
        "terms",
        {
            "engine.vector_sums:integer_vectors": [
                ("vectors = columns * ", "vectors = xp.trunc(columns) * "),
                (
                    "xp.trunc(xp.clip(vectors, -levels, levels, out=vectors), out=vectors)",
                    "xp.clip(vectors, -levels, levels, out=vectors)",
                ),
            ]
        },
    ),
    Bug(
        "nearest rounding after a norm clip",
        "terms",
        {
            "engine.vector_sums:integer_vectors": [
                ("xp.trunc(", "xp.round("),
                ("_squares(vectors) <= levels**2", "vectors == vectors"),
            ]
        },
    ),
    Bug(
        "NaN unmapped",
        "terms",
        {"engine.quantize:rounded": [("levels[np.isnan(levels) | ~np.isfinite(values)] = 0", "pass")]},
    ),
    Bug(
        "weights unclipped",
        "terms",
        {"engine.quantize:weight_levels": [("levels.clip(-most, most)", "levels")]},
    ),
    Bug(
        "integer overflow at large n",
        "terms",
        {"engine.cpu.dense_rows:feature_sums": [("dtype=np.int64", "dtype=np.int32")]},
    ),
    Bug(
        "threads that add up the same rows",
        "terms",
        {"engine.threads:slices": [("min(first + step, start + size)", "min(first + step + 1, start + size)")]},
    ),
    Bug(
        "sums beyond 2^53 accepted",
        "terms",
        {"engine.quantize:check_exact": [(">= EXACT_BELOW", ">= 2 * EXACT_BELOW")]},
    ),
    Bug(
        "CSR data clipped before duplicates are summed",
        PURSUITS,
        {"data.validation:_canonical": [("fresh.sum_duplicates()", "pass")]},
    ),
    Bug(
        "clipping before centring",
        "terms",
        {
            "engine.quantize:rounded": [
                ("values - center", "np.clip(values, -FEATURE_LEVELS / rate, FEATURE_LEVELS / rate) - center"),
                ("np.clip(levels, -FEATURE_LEVELS, FEATURE_LEVELS, out=levels)", "pass"),
            ],
        },
    ),
    Bug(
        "a BLAS residual",
        "terms",
        {
            "engine.vector_sums:subtract_columns": [
                ("for column, effect in zip(columns, effects, strict=True):", "if columns := list(columns):"),
                ("column * float(effect)", "np.array(columns).T @ np.fromiter(effects, float)"),
            ]
        },
    ),
    Bug(
        "scaling by a block's maximum",
        "terms",
        {"engine.quantize:weight_levels": [("/ bound)", "/ min(bound, np.nanmax(np.abs(weights), initial=1e-9)))")]},
    ),
    Bug(
        "a part of the data reused between the paper's splits",
        LOOPS,
        {
            "engine.cpu.local_rows:LocalRows.part": [
                ("slice(index, None, of)", "slice(index % max(1, of - 1), None, of)")
            ]
        },
    ),
)

FITS = (
    Bug(
        "a fraction released without noise",
        PURSUITS,
        {"algorithms.pursuit.releases:Releases.fraction": [("float(noisy.values[0] * unit)", "count / self._n_rows")]},
    ),
    Bug(
        "a share computed from residuals",
        PURSUITS,
        {"algorithms.pursuit.releases:Releases.fraction": [("rho=slot.rho", "rho=slot.rho * count / self._n_rows")]},
    ),
    Bug(
        "a noise scale from residuals",
        LOOPS,
        {
            "algorithms.iht.private_iht:private_iht": [
                ("scale=scale, name", "scale=scale * (1 + float(np.mean(rows.y > 0))), name")
            ]
        },
    ),
    Bug(
        "a scale from the raw data",
        PURSUITS,
        {
            "algorithms.pursuit.candidates:OpenCandidates.tau": [
                ("state.residual_scale", "float(np.median(np.abs(self.records._records.y)))")
            ]
        },
    ),
    Bug(
        "standard errors from residuals",
        PURSUITS,
        {
            "algorithms.pursuit.steps.closing:GainStep.run": [
                (
                    "concluded, scale = state.concluded, state.response_scale",
                    "scale = state.response_scale\n"
                    "    by_record = np.median(np.abs(data.records._records.y))\n"
                    "    concluded = replace(state.concluded, covariance=state.concluded.covariance * by_record)",
                )
            ]
        },
    ),
    Bug(
        "the exact median in the place of the released one",
        PURSUITS,
        {
            "algorithms.pursuit.steps.median:MedianStep.run": [
                ("median = ", "median = float(np.median(data.records._records.y)) + 0 * ")
            ]
        },
    ),
    Bug(
        "a median's grid from the data",
        PURSUITS,
        {
            "algorithms.pursuit.steps.median:MedianStep.run": [
                ("times(state.residual_scale)", "times(np.median(np.abs(data.records._records.y)) + 1.0)")
            ]
        },
    ),
    Bug(
        "n after dropping rows",
        PURSUITS,
        {
            "algorithms.pursuit.pursuit:Pursuit.__init__": [
                ("Releases(meter, rows.n_records,", "Releases(meter, np.count_nonzero(rows.y),")
            ]
        },
    ),
    Bug(
        "an error on constant columns",
        PURSUITS,
        {
            "data.as_table:MemoryTable.rows": [
                (
                    "return SparseRows",
                    "if not sparse.issparse(self.X) and (self.X.max(0) == self.X.min(0)).any():\n"
                    "        raise ValueError('constant column')\n"
                    "    return SparseRows",
                )
            ]
        },
    ),
    Bug(
        "a warning that reveals a value",
        PURSUITS,
        {"engine.quantize:weight_levels": [('np.errstate(all="ignore")', 'np.errstate(over="warn")')]},
    ),
    Bug(
        "a coordinate selected twice",
        PURSUITS,
        {"algorithms.pursuit.candidates:OpenCandidates.scores": [("in (*state.features, *coming))", "in coming)")]},
    ),
)

"""Bugs to plant in the step to the estimator that an estimand names."""

from planting import Bug

_REPLACE = "__import__('dataclasses').replace"
STEPS = "replay of reference steps"
# Integers whose norm nobody checks.
_OWN_LEVELS = (
    "np.trunc(vector_sums.sanitized({vectors} * (2**20 / {bound})).clip(-(2.0**40), 2.0**40)).sum(1).astype(np.int64)"
)

REFERENCES = (
    Bug(
        "scores whose norm is not clipped",
        STEPS,
        {
            "engine.scores:clipped_sums": [
                (
                    "vector_sums.vector_sums(vectors, factor, _most(bound, start, rise))",
                    _OWN_LEVELS.format(vectors="vectors", bound="bound"),
                )
            ]
        },
    ),
    Bug(
        "a clip's rise left out of its bound",
        STEPS,
        {
            "engine.scores:clipped_sums": [
                (
                    "vector_sums.vector_sums(vectors, factor, _most(bound, start, rise))",
                    _OWN_LEVELS.format(vectors="(vectors * factor)", bound="bound"),
                )
            ]
        },
    ),
    Bug(
        "a mean residual beyond its range",
        STEPS,
        {
            "engine.vector_sums:interval_sums": [
                ("steps.clip(-_whole(below * rate), _whole(above * rate))", "steps.clip(-(2.0**40), 2.0**40)")
            ],
            "engine.scores:ranged_sums": [("_clipped(scores.clip(0.0, None), *above)", "scores.clip(0.0, None)")],
        },
    ),
    Bug(
        "the noise of one side of a range",
        STEPS,
        {
            "algorithms.pursuit.steps.mean_residual:MeanResidual.release": [
                (
                    "float(sensitivity.half_width(clip.below.most, clip.above.most, at.releases.adjacency))",
                    "float(sensitivity.half_width(clip.below.most, clip.below.most, at.releases.adjacency))",
                )
            ]
        },
    ),
    Bug(
        "a range that is blanked at the noise of one that is replaced",
        STEPS,
        {
            "privacy.sensitivity:half_width": [
                (
                    "if _replaced(adjacency) else np.maximum(below, above)",
                    "if _replaced(adjacency) else (below + above) / 2",
                ),
            ]
        },
    ),
    Bug(
        "residuals above 0 in units of the largest one of a block",
        "terms",
        {
            "engine.scores:ranged_sums": [
                (
                    "return vector_sums.interval_sums(values,",
                    "return vector_sums.interval_sums(values / abs(values).max(),",
                )
            ]
        },
    ),
    Bug(
        "a residual counted on both sides of 0",
        STEPS,
        {
            "algorithms.pursuit.steps.mean_residual:MeanResidual._range": [
                ("np.diff(counts, prepend=0)", "(one := np.diff(counts, prepend=0)) + one[::-1]"),
            ]
        },
    ),
    Bug(
        "blank records among residuals with their signs",
        "gaps",
        {"engine.scores:score_counts": [("module_of(scores).where(blank, like(np.nan, scores), scores)", "scores")]},
    ),
    Bug(
        "second moments of vectors of any length",
        STEPS,
        {
            "engine.scores:second_moment_sums": [
                (
                    "vector_sums.gram_sums(vectors, vector_sums.clip_factor(vector_sums.norms(vectors), bound), bound)",
                    "((z := np.trunc(vectors.clip(-1e4, 1e4) * (2**11 / bound))) @ z.T).astype(np.int64)",
                )
            ]
        },
    ),
    Bug(
        "a record counted in every bin above its own",
        STEPS,
        {
            "algorithms.pursuit.steps.scored:Scores._histogram": [
                ("np.diff(counts, prepend=0)", "counts"),
            ]
        },
    ),
    Bug(
        "a histogram of which one bin alone moves",
        STEPS,
        {
            "algorithms.pursuit.releases:Releases.histogram": [
                ("sensitivity.histograms(1, self.adjacency)", "sensitivity.histograms(1, 'zero-out-one')")
            ]
        },
    ),
    Bug(
        "a histogram whose noise is of records in steps of a record",
        STEPS,
        {"algorithms.pursuit.releases:Releases.histogram": [("VECTOR_LEVELS * change", "change")]},
    ),
    Bug(
        "a histogram without noise",
        STEPS,
        {
            "algorithms.pursuit.releases:Releases.histogram": [
                ("np.asarray(noisy.values / VECTOR_LEVELS)", "np.asarray(counts, dtype=np.float64)")
            ]
        },
    ),
    Bug(
        "norms in units of the largest one of a block",
        "terms",
        {
            "engine.scores:norm_counts": [
                (
                    "norms = vector_sums.norms(vectors)",
                    "norms = vector_sums.norms(vectors) / abs(vectors).max()",
                )
            ]
        },
    ),
    Bug(
        "weights of long rows in units of the least one of a block",
        "terms",
        {"engine.scores:_person_scores": [("(weights * weights)", "(weights * weights / weights.min())")]},
    ),
    Bug(
        "scores by one product of matrices",
        "terms",
        {
            "engine.scores:_vectors": [
                (
                    "return vectors, blank",
                    "return vector_sums.sanitized(terms.matrix @ columns * factor), blank",
                )
            ]
        },
    ),
    Bug(
        "blank records among the norms",
        "gaps",
        {"engine.scores:norm_counts": [("module_of(norms).where(blank, like(np.nan, norms), norms)", "norms")]},
    ),
    Bug(
        "blank records among the rows",
        "gaps",
        {
            "engine.scores:_vectors": [
                (
                    "columns = records.sanitized(terms.positions)",
                    "columns = records.sanitized(terms.positions) + blank",
                ),
                ("records.slope_roots(*model)", "xp.where(blank, like(1.0, blank), records.slope_roots(*model))"),
            ]
        },
    ),
    Bug(
        "a mean score without noise",
        STEPS,
        {
            "algorithms.pursuit.steps.scored:Scores.mean": [
                (
                    "return self.releases.mean(self.releases.due(planned), sums, clip.most)",
                    "_, noise = self.releases.mean(self.releases.due(planned), sums, clip.most)\n"
                    "    return sums * (clip.most / 2**20 / self.releases.n_responses), noise",
                )
            ]
        },
    ),
    Bug(
        "a clip at the largest norm there is",
        STEPS,
        {
            "algorithms.pursuit.steps.scored:Scores.mean": [
                (
                    "sums = self.data",
                    f"clip = {_REPLACE}(clip, bound=max(clip.bound, "
                    "float(np.nanmax(abs(self.data.records._records.y)))))\n"
                    "    sums = self.data",
                )
            ]
        },
    ),
    Bug(
        "rows made white by their exact second moments",
        STEPS,
        {
            "algorithms.pursuit.steps.scored:Scores.second_moments": [
                (
                    "return self.releases.gram(self.releases.due(planned), sums, bound**2)",
                    "noisy = self.releases.gram(self.releases.due(planned), sums, bound**2)\n"
                    f"    return {_REPLACE}(noisy, values=sums * (bound**2 / 2**22 / self.releases.n_responses))",
                )
            ]
        },
    ),
    Bug(
        "Huber's clip at the exact scale of residuals",
        STEPS,
        {
            "algorithms.pursuit.steps.typical_reference:TypicalReferenceStep._with_scale": [
                (
                    "at.releases.quantile(at.releases.due(planned), count, grid)",
                    "(at.releases.quantile(at.releases.due(planned), count, grid), float(np.nanmedian(abs("
                    "at.data.records._records.residuals(at.center, at.effects)).clip(1e-9, 1e9))))[1]",
                )
            ]
        },
    ),
    Bug(
        "a level that is the exact mean residual",
        STEPS,
        {
            "algorithms.pursuit.steps.reference:LevelStep.run": [
                (
                    "offset, clip = self.level.release(at, state.residual_scale, self.facts.rows.mean)",
                    "_, clip = self.level.release(at, state.residual_scale, self.facts.rows.mean)\n"
                    "    offset = float(np.nanmean(data.records._records.y.clip(-1e9, 1e9)) - state.center)",
                )
            ]
        },
    ),
    Bug(
        "each release of the step at the price of all",
        STEPS,
        {
            "algorithms.pursuit.schedule:prices_of": [
                ("each.share * schedule.factor * schedule.reference_rho", "schedule.factor * schedule.reference_rho")
            ]
        },
    ),
    Bug(
        "the step's budget beside the whole of a pursuit's",
        STEPS,
        {"algorithms.pursuit.schedule:schedule_for": [("rho=share * facts.rho", "rho=facts.rho")]},
    ),
    Bug(
        "histograms and matrices planned as single numbers",
        STEPS,
        {
            "algorithms.pursuit.steps.scored:planned_of": [
                ("max(c.MOST_BINS, columns * (columns + 1) // 2)", "1"),
            ]
        },
    ),
    Bug(
        "a category that comes with another, about its exact share",
        "replay of raw tables",
        {
            "algorithms.pursuit.steps.select:CompanionsStep.run": [
                (
                    "data.records.rescale(unit.center, unit.scale)",
                    "data.records.rescale(float(np.nanmean(data.records._records.columns[-1].units)), unit.scale)",
                )
            ]
        },
    ),
    Bug(
        "a category's own score and its variable's, added up",
        "replay of raw tables",
        {
            "algorithms.pursuit.candidates:OpenCandidates.scores": [
                ("(row[group] + whole) // 2", "row[group] + max(whole, 0)"),
            ]
        },
    ),
    Bug(
        "scores of a variable's levels, added up with their rest in each",
        "replay of raw tables",
        {
            "algorithms.pursuit.candidates:OpenCandidates._wholes": [
                (
                    "FEATURE_LEVELS * (np.abs(twice).sum() + abs(2 * total - twice.sum())) // 2",
                    "np.abs(table[self._by_thresholds, group]).sum() * 2",
                ),
            ]
        },
    ),
    Bug(
        "scores of a median line unclipped",
        STEPS,
        {
            "engine.queries:median_line_sums": [
                ("residuals.clip(-width, width)", "residuals"),
                (
                    "bounded_sums(records, entries, MEDIAN_LINE_NORM)",
                    "np.trunc(np.nan_to_num(np.stack(entries).clip(-1e9, 1e9)) * 2.0**19).sum(axis=1).astype(np.int64)",
                ),
            ]
        },
    ),
    Bug(
        "a median line without noise",
        STEPS,
        {
            "algorithms.pursuit.steps.median:MedianLineStep.run": [
                (
                    "releases.mean(slot, sums, queries.MEDIAN_LINE_NORM)",
                    "((r := releases.mean(slot, sums, queries.MEDIAN_LINE_NORM)), "
                    "(sums * queries.MEDIAN_LINE_NORM / 2**20 / releases.n_responses, r[1]))[1]",
                )
            ]
        },
    ),
)

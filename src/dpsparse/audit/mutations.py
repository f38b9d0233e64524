"""Planted bugs: each a small edit of the package's own source that would break the promise.

An edit names a function, a piece of its source and what to put there; a piece that no longer stands in the source is
an error, so the list cannot go stale unnoticed.
"""

import contextlib
from dataclasses import dataclass

from dpsparse.algorithms import iht, pursuit
from dpsparse.audit.patching import rewritten
from dpsparse.engine import fixed_point, rows, support
from dpsparse.estimators import _private, _validation
from dpsparse.privacy import gaussian_account, noise, record, release, selection, sensitivity
from dpsparse.privacy.budget import Promise


@dataclass(frozen=True)
class Mutation:
    """A bug to plant.

    Parameters
    ----------
    name : str
        What is wrong.
    check : str
        The check thought most likely to notice; it is tried first.
    edits : dict of function to list of (old, new)
        Pieces of source to replace.
    """

    name: str
    check: str
    edits: dict

    @contextlib.contextmanager
    def planted(self):
        """Run the block with the bug in place."""
        with contextlib.ExitStack() as stack:
            for function, pieces in self.edits.items():
                stack.enter_context(rewritten(function, *pieces))
            yield


PURSUITS, LOOPS = "replay of pursuits", "replay of loops"
_REPLACED = "(2 if _replaced(adjacency) else 1) * "

NOISE = (
    Mutation(
        "score noise halved",
        PURSUITS,
        {selection.exponential_pick: [("pick_index(scores, rate,", "pick_index(scores, 2 * rate,")]},
    ),
    Mutation(
        "Gaussian noise halved",
        "mechanism games",
        {release.release_vector: [("meter.source.gaussian(sums, scale)", "meter.source.gaussian(sums, scale / 2)")]},
    ),
    Mutation(
        "noise halved inside the secure source",
        "sources",
        {noise.SecureSource._add: [("float(scale)", "float(scale) / 2")]},
    ),
    Mutation(
        "a pick charged eps0^2/16",
        PURSUITS,
        {selection.exponential_pick: [("math.sqrt(8 * rho)", "math.sqrt(16 * rho)")]},
    ),
    Mutation(
        "a Laplace pick charged as bounded-range",
        LOOPS,
        {selection.peeling_cost: [("2.5 * sparsity * ratio**2", "1.0 * sparsity * ratio**2")]},
    ),
    Mutation(
        "off-diagonal noise halved",
        PURSUITS,
        {release.release_gram: [("scale / math.sqrt(2)", "scale / math.sqrt(8)")]},
    ),
    Mutation(
        "both triangles drawn",
        PURSUITS,
        {
            release.release_gram: [
                ("noisy += noisy.T", "noisy[columns, rows] = meter.source.gaussian(gram[rows, columns], off_diagonal)")
            ]
        },
    ),
    Mutation(
        "charged after the release",
        PURSUITS,
        {
            release.release_vector: [
                ("meter.charge(", "drawn = meter.source.gaussian(sums, scale)\n    meter.charge("),
                ("Noisy(meter.source.gaussian(sums, scale),", "Noisy(drawn,"),
            ]
        },
    ),
    Mutation(
        "a coordinate picked twice (peeling)",
        LOOPS,
        {selection.peel: [("noisy[support] = np.iinfo(np.int64).min", "pass")]},
    ),
    Mutation(
        "picks take the largest score",
        "mechanism games",
        {selection.pick_index: [("if source.noiseless:", "if True:")]},
    ),
    Mutation(
        "a seed reaching the secure source",
        "sources",
        {_private.PrivateLinearRegressor._noise_source: [("return SecureSource()", "return SeededSource(0)")]},
    ),
    Mutation(
        "the bits of picks repeat",
        "sources",
        {noise.SecureSource.bits: [("secrets.randbits(count)", "int(np.random.default_rng(0).integers(2**31))")]},
    ),
)

SENSITIVITIES = (
    Mutation(
        "gradient sensitivity tau C/n",
        PURSUITS,
        {sensitivity.bounded_norm_sum: [(_REPLACED + "norm_bound", "norm_bound")]},
    ),
    Mutation(
        "the 2 of replace-one forgotten",
        LOOPS,
        {sensitivity.clipped_sum: [(_REPLACED + "feature_levels", "feature_levels")]},
    ),
    Mutation("the Gram's sqrt 2 dropped", PURSUITS, {sensitivity.gram: [("math.sqrt(2) if", "1 if")]}),
    Mutation(
        "quantile sensitivity halved",
        PURSUITS,
        {
            release.release_quantile: [
                ("quantile_utility(meter.promise.adjacency)", "quantile_utility(meter.promise.adjacency) / 2")
            ]
        },
    ),
)

TERMS = (
    Mutation(
        "entrywise Gram rounding",
        PURSUITS,
        {
            support.gram_sums: [
                (
                    "np.array(integer_vectors(columns, row_scale, norm_bound, GRAM_LEVELS))",
                    "np.array([column * (row_scale * (GRAM_LEVELS / norm_bound)) for column in columns])",
                ),
                ("np.rint(vectors @ vectors.T)", "np.rint(vectors[:, None] * vectors[None]).sum(axis=2)"),
            ]
        },
    ),
    Mutation(
        "rounding before the clip",
        "terms",
        {
            support.integer_vectors: [
                ("np.trunc(np.clip(column * factor, -levels, levels))", "np.clip(np.trunc(column) * factor, -levels, levels)")
            ]
        },
    ),
    Mutation(
        "nearest rounding after a norm clip",
        "terms",
        {support.integer_vectors: [("np.trunc(", "np.rint("), ("within & ~np.isnan(vector)", "~np.isnan(vector)")]},
    ),
    Mutation("NaN unmapped", "terms", {fixed_point.FeatureGrid._round: [("centred[np.isnan(centred)] = 0", "pass")]}),
    Mutation(
        "weights unclipped",
        "terms",
        {fixed_point.weight_levels: [("np.clip(levels, -WEIGHT_LEVELS, WEIGHT_LEVELS, out=levels)", "pass")]},
    ),
    Mutation(
        "integer overflow at large n",
        "terms",
        {rows.DenseRows.weighted_sums: [("sums.astype(np.int64)", "sums.astype(np.int64).astype(np.int32)")]},
    ),
    Mutation(
        "sums beyond 2^53 accepted",
        "terms",
        {fixed_point.check_exact: [(">= EXACT_BELOW", ">= 2 * EXACT_BELOW")]},
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
            fixed_point.FeatureGrid.levels: [
                ("values - center", "np.clip(values, -self.clip_bound * scale, self.clip_bound * scale) - center")
            ],
            fixed_point.FeatureGrid._round: [("np.clip(centred, -FEATURE_LEVELS, FEATURE_LEVELS, out=centred)", "pass")],
        },
    ),
    Mutation(
        "a BLAS residual",
        "terms",
        {
            support.SupportColumns.residuals: [
                ("for column, effect in zip(self.columns, coef, strict=True):", "if self.columns:"),
                ("column * effect", "np.array(self.columns).T @ np.asarray(coef)"),
            ]
        },
    ),
    Mutation(
        "scaling by a block's maximum",
        "terms",
        {fixed_point.weight_levels: [("/ bound)", "/ min(bound, np.nanmax(np.abs(weights), initial=1e-9)))")]},
    ),
    Mutation(
        "a part of the data reused between the paper's splits",
        LOOPS,
        {rows.Rows.part: [("slice(index, None, of)", "slice(index % max(1, of - 1), None, of)")]},
    ),
)

FITS = (
    Mutation(
        "the fraction charged once and released often",
        PURSUITS,
        {
            pursuit._Pursuit._gradient: [
                (
                    "counted = release_vector(",
                    "Again = type('Again', (), {'values': small + 7})\n"
                    "    counted = Again if self.gradients else release_vector(",
                )
            ]
        },
    ),
    Mutation(
        "a share computed from residuals",
        PURSUITS,
        {
            pursuit._Pursuit._gradient: [
                ("rho=self.schedule.fraction", "rho=self.schedule.fraction * np.mean(np.abs(residuals) <= tau)")
            ]
        },
    ),
    Mutation(
        "a noise scale from residuals",
        LOOPS,
        {iht.private_iht: [("scale=scale, name", "scale=scale * (1 + float(np.mean(psi > 0))), name")]},
    ),
    Mutation(
        "a scale from the raw data",
        PURSUITS,
        {
            pursuit._Pursuit.settle_response: [
                ("self.residual_scale = float(scale)", "self.residual_scale = float(np.median(np.abs(self.rows.y)))")
            ]
        },
    ),
    Mutation(
        "standard errors from residuals",
        PURSUITS,
        {
            pursuit._Pursuit.finish: [
                (
                    "self.estimate.standard_errors[self.constants :]",
                    "self.estimate.standard_errors[self.constants :] * np.median(np.abs(self.residuals()))",
                )
            ]
        },
    ),
    Mutation(
        "n after dropping rows",
        PURSUITS,
        {pursuit._Pursuit.__init__: [("= rows.n_records,", "= int(np.count_nonzero(rows.y)),")]},
    ),
    Mutation(
        "an error on constant columns",
        PURSUITS,
        {
            rows.rows_of: [
                (
                    "return (SparseRows",
                    "if not sparse.issparse(X) and (X.max(0) == X.min(0)).any(): raise ValueError('constant column')\n"
                    "    return (SparseRows",
                )
            ]
        },
    ),
    Mutation(
        "a warning that tells of a value",
        PURSUITS,
        {fixed_point.weight_levels: [('np.errstate(all="ignore")', 'np.errstate(over="warn")')]},
    ),
    Mutation(
        "a coordinate picked twice",
        PURSUITS,
        {
            pursuit._Pursuit._pick: [
                (
                    "np.delete(np.arange(self.rows.n_features), self.chosen.features)",
                    "np.arange(self.rows.n_features)",
                )
            ]
        },
    ),
)

ACCOUNTS = (
    Mutation(
        "accounting in the wrong order",
        "accounts",
        {gaussian_account.mu_of_sequence: [("in reversed(prices)", "in prices")]},
    ),
    Mutation(
        "the unsafe end of a root",
        "accounts",
        {gaussian_account.largest_mu: [("return low", "return high")]},
    ),
    Mutation(
        "the unsafe end of a root, epsilon",
        "accounts",
        {gaussian_account.epsilon_from_mu: [("return high", "return low")]},
    ),
    Mutation(
        "releases on all rows composed as if on parts",
        "accounts",
        {record._total: [("math.fsum(common)", "max(common, default=0.0)")]},
    ),
    Mutation(
        "a sequence committed to that the promise does not cover",
        "accounts",
        {record.Meter.commit: [("mu_of_sequence(prices) <= self.promise.mu_per_record", "prices")]},
    ),
    Mutation(
        "other releases than those committed to",
        "accounts",
        {record.Meter._is_committed: [("made == self._committed[: len(made)]", "len(made) <= len(self._committed)")]},
    ),
    Mutation(
        "coarse noise on the tight account",
        "accounts",
        {gaussian_account.discrete_excess: [("math.inf if scale < 4 else count / (20 * scale**2)", "0.0")]},
    ),
    Mutation(
        "group privacy linear in rho",
        "accounts",
        {Promise.__dict__["rho_per_record"]: [("self.records_per_person**2", "self.records_per_person")]},
    ),
)

MUTATIONS = (*NOISE, *SENSITIVITIES, *TERMS, *FITS, *ACCOUNTS)

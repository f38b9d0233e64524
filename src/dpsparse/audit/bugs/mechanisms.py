"""Bugs to plant in the mechanisms: their noise and their sensitivities."""

from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.estimators import _private
from dpsparse.privacy import noise, sensitivity
from dpsparse.privacy.mechanisms import gaussian, quantile, selection

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
        {gaussian.release_vector: [("meter.source.gaussian(sums, scale)", "meter.source.gaussian(sums, scale / 2)")]},
    ),
    Mutation(
        "noise halved inside the secure source",
        "sources",
        {noise.SecureSource._add: [("float(scale)", "float(scale) / 2")]},
    ),
    Mutation(
        "noise in steps of two",
        "floating point",
        {
            noise.SecureSource._add: [
                ("float(scale))(np.asarray(values, dtype=np.int64).tolist())", "float(scale) / 2)([0] * len(values))"),
                ("np.asarray(noisy, dtype=np.int64)", "2 * np.asarray(noisy, dtype=np.int64) + values"),
            ]
        },
    ),
    Mutation(
        "a pick charged eps0^2/16",
        PURSUITS,
        {selection.exponential_pick: [("math.sqrt(8 * rho)", "math.sqrt(16 * rho)")]},
    ),
    Mutation(
        "a Laplace pick charged as bounded-range",
        LOOPS,
        {selection.peeling_cost: [("5 * sparsity * ratio**2", "2 * sparsity * ratio**2")]},
    ),
    Mutation(
        "off-diagonal noise halved",
        PURSUITS,
        {gaussian.release_gram: [("scale / math.sqrt(2)", "scale / math.sqrt(8)")]},
    ),
    Mutation(
        "both triangles drawn",
        PURSUITS,
        {
            gaussian.release_gram: [
                ("noisy += noisy.T", "noisy[columns, rows] = meter.source.gaussian(gram[rows, columns], off_diagonal)")
            ]
        },
    ),
    Mutation(
        "charged after the release",
        PURSUITS,
        {
            gaussian.release_vector: [
                ("meter.charge(", "drawn = meter.source.gaussian(sums, scale)\n    meter.charge("),
                ("NoisyRelease(meter.source.gaussian(sums, scale),", "NoisyRelease(drawn,"),
            ]
        },
    ),
    Mutation(
        "a coordinate selected twice (peeling)",
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
        {_private.PrivateEstimator._noise_source: [("return SecureSource()", "return SeededSource(0)")]},
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
        {sensitivity.bounded_norm_sum: [(_REPLACED + "levels", "levels")]},
    ),
    Mutation(
        "the factor 2 of replace-one dropped",
        LOOPS,
        {sensitivity.clipped_sum: [(_REPLACED + "feature_levels", "feature_levels")]},
    ),
    Mutation("the Gram's sqrt 2 dropped", PURSUITS, {sensitivity.gram: [("math.sqrt(2) if", "1 if")]}),
    Mutation(
        "quantile sensitivity halved",
        "replay of tuning",
        {
            quantile.release_quantile: [
                ("quantile_utility(meter.guarantee.adjacency)", "quantile_utility(meter.guarantee.adjacency) / 2")
            ]
        },
    ),
)

"""Bugs to plant in the mechanisms: their noise and their sensitivities."""

from planting import Bug

PURSUITS, LOOPS = "replay of pursuits", "replay of loops"
_REPLACED = "(2 if _replaced(adjacency) else 1) * "

NOISE = (
    Bug(
        "score noise halved",
        PURSUITS,
        {
            "privacy.mechanisms.selection:exponential_pick": [
                ("pick_index(scores, rate,", "pick_index(scores, 2 * rate,")
            ]
        },
    ),
    Bug(
        "Gaussian noise halved",
        "mechanism games",
        {
            "privacy.mechanisms.gaussian:release_vector": [
                ("meter.source.gaussian(sums, scale)", "meter.source.gaussian(sums, scale / 2)")
            ]
        },
    ),
    Bug(
        "noise halved inside the secure source",
        "sources",
        {"privacy.noise:SecureSource._add": [("float(scale)", "float(scale) / 2")]},
    ),
    Bug(
        "noise in steps of two",
        "floating point",
        {
            "privacy.noise:SecureSource._add": [
                ("float(scale))(np.asarray(values, dtype=np.int64).tolist())", "float(scale) / 2)([0] * len(values))"),
                ("np.asarray(noisy, dtype=np.int64)", "2 * np.asarray(noisy, dtype=np.int64) + values"),
            ]
        },
    ),
    Bug(
        "a pick charged eps0^2/16",
        PURSUITS,
        {"privacy.mechanisms.selection:exponential_pick": [("math.sqrt(8 * rho)", "math.sqrt(16 * rho)")]},
    ),
    Bug(
        "a Laplace pick charged as bounded-range",
        LOOPS,
        {"privacy.mechanisms.selection:peeling_cost": [("5 * sparsity * ratio**2", "2 * sparsity * ratio**2")]},
    ),
    Bug(
        "off-diagonal noise halved",
        PURSUITS,
        {"privacy.mechanisms.gaussian:release_gram": [("scale / math.sqrt(2)", "scale / math.sqrt(8)")]},
    ),
    Bug(
        "both triangles drawn",
        PURSUITS,
        {
            "privacy.mechanisms.gaussian:release_gram": [
                ("noisy += noisy.T", "noisy[columns, rows] = meter.source.gaussian(gram[rows, columns], off_diagonal)")
            ]
        },
    ),
    Bug(
        "charged after the release",
        PURSUITS,
        {
            "privacy.mechanisms.gaussian:release_vector": [
                ("meter.charge(", "drawn = meter.source.gaussian(sums, scale)\n    meter.charge("),
                ("NoisyRelease(meter.source.gaussian(sums, scale),", "NoisyRelease(drawn,"),
            ]
        },
    ),
    Bug(
        "a coordinate selected twice (peeling)",
        LOOPS,
        {"privacy.mechanisms.selection:peel": [("noisy[support] = np.iinfo(np.int64).min", "pass")]},
    ),
    Bug(
        "picks take the largest score",
        "mechanism games",
        {"privacy.mechanisms.selection:pick_index": [("if source.noiseless:", "if True:")]},
    ),
    Bug(
        "a seed reaching the secure source",
        "sources",
        {"estimators._private:PrivateEstimator._noise_source": [("return SecureSource()", "return SeededSource(0)")]},
    ),
    Bug(
        "the bits of picks repeat",
        "sources",
        {
            "privacy.noise:SecureSource.bits": [
                ("secrets.randbits(count)", "int(np.random.default_rng(0).integers(2**31))")
            ]
        },
    ),
)

SENSITIVITIES = (
    Bug(
        "gradient sensitivity tau C/n",
        PURSUITS,
        {"privacy.sensitivity:bounded_norm_sum": [(_REPLACED + "levels", "levels")]},
    ),
    Bug(
        "the factor 2 of replace-one dropped",
        LOOPS,
        {"privacy.sensitivity:clipped_sum": [(_REPLACED + "feature_levels", "feature_levels")]},
    ),
    Bug("the Gram's sqrt 2 dropped", PURSUITS, {"privacy.sensitivity:gram": [("math.sqrt(2) if", "1 if")]}),
    Bug(
        "quantile sensitivity halved",
        "replay of tuning",
        {
            "privacy.mechanisms.quantile:release_quantile": [
                ("quantile_utility(meter.guarantee.adjacency)", "quantile_utility(meter.guarantee.adjacency) / 2")
            ]
        },
    ),
)

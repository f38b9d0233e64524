"""Bugs to plant where responses are counts or costs."""

from planting import Bug

CHECK = "replay of counts"

COUNTS = (
    Bug(
        "means from a batch's mean exposure",
        CHECK,
        {
            "engine.links:Log._means": [
                ("positive * _exponential", "positive / exposure[exposure > 0].mean() * _exponential")
            ]
        },
    ),
    Bug(
        "residuals in units of the largest response of a batch",
        CHECK,
        {
            "engine.links:Log.residuals": [
                ("quotient(y, center) -", "quotient(y, max(center, y[y == y].max(initial=0.0) / 9)) -")
            ]
        },
    ),
    Bug(
        "zeros of responses counted without noise",
        CHECK,
        {
            "algorithms.pursuit.steps.mean_response:MeanResponseStep._with_mean": [
                ("zeros = max(0.0, 1 - law.mean(np.ones_like(law.values)))", "zeros = float(counts[0] / counts[-1])")
            ]
        },
    ),
    Bug(
        "the mean response from the records themselves",
        CHECK,
        {
            "algorithms.pursuit.steps.mean_response:MeanResponseStep._with_mean": [
                ("center = float(max(mean, least))", "center = float(max(sums[0] / 2**20, least))")
            ]
        },
    ),
)

"""Bugs to plant where a pursuit takes all features."""

from planting import Bug

ALL_FEATURES = "replay of all features"

ALL_AT_ONCE = (
    Bug(
        "a step along the exact gradient, beside the released one",
        ALL_FEATURES,
        {
            "algorithms.pursuit.steps.gradients:mean_score": [
                ("return tau * mean,", "return tau * mean + (sums - sums % 64) * 1e-9,"),
            ]
        },
    ),
    Bug(
        "steps that an exact gradient may skip",
        ALL_FEATURES,
        {
            "algorithms.pursuit.steps.gradients:mean_score": [
                ("return tau * mean,", "return tau * mean * (sums[0] % 2),"),
            ]
        },
    ),
    Bug(
        "steps whose clip follows a record",
        ALL_FEATURES,
        {
            "algorithms.pursuit.steps.all_at_once:DescentStep.run": [
                (
                    "state.final_tau * state.residual_scale",
                    "state.residual_scale * (1 + abs(float(data.records._records.y[0])))",
                )
            ]
        },
    ),
    Bug(
        "the exact fraction of small residuals after the last step",
        ALL_FEATURES,
        {
            "algorithms.pursuit.steps.all_at_once:AverageStep.run": [
                (
                    "fraction = releases.fraction(releases.due(self.fraction), within)",
                    "_, noise_of = releases.fraction(releases.due(self.fraction), within)\n"
                    "    fraction = within / 2**20 / releases.n_responses, noise_of",
                )
            ]
        },
    ),
)

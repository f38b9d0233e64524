"""Bugs to plant where a pursuit takes all features."""

from planting import Bug

ALL_FEATURES = "replay of all features"

ALL_AT_ONCE = (
    Bug(
        "a step along the exact gradient, beside the released one",
        ALL_FEATURES,
        {
            "algorithms.pursuit.all_at_once:AllAtOnce.step": [
                ("state.descend(tau * mean,", "state.descend(tau * mean + (sums - sums % 64) * 1e-9,"),
            ]
        },
    ),
    Bug(
        "steps that an exact gradient may skip",
        ALL_FEATURES,
        {"algorithms.pursuit.all_at_once:AllAtOnce.step": [("state.descend(", "sums[0] % 2 == 1 or state.descend(")]},
    ),
    Bug(
        "steps whose clip follows a record",
        ALL_FEATURES,
        {
            "algorithms.pursuit.all_at_once:AllAtOnce.step": [
                (
                    "pursuit.schedule.final_tau * state.residual_scale",
                    "state.residual_scale * (1 + abs(float(pursuit.session._records.y[0])))",
                )
            ]
        },
    ),
    Bug(
        "the exact fraction of small residuals after the last step",
        ALL_FEATURES,
        {
            "algorithms.pursuit.all_at_once:AllAtOnce.finish": [
                (
                    "fraction = pursuit.releases.fraction(slot, within)",
                    "_, noise_of = pursuit.releases.fraction(slot, within)\n"
                    "    fraction = within / 2**20 / pursuit.releases.n_responses, noise_of",
                )
            ]
        },
    ),
)

"""Planted bugs of fits that take all features, and of the median of the residuals."""

from dpsparse.algorithms.pursuit import all_at_once, closing
from dpsparse.audit.bugs.mutation import Mutation

PURSUITS = "replay of pursuits"

ALL_AT_ONCE = (
    Mutation(
        "a step along the exact gradient, beside the released one",
        PURSUITS,
        {
            all_at_once.AllAtOnce.step: [
                ("state.descend(tau * mean,", "state.descend(tau * mean + (sums - sums % 64) * 1e-9,"),
            ]
        },
    ),
    Mutation(
        "steps that stop where the exact gradient is small",
        PURSUITS,
        {all_at_once.AllAtOnce.step: [("state.descend(", "abs(sums).max() < 9 or state.descend(")]},
    ),
    Mutation(
        "steps whose clip follows a record",
        PURSUITS,
        {
            all_at_once.AllAtOnce.step: [
                (
                    "pursuit.schedule.final_tau * state.residual_scale",
                    "state.residual_scale * (1 + abs(float(pursuit.session._records.y[0])))",
                )
            ]
        },
    ),
    Mutation(
        "the exact fraction of small residuals after the last step",
        PURSUITS,
        {
            all_at_once.AllAtOnce.finish: [
                (
                    "fraction = pursuit.releases.fraction(slot, within)",
                    "_, noise_of = pursuit.releases.fraction(slot, within)\n"
                    "    fraction = within / 2**20 / pursuit.releases.n_responses, noise_of",
                )
            ]
        },
    ),
    Mutation(
        "the exact median of the residuals",
        PURSUITS,
        {
            closing.Closing.release_median: [
                (
                    "self._median = pursuit.releases.quantile(",
                    "self._median = float(np.nanmedian(pursuit.session._records.y)) or pursuit.releases.quantile(",
                )
            ]
        },
    ),
)

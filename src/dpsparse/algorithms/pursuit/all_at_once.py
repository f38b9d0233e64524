"""The steps of a pursuit that takes all features: their units first, then all effects together."""

import math

from dpsparse.algorithms.pursuit.schedule import N_AVERAGED, N_STEPS, UNIT
from dpsparse.engine import queries


class AllAtOnce:
    """The releases of a pursuit that are made where nothing is selected, and only there.

    Parameters
    ----------
    pursuit : Pursuit
        It has sessions, releases and a state.
    """

    def __init__(self, pursuit):
        self._pursuit = pursuit

    def prepare(self, slot):
        """Before a release: take the features up to the one it is about, or all; or settle on the final effects."""
        pursuit = self._pursuit
        if pursuit.settings.choose:
            return
        if slot.group == "response range":
            pursuit.state.drop_spare()
        if slot.group not in (*UNIT, "Gram matrix"):
            return
        features = pursuit.selection.features[: pursuit.settings.n_picks]
        if slot.group in UNIT:
            features = features[: int(slot.name.split()[-1])]
        for feature in features[len(pursuit.state.features) :]:
            pursuit.unit_releases.finish()
            pursuit.add_column(int(feature))

    def step(self, slot):
        """A gradient, and a short step."""
        pursuit, state, step = self._pursuit, self._pursuit.state, int(slot.name.split()[-1])
        if step == N_STEPS - N_AVERAGED + 1:
            state.descent.start_average()
        tau, weight = pursuit.schedule.final_tau * state.residual_scale, pursuit.row_weight()
        sums, _ = pursuit.session.evaluate(queries.gradient_sums, *pursuit.equation(tau, weight))
        mean, noise = pursuit.releases.mean(slot, sums, weight.inner)
        state.descend(tau * mean, tau * noise, tau)
        self._last = tau, weight, tau * noise

    def finish(self, slot):
        """The averages of the last steps, and the fraction of residuals within tau there."""
        pursuit, state, (tau, weight, noise) = self._pursuit, self._pursuit.state, self._last
        state.effects, gradient, count = state.descent.average()
        _, within = pursuit.session.evaluate(queries.gradient_sums, *pursuit.equation(tau, weight))
        fraction = pursuit.releases.fraction(slot, within)
        state.add_gradient(gradient, noise / math.sqrt(count), tau, weight, *fraction)
        state.solve()

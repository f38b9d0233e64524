"""Private robust pursuit: select one feature at a time, make small releases, and reuse every release.

The steps are those of docs/method.md.

Privacy. Every number here that depends on the data comes out of `privacy.mechanisms`, on sums whose sensitivity
`privacy.sensitivity` proves: counts (quantiles, fractions), clipped sums (scores of the features), sums of norm-bounded
integer vectors (gradients, means) and of their outer products (second moments, Jacobian, variance), over records or
over pairs of them. The releases, their order and their prices are fixed in advance (`schedule`); the loop makes one for
each slot, or skips it. Everything else (`state`, `units`, `gls`, `sandwich`) is computed from releases.
"""

import numpy as np

from dpsparse.algorithms.progress import ProgressReporter
from dpsparse.algorithms.pursuit import grids
from dpsparse.algorithms.pursuit.all_at_once import AllAtOnce
from dpsparse.algorithms.pursuit.closing import Closing
from dpsparse.algorithms.pursuit.descent import Descent
from dpsparse.algorithms.pursuit.gls import row_weight
from dpsparse.algorithms.pursuit.quantiles import slope_window
from dpsparse.algorithms.pursuit.releases import Releases
from dpsparse.algorithms.pursuit.response import ResponseReleases, ResponseUnit
from dpsparse.algorithms.pursuit.response_count import ResponseCount
from dpsparse.algorithms.pursuit.schedule import UNIT
from dpsparse.algorithms.pursuit.selection import Selection
from dpsparse.algorithms.pursuit.shared_units import selectable, splits, with_released
from dpsparse.algorithms.pursuit.state import PursuitState
from dpsparse.algorithms.pursuit.unit_releases import UnitReleases
from dpsparse.algorithms.pursuit.units import FeatureUnit
from dpsparse.engine import queries
from dpsparse.engine.threads import one_blas_thread

# Where residuals are clipped in early gradients, in units of their scale.
EARLY_TAU = 0.8
# Where products with the newest feature are clipped, in units of their typical norm.
GRAM_ROW_NORM = 1.3
# Releases that need the newest feature in its unit.
AFTER_THE_UNIT = {"Gram row", "slope", "residual scale", "gradient", "Gram matrix"}
# Releases about a feature that is new: skipped once none is left to select.
OF_A_NEW_FEATURE = {"level", "pick", *UNIT, "Gram row", "slope"}


class Pursuit:
    """One fit. The constructor reads the rows once and releases nothing; `run` makes the releases.

    With an intercept the columns start with the constant 1. Without it features are not centred, unless their centres
    are public.

    Parameters
    ----------
    rows : Rows
        The data.
    meter : Meter
        The budget and the noise.
    schedule : Schedule
        The price of every release.
    units : PublicUnits
        Public centres and scales of the features, where they are given.
    binary : ndarray of bool or None
        Which features are 0/1 by construction, and never missing; None for no such feature.
    may_be_missing : ndarray of bool or None
        Of which features "it is missing" is a feature too, where cells may be missing; None for all.
    response_center, response_scale : float or None
        Public centre and scale of the response; None to release them, or to take them over.
    shared : SharedUnits or None
        What this pursuit releases for others too, if it leads, or takes over from the one that led.
    check_finite : bool
        Whether to raise ValueError, with a constant text, if a feature is not finite.
    progress : callable or None
        Called with the number of steps done, which may be a fraction, and the number of all steps; both depend on
        public numbers alone.
    """

    def __init__(
        self,
        rows,
        meter,
        schedule,
        *,
        units,
        binary=None,
        may_be_missing=None,
        response_center=None,
        response_scale=None,
        shared=None,
        check_finite=True,
        progress=None,
    ):
        self.schedule, self.settings, self.units = schedule, schedule.settings, units
        # An estimator has committed to the same before, when it reserved; to commit again changes nothing.
        meter.commit(schedule.commitment)
        self._slots = iter(schedule.pursuit)
        self.state = PursuitState(self.settings)
        # Opening; scores and a column for each selected feature; the rest.
        self._reporter = ProgressReporter(progress, 2 + 2 * self.settings.n_picks)
        self.releases = Releases(meter, rows.n_records)
        self._shared, self._taken_over, among = shared, {}, None
        if shared and not self.settings.leads:
            self._taken_over = shared.features if self.settings.learn else {}
            among = selectable(units, self._taken_over, rows.n_features)
            points = splits(units, self._taken_over, rows.n_features)
            units = with_released(units, self._taken_over, rows.n_features)
        self.selection = Selection(rows, self.settings, units, binary, may_be_missing, among)
        if among is not None:
            self.selection.set_splits(points if binary is None else points[~binary])
        # Where centre and scale are not public, the first slots release them, or those of another pursuit did.
        self._given_response = response_center, response_scale
        self._response = shared.response if shared else ResponseUnit(response_center, response_scale)
        self.take_response()
        self._check_finite, self._sessions = check_finite, ()
        self._response_releases, self.unit_releases = ResponseReleases(self, self._response), UnitReleases(self)
        self._level, self._jacobian = 0.0, None
        if self.settings.splits_share:
            self._split_counts = self.selection.count_splits(grids.SPLITS, check_finite)
        else:
            self._open_sessions()

    def _open_sessions(self):
        """Read the rows: their responses, and levels of all features for the scores."""
        with self._reporter.step() as on_progress:
            self.session, self.pairs = self._sessions = self.selection.open(self._check_finite, on_progress)

    def _is_idle(self, slot):
        """Whether a slot is about one more feature than there are: a table may have fewer than were paid for."""
        return slot.group in OF_A_NEW_FEATURE and int(slot.name.split()[-1]) > len(self.selection.features)

    @one_blas_thread()
    @np.errstate(all="ignore")
    def run(self):
        """Make the releases.

        Returns
        -------
        PursuitResult
            Effects, standard errors, units, intercept.
        """
        closing_steps, all_at_once = Closing(self), AllAtOnce(self)
        make = {
            "response size": self._response_releases.release_size,
            "response centre": self._response_releases.release_center,
            "response scale": self._response_releases.release_scale,
            "splits": self.release_splits,
            "responses": self._response_releases.release_count,
            "level": self.release_level,
            "pick": self.select_feature,
            "unit size": self.unit_releases.release_size,
            "unit spread": self.unit_releases.release_spread,
            "unit tail": self.unit_releases.release_tail,
            "unit centre": self.unit_releases.release_center,
            "unit mean": self.unit_releases.release_mean,
            "Gram row": self.release_gram_row,
            "slope": self.release_slope,
            "residual scale": self.release_residual_scale,
            "gradient": self.estimate_new_effect,
            "second slope": self.release_second_slope,
            "Gram matrix": self.release_gram_matrix,
            "Jacobian": self.release_jacobian,
            "score variance": self.release_score_variance,
            "final gradient": self.refine,
            "descent": all_at_once.step,
            "fraction": all_at_once.finish,
            "gain": closing_steps.release_gain,
            "calibration": closing_steps.release_calibration,
            "residual median": closing_steps.release_median,
            "response range": closing_steps.release_range,
        }
        try:
            for slot in self._slots:
                if self._is_idle(slot):
                    self.releases.skip(slot)
                    continue
                all_at_once.prepare(slot)
                if slot.group in AFTER_THE_UNIT:
                    self.unit_releases.finish()
                make[slot.group](slot)
        finally:
            for session in self._sessions:
                session.close()
        if self.settings.leads:
            self._shared.add(self.state)
        with self._reporter.step():
            return closing_steps.result()

    # Step 1: the response.

    def take_response(self):
        """Use what is known of the response by now; public numbers of this fit's own come first."""
        center, scale = self._given_response
        released = self._response
        self.center = float((released.center if center is None else center) or 0.0)
        if released.scale is not None or scale is not None:
            self.state.set_response_scale(released.scale if scale is None else scale)
        if released.n_records is not None:
            self.state.n_records = self.releases.n_responses = released.n_records

    @property
    def response_count(self):
        """The released number of responses; None where every record has one."""
        released = self._response
        if released.n_records is None:
            return None
        return ResponseCount(float(released.n_records), float(released.noise), self.settings.n)

    # Step 2: selection.

    def release_splits(self, slot):
        """A threshold for every feature that divides the records evenly."""
        grid = grids.splits(self.settings.split_nats)
        self.selection.set_splits(self.releases.splits(slot, self._split_counts, grid))
        self._open_sessions()

    def release_level(self, slot):
        """The mean of the clipped residuals, which scores leave out: it would select features that hardly vary."""
        tau, state = self.selection.tau(self.state), self.state
        sums, _ = self.session.evaluate(queries.gradient_sums, self.center, state.effects, tau, [0], 1.0, 1.0)
        mean, _ = self.releases.mean(slot, sums, 1.0)
        self._level = float(np.clip(mean[0], -1, 1))

    def select_feature(self, slot):
        """One more feature, by the exponential mechanism on the features' scores."""
        with self._reporter.step() as on_progress:
            scores, features, taken = self.selection.scores(self.center, self.state, self._level, on_progress)
        selected = int(features[self.releases.pick(slot, scores, taken)])
        if self.settings.level:
            self.state.move_constant(self._level * self.selection.tau(self.state))
        self.add_column(selected)

    def add_column(self, feature):
        """Add a feature to the model, with no effect yet."""
        with self._reporter.step() as on_progress:
            self.session.add(feature, on_progress)
            self.pairs.add(feature)
        unit = self._taken_over.get(feature)
        if unit is None:
            # Nothing is known of a feature that says whether another is missing.
            unit = FeatureUnit(*self.units.of(feature)) if feature < self.session.n_features else FeatureUnit()
        self.state.add_column(feature, unit)
        self.unit_releases.open(unit)

    # Step 3: the newest feature's effect.

    def release_gram_row(self, slot):
        """Second moments of the newest feature with itself and those before; each pair is released once."""
        columns = range(self.state.constants, len(self.state.effects))
        bound = float(GRAM_ROW_NORM * np.sqrt(len(columns)))
        sums = self.session.evaluate(queries.product_sums, columns, bound)
        self.state.add_gram_row(*self.releases.mean(slot, sums, bound))

    def release_slope(self, slot):
        """A start for the newest effect."""
        self._start_from_slopes(slot, self.newest)

    def _start_from_slopes(self, slot, column):
        """Move an effect by the slope, in residual scales, near which most slopes of pairs lie."""
        state = self.state
        grid = grids.SLOPES.times(state.residual_scale)
        effects = state.effects[state.constants :]
        count = self.counter(self.pairs, queries.slope_counts, effects, column - state.constants)
        slope = self.releases.densest(slot, count, grid, slope_window(grid.points, state.residual_scale))
        state.add_slope(column, slope)

    def release_residual_scale(self, slot):
        """The median size of the residuals."""
        state = self.state
        grid = grids.RESIDUAL_SCALES.times(state.response_scale)
        count = self.counter(self.session, queries.residual_counts, self.center, state.effects, sizes=True)
        state.set_residual_scale(self.releases.quantile(slot, count, grid))

    def estimate_new_effect(self, slot):
        """A gradient, and the effects that follow from all gradients so far."""
        self._gradient(slot, EARLY_TAU)
        self.state.solve()

    def _gradient(self, slot, tau_in_scales):
        """A gradient on the kept columns and, in the next slot, the fraction of residuals within tau."""
        state = self.state
        tau = tau_in_scales * state.residual_scale
        weight = self.row_weight()
        sums, within = self.session.evaluate(queries.gradient_sums, *self.equation(tau, weight))
        mean, noise = self.releases.mean(slot, sums, weight.inner)
        fraction, fraction_noise = self.releases.fraction(next(self._slots), within)
        state.add_gradient(tau * mean, tau * noise, tau, weight, fraction, fraction_noise)

    def row_weight(self):
        """The weight of the rows of the kept columns."""
        return row_weight(len(self.state.kept), self.settings.inner, self.settings.outer, self.state.constants)

    def equation(self, tau, weight):
        """What the sums of the estimating equation are computed from, at the present effects."""
        return self.center, self.state.effects, tau, self.state.kept, weight.inner, weight.outer

    # Step 4: all effects together.

    def release_second_slope(self, slot):
        """The start of a kept effect again, now that the others are known."""
        place, kept = int(slot.name.split()[-1]) - 1, self.state.kept_features()
        if place < len(kept):
            self._start_from_slopes(slot, kept[place])
        else:
            self.releases.skip(slot)

    def release_gram_matrix(self, slot):
        """Second moments of all columns, each row weighted as in the gradients."""
        weight = self.row_weight()
        sums = self.session.evaluate(queries.gram_sums, self.state.kept, weight.inner, weight.outer)
        released = self.releases.gram(slot, sums, weight.inner * weight.outer)
        # Second moments of standard normal rows with this weight are diagonal, with entries `gain`.
        unit = np.sqrt(np.outer(weight.gain, weight.gain))
        self.state.set_gram(released.values / unit, released.noise / unit[-1, -1])
        if self.settings.choose:
            self.state.solve()
        else:
            self.state.descent = Descent(released, weight.gain)

    def refine(self, slot):
        """A final gradient; after the first one the spare feature is dropped, and constant ones."""
        state = self.state
        self._gradient(slot, self.schedule.final_tau)
        if self._jacobian is not None:
            state.set_jacobian(self._jacobian)
        if slot.name == "final gradient 1":
            state.drop_spare()
        else:
            state.solve()

    def release_jacobian(self, slot):
        """The Jacobian of the last gradient, which is the next one where features were selected."""
        weight = self.row_weight()
        sums = self.session.evaluate(queries.jacobian_sums, *self.equation(self._last_tau(), weight))
        self._jacobian = self.releases.gram(slot, sums, weight.inner * weight.outer)

    def release_score_variance(self, slot):
        """The variance of a record's term in that gradient, in units of tau."""
        weight = self.row_weight()
        sums = self.session.evaluate(queries.variance_sums, *self.equation(self._last_tau(), weight))
        self.state.variance = self.releases.gram(slot, sums, weight.inner**2)
        if not self.settings.choose:
            self.state.set_jacobian(self._jacobian)

    def _last_tau(self):
        """Where the last gradient clips residuals: its fraction within tau is that of the Jacobian only there."""
        if self.settings.choose:
            return self.schedule.final_tau * self.state.residual_scale
        return self.state.gradients[-1].tau

    @property
    def newest(self):
        """The column of the newest feature."""
        return len(self.state.effects) - 1

    @property
    def newest_pair(self):
        """Its column among the differences of pairs, which have no constant."""
        return self.newest - self.state.constants

    @staticmethod
    def counter(session, query, *public, **options):
        """A function of thresholds, which come after the public numbers."""
        return lambda thresholds: session.evaluate(query, *public, thresholds, *options.values())

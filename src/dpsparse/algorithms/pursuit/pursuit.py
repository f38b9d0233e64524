"""Private robust pursuit: select one feature at a time, make small releases, and reuse every release.

The steps are those of docs/method.md, each in a file of `steps`; `schedule.steps_of` puts them in order.

Privacy. Every number here that depends on the data comes out of `privacy.mechanisms`, on sums whose sensitivity
`privacy.sensitivity` proves: counts (quantiles, fractions), clipped sums (scores of the features), sums of norm-bounded
integer vectors (gradients, means) and of their outer products (second moments, Jacobian, variance), over records or
over pairs of them. The releases, their order and their prices are fixed in advance (`schedule`); a step makes those
that it has planned, or skips them. Everything else (`updates`, `feature_unit`, `inference`) is computed from releases.
"""

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.progress import Progress, ProgressReporter
from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.candidates import Candidates, Companions
from dpsparse.algorithms.pursuit.outcome import result_of
from dpsparse.algorithms.pursuit.pursuit_data import Data
from dpsparse.algorithms.pursuit.releases import Releases
from dpsparse.algorithms.pursuit.result import PursuitResult
from dpsparse.algorithms.pursuit.schedule import Schedule
from dpsparse.algorithms.pursuit.shared_units import SharedUnits, selectable, splits, with_released
from dpsparse.algorithms.pursuit.state import ResponseUnit
from dpsparse.algorithms.pursuit.updates import initial
from dpsparse.data.public_units import PublicUnits
from dpsparse.engine.protocols import Rows
from dpsparse.engine.threads import one_blas_thread
from dpsparse.privacy.accounting.meter import Meter


class Pursuit:
    """One fit. The constructor reads the rows once and releases nothing; `run` makes the releases.

    With an intercept the columns start with the constant 1. Without it features are not centred, unless their centres
    are public.

    `rows`: the data.
    `meter`: the budget and the noise.
    `schedule`: the steps, and the price of every release.
    `units`: public centres and scales of the features, where they are given.
    `binary`: which features are 0/1 by construction, and never missing; None for no such feature.
    `may_be_missing`: of which features "it is missing" is a feature too, where cells may be missing; None for all.
    `response_center`, `response_scale`: public centre and scale of the response; None to release them, or to take them
      over.
    `shared`: what this pursuit releases for others too, if it leads, or takes over from the one that led.
    `companions`: the 0/1 features that come with a selected one.
    `unit_rows`: the same records with more responses, where few have one here: units of features are learned from
      these.
    `check_finite`: whether to raise ValueError, with a constant text, if a feature is not finite.
    `progress`: called with the number of steps done, which may be a fraction, and the number of all steps; both depend
      on public numbers alone.
    """

    def __init__(
        self,
        rows: Rows,
        meter: Meter,
        schedule: Schedule,
        *,
        units: PublicUnits,
        binary: NDArray[np.bool_] | None = None,
        may_be_missing: NDArray[np.bool_] | None = None,
        response_center: float | None = None,
        response_scale: float | None = None,
        shared: SharedUnits | None = None,
        companions: Companions | None = None,
        unit_rows: Rows | None = None,
        check_finite: bool = True,
        progress: Progress = None,
    ) -> None:
        facts = schedule.facts
        # An estimator has committed to the same before, when it reserved; to commit again changes nothing.
        meter.commit(schedule.commitment)
        # Opening; scores and a column for each selected feature; the rest.
        self._reporter = ProgressReporter(progress, 2 + 2 * decisions.n_picks(facts))
        self._schedule, self._shared = schedule, shared
        self._releases = Releases(meter, rows.n_records, schedule.pursuit)
        given = ResponseUnit(response_center, response_scale)
        self.state = initial(facts, given, shared.response if shared else given, schedule.final_tau)
        taken_over = {}
        if shared is None or facts.releases_for_others:
            same = companions.numbers if companions else None
            candidates = Candidates(rows, facts, units, binary, may_be_missing, same_split=same)
        else:
            taken_over = shared.features if decisions.learns_units(facts) else {}
            among = selectable(units, taken_over, rows.n_features)
            known = with_released(units, taken_over, rows.n_features)
            candidates = Candidates(rows, facts, known, binary, may_be_missing, among)
            candidates.set_all_splits(splits(units, taken_over, rows.n_features))
        # Without a step to the estimand's estimator nothing would estimate their effects.
        coming = companions if companions and schedule.reference_rho > 0 else Companions()
        self._data = Data(facts, candidates, units, taken_over, check_finite, self._reporter, coming, unit_rows)
        self._releases.of_all_records = unit_rows is not None
        self._data.read_first()

    @one_blas_thread()
    @np.errstate(all="ignore")
    def run(self) -> PursuitResult:
        """Make the releases; gives effects, standard errors, units, intercept."""
        try:
            for step in self._schedule.steps:
                self.state = step.run(self._data, self._releases, self.state)
        finally:
            self._data.close()
        if self._shared is not None and self._schedule.facts.releases_for_others:
            self._shared.add(self.state)
        with self._reporter.step():
            return result_of(self._schedule, self.state)

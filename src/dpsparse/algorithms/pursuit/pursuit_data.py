"""The records of one fit as its steps read them: sums over records and over pairs of them, by an engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.progress import ProgressReporter
from dpsparse.algorithms.pursuit import decisions, grids
from dpsparse.algorithms.pursuit.candidates import Candidates, Companions, OpenCandidates
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.algorithms.pursuit.grids import Counter
from dpsparse.data.public_units import PublicUnits
from dpsparse.engine.protocols import Query, Rows, Session


@dataclass
class Data:
    """The engine's view of a table during one fit.

    `facts`: what decides which candidates there are.
    `candidates`: of a selection.
    `units`: public centres and scales of the features, where they are given.
    `taken_over`: units that another fit has released.
    `check_finite`: whether to raise ValueError, with a constant text, if a feature is not finite.
    `reporter`: told of each long pass.
    `companions`: the 0/1 features that come with a selected one.
    `unit_rows`: the same records with more responses, by which units of features are learned; None for those of the
      fit.
    `opened`: the candidates in sessions on the records and on the differences of pairs; None before the first pass.
    `split_counts`: what splits are made of, where these come before the first pass.
    """

    facts: PublicFacts
    candidates: Candidates
    units: PublicUnits
    taken_over: Mapping[int, FeatureUnit]
    check_finite: bool
    reporter: ProgressReporter
    companions: Companions = field(default_factory=Companions)
    unit_rows: Rows | None = None
    opened: OpenCandidates | None = None
    split_counts: NDArray[np.int64] | None = None
    _of_units: tuple[Session, Session] | None = None

    def read_first(self) -> None:
        """Read the rows once, and release nothing: a feature that is not finite is found before anything is charged."""
        if decisions.splits_share(self.facts):
            points = grids.splits(decisions.split_nats(self.facts)).points
            self.split_counts = self.candidates.count_splits(points, self.check_finite)
        else:
            self.open()

    def open(self) -> None:
        """Read the rows: their responses, and levels of all features for the scores."""
        with self.reporter.step() as on_progress:
            self.opened = self.candidates.open(self.check_finite, on_progress)
        if self.unit_rows is not None:
            records = self.unit_rows.session((), constant=self.facts.fit_intercept, check_finite=False)
            self._of_units = records, self.unit_rows.differences().session((), check_finite=False)

    def close(self) -> None:
        """Release what other processes keep."""
        for session in (*self._sessions(), *(self._of_units or ())):
            session.close()

    def _sessions(self) -> tuple[Session, ...]:
        return () if self.opened is None else (self.opened.records, *self.opened.differences)

    @property
    def of_units(self) -> tuple[Session, Session]:
        """The sessions on records and on pairs by which units are learned."""
        return self._of_units or (self.records, self.pairs)

    @property
    def scored(self) -> OpenCandidates:
        """The candidates of a selection, as they can be scored."""
        assert self.opened is not None, "the rows are read before the first release that needs them"
        return self.opened

    @property
    def records(self) -> Session:
        """The session on the records."""
        return self.scored.records

    @property
    def pairs(self) -> Session:
        """The session on the differences of pairs."""
        return self.scored.pairs

    def has_more(self, features: Sequence[int]) -> bool:
        """Whether there is a feature to select beside some: a table may have fewer than were paid for."""
        return len(self.candidates.features) > len({*features, *self.companions.of(features)})

    def add_column(self, feature: int) -> FeatureUnit:
        """Read one more feature as a column; gives what is publicly known of its unit, or was released before."""
        with self.reporter.step() as on_progress:
            self.records.add(feature, on_progress)
            for session in (*self.scored.differences, *(self._of_units or ())):
                session.add(feature)
        unit = self.taken_over.get(feature)
        if unit is None:
            # Nothing is known of a feature that says whether another is missing.
            known = feature < self.records.n_features
            unit = FeatureUnit.public(*self.units.of(feature)) if known else FeatureUnit()
        return unit

    def add_category(self, feature: int, unit: FeatureUnit) -> None:
        """Read another category of a variable as a column, in its unit."""
        for session in (self.records, *self.scored.differences, *(self._of_units or ())):
            session.add(feature)
        self.rescale(unit)

    def rescale(self, unit: FeatureUnit) -> None:
        """Read the newest column in its unit from here on."""
        self.records.rescale(unit.center, unit.scale)
        for session in self.scored.differences:
            session.rescale(0.0, unit.scale)


def counter(session: Session, query: Query, *public: Any, **options: Any) -> Counter:
    """A function of thresholds, which come after the public numbers."""
    return lambda thresholds: session.evaluate(query, *public, thresholds, *options.values())

"""A fit on a raw table: kinds, categories, the pursuit and names, under one commitment."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.progress import Progress
from dpsparse.algorithms.pursuit.candidates import Companions
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.pursuit import Pursuit
from dpsparse.algorithms.pursuit.reference_budget import pursuit_share
from dpsparse.algorithms.pursuit.result import MAYBE_FEW, PursuitResult
from dpsparse.algorithms.pursuit.schedule import Schedule, n_with_units, schedule_for
from dpsparse.algorithms.pursuit.shared_units import SharedUnits
from dpsparse.data.person_ids import people_rows
from dpsparse.data.public_units import PublicUnits
from dpsparse.data.within_person import NO_IDS, deviations, rows_of_several
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.disk.disk_rows import DiskRows
from dpsparse.engine.disk.memory import room
from dpsparse.engine.people import ONE_ROW
from dpsparse.engine.protocols import Rows
from dpsparse.estimators._private import MIN_ROWS
from dpsparse.estimators._results import set_results
from dpsparse.io.cells.encoding import EncodedSource, encode, yes_or_no
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.table_features import Feature
from dpsparse.learning.categories import missing_feature, release_labels
from dpsparse.learning.learning_constants import LEAST_SHARE
from dpsparse.learning.preparation import Preparation
from dpsparse.learning.table_prices import TableReleases, names_failure, preparation_shares
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.schema import FileError

if TYPE_CHECKING:
    from dpsparse.data.raw_data import RawData
    from dpsparse.estimators._pursuit import PursuitEstimator
    from dpsparse.estimators._two_part_plan import TwoPartPlan

# A schedule, or a plan of several.
Planned = TypeVar("Planned", Schedule, "TwoPartPlan")

# The share of a 0/1 feature of which nothing is known.
BINARY_SHARE = 0.5
# A gap comes with a selected column where more than this share of its cells is missing: three standard deviations of
# the noise with which small tables know it.
COMING_GAP = 0.05
# Features that a raw column is taken for in prices, which are fixed before it is known what the columns are.
FEATURES_PER_COLUMN = 3


def raw_schedule(
    estimator: "PursuitEstimator",
    data: "RawData",
    guarantee: Guarantee,
    *,
    prepare: bool = True,
    of_units: Schedule | None = None,
    leads: bool = True,
) -> Schedule:
    """The releases of a fit on raw data and their prices, from public numbers alone.

    Without `prepare` the releases that tell what the columns are, and names, are left out: others make them.
    `of_units` has the releases that the fit shares with others, and the one that `leads` makes these.
    """
    n, d = data.n_people, n_expected(data)
    rows = ONE_ROW if data.people is None else data.people.rows
    # More variables than there are cannot be selected, and a fit that is ready for them has less for each.
    picks = min(estimator._picks(d, n, guarantee, raw=True), n_variables(data))
    family = estimator._family_of(data)
    # What is learned of a table is for the pursuit, and priced as its releases are.
    share = pursuit_share(PublicFacts(n, d, picks, guarantee.rho_per_record, missing=True, family=family, rows=rows))
    shares = preparation_shares(n, share * guarantee.rho_per_record, len(data.columns) + 1, len(data.maybe_text), picks)
    naming = shares.pop("names")
    table = TableReleases(
        tuple((name, share) for name, share in shares.items() if share),
        naming,
        names_failure(guarantee) if naming else 0.0,
    )
    return schedule_for(
        guarantee,
        n,
        d,
        picks,
        of_units=of_units,
        n_selectable=None if leads or of_units is None else n_with_units(of_units, data.n_units_known()),
        table=table if prepare else None,
        units_known="none" if data.within else data.units_known(),
        center_known=data.bounds.response_center is not None and not data.within,
        scale_known=data.bounds.response_scale is not None and not data.within,
        fit_intercept=bool(estimator.fit_intercept),
        missing=True,
        most_splits=len(data.maybe_numbers),
        family=family,
        rows=rows,
        categories=bool(data.maybe_text or data.with_categories),
    )


def within_people(data: "RawData") -> "RawData":
    """The records of people who have several, to be read as deviations from their person's mean."""
    if data.people is None:
        raise ValueError(NO_IDS)
    kept = rows_of_several(data.people)
    return replace(data, table=data.table if len(kept) == data.n_rows else data.table.at(kept), within=True)


def n_expected(data: "RawData") -> int:
    """The number of features that prices are made for."""
    return FEATURES_PER_COLUMN * n_variables(data)


def n_variables(data: "RawData") -> int:
    """The number of variables: columns, and products of these."""
    return len(data.columns) + len(data.products)


def fit_raw(estimator: "PursuitEstimator", data: "RawData", progress: Progress = None) -> None:
    """Fit an estimator on raw data."""
    estimator._check_parameters()
    if estimator.within:
        data = within_people(data)
    meter, plan = committed(estimator, data, lambda guarantee: raw_schedule(estimator, data, guarantee))
    table = PreparedTable(data, meter, plan)
    estimator._reset()
    result = table.pursue(meter, plan, progress=progress)
    table.publish(estimator, result, meter, *table.named(meter, plan, result.features.support))


def committed(
    estimator: "PursuitEstimator", data: "RawData", plan_for: Callable[[Guarantee], Planned]
) -> tuple[Meter, Planned]:
    """The meter of a fit on raw data, committed to a plan and reserved; warns from public facts alone."""
    n = data.n_people
    if n < MIN_ROWS:
        raise FileError(f"the table holds {n} {'records' if data.people is None else 'people'}; a fit needs {MIN_ROWS}")
    meter, planned = estimator._open_meter(n, data.n_rows), cache(plan_for)
    with estimator._reserved(meter, lambda guarantee: planned(guarantee).commitment):
        estimator._warn_if_weak(meter, data.table.names, features=data.columns)
        estimator._warn_if_hopeless(n, n_expected(data), meter, data.units_known() == "all")
    return meter, planned(meter.guarantee)


class PreparedTable:
    """A raw table of which it was learned what its columns are.

    The first releases are made here, at the prices of the plan.
    """

    def __init__(self, data: "RawData", meter: Meter, plan: Schedule) -> None:
        self._data, self._family = data, plan.facts.family
        slots = {slot.name: slot for slot in plan.preparation}
        preparation = Preparation(
            data.standing,
            data.target,
            meter,
            slots,
            kinds=data.declared,
            columns=data.learned_columns,
            numeric=data.numeric,
            others=list(data.with_categories),
            response_is_text=data.positive is not None,
        )
        self.encoding = preparation.run()
        learned = [replace(each, **data.public_facts(each)) for each in self.encoding.features]
        numbers = [feature for feature in learned if feature.kind != Kind.text]
        texts = [*learned[len(numbers) :], *data.given_features()]
        missing = [missing_feature(column) for column in data.with_categories if column in self.encoding.with_gaps]
        # Numbers that may be missing stay first.
        products = [
            replace(number, within=text)
            for product in data.products
            for number in numbers
            for text in texts
            if (number.column, text.column) == (product.number, product.category) and not text.missing
        ]
        self.features = (*numbers, *products, *texts, *missing)
        self._n_numbers = len(numbers) + len(products)
        self._buckets_of = None if self._has_many_rows else preparation.buckets_of

    @property
    def binary(self) -> NDArray[np.bool_]:
        """Which features are 0/1."""
        result: NDArray[np.bool_] = np.arange(len(self.features)) >= self._n_numbers
        return result

    @property
    def may_be_missing(self) -> NDArray[np.bool_]:
        """Of which features enough cells are missing that it is a feature whether one is: the first ones."""
        return np.array([self._has_gaps(each) for each in self.features], dtype=bool)

    def _has_gaps(self, feature: Feature) -> bool:
        # A gap is at the person's mean where rows are deviations from it.
        if self._data.within:
            return False
        return feature.within is None and feature.kind != Kind.text and feature.column in self.encoding.with_gaps

    @property
    def units(self) -> PublicUnits:
        """Public units of the features."""
        known = [(None, None) if self._data.within else (each.center, each.scale) for each in self.features]
        return PublicUnits(*np.array(known, dtype=np.float64).reshape(-1, 2).T)

    @cached_property
    def rows(self) -> Rows:
        """The records with their responses, as an engine reads them."""
        return self.rows_with(self.responses())

    def rows_with(self, responses: NDArray[np.float64]) -> Rows:
        """The records with some responses: in memory where there is room for their features, or in blocks."""
        table, X, people = self._data.table, self._encoded, self._data.people
        rows = DiskRows(EncodedSource(table, self.features), responses) if X is None else DenseRows(X, responses)
        if self._data.within:
            assert people is not None  # `within_people` has refused it
            rows = deviations(rows, people, fill=True)
        if self._data.exposure is not None:
            rows.exposure = table.numbers([self._data.exposure], [self._data.kind_of_exposure])[:, 0]
        return people_rows(rows, people) if people is not None and self._has_many_rows else rows

    @cached_property
    def _encoded(self) -> NDArray[np.float64] | None:
        """The features in memory; None where there is no room for them."""
        table = self._data.table
        if 8 * table.n_records * len(self.features) > room():
            return None
        return encode(table, self.features, self._buckets_of)

    @property
    def _has_many_rows(self) -> bool:
        return self._data.people is not None and self._data.people.rows.many

    def responses(self) -> NDArray[np.float64]:
        """The responses as the family has them; NaN where there is none."""
        table, target, positive = self._data.table, self._data.target, self._data.positive
        read = self.encoding.responses(table) if positive is None else yes_or_no(table, target, positive)
        return self._family.responses(read)

    @cached_property
    def companions(self) -> Companions:
        """The features that come with each one: others of its variable, and whether it is missing."""
        variables = [places for places in self._by_variable.values() if len(places) > 1]
        wholes = [places for places in variables if all(map(self._is_learned, places))]
        products = [places for places in wholes if self.features[places[0]].within is not None]
        return Companions(
            self._coming(),
            self._shares(),
            frozenset(place for place, feature in enumerate(self.features) if feature.indicator in self.encoding.rare),
            groups=[places for places in wholes if places not in products],
            products=products,
            numbers=self._numbers_of_products(),
            units={
                place: self._data.units_of_parts[feature.column]
                for place, feature in enumerate(self.features)
                if feature.part_of is not None
            },
        )

    @cached_property
    def _by_variable(self) -> dict[str, list[int]]:
        """The features of each variable; a product is one of its own."""
        places: dict[str, list[int]] = {}
        for place, feature in enumerate(self.features):
            places.setdefault(feature.variable, []).append(place)
        return places

    @property
    def _products(self) -> Iterator[tuple[int, int, list[int]]]:
        """Numbers times categories, with the number and the categories that each is made of."""
        for place, feature in enumerate(self.features):
            if feature.within is not None:
                (number,), categories = self._by_variable[feature.column], self._by_variable[feature.within.column]
                yield place, number, categories

    def _coming(self) -> dict[int, list[int]]:
        """What comes with each feature. A number does not come with "it is missing": it needs a unit."""
        binary = self.binary
        coming = {
            place: [other for other in self._by_variable[feature.variable] if other != place and self._is_there(other)]
            for place, feature in enumerate(self.features)
            if binary[place] or feature.within is not None or feature.part_of is not None
        }
        for place, number, categories in self._products:
            coming[place] += [number, *filter(self._is_there, categories)]
        for place in self._gaps:
            coming.setdefault(place, []).append(len(self.features) + place)
        return coming

    def _numbers_of_products(self) -> dict[int, int]:
        """For numbers that are multiplied by categories, and for each product, the place of the number."""
        numbers: dict[int, int] = {}
        for place, number, _ in self._products:
            numbers |= {place: number, number: number}
        return numbers

    @cached_property
    def _gaps(self) -> list[int]:
        """The numbers that come with whether they are missing."""
        places: list[int] = np.flatnonzero(self.may_be_missing & ~self.binary).tolist()
        return [place for place in places if self._share(missing_feature(self.features[place].column)) > COMING_GAP]

    def _shares(self) -> dict[int, float]:
        """The shares of records that have each 0/1 feature, about."""
        binary, d = self.binary, len(self.features)
        shares = {
            place: self._share(feature.indicator)
            for place, feature in enumerate(self.features)
            if binary[place] or feature.within is not None
        }
        return shares | {d + place: self._share(missing_feature(self.features[place].column)) for place in self._gaps}

    def _is_learned(self, place: int) -> bool:
        """Whether a feature is of hash buckets, or a gap beside them: a cell is in one bucket, or it is missing.

        A number times such a feature has a value in records of the bucket alone.
        """
        text = self.features[place].indicator
        return text.kind == Kind.text and (text.missing or bool(text.buckets))

    def _share(self, feature: Feature) -> float:
        """The share of records that have a 0/1 feature, about; that of a public category is its centre."""
        share = self.encoding.shares.get(feature, feature.center)
        return float(np.clip(BINARY_SHARE if share is None else share, LEAST_SHARE, 1 - LEAST_SHARE))

    def _is_there(self, place: int) -> bool:
        """Whether more than hardly a record has a feature; that cells are missing may be noise."""
        feature = self.features[place].indicator
        return not (feature.missing and self._share(feature) <= COMING_GAP)

    def all_features(self) -> tuple[Feature, ...]:
        """All features that may be selected: those of the table, and whether a number is missing."""
        missing = [each for each in self.features if self._has_gaps(each)]
        return (*self.features, *(replace(each, center=None, scale=None, fill=None, missing=True) for each in missing))

    def pursue(
        self,
        meter: Meter,
        plan: Schedule,
        shared: SharedUnits | None = None,
        progress: Progress = None,
        rows: Rows | None = None,
        unit_rows: Rows | None = None,
    ) -> PursuitResult:
        """The result of a pursuit.

        `shared` are units that it has in common with others, `rows` have other responses, and `unit_rows` those by
        which units of features are learned.
        """
        bounds = self._data.bounds
        pursuit = Pursuit(
            self.rows if rows is None else rows,
            meter,
            plan,
            units=self.units,
            binary=self.binary,
            may_be_missing=self.may_be_missing,
            response_center=None if self._data.within else bounds.response_center,
            response_scale=None if self._data.within else bounds.response_scale,
            shared=shared,
            companions=self.companions,
            unit_rows=unit_rows,
            check_finite=False,
            progress=progress,
        )
        result = pursuit.run()
        # A step to the estimand's estimator has looked for them itself.
        looked = plan.reference_rho > 0 and not plan.facts.family.bounded
        features, rare = self.all_features(), frozenset[Feature]() if looked else self.encoding.rare
        there = np.array([features[place] not in rare for place in result.features.support], dtype=bool)
        doubts, count = result.features.doubts, result.response.count
        effects = replace(
            result.features,
            shrunk_effects=np.where(there, result.features.shrunk_effects, 0.0),
            doubts=np.where(there | (doubts != ""), doubts, MAYBE_FEW),
        )
        count = count and replace(count, empty=self.encoding.empty_responses)
        return replace(result, features=effects, response=replace(result.response, count=count))

    def publish(
        self,
        estimator: "PursuitEstimator",
        result: PursuitResult,
        meter: Meter,
        features: tuple[Feature, ...],
        baselines: dict[str, str],
    ) -> None:
        """Set the results of an estimator, under the names that were released."""
        for name in ("feature_names_in_", "n_features_in_"):
            estimator.__dict__.pop(name, None)
        estimator.n_features_in_ = len(self.features)
        encoding = self.encoding
        names: dict[str, Any] = {"target": self._data.target, "target_kind": str(encoding.target_kind)}
        names |= {"within": self._data.within, "formula": self._data.formula, "baselines": baselines}
        names |= estimator._described(self._data)
        set_results(estimator, result, features, np.float64, meter, **names, text_unused=encoding.text_unused)

    def named(self, meter: Meter, plan: Schedule, support: Iterable[int]) -> tuple[tuple[Feature, ...], dict[str, str]]:
        """All features, with the names of the selected texts, and the baselines of the text columns by column."""
        features, baselines = self.all_features(), {}
        if plan.naming:
            labels = release_labels(meter, plan.naming[0], self._data.standing, features, support)
            features, baselines = labels.features, labels.baselines
        public = {column: categories[0] for column, categories in self._data.with_categories.items()}
        return features, baselines | public

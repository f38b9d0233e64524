"""`tune` for candidates that share nothing but the guarantee: fits in two parts.

Theorem. The fits and the choice keep the guarantee that the candidates state.

Proof. As in `tuning`, without releases that fits have in common: part 0 is read by k fits, each of which keeps a share
of the guarantee by the theorem of its estimator, and part 1 by two picks. A record lies in one part. The commitment to
all of them is made before a value is read, and is refused if the guarantee does not cover the more costly part. QED.

What is predicted is an overall mean. Errors are Poisson deviances of means, which are smallest at the mean; absolute
ones would be smallest at the median, which is 0 where most responses are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpsparse.algorithms.guarantee_shares import share_of
from dpsparse.data.as_table import MemoryTable
from dpsparse.data.raw_data import RawData
from dpsparse.data.validation import name_of_response
from dpsparse.engine import regrets
from dpsparse.estimators._pursuit import PursuitEstimator
from dpsparse.estimators._tuning_plan import (
    HELD_OUT,
    HELD_OUT_EVERY,
    HELD_OUT_NAME,
    TRAINING,
    n_held_out,
    picks_for,
)
from dpsparse.model.table_predictions import ModelTable
from dpsparse.privacy.accounting.meter import Commitment, Meter, MeterShare, in_part
from dpsparse.privacy.accounting.release import Slot
from dpsparse.privacy.guarantee import Guarantee

# The releases of a fit, from a candidate's place and its guarantee.
Planned: TypeAlias = Callable[[int, Guarantee], Commitment]
# The least mean that counts, in units of the mean response: the log of 0 would decide between candidates.
LEAST_MEAN = 1e-3


@dataclass(frozen=True)
class PlanApart:
    """The share of each fit, the two picks on rows held out, and all releases; `tight` by the Gaussian account."""

    tight: bool
    share: Guarantee
    picks: Commitment
    commitment: Commitment


def plan_apart(guarantee: Guarantee, n: int, models: list[PursuitEstimator], of: Planned) -> PlanApart:
    """The plan by the Gaussian account, or by zCDP where that fails; `of` gives the releases of a candidate's fit."""
    tight = _plan(guarantee, n, models, of, tight=True)
    return tight if tight.commitment.is_within(guarantee) else _plan(guarantee, n, models, of, tight=False)


def _plan(guarantee: Guarantee, n: int, models: list[PursuitEstimator], of: Planned, tight: bool) -> PlanApart:
    # Where a release may fail, zCDP is converted at a delta that is a little smaller.
    count, rho = len(models), guarantee.rho_per_record * (1 - 1e-3)
    share, picks = share_of(guarantee, 1 / count, count, tight, rho), picks_for(guarantee, n_held_out(n))
    slots: list[Slot] = []
    for k, model in enumerate(models):
        model._tight = tight
        slots += in_part(of(k, share), TRAINING, _name(k))
    return PlanApart(tight, share, picks, Commitment((*slots, *in_part(picks, HELD_OUT, HELD_OUT_NAME))))


def _name(k: int) -> str:
    return f"candidate {k}"


class RecordsApart(Protocol):
    """Records of which every fifth one is held out."""

    @property
    def n_records(self) -> int:
        """Their number."""

    @property
    def training(self) -> tuple[Any, Any]:
        """Those that are not held out, and their responses."""

    def commitment(self, k: int, share: Guarantee) -> Commitment:
        """The releases of a candidate's fit, from public numbers."""

    def check(self, meter: Meter) -> None:
        """Refuse records that cannot be fitted, and warn of a weak guarantee, before anything is released."""

    def errors(self) -> NDArray[np.float64]:
        """Those of the fitted candidates on the records held out."""


def fit_apart(models: list[PursuitEstimator], plan: PlanApart, meter: Meter, records: RecordsApart) -> None:
    """Fit all candidates on the records that are not held out."""
    X, y = records.training
    n_training = records.n_records - n_held_out(records.n_records)
    for k, model in enumerate(models):
        model._tight = plan.tight
        model._shared_meter = MeterShare(meter, plan.share, n_training, part=TRAINING, name=_name(k))
        try:
            model.fit(X, y)
        finally:
            del model._shared_meter, model._tight
            model.__dict__.pop("_target", None)


class ArrayApart:
    """An array, or another table of numbers."""

    def __init__(self, models: list[PursuitEstimator], table: MemoryTable, y: Any) -> None:
        self._models, self._table, self._y, self._first = models, table, y, clone(models[0])
        self.n_records, self._d = self._first._public_shape(table, y)
        held_out = np.arange(self.n_records) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
        self._training, self._held_out = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        self._response: NDArray[np.float64] = np.zeros(0)
        for model in models:
            model._target = name_of_response(y, table.names)

    def commitment(self, k: int, share: Guarantee) -> Commitment:
        """The releases of a candidate's fit."""
        return self._models[k]._schedule(share, len(self._training), self._d).commitment

    def check(self, meter: Meter) -> None:
        """Refuse what cannot be fitted."""
        table, first = self._table, self._first
        self._response = first._validated(table, self._y, (self.n_records, self._d))
        for model in self._models:
            model._public_units(table, self._d)
        first._warn_if_weak(meter)
        if first._refuses_gaps:
            table.rows(self._response).require_finite()

    @property
    def training(self) -> tuple[Any, Any]:
        """Those that are not held out, and their responses; a data frame keeps its names."""
        return self._table.take(self._training), self._response[self._training]

    def errors(self) -> NDArray[np.float64]:
        """Deviances of the fitted candidates on the records held out."""
        X = self._table.take(self._held_out)
        return _errors_of_means(
            self._models, self._response[self._held_out], [each.predict(X) for each in self._models]
        )


class RawApart:
    """A raw table: each fit learns by itself what the columns are."""

    def __init__(self, models: list[PursuitEstimator], data: RawData) -> None:
        self._models, self._data, self.n_records = models, data, data.n_people

    @property
    def _training(self) -> RawData:
        return self._data.part(HELD_OUT_EVERY, range(HELD_OUT_EVERY - 1))

    @property
    def training(self) -> tuple[Any, Any]:
        """Those that are not held out, with their responses."""
        return self._training, None

    def commitment(self, k: int, share: Guarantee) -> Commitment:
        """The releases of a candidate's fit."""
        return self._models[k]._raw_schedule(self._training, share).commitment

    def check(self, meter: Meter) -> None:
        """Warn of a weak guarantee; whatever the cells hold, a raw table can be fitted."""
        self._models[0]._warn_if_weak(meter)

    def errors(self) -> NDArray[np.float64]:
        """Deviances of the fitted candidates on the records held out."""
        held_out = self._data.part(HELD_OUT_EVERY, [HELD_OUT_EVERY - 1]).standing
        tables = [ModelTable(model.released_, held_out) for model in self._models]
        return _errors_of_means(self._models, tables[0].responses(), [each.predictions() for each in tables])


def _errors_of_means(
    models: list[PursuitEstimator], responses: NDArray[np.float64], predictions: list[Any]
) -> NDArray[np.float64]:
    """Deviances of predicted means; in units of the mean response of the first candidate, a release."""
    unit = max(models[0].released_.constant_prediction, np.finfo(np.float64).tiny)
    means = [np.maximum(np.asarray(each, dtype=np.float64) / unit, LEAST_MEAN) for each in predictions]
    with np.errstate(all="ignore"):
        return regrets.deviances(np.maximum(responses, 0.0) / unit, means)

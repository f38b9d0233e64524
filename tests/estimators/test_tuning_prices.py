"""What `tune` plans for: shares of the guarantee, the rows of each part, and what is public."""

import math
import pickle
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpsparse import PrivateSparseRegressor, read_table, tune
from dpsparse.algorithms.guarantee_shares import mu_to_divide
from dpsparse.algorithms.pursuit.grids import SIZES
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine.people import ONE_ROW
from dpsparse.estimators import tuning
from dpsparse.estimators._tuning_plan import Schedules, _plan, picks_for
from dpsparse.estimators.tuning import Tuned, _choose, _coefs, _common_response, _require_rows
from dpsparse.privacy.accounting.compose import compose_gdp
from dpsparse.privacy.accounting.release import GaussianMechanism, Slot
from dpsparse.privacy.guarantee import Guarantee

GUARANTEE = Guarantee(1.0, 1e-6)
N, D = 1_000, 8


class Stop(Exception):
    """The test has seen what it wants."""


def schedules(count, asked=(), **public):
    """Those of candidates for two features; what the units are priced by is appended to `asked`."""
    model = PrivateSparseRegressor(sparsity=2, **public)
    known = {"center_known": "response_center" in public, "scale_known": "response_scale" in public}

    def units(share):
        if isinstance(asked, list):
            asked.append(share)
        return model._schedule(share, N, D, **known)

    return Schedules(
        list(range(count)),
        lambda k, share, whole, leads: model._schedule(share, N, D, of_units=whole, leads=leads),
        units,
    )


@pytest.mark.parametrize("guarantee", [GUARANTEE, Guarantee(5.0, 1e-3), Guarantee(0.2, 1e-9, records_per_person=3)])
def test_a_plan_steps_back_from_mu_by_very_little(guarantee):
    assert (1 - 1e-8) * guarantee.mu_per_record < mu_to_divide(guarantee) < guarantee.mu_per_record


@pytest.mark.parametrize("guarantee", [GUARANTEE, Guarantee(5.0, 1e-3)])
def test_units_and_even_shares_add_up_to_mu_squared(guarantee):
    """For a mu below 1 and one above."""
    plan = _plan(guarantee, N, schedules(3), by_mu=True)
    units = compose_gdp([slot.mechanism for slot in plan.schedules[0].of_units.shared])
    assert 0.01 < (units / guarantee.mu_per_record) ** 2 < 0.9
    assert units**2 + 3 * plan.share.mu_per_record**2 == pytest.approx(guarantee.mu_per_record**2, rel=1e-4)
    assert plan.share.delta == guarantee.delta / 3
    assert plan.commitment.is_within(guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("by_mu", [True, False])
def test_units_are_priced_as_by_one_of_two_candidates_that_have_all(by_mu):
    nothing = {**STANDARDIZED, "response_center": 0.0, "response_scale": 1.0}
    asked = []
    _plan(GUARANTEE, N, schedules(5, asked), by_mu=by_mu)
    alone = _plan(GUARANTEE, N, schedules(2, **nothing), by_mu=by_mu)
    assert not alone.schedules[0].of_units.shared
    (share,) = asked
    assert share.delta == alone.share.delta
    assert share.epsilon == pytest.approx(alone.share.epsilon, rel=1e-6)


@dataclass(frozen=True)
class Units:
    """A schedule with one release about units."""

    rho: float
    factor: float = 1.0

    @property
    def shared(self):
        return (Slot("unit", GaussianMechanism(self.rho)),)


@pytest.mark.parametrize("times", [1.0, 1.5])
def test_units_that_leave_nothing_have_no_plan(times):
    costly = Units(times * GUARANTEE.rho_per_record * (1 - 1e-9))
    assert _plan(GUARANTEE, N, Schedules([0], None, lambda share: costly), by_mu=False) is None


def test_the_picks_on_rows_held_out_keep_rho_where_mu_would_allow_more():
    guarantee = Guarantee(0.01, 0.01)
    picks = picks_for(guarantee, 600)
    assert picks.composed.mu < 0.9 * guarantee.mu_per_record
    assert math.fsum(slot.rho for slot in picks.slots) <= guarantee.rho_per_record


def test_the_bound_has_what_keeps_it_from_the_end_of_its_grid_and_a_tenth_at_least():
    """A point beyond all records has a utility of a quarter of them less than an upper quartile."""
    n = 600
    size, choice = (slot.rho for slot in picks_for(GUARANTEE, n).slots)
    share = size / (size + choice)
    assert 0.11 < share < 0.49
    epsilon0 = math.sqrt(8 * share * GUARANTEE.rho_per_record)
    assert math.log(len(SIZES)) - epsilon0 * (n / 4) / 2 == pytest.approx(-6)
    size, choice = (slot.rho for slot in picks_for(GUARANTEE, 10**7).slots)
    assert size / (size + choice) == pytest.approx(0.1)


def test_a_pick_is_bounded_in_range_and_pure_by_one_epsilon():
    """Of rho = e0^2 / 8 (Cesar and Rogers 2021)."""
    for slot in picks_for(GUARANTEE, 600).slots:
        assert slot.mechanism.pure_epsilon**2 / 8 == pytest.approx(slot.rho)


def test_a_result_can_be_pickled():
    assert pickle.loads(pickle.dumps(Tuned("model", 0, ["model"], None))) == ("model", 0, ["model"], None)


def test_prices_are_of_the_rows_that_are_fitted_and_of_the_response_that_is_known(monkeypatch):
    asked = []

    def schedule(model, share, *shape, **public):
        asked.append((shape, public))
        raise Stop

    monkeypatch.setattr(PrivateSparseRegressor, "_schedule", schedule)
    X = np.zeros((103, 4))
    for known in ({"response_center": 0.0}, {"response_scale": 1.0}):
        with pytest.raises(Stop):
            tune([PrivateSparseRegressor(sparsity=1, **known)], X, X[:, 0])
    # Of 103 rows every fifth one, 20 in all, is held out.
    assert asked == [
        ((83, 4), {"center_known": True, "scale_known": False, "rows": ONE_ROW}),
        ((83, 4), {"center_known": False, "scale_known": True, "rows": ONE_ROW}),
    ]


def test_a_common_response_is_that_of_the_candidate_that_leads_where_all_give_one():
    models = [
        SimpleNamespace(response_center=1.0, response_scale=None),
        SimpleNamespace(response_center=2.0, response_scale=3.0),
    ]
    assert _common_response(models, models[1]) == [2.0, None]


def test_ten_rows_are_enough():
    _require_rows(10)
    with pytest.raises(ValueError, match="at least 10"):
        _require_rows(9)


def test_a_gap_is_predicted_from_the_centre_and_its_indicator():
    """Rows have 0 in the place of a gap, so what the centre adds is the indicator's."""
    model = SimpleNamespace(
        _allow_missing=True, coef_=np.array([2.0, 0.5]), missing_coef_=np.array([5.0, 0.0]), center_=np.array([3.0, 4])
    )
    assert _coefs(model) @ [0, 0, 1, 1] == (2 * 3 + 5) + (0.5 * 4 + 0)
    assert _coefs(model) @ [7, 1, 0, 0] == 2 * 7 + 0.5 * 1


def test_the_bound_is_an_upper_quartile_over_records_of_the_largest_regret(monkeypatch):
    asked = []

    def quantile(meter, counts, grid, *, target, **slot):
        asked.append((counts, target))
        raise Stop

    monkeypatch.setattr(tuning, "release_quantile", quantile)
    best, worse = np.ones(9), 1 + np.arange(1.0, 10)
    slot = SimpleNamespace(rho=0.1, name="")
    with pytest.raises(Stop):
        _choose(np.array([best, worse]), None, [slot, slot])
    ((counts, target),) = asked
    # The largest regrets are 1 to 9.
    np.testing.assert_array_equal(counts, [np.count_nonzero(np.arange(1, 10) <= size) for size in SIZES])
    assert target == 6


@pytest.mark.parametrize("where", [0, 4])
def test_what_is_not_finite_is_refused_in_either_part_before_a_release(where, monkeypatch):
    monkeypatch.setattr(tuning, "_fit_all", None)
    X, y = np.ones((40, 3)), np.ones(40)
    X[where, 1] = np.nan
    with pytest.raises(ValueError, match="Input contains NaN"):
        tune([PrivateSparseRegressor(sparsity=1)], X, y)


def stop(*_):
    raise Stop


def test_units_by_name_are_checked_against_the_names_of_a_data_frame_before_a_release(monkeypatch):
    monkeypatch.setattr(tuning, "_fit_all", stop)
    X, y, names = np.ones((40, 3)), np.ones(40), ["age", "height", "weight"]
    for table, known, unknown in ((pd.DataFrame(X, columns=names), "age", 0), (X, 0, "age")):
        with pytest.raises(Stop):
            tune([PrivateSparseRegressor(sparsity=1, feature_center={known: 0.0})], table, y)
        with pytest.raises(ValueError, match="feature_center"):
            tune([PrivateSparseRegressor(sparsity=1, feature_center={unknown: 0.0})], table, y)


def raw(n):
    return read_table(pd.DataFrame({"x": np.arange(float(n)), "y": np.arange(float(n))}), target="y")


def test_a_raw_table_of_nine_rows_is_too_small():
    with pytest.raises(ValueError, match="X has 9 rows; tune needs at least 10"):
        tune([PrivateSparseRegressor(sparsity=1)], raw(9))


def test_a_raw_table_is_prepared_once_and_priced_for_the_rows_that_are_fitted(monkeypatch):
    asked = []

    def schedule(model, data, guarantee, *, prepare=True):
        asked.append((data.table.n_records, prepare))
        if len(asked) == 2:
            raise Stop

    monkeypatch.setattr(tuning, "raw_schedule", schedule)
    with pytest.raises(Stop):
        tune([PrivateSparseRegressor(sparsity=1)], raw(103))
    assert asked == [(83, True), (83, False)]


@pytest.mark.parametrize("table", [(raw(103),), (np.ones((103, 2)), np.ones(103))], ids=["raw", "array"])
def test_a_weak_guarantee_warns_before_a_release(table, monkeypatch):
    for first in ("PreparedTable", "_fit_all"):
        monkeypatch.setattr(tuning, first, stop)
    with pytest.warns(UserWarning, match="above 1/n"), pytest.raises(Stop):
        tune([PrivateSparseRegressor(sparsity=1, delta=0.1)], *table)

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpsparse.audit.harness.attacked import ESTIMATORS
from dpsparse.audit.harness.neighbors import N_RECORDS, blanked, pairs
from dpsparse.audit.harness.tape import run, same
from dpsparse.audit.oracles.price_oracle import wrong_price


def test_a_null_record_adds_nothing_to_any_sum():
    # The middle record of an odd number lies in no pair, so the others are paired alike without it.
    pair = replace(blanked(pairs()[0]), position=N_RECORDS // 2)
    table = pair.table(0, 1)
    without = np.delete(table, pair.position, axis=0)
    model = ESTIMATORS["PrivateSparseRegressor"](adjacency="zero-out-one")
    blank = run(model, table)
    first_sums = blank.tape.sums[0], run(model, without).tape.sums[0]
    np.testing.assert_array_equal(*first_sums)
    grams = [s for s in blank.tape.sums if s.ndim == 2]
    other = pair.table(0, 1)[[pair.position, *np.delete(np.arange(len(table)), pair.position)]]
    moved = run(model, other, script=blank.tape.script)
    np.testing.assert_array_equal(grams[0], next(s for s in moved.tape.sums if s.ndim == 2))


def test_skipped_slots_are_on_the_tape():
    # Most differences of a column of few carriers are 0: its tail is not looked at.
    table = pairs()[0].table(0, 0)
    table[:, 1:] = (np.arange(len(table)) % 9 == 0)[:, None]
    taped = run(ESTIMATORS["PrivateSparseRegressor, units unknown, every release"](adjacency="replace-one"), table)
    assert taped.error is None
    skipped = [release for release, draws in taped.tape.releases() if not release.size and not draws]
    assert {release.group for release in skipped} == {"unit tail"}
    assert all(wrong_price(release, draws) is None for release, draws in taped.tape.releases())


def test_fitted_attributes_are_compared_bit_for_bit():
    @dataclass
    class Fitted:
        values: np.ndarray
        facts: dict

    one, other = (Fitted(np.array([1.0, np.nan]), {"a": (0.0, [1])}) for _ in range(2))
    assert same(one, other)
    other.facts["a"] = (-0.0, [1])
    assert not same(one, other)
    assert not same(Fitted(np.array([1.0, 2.0]), {}), Fitted(np.array([1.0, 2.5]), {}))
    assert not same(1, 1.0)


def test_what_an_object_holds_beside_its_fields_is_compared():
    @dataclass(frozen=True)
    class Published:
        number: int

    one, other = Published(1), Published(1)
    assert same(one, other)
    vars(one)["seen"], vars(other)["seen"] = np.arange(3), np.arange(3)
    assert same(one, other)
    vars(other)["seen"] = np.array([0, 1, 9])
    assert not same(one, other)


def test_closures_and_partials_are_compared():
    def holding(records):
        return lambda: records

    assert same(holding((1, 2)), holding((1, 2)))
    assert not same(holding((1, 2)), holding((1, 3)))
    assert same(partial(sum, [1]), partial(sum, [1]))
    assert not same(partial(sum, [1]), partial(sum, [2]))
    ring: list = []
    ring.append(ring)
    assert same(ring, ring)

import numpy as np
import pytest

from dpsparse.audit.harness.many_rows import rows_of
from dpsparse.audit.harness.neighbors import (
    N_RECORDS,
    STORAGES,
    n_rows,
    pairs,
    partner,
    partner_of_person,
    partner_with_one_row,
    partners_of_person,
    training_rows,
)
from dpsparse.data.as_table import as_table
from dpsparse.engine.people import People
from dpsparse.estimators.tuning import HELD_OUT_EVERY


def test_storages_hold_the_same_table():
    table = pairs()[0].table(0, 0)[:, 1:]
    for name, storage in STORAGES.items():
        stored = storage(table)
        dense = stored.toarray() if hasattr(stored, "toarray") else stored
        np.testing.assert_array_equal(dense, table.astype(dense.dtype), err_msg=name)


def test_partners_are_those_of_the_engine():
    for n in (6, 7):
        rows = as_table(np.zeros((n, 1))).rows(np.arange(float(n)) ** 2)
        differences = rows.differences().y
        for position in range(n):
            other = partner(position, range(n))
            if other == position:
                assert (n, position) == (7, 3)
            else:
                first, second = sorted((position, other))
                assert differences[first] == first**2 - second**2


@pytest.mark.parametrize("n_people", [10, 27])
def test_partners_of_people_are_those_of_the_engine(n_people):
    people = People.of(rows_of(n_people)[0])
    first, second, _ = people.pairs()
    met = dict(zip(people.number[first].tolist(), people.number[second].tolist(), strict=True))
    met |= {other: one for one, other in met.items()}
    assert {k: partner_of_person(k, range(n_people)) for k in range(n_people)} == {k: k for k in range(n_people)} | met
    first, second, _ = people.own_pairs()
    whose = dict(zip(people.number[first].tolist(), people.number[second].tolist(), strict=True))
    assert all(whose[k] == k for k in range(n_people) if n_rows(k) > 1)
    whose |= {other: one for one, other in whose.items()}
    met = {k: partner_with_one_row(k, range(n_people)) for k in range(n_people)}
    assert met == {k: k for k in range(n_people)} | whose


def test_training_rows_are_those_of_tune():
    assert training_rows(12) == [k for k in range(12) if k % HELD_OUT_EVERY != HELD_OUT_EVERY - 1]


def test_companions_agree_in_the_record_and_its_partners_alone():
    for pair in pairs():
        first, second = pair.table(0, 0), pair.table(1, 0)
        same = {k for k in range(len(first)) if first[k].tobytes() == second[k].tobytes()}
        known = {
            pair.position,
            partner(pair.position, range(N_RECORDS)),
            partner(pair.position, training_rows(N_RECORDS)),
            *partners_of_person(pair.position, range(N_RECORDS)),
            *partners_of_person(pair.position, training_rows(N_RECORDS)),
        }
        assert known <= same

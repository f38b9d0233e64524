import numpy as np

from dpsparse.audit.harness.neighbors import N_RECORDS, STORAGES, pairs, partner, training_rows
from dpsparse.data.as_table import as_table
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
                assert position == 6
            else:
                first, second = sorted((position, other))
                assert differences[first] == first**2 - second**2


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
        }
        assert known <= same

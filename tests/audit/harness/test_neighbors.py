import numpy as np

from dpsparse.audit.harness.neighbors import STORAGES, pairs


def test_storages_hold_the_same_table():
    table = pairs()[0].table(0, 0)[:, 1:]
    for name, storage in STORAGES.items():
        stored = storage(table)
        dense = stored.toarray() if hasattr(stored, "toarray") else stored
        np.testing.assert_array_equal(dense, table.astype(dense.dtype), err_msg=name)

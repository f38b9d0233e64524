import numpy as np

from dpsparse.audit.checks.replay import ESTIMATORS
from dpsparse.audit.harness.neighbors import blanked, pairs
from dpsparse.audit.harness.tape import null_record, run


def test_a_null_record_adds_nothing_to_any_sum():
    pair = blanked(pairs()[0])
    table = pair.table(0, 1)
    without = np.delete(table, pair.position, axis=0)
    model = ESTIMATORS["PrivateSparseRegressor"](adjacency="zero-out-one")
    with null_record(pair.position):
        blank = run(model, table)
    first_sums = blank.tape.sums[0], run(model, without).tape.sums[0]
    np.testing.assert_array_equal(*first_sums)
    grams = [s for s in blank.tape.sums if s.ndim == 2]
    with null_record(0):
        other = pair.table(0, 1)[[pair.position, *np.delete(np.arange(len(table)), pair.position)]]
        moved = run(model, other, script=blank.tape.script)
    np.testing.assert_array_equal(grams[0], next(s for s in moved.tape.sums if s.ndim == 2))

"""Rows of people in partitions give the sums of people in memory, wherever the rows of a person lie."""

import dask.array as da
import numpy as np
import pytest
from people_queries import MODEL, QUANTIZERS, QUERIES, flat

from dpsparse.engine import queries
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.people_rows import PeopleRows
from dpsparse.engine.dask.dask_people import DaskPeopleRows
from dpsparse.engine.dask.dask_rows import DaskRows, Partitions
from dpsparse.engine.people import People
from dpsparse.engine.refusals import NOT_FINITE, ROWS_CHANGED

N, D = 300, 5
THRESHOLDS = np.array([-1.0, 0.0, 1.0])


def table(chunks, *, persisted=False, dtype=np.float64, gaps=True):
    """The same people in memory and in partitions: one has 90 rows in all of them, others a few or one."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_t(2, (N, D)).astype(dtype), rng.standard_t(2, N) * 3
    if gaps:
        X[3], y[5] = np.nan, np.nan
    people = People.of(np.where(rng.random(N) < 0.3, 500, rng.integers(0, 90, N)))
    lazy = da.from_array(X, chunks=chunks)
    parts = Partitions(lazy.persist() if persisted else lazy, dtype)
    return PeopleRows(DenseRows(X, y), people), DaskPeopleRows.of(DaskRows(parts, parts.responses(y)), people)


def results(rows):
    session = rows.session(QUANTIZERS, constant=True, check_finite=False)
    for feature in (1, 3):
        session.add(feature)
    session.rescale(0.5, 2.0)
    return [
        session.scores(*MODEL, 1.0, 0.25),
        *(flat(session.evaluate(query, *public)) for query, public, _ in QUERIES),
    ]


def of_pairs(rows):
    sums = []
    for differences in (rows.differences(), rows.own_differences()):
        session = differences.session(QUANTIZERS, check_finite=False)
        # One of the features is whether another is missing.
        for feature in (2, D + 1):
            session.add(feature)
        sums.append(session.scores(0.0, np.array([0.5, 0.1]), 1.0))
        sums += [session.evaluate(queries.column_counts, place, THRESHOLDS) for place in (0, 1)]
    return sums


def assert_same(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunks", [((3, 200, 1, 96), D), (64, 2), (N, D)])
def test_sums_are_those_of_people_in_memory(chunks, dtype, configure):
    configure(dask_records=20)
    in_memory, lazy = table(chunks, dtype=dtype)
    assert (lazy.n_records, lazy.n_features) == (in_memory.n_records, D)
    assert_same(results(lazy), results(in_memory))
    assert_same(of_pairs(lazy), of_pairs(in_memory))
    counts = [rows.evaluate(queries.feature_counts, THRESHOLDS) for rows in (lazy, in_memory)]
    np.testing.assert_array_equal(*counts)
    assert counts[0].max() <= lazy.n_records


@pytest.mark.slow
@pytest.mark.parametrize("persisted", [False, True])
def test_on_a_cluster(dask_client, persisted):
    in_memory, lazy = table((40, D), persisted=persisted)
    assert_same(results(lazy), results(in_memory))
    assert_same(of_pairs(lazy), of_pairs(in_memory))


@pytest.mark.slow
def test_partitions_of_a_session_hold_whole_people(dask_client):
    _, lazy = table((40, D))
    session = lazy.session(QUANTIZERS, check_finite=False)
    partitions = [future.result(timeout=60) for future in dask_client.futures_of(session._partitions)]
    assert sum(len(each.records.people.sizes) for each in partitions) == lazy.n_records
    assert max(each.records.people.sizes.max() for each in partitions) == np.diff(lazy.people.starts).max()


@pytest.mark.slow
def test_parts_are_of_people():
    in_memory, lazy = table((40, D))
    for index in (0, 2):
        assert_same(results(lazy.part(index, 3)), results(in_memory.part(index, 3)))


@pytest.mark.slow
def test_all_rows_are_checked_not_only_those_that_stand_for_people():
    _, lazy = table((40, D))
    for quantizers in ((), QUANTIZERS):
        with pytest.raises(ValueError, match="finite") as refused:
            lazy.session(quantizers)
        assert str(refused.value) == NOT_FINITE
    with pytest.raises(ValueError, match="finite"):
        lazy.require_finite()


def test_ids_of_another_length_are_refused():
    _, lazy = table((40, D))
    with pytest.raises(ValueError, match=ROWS_CHANGED[:20]):
        DaskPeopleRows(lazy._features, lazy._y, People.of(np.zeros(3, dtype=int)))

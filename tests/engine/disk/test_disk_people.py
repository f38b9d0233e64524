"""Rows of people in files give the sums of people in memory, however few columns there is room for at a time."""

import numpy as np
import pytest
from people_queries import MODEL, QUANTIZERS, QUERIES, flat

from dpsparse.engine import config, queries
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.people_rows import PeopleRows
from dpsparse.engine.disk import disk_people
from dpsparse.engine.disk.disk_people import DiskPeopleRows
from dpsparse.engine.disk.disk_rows import DiskRows
from dpsparse.engine.disk.feature_sources import ArraySource
from dpsparse.engine.people import People
from dpsparse.engine.refusals import NOT_FINITE

N, D = 200, 5
THRESHOLDS = np.array([-1.0, 0.0, 1.0])


def table(*, gaps=True, dtype=np.float64):
    """The same people in memory and in two files, of which one has its columns one after another."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_t(2, (N, D)).astype(dtype), rng.standard_t(2, N) * 3
    if gaps:
        X[3], y[5] = np.nan, np.nan
    people = People.of(np.where(rng.random(N) < 0.3, 500, rng.integers(0, 60, N)))
    source = ArraySource([X[:70], np.asfortranarray(X[70:])])
    return PeopleRows(DenseRows(X, y), people), DiskPeopleRows(DiskRows(source, y), people)


def results(rows):
    session = rows.session(QUANTIZERS, constant=True, check_finite=False)
    for feature in (1, 3):
        session.add(feature)
    return [
        session.scores(*MODEL, 1.0, 0.25),
        *(flat(session.evaluate(query, *public)) for query, public, _ in QUERIES),
    ]


def of_standing(rows):
    sums = []
    for differences in (rows.differences(), rows.own_differences()):
        session = differences.session(QUANTIZERS, check_finite=False)
        # One of the features is whether another is missing.
        for feature in (2, D + 1):
            session.add(feature)
        sums.append(session.scores(0.0, np.array([0.5, 0.1]), 1.0))
        sums += [session.evaluate(queries.column_counts, place, THRESHOLDS) for place in (0, 1)]
    return [*sums, rows.evaluate(queries.feature_counts, THRESHOLDS)]


def assert_same(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("room", [10**9, 2 * N * len(QUANTIZERS), 0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_people_in_memory(monkeypatch, room, dtype):
    monkeypatch.setattr(disk_people, "room", lambda: room)
    in_memory, on_disk = table(dtype=dtype)
    with config.configured(disk_block_bytes=500):
        assert_same(results(on_disk), results(in_memory))
        assert_same(of_standing(on_disk), of_standing(in_memory))
        assert_same(results(on_disk.part(1, 3)), results(in_memory.part(1, 3)))
        assert_same(of_standing(on_disk.part(1, 3)), of_standing(in_memory.part(1, 3)))


@pytest.mark.parametrize("room", [10**9, 0])
def test_all_rows_are_checked_not_only_those_that_stand_for_people(monkeypatch, room):
    monkeypatch.setattr(disk_people, "room", lambda: room)
    _, on_disk = table()
    for quantizers in ((), QUANTIZERS):
        with pytest.raises(ValueError, match="finite") as refused:
            on_disk.session(quantizers)
        assert str(refused.value) == NOT_FINITE
    _, finite = table(gaps=False)
    finite.session(QUANTIZERS)


def test_no_more_columns_are_held_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(disk_people, "room", lambda: 2 * N * len(QUANTIZERS))
    widths = []
    levels = disk_people.PeopleLevels

    def noted(held, families):
        widths.append(families[0].shape[1])
        return levels(held, families)

    monkeypatch.setattr(disk_people, "PeopleLevels", noted)
    _, on_disk = table()
    session = on_disk.session(QUANTIZERS, check_finite=False)
    assert widths == []
    told = []
    session.scores(0.0, np.array([]), 1.0, 0.0, told.append)
    assert (widths, told[-1]) == ([2, 2, 1], 1.0)

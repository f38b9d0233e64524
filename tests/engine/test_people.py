"""Whose rows are whose, and the sums over each person's rows."""

import numpy as np
import pytest

from dpsparse.engine.people import People

NUMBERS = [[0, 0, 1, 1, 1], [5, 2, 5, 9, 2, 5], [3, 1, 2], [7, 7], [1, 2, 3, 1, 2, 3, 1]]


@pytest.mark.parametrize("numbers", NUMBERS)
def test_people_are_in_the_order_of_their_first_rows_and_their_rows_as_they_come(numbers):
    people = People.of(np.array(numbers))
    ranks = {number: rank for rank, number in enumerate(dict.fromkeys(numbers))}
    assert people.number.tolist() == [ranks[number] for number in numbers]
    for person in range(people.n_people):
        rows = people.order[people.starts[person] : people.starts[person + 1]]
        assert rows.tolist() == [row for row, number in enumerate(numbers) if ranks[number] == person]


def test_one_row_stands_for_each_person_and_rows_of_all_places_do():
    people = People.of(np.repeat(np.arange(1_000), 4))
    places = people.chosen - people.starts[:-1]
    assert np.bincount(places, minlength=4).min() > 200
    assert (people.number[people.order[people.chosen]] == np.arange(1_000)).all()


def test_which_row_stands_for_a_person_follows_from_numbers_of_rows_alone():
    first, second = People.of(np.array([0, 1, 0, 1, 1])), People.of(np.array([8, 3, 8, 3, 3]))
    assert (first.chosen == second.chosen).all()


@pytest.mark.parametrize("n_people", [1, 6, 7])
def test_a_person_is_in_one_pair_at_most_with_somebody_who_has_about_as_many_rows(n_people):
    sizes = np.array([4, 1, 3, 1, 9, 4, 3])[:n_people]
    number = np.random.default_rng(0).permutation(np.repeat(np.arange(n_people), sizes))
    people = People.of(number)
    first, second, pairs = people.pairs()
    assert pairs.n_people == n_people // 2
    assert len({*first.tolist(), *second.tolist()}) == 2 * len(first)
    met = []
    for one, last in zip(pairs.starts[:-1], pairs.starts[1:], strict=True):
        whose = [set(people.number[rows[one:last]].tolist()) for rows in (first, second)]
        assert (len(whose[0]), len(whose[1])) == (1, 1)
        mine, others = (np.diff(people.starts)[each.pop()] for each in whose)
        assert last - one == min(mine, others)
        met.append((int(mine), int(others)))
    assert met == {1: [], 6: [(1, 1), (3, 4), (4, 9)], 7: [(1, 3), (3, 4), (4, 9)]}[n_people]


def test_neighbours_in_a_sorted_table_are_seldom_a_pair():
    people = People.of(np.repeat(np.arange(1_000), 2))
    first, second, _ = people.pairs()
    assert np.median(abs(first - second)) > 200


def test_rows_that_meet_are_seldom_of_one_place():
    """In a panel that is sorted by year, rows of one place are of one year."""
    place = np.tile(np.arange(10), 1_000)
    first, second, _ = People.of(np.repeat(np.arange(1_000), 10)).pairs()
    assert 0.05 < np.mean(place[first] == place[second]) < 0.15


@pytest.mark.parametrize("n_people", [1, 6, 8])
def test_rows_of_a_person_meet_and_people_with_one_row_meet_each_other(n_people):
    sizes = np.array([4, 1, 2, 1, 9, 1, 3, 1])[:n_people]
    number = np.random.default_rng(0).permutation(np.repeat(np.arange(n_people), sizes))
    people = People.of(number)
    first, second, pairs = people.own_pairs()
    rows, whose = np.diff(people.starts), []
    for one, last in zip(pairs.starts[:-1], pairs.starts[1:], strict=True):
        both = first[one:last].tolist(), second[one:last].tolist()
        assert not set(zip(*both, strict=True)) & set(zip(*both[::-1], strict=True))
        here = set(people.number[[*both[0], *both[1]]].tolist())
        size = rows[min(here)]
        assert len(here) == (2 if size == 1 else 1)
        assert last - one == (1 if size < 3 else size)
        assert np.bincount([*both[0], *both[1]]).max() == (1 if size < 3 else 2)
        whose += here
    # Of an odd number of people with one row one is in no pair.
    alone = np.count_nonzero(rows == 1)
    assert len(whose) == len(set(whose)) == n_people - alone % 2


def test_public_numbers_of_rows():
    rows = People.of(np.array([0, 1, 1, 1, 1])).rows
    assert (rows.mean, rows.root, rows.spread, rows.many) == (2.5, 1.5, 0.6, True)
    # Of 9 people one has 98 rows, where the median is 1: their score is as long as that of 2 rows, and so counts as 14.
    many = People.of(np.repeat(np.arange(9), [1] * 8 + [98]))
    assert many.weights[:8].tolist() == [1.0] * 8
    assert (many.weights[8] * 98, many.rows.mean) == (pytest.approx(14.0), pytest.approx(22 / 9))
    assert many.rows.spread == pytest.approx(np.std([1] * 8 + [14]) / (22 / 9))
    # In second moments, which do not cancel, they count as 2.
    assert many.held().limited == pytest.approx(10 / 9)
    alone = People.of(np.array([4, 2])).rows
    assert (alone.many, alone.spread) == (False, 0.0)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_blocks_hold_whole_people(size):
    held = People.of(np.array([0, 0, 0, 1, 2, 2, 3])).held()
    blocks = held.blocks(size)
    assert [block.start for block in blocks[1:]] == [block.stop for block in blocks[:-1]]
    assert (blocks[0].start, blocks[-1].stop) == (0, 7)
    values = np.arange(14.0).reshape(2, 7)
    parts = [held.take(block) for block in blocks]
    sums = [part.sums(values[:, block]) for part, block in zip(parts, blocks, strict=True)]
    assert (np.concatenate(sums, axis=1) == held.sums(values)).all()
    chosen = np.concatenate([part.chosen + block.start for part, block in zip(parts, blocks, strict=True)])
    assert (chosen == held.chosen).all()
    assert {block.start for block in blocks} <= set(held.starts.tolist())


def test_sums_and_what_is_given_to_each_row():
    held = People.of(np.array([0, 0, 1])).held()
    assert held.sums(np.array([1.0, 2.0, 4.0])).tolist() == [3.0, 4.0]
    assert held.each(np.array([5.0, 6.0])).tolist() == [5.0, 5.0, 6.0]

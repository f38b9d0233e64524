"""Sums over people: terms of whole people, within the bounds of one record, wherever their rows lie."""

import numpy as np
import pytest
from people_queries import MODEL, QUANTIZERS, QUERIES, flat
from scipy import sparse

from dpsparse.engine import config, queries
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.cpu.people_rows import PeopleRows
from dpsparse.engine.cpu.sparse_rows import SparseRows
from dpsparse.engine.people import People
from dpsparse.engine.quantize import FEATURE_LEVELS, WEIGHT_LEVELS
from dpsparse.engine.refusals import NOT_FINITE, ROWS_CHANGED
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS
from dpsparse.privacy import sensitivity

N, D = 60, 5


def numbers(seed=0):
    return np.random.default_rng(seed).integers(0, 17, N)


def table(seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_t(2, (N, D)), rng.standard_t(2, N) * 3


def opened(rows, people, constant=True):
    session = PeopleRows(rows, people).session(QUANTIZERS, constant=constant, check_finite=False)
    for feature in (1, 3):
        session.add(feature)
    return session


NAMES = [f"{query.__name__} {getattr(public[0], 'factor', '')}" for query, public, _ in QUERIES]


@pytest.mark.parametrize(("query", "public", "bound"), QUERIES, ids=NAMES)
def test_sums_are_those_of_single_people_and_no_person_exceeds_the_bound_of_a_record(query, public, bound):
    X, y = table()
    X[3], y[5] = np.nan, np.nan
    people = People.of(numbers())
    whole = opened(DenseRows(X, y), people).evaluate(query, *public)
    total = 0
    for person in range(people.n_people):
        mine = np.flatnonzero(people.number != person)
        alone = y.copy()
        alone[mine] = np.nan
        term = flat(opened(DenseRows(X, alone), people).evaluate(query, *public))
        total = total + term
        if bound is None:
            assert set(term.tolist()) <= {0, 1}
        else:
            size = term[:-1] if query is queries.gradient_sums else term
            assert np.linalg.norm(size.astype(float)) <= bound
    assert (flat(whole) == total).all()


@pytest.mark.parametrize(("query", "public", "bound"), QUERIES, ids=NAMES)
def test_blocks_and_the_places_of_rows_change_no_bit(query, public, bound):
    X, y = table()
    person = numbers()
    whole = opened(DenseRows(X, y), People.of(person)).evaluate(query, *public)
    with config.configured(least_query_records=1, most_query_records=4, block_bytes=100):
        in_blocks = opened(DenseRows(X, y), People.of(person)).evaluate(query, *public)
    order = People.of(person).order
    together = opened(DenseRows(X[order], y[order]), People.of(person[order])).evaluate(query, *public)
    assert (flat(whole) == flat(in_blocks)).all()
    assert (flat(whole) == flat(together)).all()


ODD = [np.nan, np.inf, -np.inf, 0.0, 5e-324, 1.7e308, -1.7e308, 1e6, -1e6]
# Rows of a person: each anything, all far out and alike, or each the opposite of the one before.
ROWS = {
    "anything": lambda rng, shape: rng.choice([*ODD, 1.0, -0.3, 2.5], shape),
    "alike": lambda rng, shape: np.full(shape, rng.choice([1e6, -1e6, 50.0, 1e308])),
    "opposite": lambda rng, shape: (-1.0) ** np.arange(shape[0])[:, None] * rng.choice([1.0, 50.0, 1e200], shape[1:]),
    "blank": lambda rng, shape: np.full(shape, np.nan),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("second", ROWS)
@pytest.mark.parametrize("first", ["anything", "alike", "opposite"])
@pytest.mark.parametrize("size", [1, 5, 200])
def test_whatever_all_rows_of_a_person_hold_no_sum_moves_by_more_than_is_declared(size, first, second):
    rng = np.random.default_rng(size)
    person = rng.permutation(np.repeat(np.arange(6), [size, 1, 3, 1, 2, 1]))
    mine, people = np.flatnonzero(person == 0), People.of(person)
    versions = [ROWS[kind](rng, (size, D + 1)) for kind in (first, second)]
    companions = [rng.standard_t(2, (len(person), D + 1)) for _ in range(2)]

    def session(others, version):
        cells = others.copy()
        cells[mine] = version
        return opened(DenseRows(cells[:, 1:], cells[:, 0].copy()), people)

    sessions = [[session(others, version) for version in versions] for others in companions]
    adjacency = "zero-out-one" if second == "blank" else "replace-one"
    for query, public, bound in QUERIES:
        moves = [np.subtract(*(flat(each.evaluate(query, *public)) for each in pair)) for pair in sessions]
        assert (moves[0] == moves[1]).all(), query
        counts, sums = (moves[0], []) if bound is None else ([], moves[0])
        if query is queries.gradient_sums:
            counts, sums = sums[-1:], sums[:-1]
        assert np.abs(counts).max(initial=0) <= sensitivity.count(adjacency)
        declared = {
            None: 0.0,
            VECTOR_LEVELS: sensitivity.bounded_norm_sum(VECTOR_LEVELS, adjacency),
            GRAM_LEVELS**2: sensitivity.gram(GRAM_LEVELS, adjacency, 3),
        }[bound]
        assert sum(int(each) ** 2 for each in sums) <= declared**2 * (1 + 1e-12), query
    moves = [np.subtract(*(each.scores(*MODEL, 1.0, 0.25) for each in pair)) for pair in sessions]
    assert (moves[0] == moves[1]).all()
    assert np.abs(moves[0]).max() <= sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, adjacency)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("second", ROWS)
@pytest.mark.parametrize("size", [1, 5, 200])
@pytest.mark.parametrize("differences", [PeopleRows.differences, PeopleRows.own_differences])
def test_nor_do_sums_over_pairs(size, second, differences):
    rng = np.random.default_rng(size)
    person = rng.permutation(np.repeat(np.arange(6), [size, 1, 3, 1, 2, 1]))
    people = People.of(person)
    adjacency = "zero-out-one" if second == "blank" else "replace-one"
    for changed in range(6):
        mine = np.flatnonzero(person == changed)
        cells = rng.standard_t(2, (len(person), D + 1))
        found = []
        for kind in ("anything", second):
            cells[mine] = ROWS[kind](rng, (len(mine), D + 1))
            rows = PeopleRows(DenseRows(cells[:, 1:].copy(), cells[:, 0].copy()), people)
            session = differences(rows).session(QUANTIZERS, check_finite=False)
            session.add(1)
            counts = session.evaluate(queries.slope_counts, [0.1], 0, np.array([-1.0, 0.0, 2.0]))
            found.append((session.scores(0.0, np.array([0.5]), 1.0), counts))
        scores, counts = (np.abs(one - other).max() for one, other in zip(*found, strict=True))
        assert scores <= sensitivity.clipped_sum(FEATURE_LEVELS, WEIGHT_LEVELS, adjacency)
        assert counts <= sensitivity.count(adjacency)


@pytest.mark.parametrize("compiled", [False, True])
def test_scores_of_features_are_clipped_sums_of_people(compiled):
    X, y = table()
    X[4] = np.nan
    people = People.of(numbers())
    with config.configured(compiled=compiled, block_bytes=200):
        session = opened(DenseRows(X, y), people)
        found = session.scores(0.1, np.array([0.2, 0.5, -0.3]), 1.0, 0.25)
    session = opened(DenseRows(X, y), people)
    weights = np.concatenate(list(session._per_block(queries.pick_weights, *MODEL, 1.0, 0.25)))
    most = FEATURE_LEVELS * WEIGHT_LEVELS
    for quantizer, sums in zip(QUANTIZERS, found, strict=True):
        levels = quantizer.levels(X[people.order])
        expected = np.zeros(D)
        for first, last in zip(people.starts[:-1], people.starts[1:], strict=True):
            person = (levels[first:last] * weights[first:last, None]).sum(0) * (1 / np.sqrt(float(last - first)))
            expected += np.trunc(np.clip(person, -most, most))
        assert (sums == expected).all()


def test_every_storage_has_the_same_bits():
    X, y = table()
    X[abs(X) < 0.5] = 0.0
    people = People.of(numbers())
    storages = [
        DenseRows(X, y),
        DenseRows(np.asfortranarray(X), y),
        SparseRows.of(sparse.csr_matrix(X), y),
    ]
    sessions = [opened(rows, people) for rows in storages]
    first = sessions[0].scores(*MODEL, 1.0)
    for session in sessions[1:]:
        assert (session.scores(*MODEL, 1.0) == first).all()
        for query, public, _ in QUERIES:
            assert (flat(session.evaluate(query, *public)) == flat(sessions[0].evaluate(query, *public))).all()
    for differences in (PeopleRows.differences, PeopleRows.own_differences):
        pairs = [differences(PeopleRows(rows, people)).session(QUANTIZERS, check_finite=False) for rows in storages]
        sums = [session.scores(0.0, np.array([]), 1.0) for session in pairs]
        assert all((each == sums[0]).all() for each in sums)
    thresholds = np.array([-1.0, 0.0, 1.0])
    counts = [PeopleRows(rows, people).evaluate(queries.feature_counts, thresholds) for rows in storages]
    assert all((each == counts[0]).all() for each in counts)
    assert counts[0].max() <= people.n_people


def test_parts_and_pairs_are_of_people():
    X, y = table()
    people = People.of(numbers())
    rows = PeopleRows(DenseRows(X, y), people)
    assert rows.n_records == people.n_people
    assert rows.differences().n_records == people.n_people // 2
    parts = [rows.part(index, 3) for index in range(3)]
    assert sum(part.n_records for part in parts) == people.n_people
    held = [set(part._rows.y.tolist()) for part in parts]
    assert set.union(*held) == set(y.tolist())
    assert sum(map(len, held)) == N


def test_all_rows_are_checked_not_only_those_that_stand_for_people():
    X, y = table()
    people = People.of(numbers())
    other = np.setdiff1d(np.arange(N), people.order[people.chosen])[0]
    X[other, 2] = np.inf
    rows = PeopleRows(DenseRows(X, y), people)
    for quantizers in ((), QUANTIZERS):
        with pytest.raises(ValueError, match="finite") as refused:
            rows.session(quantizers)
        assert str(refused.value) == NOT_FINITE


def test_rows_and_ids_of_other_lengths_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match=ROWS_CHANGED[:20]):
        PeopleRows(DenseRows(X, y), People.of(np.zeros(3, dtype=int)))

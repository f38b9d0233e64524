"""Rows in pieces of a dask graph answer as rows in memory do, and nothing but integers leaves the workers."""

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Actor, ActorFuture, Client

from dpsparse.algorithms.losses import Huber
from dpsparse.engine import queries
from dpsparse.engine.cpu.rows import NOT_FINITE, DenseRows, rows_of
from dpsparse.engine.dask import actors as clerks
from dpsparse.engine.dask import cluster
from dpsparse.engine.dask.cluster import DaskTable
from dpsparse.engine.quantize import Quantizer

pytestmark = pytest.mark.slow

N, D = 500, 7
GRID = Quantizer(1.2, np.linspace(-0.1, 0.1, D), np.linspace(0.5, 2, D))


def table(chunks=((3, 200, 1, 296), D), n=N, dtype=np.float64, persisted=False):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, D)).astype(dtype), rng.standard_t(2, n)
    lazy = da.from_array(X, chunks=chunks)
    lazy = DaskTable(lazy.persist() if persisted else lazy, dtype)
    return DenseRows(X, y), rows_of(lazy, lazy.responses(y))


def loss_sums(rows):
    return rows.evaluate(queries.loss_sums, Quantizer(2.0), Huber(1.0), np.linspace(-1, 1, D), range(D), True)


def answers(rows, **options):
    """All that a pursuit asks, with two features and the constant."""
    reading = rows.reading(GRID, constant=True, **options)
    reading.add(4)
    reading.add(2)
    effects = np.array([0.1, -0.5, 0.25])
    return [
        reading.scores(0.2, effects, 3.0),
        reading.evaluate(queries.residual_counts, 0.2, effects, np.linspace(-1, 1, 30), True),
        reading.evaluate(queries.product_sums, range(1, 3), 2.0),
        *reading.evaluate(queries.gradient_sums, 0.2, effects, 1.5, np.arange(3), 2.0),
        reading.evaluate(queries.gram_sums, np.arange(3), 2.0, 3.0),
    ]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunks", [((3, 200, 1, 296), D), (64, 2), (N, D)])
def test_answers_are_those_of_rows_in_memory(chunks, dtype, monkeypatch):
    monkeypatch.setattr(clerks, "BLOCK_RECORDS", 100)
    in_memory, lazy = table(chunks, dtype=dtype)
    assert (lazy.n_records, lazy.n_features) == (N, D)
    assert_same(answers(lazy), answers(in_memory))


@pytest.mark.parametrize("of", [1, 2, 5, 250])
def test_parts_have_the_rows_of_the_parts_in_memory(of):
    in_memory, lazy = table()
    for index in range(0, of, 1 + of // 5):
        part, same = lazy.part(index, of), in_memory.part(index, of)
        assert part.n_records == same.n_records
        np.testing.assert_array_equal(loss_sums(part), loss_sums(same))
    np.testing.assert_array_equal(loss_sums(lazy.part(1, 3).part(1, 2)), loss_sums(in_memory.part(1, 3).part(1, 2)))
    assert_same(answers(lazy.part(of // 2, of)), answers(in_memory.part(of // 2, of)))


@pytest.mark.parametrize("at", [0, 202, N - 1])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_what_is_not_finite_is_found_in_any_piece(at, bad):
    X = np.zeros((N, D))
    X[at, 3] = bad
    lazy = DaskTable(da.from_array(X, chunks=((3, 200, 1, 296), D)), np.float64)
    rows = rows_of(lazy, lazy.responses(np.zeros(N)))
    for refused in (rows.require_finite, lambda: rows.reading(GRID)):
        with pytest.raises(ValueError, match=f"^{NOT_FINITE}$"):
            refused()
    assert_same(answers(rows, look=False), answers(DenseRows(X, np.zeros(N)), look=False))


def test_empty_pieces_are_left_out():
    X = np.random.default_rng(0).standard_normal((N, D))
    lazy = DaskTable(da.from_array(X, chunks=((0, 200, 0, 300), D)), np.float64)
    assert lazy.lengths == (200, 300)
    assert_same(answers(rows_of(lazy, lazy.responses(X[:, 0]))), answers(DenseRows(X, X[:, 0])))


def test_pieces_that_are_not_what_was_declared_are_refused_without_a_word_on_their_values():
    declared = da.zeros((N, D), chunks=(100, D))
    wrong = [declared.map_blocks(lambda block: block[1:], dtype=float, chunks=declared.chunks)]
    wrong += [declared.map_blocks(lambda block: np.full(block.shape, "secret"), dtype=float, meta=np.empty((0, 0)))]
    for X in wrong:
        lazy = DaskTable(X, np.float64)
        with pytest.raises(ValueError, match=f"^{clerks.NOT_AS_DECLARED}$"):
            rows_of(lazy, lazy.responses(np.zeros(N))).reading(GRID)


def test_keys_of_tasks_do_not_depend_on_the_data():
    kept = []

    def keys():
        reading = table()[1].reading(GRID)
        kept.append(reading)
        reading.add(2)
        return {
            key for piece in (*reading._pieces, *reading._added[0][1]) for key in dask.base.get_collection_names(piece)
        }

    assert not keys() & keys()


class TestOnACluster:
    @pytest.mark.parametrize("persisted", [True, False])
    def test_a_clerk_for_each_worker_answers(self, persisted, dask_client):
        in_memory, lazy = table((20, D), persisted=persisted)
        reading = lazy.reading(GRID)
        assert 1 <= len(reading._clerks) == len(reading._places) <= 2
        assert sorted(k for place in reading._places for k in place.pieces) == list(range(25))
        assert [place.threads for place in reading._places] == [1] * len(reading._places)
        reading.add(3)
        assert bool(reading._clerks) == persisted
        assert_same(answers(lazy), answers(in_memory))

    @pytest.mark.parametrize("persisted", [True, False])
    def test_pieces_that_nobody_seems_to_have_are_read_by_anybody(self, persisted, dask_client, monkeypatch):
        # So it is when their worker has just been lost.
        monkeypatch.setattr(Client, "who_has", lambda *_: {})
        in_memory, lazy = table((100, D), persisted=persisted)
        reading = lazy.reading(GRID)
        assert [place.worker for place in reading._places] == [None]
        assert len(reading._clerks) == 1
        assert_same(answers(lazy), answers(in_memory))

    def test_clerks_forget_what_they_read(self, dask_client):
        reading = table((100, D), persisted=True)[1].reading(GRID)
        clerks = reading._clerks
        reading.close()
        for clerk in clerks:
            with pytest.raises(TypeError):
                clerk.answer(len).result()

    @pytest.mark.parametrize("lost", ["before a feature is added", "afterwards"])
    def test_clerks_hired_anew_know_what_was_added(self, lost, dask_client, monkeypatch):
        in_memory, lazy = table((100, D), persisted=True)
        reading, same = lazy.reading(GRID, constant=True), in_memory.reading(GRID, constant=True)
        for each in (reading, same):
            each.add(4)
        if lost == "before a feature is added":
            reading.close()
        for each in (reading, same):
            each.add(1)
        if lost == "afterwards":
            reading.close()
        query = (queries.gram_sums, np.arange(3), 2.0, 3.0)
        np.testing.assert_array_equal(reading.evaluate(*query), same.evaluate(*query))
        assert reading._clerks
        # Where nobody can be hired tasks answer.
        monkeypatch.setattr(cluster, "ATTEMPTS", 0)
        np.testing.assert_array_equal(reading.evaluate(*query), same.evaluate(*query))

    def test_nothing_but_integers_comes_back_and_no_more_of_them_for_more_records(self, dask_client, monkeypatch):
        came = []

        def listened(get):
            def listen(*arguments, **options):
                came.append(get(*arguments, **options))
                return came[-1]

            return listen

        monkeypatch.setattr(Client, "gather", listened(Client.gather))
        monkeypatch.setattr(ActorFuture, "result", listened(ActorFuture.result))
        sizes = {}
        for n in (400, 4000):
            came.clear()
            _, lazy = table((n // 4, D), n=n)
            lazy.require_finite()
            loss_sums(lazy.part(1, 3))
            answers(lazy)
            # Clerks stay where they are: what comes is their address.
            numbers = [np.asarray(leaf) for leaf in leaves(came) if not isinstance(leaf, Actor)]
            assert len(numbers) >= 10
            assert {number.dtype.kind for number in numbers} == {"i"}
            # What comes back comes from two or, where one worker read all, from one.
            sizes[n] = {number.shape for number in numbers}
        assert sizes[400] == sizes[4000]

    def test_dask_knows_how_large_a_piece_is(self):
        in_memory, _ = table((N, D))
        piece = clerks.open_piece(in_memory.X, in_memory.y, slice(None), ((D, np.dtype(np.float64)), GRID, True))
        assert dask.sizeof.sizeof((piece,)) >= N * D + 3 * 8 * N


def leaves(values):
    if isinstance(values, list | tuple):
        for value in values:
            yield from leaves(value)
    else:
        yield values

"""Rows in partitions of a dask graph give the sums of rows in memory, and nothing but integers leaves the workers."""

from dataclasses import replace

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Actor, ActorFuture, Client

from dpsparse.algorithms.losses import Huber
from dpsparse.engine import queries, scores
from dpsparse.engine.cpu.dense_rows import DenseRows
from dpsparse.engine.dask import actors
from dpsparse.engine.dask.dask_rows import DaskRows, Partitions
from dpsparse.engine.links import IDENTITY
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.refusals import NOT_FINITE

pytestmark = pytest.mark.slow

N, D = 500, 7
GRID = Quantizer(1.2, np.linspace(-0.1, 0.1, D), np.linspace(0.5, 2, D))


def table(chunks=((3, 200, 1, 296), D), n=N, dtype=np.float64, persisted=False):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, D)).astype(dtype), rng.standard_t(2, n)
    lazy = da.from_array(X, chunks=chunks)
    lazy = Partitions(lazy.persist() if persisted else lazy, dtype)
    return DenseRows(X, y), DaskRows(lazy, lazy.responses(y))


def loss_sums(rows):
    return rows.evaluate(queries.loss_sums, Quantizer(2.0), Huber(1.0), np.linspace(-1, 1, D), range(D), True)


def results(rows, **options):
    """All that a pursuit evaluates, with two features and the constant."""
    session = rows.session((GRID,), constant=True, **options)
    for feature in (4, 2):
        session.add(feature)
        session.rescale(*GRID.center_and_scale(feature))
    effects = np.array([0.1, -0.5, 0.25])
    terms = scores.Terms(
        "score", np.array([[1.0, 0.2, -0.3], [0.1, 1.2, 0.0], [-0.4, 0.0, 0.9]]), range(3), 0.2, effects
    )
    one = scores.Terms("score", np.eye(1), (0,), 0.2, effects)
    return [
        session.scores(0.2, effects, 3.0),
        session.evaluate(queries.residual_counts, 0.2, effects, np.linspace(-1, 1, 30), True),
        session.evaluate(queries.product_sums, range(1, 3), 2.0),
        *session.evaluate(queries.gradient_sums, 0.2, effects, 1.5, np.arange(3), 2.0, 3.0),
        session.evaluate(queries.gram_sums, np.arange(3), 2.0, 3.0),
        session.evaluate(scores.norm_counts, terms, np.geomspace(0.1, 9, 30)),
        session.evaluate(scores.clipped_sums, terms, 3.0, 1.5, 0.8),
        session.evaluate(
            scores.clipped_sums, replace(terms, long_rows=scores.LongRows(terms.matrix, 1.1)), 3.0, 1.5, 0.8
        ),
        session.evaluate(scores.score_counts, one, np.linspace(-2, 2, 30)),
        session.evaluate(scores.ranged_sums, one, (0.4, np.inf, 0.0), (3.0, 1.5, 0.8), 2.3),
        session.evaluate(scores.second_moment_sums, replace(terms, factor="slope", tau=1.5), 2.0),
    ]


def assert_same(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunks", [((3, 200, 1, 296), D), (64, 2), (N, D)])
def test_sums_are_those_of_rows_in_memory(chunks, dtype, configure):
    configure(dask_records=100)
    in_memory, lazy = table(chunks, dtype=dtype)
    assert (lazy.n_records, lazy.n_features) == (N, D)
    assert_same(results(lazy), results(in_memory))


@pytest.mark.parametrize("of", [1, 2, 5, 250])
def test_parts_have_the_rows_of_the_parts_in_memory(of):
    in_memory, lazy = table()
    for index in range(0, of, 1 + of // 5):
        part, same = lazy.part(index, of), in_memory.part(index, of)
        assert part.n_records == same.n_records
        np.testing.assert_array_equal(loss_sums(part), loss_sums(same))
    np.testing.assert_array_equal(loss_sums(lazy.part(1, 3).part(1, 2)), loss_sums(in_memory.part(1, 3).part(1, 2)))
    assert_same(results(lazy.part(of // 2, of)), results(in_memory.part(of // 2, of)))


@pytest.mark.parametrize("at", [0, 202, N - 1])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_what_is_not_finite_is_found_in_any_partition(at, bad):
    X = np.zeros((N, D))
    X[at, 3] = bad
    lazy = Partitions(da.from_array(X, chunks=((3, 200, 1, 296), D)), np.float64)
    rows = DaskRows(lazy, lazy.responses(np.zeros(N)))
    for refused in (rows.require_finite, lambda: rows.session((GRID,))):
        with pytest.raises(ValueError, match=f"^{NOT_FINITE}$"):
            refused()
    assert_same(results(rows, check_finite=False), results(DenseRows(X, np.zeros(N)), check_finite=False))


def test_empty_partitions_are_left_out():
    X = np.random.default_rng(0).standard_normal((N, D))
    lazy = Partitions(da.from_array(X, chunks=((0, 200, 0, 300), D)), np.float64)
    assert lazy.lengths == (200, 300)
    assert_same(results(DaskRows(lazy, lazy.responses(X[:, 0]))), results(DenseRows(X, X[:, 0])))


def test_partitions_that_are_not_what_was_declared_are_refused_without_a_word_on_their_values():
    declared = da.zeros((N, D), chunks=(100, D))
    wrong = [declared.map_blocks(lambda block: block[1:], dtype=float, chunks=declared.chunks)]
    wrong += [declared.map_blocks(lambda block: np.full(block.shape, "secret"), dtype=float, meta=np.empty((0, 0)))]
    for X in wrong:
        lazy = Partitions(X, np.float64)
        with pytest.raises(ValueError, match=f"^{actors.NOT_AS_DECLARED}$"):
            DaskRows(lazy, lazy.responses(np.zeros(N))).session((GRID,))


def test_keys_of_tasks_do_not_depend_on_the_data():
    kept = []

    def keys():
        session = table()[1].session((GRID,))
        kept.append(session)
        session.add(2)
        return {
            key
            for task in (*session._partitions, *session._steps[0][1][1])
            for key in dask.base.get_collection_names(task)
        }

    assert not keys() & keys()


def assert_same_differences(lazy, in_memory):
    """All that a pursuit evaluates on pairs, with two families of scores."""
    pairs, same = lazy.differences(), in_memory.differences()
    assert (pairs.n_records, pairs.n_features) == (same.n_records, same.n_features)
    assert_same(results(pairs, check_finite=False), results(same, check_finite=False))
    assert_same([loss_sums(pairs.part(0, 3))], [loss_sums(same.part(0, 3))])
    both = [rows.session((Quantizer(1e-30), GRID), check_finite=False) for rows in (pairs, same)]
    for session in both:
        session.add(5)
    query = (queries.residual_counts, 0.0, [0.3], np.linspace(-1, 1, 30))
    assert_same(*[[session.scores(0.0, [0.3], 1.0), session.evaluate(*query)] for session in both])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [N, N - 1, 3])
@pytest.mark.parametrize("persisted", [True, False])
def test_differences_are_those_of_rows_in_memory(n, dtype, persisted, configure):
    configure(dask_records=30)
    for chunks in ((0, 1, n // 3, 0, n - 2 - n // 3, 1), (n,), (n // 2, n - n // 2)):
        in_memory, lazy = table((chunks, D), n=n, dtype=dtype, persisted=persisted)
        assert_same_differences(lazy, in_memory)
        if n > 3:
            assert_same_differences(lazy.part(1, 3), in_memory.part(1, 3))


def test_differences_of_data_frames_of_unknown_length():
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    in_memory, _ = table()
    frame = pandas.DataFrame(in_memory.X)
    frame.columns = [f"x{j}" for j in range(D)]
    lazy = frames.from_pandas(frame, npartitions=7, sort=False)
    lazy = Partitions(lazy[lazy["x0"] > -1e9], np.float64)
    assert_same_differences(DaskRows(lazy, lazy.responses(in_memory.y)), in_memory)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_differences_are_not_checked(bad):
    X = np.random.default_rng(0).standard_normal((N, D))
    X[7, 5] = X[N - 8, 5] = X[9, 4] = bad
    lazy = Partitions(da.from_array(X, chunks=(64, D)), np.float64)
    assert_same_differences(DaskRows(lazy, lazy.responses(X[:, 0])), DenseRows(X, X[:, 0]))


def test_without_quantizers_features_are_checked_all_the_same():
    X = np.zeros((N, D))
    X[7, 5] = np.nan
    lazy = Partitions(da.from_array(X, chunks=(64, D)), np.float64)
    rows = DaskRows(lazy, lazy.responses(X[:, 0]))
    rows.session((), check_finite=False)
    with pytest.raises(ValueError, match=NOT_FINITE):
        rows.session(())


class TestOnACluster:
    @pytest.mark.parametrize("persisted", [True, False])
    def test_differences(self, persisted, dask_client, configure):
        in_memory, lazy = table((37, D), n=N - 1, dtype=np.float32, persisted=persisted)
        assert_same_differences(lazy, in_memory)

    @pytest.mark.parametrize("attempts", [2, 0])
    def test_actors_of_differences_spawned_anew_know_the_columns(self, attempts, dask_client, configure):
        in_memory, lazy = table((37, D), persisted=True)
        both = [rows.differences().session((GRID,), check_finite=False) for rows in (lazy, in_memory)]
        query = (queries.gram_sums, np.arange(2), 2.0, 3.0)
        for session in both:
            for feature in (4, 1):
                session.add(feature)
                # An actor that is there rescales; one spawned later does it again.
                session.evaluate(queries.residual_counts, 0.0, [0.1] * (1 + (feature == 1)), np.zeros(1))
                session.rescale(0.0, 0.7)
        both[0]._actors = None
        configure(dask_spawn_attempts=attempts)
        assert_same([both[0].evaluate(*query)], [both[1].evaluate(*query)])

    @pytest.mark.parametrize("persisted", [True, False])
    def test_an_actor_for_each_worker_evaluates_queries(self, persisted, dask_client):
        in_memory, lazy = table((20, D), persisted=persisted)
        session = lazy.session((GRID,))
        assert 1 <= len(session._actors) == len(session._workers) <= 2
        assert sorted(k for worker in session._workers for k in worker.partitions) == list(range(25))
        assert [worker.threads for worker in session._workers] == [1] * len(session._workers)
        session.add(3)
        assert bool(session._actors) == persisted
        assert_same(results(lazy), results(in_memory))

    @pytest.mark.parametrize("persisted", [True, False])
    def test_partitions_that_nobody_seems_to_have_are_read_by_anybody(self, persisted, dask_client, monkeypatch):
        # So it is when their worker has just been lost.
        monkeypatch.setattr(Client, "who_has", lambda *_: {})
        in_memory, lazy = table((100, D), persisted=persisted)
        session = lazy.session((GRID,))
        assert [worker.address for worker in session._workers] == [None]
        assert len(session._actors) == 1
        assert_same(results(lazy), results(in_memory))

    def test_actors_release_what_they_read(self, dask_client):
        session = table((100, D), persisted=True)[1].session((GRID,))
        spawned = session._actors
        session.close()
        for actor in spawned:
            with pytest.raises(TypeError):
                actor.evaluate(len).result(timeout=60)

    @pytest.mark.parametrize("lost", ["before a feature is added", "afterwards"])
    def test_actors_spawned_anew_know_what_was_added(self, lost, dask_client, configure):
        in_memory, lazy = table((100, D), persisted=True)
        session, same = lazy.session((GRID,), constant=True), in_memory.session((GRID,), constant=True)
        for each in (session, same):
            each.add(4)
            each.rescale(0.3, 0.7)
        if lost == "before a feature is added":
            session.close()
        for each in (session, same):
            each.add(1)
            each.rescale(-0.1, 2.0)
        if lost == "afterwards":
            session.close()
        query = (queries.gram_sums, np.arange(3), 2.0, 3.0)
        np.testing.assert_array_equal(session.evaluate(*query), same.evaluate(*query))
        assert session._actors
        # Where no actor can be spawned tasks evaluate.
        configure(dask_spawn_attempts=0)
        np.testing.assert_array_equal(session.evaluate(*query), same.evaluate(*query))

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
            results(lazy)
            # Actors stay where they are: what comes is their address.
            numbers = [np.asarray(leaf) for leaf in leaves(came) if not isinstance(leaf, Actor)]
            assert len(numbers) >= 10
            assert {number.dtype.kind for number in numbers} == {"i"}
            # What comes back comes from two or, where one worker read all, from one.
            sizes[n] = {number.shape for number in numbers}
        assert sizes[400] == sizes[4000]

    def test_dask_knows_how_large_a_partition_is(self):
        in_memory, _ = table((N, D))
        partition = actors.open_partition(
            in_memory.X, in_memory.y, slice(None), ((D, np.dtype(np.float64)), (GRID,), True, IDENTITY)
        )
        assert dask.sizeof.sizeof((partition,)) >= N * D + 3 * 8 * N


def leaves(values):
    if isinstance(values, list | tuple):
        for value in values:
            yield from leaves(value)
    else:
        yield values

"""Fits on dask arrays and data frames: the bits of the fit in memory, on a cluster, and with a worker killed."""

import os
import re
import signal
import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from shares import one_in

from dpsparse import DPIHTH, DPIHTL, DPSLR, AdaHuber, PrivacyLedger, PrivateSparseRegressor, tune
from dpsparse.algorithms.iht import private_iht
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine import queries
from dpsparse.engine.dask import session, tasks
from dpsparse.engine.refusals import NO_WORKERS, NOT_COMPUTED, NOT_FINITE

pytestmark = pytest.mark.slow

N, D = 3_000, 12
MODELS = [
    PrivateSparseRegressor(sparsity=3, random_state=0, **STANDARDIZED),
    DPIHTH(sparsity=3, random_state=0),
    DPIHTL(sparsity=3, random_state=0),
    DPSLR(sparsity=3, random_state=0),
    PrivateSparseRegressor(sparsity=3, estimand="typical", epsilon=4.0, random_state=0),
]
NAMES = [f"x{j}" for j in range(D)]


def data(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = 4 * rng.standard_normal((N, D))
    # No value is exactly 0: as bool all would be True.
    X = X > 0 if dtype is bool else X.astype(dtype)
    return X, X[:, :3].astype(np.float64) @ [2.0, -1.0, 1.0] + rng.standard_t(2, N)


def assert_same_fit(model, X, y, lazy, lazy_y):
    expected = model.fit(X, y).coef_.copy()
    assert np.count_nonzero(expected)
    fitted = model.fit(lazy, lazy_y)
    np.testing.assert_array_equal(fitted.coef_, expected)
    assert fitted.coef_.dtype == expected.dtype
    return fitted


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
class TestEveryEstimator:
    def test_a_fit_on_a_cluster(self, model, dask_client):
        X, y = data()
        uneven, by_columns = da.from_array(X, chunks=((5, 1995, 1000), D)), da.from_array(X, chunks=(700, 5))
        assert_same_fit(model, X, y, uneven.persist(), y)
        assert_same_fit(model, X, y, by_columns, da.from_array(y, chunks=450))

    def test_a_fit_in_threads(self, model):
        X, y = data()
        assert_same_fit(model, X, y, da.from_array(X, chunks=(700, D)), da.from_array(y, chunks=450))

    def test_a_data_frame(self, model):
        X, y = data()
        frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=3)
        fitted = assert_same_fit(model, X, y, frame, dd.from_pandas(pd.Series(y), npartitions=2))
        assert list(fitted.feature_names_in_) == NAMES

    def test_what_is_not_finite_is_refused_before_anything_is_charged(self, model, tmp_path, units_of):
        ledger = PrivacyLedger(tmp_path / "ledger.db")
        ledger.grant("people", epsilon=1.0, delta=1e-3)
        options = {"sparsity": 3, "epsilon": 0.5, "delta": 1e-4, **units_of(type(model))}
        private = type(model)(**options, ledger=ledger, dataset="people")
        X, y = data()
        broken, broken_y = X.copy(), y.copy()
        broken[N - 1, D - 1] = broken_y[N - 1] = np.inf
        for bad, bad_y in ((broken, y), (X, broken_y)):
            for response in (bad_y, da.from_array(bad_y, chunks=1000)):
                with pytest.raises(ValueError, match=f"^{NOT_FINITE}$"):
                    private.fit(da.from_array(bad, chunks=(1000, D)), response)
        assert ledger.balance("people").epsilon_spent == 0


def fatal_once(query, path):
    """The query, except that the first worker that evaluates it is killed instead."""

    def evaluate(*arguments):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return query(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    return evaluate


KILLING = {
    "gradient_sums": (MODELS[0], queries),
    "pick_sums": (MODELS[0], session),
    "loss_sums": (MODELS[1], private_iht),
}


@pytest.mark.parametrize(("name", "persisted"), one_in(2, [*KILLING], [True, False]))
def test_a_worker_killed_in_mid_pass_changes_no_bit(name, persisted, dask_client, tmp_path, monkeypatch):
    (model, module), (X, y) = KILLING[name], data()
    expected = model.fit(X, y).coef_.copy()
    lazy = da.from_array(X, chunks=(500, D))
    before = set(dask_client.nthreads())
    monkeypatch.setattr(module, name, fatal_once(getattr(module, name), str(tmp_path / "killed")))
    actual = model.fit(lazy.persist() if persisted else lazy, da.from_array(y, chunks=500)).coef_
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(actual, expected)
    # It is back when the next test begins, for which `dask_client` waits.
    assert set(dask_client.nthreads()) != before


@pytest.mark.parametrize("persisted", [True, False])
def test_workers_that_never_come_back_end_a_fit_by_its_bits_or_an_error(persisted, tmp_path, monkeypatch):
    """A cluster that gives lost workers up: a fit goes on without one, and ends in one line without the last."""
    monkeypatch.setattr(tasks, "LOOK", 0.2)
    X, y = data()
    model = MODELS[0]
    expected = model.fit(X, y).coef_.copy()
    hasty = dask.config.set({"distributed.deploy.lost-worker-timeout": 0.01})
    impatient = dask.config.set({"distributed.scheduler.no-workers-timeout": 2})
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with hasty, LocalCluster(**options) as cluster, Client(cluster) as client:
        lazy = da.from_array(X, chunks=(500, D))
        lazy = lazy.persist() if persisted else lazy
        with monkeypatch.context() as patched:
            patched.setattr(queries, "gradient_sums", fatal_once(queries.gradient_sums, str(tmp_path / "killed")))
            np.testing.assert_array_equal(model.fit(lazy, y).coef_, expected)
        assert (tmp_path / "killed").exists()
        # The scheduler may still know the first one, which is dead.
        for process in client.run(os.getpid, on_error="ignore").values():
            os.kill(process, signal.SIGKILL)
        with impatient, pytest.raises(TimeoutError, match=f"^{re.escape(NO_WORKERS)}$"):
            model.fit(lazy, y)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool])
def test_dtypes_are_read_as_those_of_an_array_in_memory(dtype):
    X, y = data(dtype)
    assert_same_fit(MODELS[0], X, y, da.from_array(X, chunks=(700, D)), y)


@pytest.mark.parametrize("dtypes", [["float32"], ["float32", "float64"], ["float32", "int64"], ["int8"], ["Int64"]])
def test_data_frames_of_any_numbers(dtypes):
    X, y = data()
    frame = pd.DataFrame(np.rint(X), columns=NAMES)
    frame = frame.astype({name: dtypes[j % len(dtypes)] for j, name in enumerate(NAMES)})
    whole = np.rint(y)
    lazy_y = dd.from_pandas(pd.Series(whole).astype(dtypes[-1]), npartitions=2)
    assert_same_fit(MODELS[0], frame, whole.astype(dtypes[-1].lower()), dd.from_pandas(frame, npartitions=4), lazy_y)


def test_an_array_from_a_data_frame_has_unknown_chunks():
    X, y = data()
    lazy = dd.from_pandas(pd.DataFrame(X).assign(y=y), npartitions=3).to_dask_array()
    assert np.isnan(lazy.shape[0])
    assert_same_fit(MODELS[0], X, y, lazy[:, :D], lazy[:, D])


def test_predictions_wait_until_they_are_computed():
    X, y = data()
    frame = pd.DataFrame(X, columns=NAMES)
    model = MODELS[0].fit(dd.from_pandas(frame, npartitions=2), y)
    expected = model.predict(frame)
    lazy = model.predict(dd.from_pandas(frame, npartitions=3))
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), expected)
    model = MODELS[0].fit(X, y)
    lazy = model.predict(da.from_array(X, chunks=(700, 5)))
    assert lazy.chunks == ((700, 700, 700, 700, 200),)
    np.testing.assert_allclose(lazy.compute(), model.predict(X))
    with pytest.raises(ValueError, match=f"^{NOT_FINITE}$"):
        model.predict(da.full((4, D), np.nan)).compute()
    with pytest.raises(ValueError, match="is expecting 12 features"):
        model.predict(da.zeros((4, D + 1)))


ROWS = da.zeros((N, D), chunks=(1000, D))
REFUSED = {
    "lengths": (ROWS, da.zeros(N - 1), ValueError, "inconsistent numbers of samples"),
    "lengths, y in memory": (ROWS, np.zeros(N + 1), ValueError, "inconsistent numbers of samples"),
    "one dimension": (ROWS[:, 0], np.zeros(N), ValueError, "X must be a 2D array"),
    "y of two": (ROWS, ROWS, ValueError, "y must be a 1D dask array or series"),
    "no y": (ROWS, None, ValueError, "requires y to be passed"),
    "objects": (ROWS.astype(object), np.zeros(N), ValueError, "could not be converted to numbers"),
    "complex numbers": (ROWS.astype(complex), np.zeros(N), ValueError, "Complex data not supported"),
    "y of text": (ROWS, da.zeros(N).astype(str), ValueError, "y could not be converted to numbers"),
    "no columns": (ROWS[:, :0], np.zeros(N), ValueError, r"0 feature\(s\)"),
    "no rows": (ROWS[:0], da.zeros(0), ValueError, r"0 sample\(s\)"),
    "a task": (ROWS.to_delayed()[0, 0], np.zeros(N), TypeError, "pass a dask array or data frame"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_fitted_is_refused_in_one_line(case):
    X, y, error, text = REFUSED[case]
    with pytest.raises(error, match=text) as refusal:
        MODELS[0].fit(X, y)
    assert "\n" not in str(refusal.value)


def test_columns_of_text_are_refused():
    frame = dd.from_pandas(pd.DataFrame({"a": ["one", "two"] * 50, "b": 1.0}), npartitions=2)
    with pytest.raises(ValueError, match=r"^Input could not be converted to numbers"):
        MODELS[0].fit(frame, np.zeros(100))


def test_who_reads_in_memory_says_so():
    X, y = ROWS, np.zeros(N)
    for read in (lambda: AdaHuber().fit(X, y), lambda: tune(MODELS[:1], X, y)):
        with pytest.raises(TypeError, match=r"reads X in memory; pass an array"):
            read()


def test_dask_is_not_imported_without_need():
    code = (
        "import sys, numpy as np; from dpsparse import DPIHTL; "
        "DPIHTL(sparsity=1).fit(np.eye(99, 3), np.zeros(99)).predict(np.eye(3)); "
        "sys.exit('dask' in sys.modules or 'distributed' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=240).returncode == 0


BY_PERSON = {"sparsity": 3, "epsilon": 4.0, "random_state": 0}


class TestPeople:
    """A person's rows lie in several partitions."""

    def fits(self, lazy, lazy_y, person, ids):
        X, y = data()
        expected = PrivateSparseRegressor(**BY_PERSON).fit(X, y, person=ids)
        fitted = PrivateSparseRegressor(**BY_PERSON).fit(lazy, lazy_y, person=person)
        np.testing.assert_array_equal(fitted.coef_, expected.coef_)
        assert fitted.privacy_ == expected.privacy_
        assert fitted.privacy_.n_records == len(set(ids))
        return fitted

    def test_ids_in_memory_and_in_dask(self, dask_client):
        X, y = data()
        ids = np.arange(N) % 901
        lazy = da.from_array(X, chunks=((5, 1995, 1000), D))
        self.fits(lazy.persist(), y, ids, ids)
        self.fits(lazy, da.from_array(y, chunks=450), da.from_array(ids, chunks=800), ids)

    def test_a_column_of_a_data_frame_is_no_feature(self):
        X, y = data()
        ids = [f"p{k % 901}" for k in range(N)]
        frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(id=ids), npartitions=3)
        fitted = self.fits(frame, y, "id", ids)
        assert list(fitted.feature_names_in_) == NAMES

    def test_with_one_row_a_person_nothing_changes(self):
        X, y = data()
        lazy = da.from_array(X, chunks=(700, D))
        plain, by_person = (
            PrivateSparseRegressor(**BY_PERSON).fit(lazy, y, **how) for how in ({}, {"person": np.arange(N)})
        )
        np.testing.assert_array_equal(plain.coef_, by_person.coef_)

    def test_ids_that_cannot_be_computed_quote_nothing(self):
        X, y = data()

        def fail(_):
            raise ValueError("a secret")

        ids = da.from_array(np.arange(N), chunks=1000).map_blocks(fail, dtype=int)
        with pytest.raises(ValueError, match=re.escape(NOT_COMPUTED[:30])) as refused:
            PrivateSparseRegressor(**BY_PERSON).fit(da.from_array(X, chunks=1000), y, person=ids)
        assert "secret" not in str(refused.value)

import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow
import pytest
import zarr
from pyarrow import parquet
from sklearn.model_selection import cross_val_score

from dpsparse import DPIHTH, BudgetExceeded, OnDisk, PrivacyLedger, PrivateSparseRegressor, tune
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.engine.config import Config
from dpsparse.engine.disk import feature_sources
from dpsparse.engine.refusals import NOT_FINITE
from dpsparse.engine.threads import threads
from dpsparse.io.tables.zarr_reader import ZarrSource

X, Y, _ = make_heavy_tailed(400, 6, 2, random_state=0)


@pytest.fixture
def claims(tmp_path):
    """A Parquet file with a name, a float32 feature, integers, truth values and a response."""
    frame = pd.DataFrame(
        {
            "who": [f"p{k}" for k in range(400)],
            "dose": X[:, 0].astype(np.float32),
            "age": np.arange(400) % 90,
            "smoker": np.arange(400) % 3 == 0,
            "cost": Y,
        }
    )
    frame.to_parquet(tmp_path / "claims.parquet", row_group_size=150)
    return tmp_path / "claims.parquet", frame


def test_a_table_is_taken_apart_by_names(claims):
    path, frame = claims
    table = OnDisk(path)
    assert table.columns == ["who", "dose", "age", "smoker", "cost"]
    features = table.drop("who", "cost")
    assert features.shape == (400, 3)
    assert features.dtype == np.float64
    assert table.drop("who", "cost", "age", "smoker").dtype == np.float32
    np.testing.assert_array_equal(table["cost"], Y)
    model = PrivateSparseRegressor(sparsity=2, random_state=0, **STANDARDIZED).fit(features, table["cost"])
    assert model.feature_names_in_.tolist() == ["dose", "age", "smoker"]
    in_memory = PrivateSparseRegressor(sparsity=2, random_state=0, **STANDARDIZED).fit(
        frame[["dose", "age", "smoker"]], Y
    )
    np.testing.assert_array_equal(model.coef_, in_memory.coef_)
    np.testing.assert_allclose(model.predict(features), in_memory.predict(frame[["dose", "age", "smoker"]]))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.drop("who", "dose"))


def test_public_units_go_by_name(claims):
    features = OnDisk(claims[0]).drop("who", "cost")
    center = {"smoker": 0.3, "age": 45.0, "dose": 0.0}
    model = PrivateSparseRegressor(sparsity=2, feature_center=center, feature_scale=1, random_state=0).fit(features, Y)
    by_place = PrivateSparseRegressor(sparsity=2, feature_center=[0.0, 45.0, 0.3], feature_scale=1, random_state=0)
    np.testing.assert_array_equal(model.coef_, by_place.fit(features, Y).coef_)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda path: OnDisk(path).drop("cots"), "there is no column 'cots'"),
        (lambda path: OnDisk(path)["who"], "column 'who' holds .*string, no numbers: drop it"),
        (lambda path: DPIHTH().fit(OnDisk(path), Y), "column 'who' holds .*string, no numbers: drop it"),
        (lambda path: OnDisk(path)[:10], "OnDisk takes columns by name or number, one at a time, and no rows"),
        (lambda path: cross_val_score(DPIHTH(), OnDisk(path).drop("who"), Y), "cross-validation needs X in memory"),
        (lambda path: DPIHTH().fit(str(path), Y), "X is a path; pass OnDisk"),
        (lambda path: OnDisk(path).drop(*OnDisk(path).columns), "keep at least one feature"),
        (lambda path: OnDisk(path.with_name("nothing.parquet")), "does not exist"),
        (lambda path: OnDisk(path.parent / ".."), "must be a .parquet or .npy file"),
        (lambda path: DPIHTH().fit(OnDisk(path).drop("who"), Y[:-1]), "inconsistent numbers of samples"),
    ],
)
def test_mistakes_get_one_line(claims, act, message):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message) as caught:
        act(claims[0])
    assert "\n" not in str(caught.value)


def test_arrays_of_other_shapes_and_kinds_are_refused(tmp_path):
    for k, array in enumerate((np.zeros(3), np.zeros((0, 3)), np.array([["a"]]), np.zeros((2, 2, 2)))):
        np.save(tmp_path / f"{k}.npy", array)
        with pytest.raises(ValueError, match="one array of real numbers with two dimensions"):
            OnDisk(tmp_path / f"{k}.npy")


def test_broken_files_are_named(tmp_path):
    np.save(tmp_path / "x.npy", X)
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:-100])
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    for name, kind in (("x.npy", "npy"), ("x.parquet", "Parquet")):
        with pytest.raises(ValueError, match=f"{name} is not a readable {kind} file"):
            OnDisk(tmp_path / name)


def test_decimals_are_numbers(tmp_path):
    money = pyarrow.array([Decimal("1.25"), Decimal("-3.50")], pyarrow.decimal128(9, 2))
    parquet.write_table(pyarrow.table({"cost": money}), tmp_path / "x.parquet")
    assert OnDisk(tmp_path / "x.parquet")["cost"].tolist() == [1.25, -3.5]


def test_files_of_a_folder_must_agree(tmp_path):
    pd.DataFrame({"a": [1.0]}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"b": [1.0]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"2\.parquet has other columns than 1\.parquet"):
        OnDisk(tmp_path)


def test_estimators_that_need_memory_say_so(tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(TypeError, match="tune reads X in memory"):
        tune([PrivateSparseRegressor()], OnDisk(tmp_path / "x.npy"), Y)
    tuned = tune(
        [PrivateSparseRegressor(random_state=0, **STANDARDIZED)], np.load(tmp_path / "x.npy", mmap_mode="r"), Y
    )
    assert tuned.index == 0


@pytest.mark.parametrize("kept", [0.5, 0.0])
@pytest.mark.parametrize("make", [PrivateSparseRegressor, DPIHTH])
def test_what_is_not_finite_costs_nothing(make, kept, tmp_path, configure, units_of):
    configure(disk_memory_share=kept, disk_block_bytes=1_000)
    ledger = PrivacyLedger(tmp_path / "budget.db")
    ledger.grant("claims", epsilon=1.0, delta=1e-3)
    broken = X.copy()
    broken[399, 5] = np.nan
    np.save(tmp_path / "x.npy", broken)
    model = make(sparsity=2, epsilon=1.0, delta=1e-3, ledger=ledger, dataset="claims", **units_of(make))
    with pytest.raises(ValueError, match=NOT_FINITE):
        model.fit(OnDisk(tmp_path / "x.npy"), Y)
    model.fit(X, Y)
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)


# Three records are too few for anything, and a warning says so.
@pytest.mark.filterwarnings("ignore:With n=3")
def test_missing_values_of_parquet_are_not_finite(tmp_path):
    pd.DataFrame({"a": [1.0, None, 2.0], "b": [1.0, 2.0, 3.0]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=NOT_FINITE):
        PrivateSparseRegressor(sparsity=1, epsilon=10.0, **STANDARDIZED).fit(
            OnDisk(tmp_path / "x.parquet"), [1.0, 2.0, 3.0]
        )


@pytest.mark.slow
@pytest.mark.parametrize("make", [PrivateSparseRegressor, DPIHTH])
@pytest.mark.parametrize("stop", range(1, 12, 2))
def test_a_fit_interrupted_anywhere_leaves_no_result_and_stays_charged(make, stop, tmp_path, configure, units_of):
    configure(disk_block_bytes=4_000)
    ledger = PrivacyLedger(tmp_path / "budget.db")
    ledger.grant("claims", epsilon=2.5, delta=1e-3)
    np.save(tmp_path / "x.npy", X)
    model = make(sparsity=2, epsilon=1.0, delta=1e-4, ledger=ledger, dataset="claims", **units_of(make)).fit(X, Y)
    before, spent = model.coef_, ledger.balance("claims").epsilon_spent

    def interrupt(done, total):
        if done >= stop * total / 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(OnDisk(tmp_path / "x.npy"), Y, progress=interrupt)
    charged = ledger.balance("claims").epsilon_spent > spent
    # Opening reads and releases nothing: interrupted there, the fit is refunded, and the last result stands.
    assert charged != hasattr(model, "coef_")
    if not charged:
        assert model.coef_ is before
    else:
        assert not [name for name in vars(model) if name.endswith("_") and name != "n_features_in_"]


def test_progress_rises_to_its_end_and_depends_on_no_value(tmp_path, configure):
    configure(disk_block_bytes=4_000)
    reports = []
    for k, values in enumerate((X, np.full_like(X, 1e9))):
        np.save(tmp_path / f"{k}.npy", values)
        reports.append([])
        model = PrivateSparseRegressor(sparsity=2, random_state=k, **STANDARDIZED)
        model.fit(OnDisk(tmp_path / f"{k}.npy"), Y * 10.0**k, progress=lambda *report: reports[-1].append(report))
    assert reports[0] == reports[1]
    assert reports[0] == sorted(reports[0])
    assert reports[0][-1] == (8, 8)
    assert len(reports[0]) > 30


def test_blocks_cover_every_cell_once(tmp_path, configure):
    configure(disk_block_bytes=1_500)
    chunks = [np.asfortranarray(X[:130]), X[130:131], X[131:].copy()]
    array = zarr.create_array(tmp_path / "z.zarr", shape=X.shape, chunks=(37, 4), dtype=X.dtype)
    array[:] = X
    scattered = feature_sources.ArraySource(chunks).only([0, 2, 5])
    for source, whole in (
        (feature_sources.ArraySource(chunks), X),
        (scattered, X[:, [0, 2, 5]]),
        (scattered.only([0, 2]), X[:, [0, 5]]),
        (ZarrSource(array), X),
        (ZarrSource(array).only([1, 3]), X[:, [1, 3]]),
    ):
        for blocks in (source.blocks(), [(rows, slice(None)) for rows in source.row_blocks()]):
            cells = np.full(whole.shape, np.nan)
            for block in blocks:
                assert np.isnan(cells[block]).all()
                cells[block] = source.read(block)
                source.prefetch(block)
            np.testing.assert_array_equal(cells, whole)
        np.testing.assert_array_equal(source.columns([1, 0]), whole[:, [1, 0]])


@pytest.mark.slow
def test_integers_are_never_copied_whole():
    genotypes = np.ones((2_000, 20_000), dtype=np.int8)
    model = PrivateSparseRegressor(sparsity=1, random_state=0, **STANDARDIZED)
    y = np.zeros(2_000)
    tracemalloc.start()
    with threads(1):
        model.fit(genotypes, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Levels of a byte each, and a few blocks of floats; all of them would be 320 MB.
    assert peak < genotypes.nbytes + 2 * Config().disk_block_bytes < 300e6


def test_long_rows_are_read_by_the_page(tmp_path, configure):
    configure(disk_long_row_bytes=16)
    np.save(tmp_path / "x.npy", X)
    np.testing.assert_array_equal(OnDisk(tmp_path / "x.npy")[3], X[:, 3])

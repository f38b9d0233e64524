import os
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpsparse.io.bounds import Bounds, ColumnBounds
from dpsparse.io.bounds_file import read_bounds
from dpsparse.io.convert import convert, in_public_units
from dpsparse.io.formats import open_on_disk, open_table
from dpsparse.io.provenance import provenance_of
from dpsparse.io.store import store_writer
from dpsparse.io.store.manifest import write_manifest
from dpsparse.io.store.store_reader import check_store
from dpsparse.schema import FileError

RNG = np.random.default_rng(0)
N = 1_003
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(N),
        "age": RNG.normal(50, 15, N),
        "region": RNG.choice(["north", "south", "moon"], N),
        "income": RNG.lognormal(10, 2, N),
        "cost": RNG.standard_t(2, N),
    }
)
BOUNDS = """
drop = ["id"]
[columns.age]
low = 20
high = 80
[columns.income]
center = 20000
scale = 7e3
[columns.region]
categories = ["north", "south"]
[response]
scale = 0.7
"""
OTHERS = {"age": ColumnBounds(50.0, 14.0), "region": ColumnBounds(categories=("south", "north"))}
UNITS = np.column_stack(
    [(PEOPLE.age - 50.0) / 15.0, ((PEOPLE.region == "south") - 0.5) / 0.5, (PEOPLE.income - 20000.0) / 7e3]
)


@pytest.fixture(autouse=True)
def small(configure):
    """Chunks of 100 rows of three float32 features, blocks of 70 rows of four numbers, CSV in blocks of 4 kB."""
    configure(store_chunk_bytes=1200, table_block_cells=280, csv_block_bytes=2**12)


@pytest.fixture
def bounds(tmp_path):
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    return read_bounds(tmp_path / "bounds.toml")


def written(folder, kind, people=PEOPLE):
    path = folder / f"people.{kind}"
    if kind == "csv":
        people.to_csv(path, index=False)
    elif kind == "parquet":
        people.to_parquet(path, index=False, row_group_size=333)
    else:
        path = folder / "people"
        path.mkdir(exist_ok=True)
        for number, rows in enumerate((slice(0, 400), slice(400, 401), slice(401, None))):
            people[rows].to_parquet(path / f"part-{number}.parquet", index=False, row_group_size=150)
    return path


def converted(path, folder, bounds, target="cost", **options):
    table = open_table(path)
    return convert(table, provenance_of(table, bounds, target), folder, **options)


@contextmanager
def interrupted_at(name):
    """Ctrl-C while a file of a store is written."""

    def save(stream, array, save=np.save):
        if name in stream.name:
            raise KeyboardInterrupt
        save(stream, array)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "save", save)
        with pytest.raises(KeyboardInterrupt):
            yield


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_store_holds_public_units_rounded_once(tmp_path, bounds, kind, dtype):
    path = written(tmp_path, kind)
    converted(path, tmp_path / "store", bounds, dtype=dtype)
    store = open_on_disk(tmp_path / "store")
    assert len(store.chunks) == (11 if dtype == "float32" else 21)
    assert all(chunk.flags.f_contiguous and chunk.dtype == dtype for chunk in store.chunks)
    np.testing.assert_array_equal(np.concatenate(store.chunks), UNITS.astype(dtype))
    np.testing.assert_array_equal(store.response, PEOPLE.cost)
    assert store.names == ["age", "region=south", "income"]
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700
    provenance = store.manifest.provenance
    assert (provenance.target, provenance.response_center, provenance.response_scale) == ("cost", None, 0.7)
    assert [(feature.center, feature.scale) for feature in provenance.features] == [(50, 15), (0.5, 0.5), (20000, 7e3)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_becomes_a_store(tmp_path, dtype, order):
    array = (10 * RNG.normal(size=(257, 4))).astype(dtype)
    np.save(tmp_path / "a.npy", np.asarray(array, order=order))
    bounds = Bounds(columns={"3": ColumnBounds(0.5, 3.0)})
    converted(tmp_path / "a.npy", tmp_path / "store", bounds, target="1")
    store = open_on_disk(tmp_path / "store")
    units = np.column_stack([array[:, 0], array[:, 2], (array[:, 3].astype(float) - 0.5) / 3.0]).astype(np.float32)
    np.testing.assert_array_equal(np.concatenate(store.chunks), units)
    np.testing.assert_array_equal(store.response, array[:, 1])


def test_blocks_are_what_is_read_at_once_from_any_row(tmp_path):
    people = PEOPLE.astype({"age": object})
    people.loc[800, "age"] = "unknown"
    people.loc[10, "age"] = None
    wanted = (["income", "age"], {"region": ["south", "north"]})
    for path in (written(tmp_path, "csv", people), written(tmp_path, "parquet"), written(tmp_path, "folder")):
        table = open_table(path)
        matrix, codes = table.read(*wanted)
        for start in (0, 1, 333, 400, 401, 700, 950, N):
            blocks = list(table.blocks(*wanted, start))
            assert len(blocks) > 3 or start >= 700
            read = np.concatenate([block for block, _ in blocks] or [matrix[:0]])
            np.testing.assert_array_equal(read, matrix[start:])
            read = np.concatenate([block["region"] for _, block in blocks] or [[]])
            np.testing.assert_array_equal(read, codes["region"][start:])


def test_what_is_missing_or_no_number_is_nan_and_what_is_finite_stays_so():
    X = np.array([[np.nan, np.inf, -np.inf, 1e300, -1e308, 7.0]]).T
    for dtype in ("float32", "float64"):
        units = in_public_units(X, np.array([1.0]), np.array([1e-3]), dtype).astype(dtype).ravel()
        np.testing.assert_array_equal(np.isfinite(units), [False, False, False, True, True, True])
        assert np.isnan(units[0])
        assert units[1] == np.inf == -units[2]
        assert units[4] == -np.finfo(dtype).max
        assert units[5] == np.asarray(6000.0, dtype)


KILLED = """
import os, signal, sys
import numpy as np
from dpsparse.cli import main
from dpsparse.engine import config

config.current, calls, save = config.Config(store_chunk_bytes=1200), [], np.save

def killed_in_the_seventh(stream, array):
    calls.append(array)
    if len(calls) == 7:
        stream.write(b"half")
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    save(stream, array)

np.save = killed_in_the_seventh
main(["convert", *sys.argv[1:], "--target", "cost", "--bounds", "bounds.toml"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
def test_killed_and_resumed_it_is_byte_for_byte_the_same(tmp_path, bounds, kind):
    path = written(tmp_path, kind)
    converted(path, tmp_path / "once", bounds)
    command = [sys.executable, "-c", KILLED, str(path), "store"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL
    left = files_of(tmp_path / "store")
    assert sum(name.startswith("features") for name in left) == 3
    assert sum(name.endswith(".tmp") for name in left) == 1
    with pytest.raises(FileError, match="the conversion was interrupted; run the same"):
        open_on_disk(tmp_path / "store")
    said = []
    converted(path, tmp_path / "store", bounds, progress=said.append)
    assert [words.split()[0] for words in said] == 3 * ["checking"] + 8 * ["writing"]
    assert files_of(tmp_path / "store") == files_of(tmp_path / "once")


@pytest.mark.slow
def test_at_whatever_chunk_it_stops_the_result_is_the_same(tmp_path, bounds, monkeypatch):
    path = written(tmp_path, "parquet")
    converted(path, tmp_path / "once", bounds)
    whole = files_of(tmp_path / "once")
    # Before the first chunk, after each of eleven, and at the end.
    for stop in range(1, 14):
        written_so_far = []

        def stopped(folder, manifest, stop=stop, written_so_far=written_so_far):
            write_manifest(folder, manifest)
            written_so_far.append(manifest.complete)
            if len(written_so_far) == stop:
                raise KeyboardInterrupt

        folder = tmp_path / f"store-{stop}"
        monkeypatch.setattr(store_writer, "write_manifest", stopped)
        with pytest.raises(KeyboardInterrupt):
            converted(path, folder, bounds)
        monkeypatch.setattr(store_writer, "write_manifest", write_manifest)
        assert written_so_far[-1] == (stop == 13)
        converted(path, folder, bounds)
        assert files_of(folder) == whole


def test_another_source_or_other_options_are_refused(tmp_path, bounds):
    path = written(tmp_path, "csv")
    converted(path, tmp_path / "store", bounds)
    before = files_of(tmp_path / "store")
    others = [
        (path, bounds, {"dtype": "float64"}, r"with other options \(another dtype\); choose"),
        (path, Bounds(drop=("region",)), {"target": "age"}, r"with other options \(another target\)"),
        (path, replace(bounds, response_scale=1.0), {}, r"with other options \(other bounds of 'cost'\)"),
        (path, replace(bounds, drop=()), {}, r"\(other bounds of 'id'\)"),
        (path, replace(bounds, columns=bounds.columns | OTHERS), {}, r"\(other bounds of 'age', 'region'\)"),
        (path, bounds, {"target": "id"}, "'id' is the target"),
        (written(tmp_path, "parquet"), bounds, {}, "from another file"),
    ]
    for data, known, options, message in others:
        with pytest.raises(FileError, match=message):
            converted(data, tmp_path / "store", known, **options)
    os.utime(path, ns=(1, 1))
    with pytest.raises(FileError, match="the file was changed; choose another folder, or remove it first"):
        converted(path, tmp_path / "store", bounds)
    assert files_of(tmp_path / "store") == before


def test_the_same_file_elsewhere_is_the_same_source(tmp_path, bounds):
    path = written(tmp_path, "csv")
    converted(path, tmp_path / "store", bounds)
    path.rename(tmp_path / "moved.csv")
    said = []
    converted(tmp_path / "moved.csv", tmp_path / "store", bounds, progress=said.append)
    assert {words.split()[0] for words in said} == {"checking"}


def test_gaps_are_stored_and_nothing_is_said_of_them(tmp_path, bounds):
    people = PEOPLE.astype({"age": object})
    people.loc[[5, 950], "age"] = "unknown"
    people.loc[[210, 950], "cost"] = np.nan
    people.loc[777, "income"] = -np.inf
    people.loc[3, "region"] = None
    path, said = written(tmp_path, "csv", people), [[], []]
    with interrupted_at("response-00004.npy"):
        converted(path, tmp_path / "store", bounds)
    converted(path, tmp_path / "store", bounds)
    for folder, words, data in (("gaps", said[0], path), ("clean", said[1], written(tmp_path, "parquet"))):
        converted(data, tmp_path / folder, bounds, progress=words.append)
    assert said[0] == said[1]
    assert files_of(tmp_path / "store") == files_of(tmp_path / "gaps")
    store = open_on_disk(tmp_path / "store")
    gaps = np.isnan(np.concatenate(store.chunks)).sum(axis=0)
    assert [*gaps, np.isnan(store.response).sum()] == [2, 0, 1, 2]


def test_a_flipped_bit_is_found_and_mended(tmp_path, bounds):
    path, folder = written(tmp_path, "parquet"), tmp_path / "store"
    converted(path, folder, bounds)
    before = files_of(folder)
    for name in ("features-00004.npy", "response-00010.npy"):
        broken = bytearray(before[name])
        broken[-3] ^= 1
        (folder / name).write_bytes(broken)
        open_on_disk(folder)
        with pytest.raises(FileError, match=rf"store is not as it was written: '{name}'; run the same"):
            check_store(folder)
        converted(path, folder, bounds)
        assert files_of(folder) == before
        check_store(folder)


def test_a_table_without_records_or_that_cannot_be_read_leaves_nothing(tmp_path):
    for content, message in (("a,cost\n", "holds no records"), ("a,a\n1,2\n", "same name")):
        (tmp_path / "a.csv").write_text(content)
        with pytest.raises(FileError, match=message):
            converted(tmp_path / "a.csv", tmp_path / "store", Bounds())
        assert not (tmp_path / "store").exists()

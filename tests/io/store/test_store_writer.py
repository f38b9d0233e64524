import json
import os
import stat

import numpy as np
import pytest

from dpsparse.io.formats import open_on_disk
from dpsparse.io.provenance import Provenance
from dpsparse.io.store.store_reader import check_store
from dpsparse.io.store.store_writer import StoreWriter
from dpsparse.io.table_features import Feature
from dpsparse.schema import FileError

PROVENANCE = Provenance("cost", (Feature("age", 50.0, 15.0), Feature("dose", 0.0, 1.0)), None, None, "a fingerprint")
RNG = np.random.default_rng(0)
CHUNKS = [(np.asfortranarray(RNG.normal(size=(n, 2))), RNG.normal(size=n)) for n in (5, 5, 5, 2)]


def written(folder, chunks=4, dtype="float64", progress=None):
    """Write a store, or the first of its chunks, or go on with one that was begun."""
    writer = StoreWriter(folder, PROVENANCE, dtype, progress)
    for X, y in CHUNKS[len(writer.manifest.chunks) : chunks]:
        writer.append(len(y), X, y)
    if chunks == len(CHUNKS) and not writer.manifest.complete:
        writer.finish()
    return writer.manifest


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_written_is_read(tmp_path):
    manifest = written(tmp_path / "store")
    store = open_on_disk(tmp_path / "store")
    assert store.manifest == manifest == check_store(tmp_path / "store")
    assert (manifest.shape, manifest.names, manifest.complete) == ((17, 2), ["age", "dose"], True)
    np.testing.assert_array_equal(np.concatenate(store.chunks), np.concatenate([X for X, _ in CHUNKS]))
    np.testing.assert_array_equal(store.response, np.concatenate([y for _, y in CHUNKS]))


@pytest.mark.parametrize("chunks", range(1, len(CHUNKS) + 1))
def test_a_store_that_was_begun_is_continued(tmp_path, chunks):
    written(tmp_path / "once")
    written(tmp_path / "store", chunks)
    words = []
    written(tmp_path / "store", progress=words.append)
    assert [each.split()[0] for each in words] == chunks * ["checking"] + (len(CHUNKS) - chunks) * ["writing"]
    assert files_of(tmp_path / "store") == files_of(tmp_path / "once")


def test_from_a_damaged_file_on_it_is_written_again(tmp_path):
    written(tmp_path / "store")
    before = files_of(tmp_path / "store")
    os.truncate(tmp_path / "store/response-00002.npy", 9)
    words = []
    written(tmp_path / "store", progress=words.append)
    assert [each.split()[0] for each in words] == 3 * ["checking"] + 2 * ["writing"]
    assert files_of(tmp_path / "store") == before


def test_folders_that_are_no_stores_are_left_alone(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").touch()
    for folder in (tmp_path / "other", tmp_path / "other/file"):
        with pytest.raises(FileError, match="neither empty nor a store"):
            written(folder)
    with pytest.raises(FileError, match=r"cannot write .*no/such"):
        written(tmp_path / "no/such/store")
    (tmp_path / "empty").mkdir(mode=0o700)
    written(tmp_path / "empty")
    assert json.loads((tmp_path / "empty/store.json").read_text())["complete"]


posix = pytest.mark.skipif(os.name != "posix", reason="there are no POSIX permissions here")


def modes(folder):
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}, stat.S_IMODE(folder.stat().st_mode)


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o377])
def test_a_store_is_its_owners_alone_whatever_the_umask(tmp_path, monkeypatch, umask):
    saved, seen = np.save, set()
    (tmp_path / "empty").mkdir(mode=0o700)

    def watched(stream, array):
        seen.add(stat.S_IMODE(os.fstat(stream.fileno()).st_mode))
        saved(stream, array)

    monkeypatch.setattr(np, "save", watched)
    before = os.umask(umask)
    try:
        for name in ("empty", "store"):
            written(tmp_path / name)
    finally:
        os.umask(before)
    assert seen == {0o600}
    for name in ("empty", "store"):
        assert modes(tmp_path / name) == ({0o600}, 0o700)


@posix
@pytest.mark.parametrize("mode", [0o755, 0o750, 0o711, 0o777])
def test_a_folder_that_others_may_enter_is_refused_and_left_as_it_is(tmp_path, monkeypatch, mode):
    folder = tmp_path / "store"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(FileError, match=r"others may enter .*store, .*; run chmod 700 on it first, or name a new"):
        written(folder)
    assert modes(folder) == (set(), mode)
    # Made by another between the check and the first file.
    folder.rmdir()
    mkdir = type(folder).mkdir

    def too_late(self, **options):
        mkdir(self)
        os.chmod(self, mode)
        mkdir(self, **options)

    monkeypatch.setattr(type(folder), "mkdir", too_late)
    with pytest.raises(FileError, match="others may enter"):
        written(folder)
    assert modes(folder) == (set(), mode)


@posix
@pytest.mark.parametrize("chunks", [2, len(CHUNKS)])
def test_a_store_that_others_may_read_is_closed_when_it_is_written_again(tmp_path, chunks):
    folder = tmp_path / "store"
    written(folder, chunks)
    for file in folder.iterdir():
        file.chmod(0o644)
    folder.chmod(0o755)
    with pytest.raises(FileError, match="with other options"):
        written(folder, dtype="float32")
    assert modes(folder) == ({0o644}, 0o755)
    written(folder)
    assert modes(folder) == ({0o600}, 0o700)


@posix
def test_a_store_of_another_that_others_may_read_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "store"
    written(folder)
    folder.chmod(0o755)

    def not_yours(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", not_yours)
    with pytest.raises(FileError, match="not yours to close; its owner must run chmod -R go= on it"):
        written(folder)

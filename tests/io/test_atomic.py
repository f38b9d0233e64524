import os
import stat

import pytest

from dpsparse.io.atomic import atomic_file, write_file
from dpsparse.schema import FileError


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_is_stopped_leaves_the_old_file_and_nothing_else(tmp_path, stop):
    path = tmp_path / "model.json"
    path.write_text("old")

    def write_half():
        with atomic_file(path) as stream:
            stream.write(b"half")
            raise stop

    with pytest.raises(stop):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"), atomic_file(tmp_path / "model.json") as stream:
        stream.write(b"whole")
    assert os.listdir(tmp_path) == []


def test_the_file_is_whole_replaces_the_old_and_may_be_read_as_any_other(tmp_path):
    path, plain = tmp_path / "model.json", tmp_path / "plain"
    path.write_text("a longer old text")
    plain.touch()
    (tmp_path / "link").symlink_to(path)
    with atomic_file(tmp_path / "link") as stream:
        stream.write(b"new")
        assert path.read_text() == "a longer old text"
    assert path.read_text() == "new"
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.parametrize("name", ["", "no/such/folder/x", "data.csv", "same.csv", "a" * 300])
def test_what_cannot_be_written_is_refused_at_once(tmp_path, name):
    data = tmp_path / "data.csv"
    data.touch()
    (tmp_path / "same.csv").symlink_to(data)
    with pytest.raises(FileError, match="cannot write"), atomic_file(tmp_path / name, inputs=[data]):
        pytest.fail("it was opened")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with (
        pytest.raises(FileError, match=r"there is no folder .*no/such; make it first"),
        atomic_file(tmp_path / "no/such/x"),
    ):
        pytest.fail("it was opened")


def test_a_device_is_never_replaced():
    with pytest.raises(FileError, match="a device"), atomic_file("/dev/null"):
        pytest.fail("it was opened")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "kept.txt"
    write_file(path, "old")
    with pytest.raises(TypeError):
        write_file(path, 3)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["kept.txt"]

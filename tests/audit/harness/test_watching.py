import logging
import os
import socket
import subprocess
import sys
import tempfile
import warnings

import pytest

from dpsparse.audit.harness.watching import files_in, watched


def test_every_way_out_is_seen(tmp_path):
    with watched(tmp_path) as seen:
        print("to the output")
        print("to the error", file=sys.stderr)
        os.write(2, b"below Python")
        logging.getLogger("dpsparse.anything").debug("to the log")
        warnings.warn("a warning", UserWarning, stacklevel=1)
    shown = seen.shown()
    assert shown["standard output"] == "to the output\n"
    assert shown["standard error"] == "to the error\n"
    assert shown["descriptors"] == b"below Python"
    assert shown["log"] == [("dpsparse.anything", "DEBUG", "to the log")]
    assert seen.warnings == [("UserWarning", "a warning")]
    assert shown["files and connections elsewhere"] == []


def test_files_are_seen_wherever_they_are_written(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside.csv"
    inside.mkdir()
    with watched(inside) as seen:
        outside.write_text("records")
        with open("relative.csv", "w") as file:
            file.write("records")
        os.close(tempfile.mkstemp(prefix="left")[0])
        with pytest.raises(ConnectionError):
            socket.create_connection(("127.0.0.1", 1), timeout=1)
        subprocess.run([sys.executable, "-c", ""], check=True, timeout=60)
    assert seen.elsewhere == [str(outside), "socket.connect", "subprocess.Popen"]
    found = files_in(inside)
    assert [name.split("/")[-1][:4] for name, _ in found["modes of files"]] == ["rela", "temp", "left"]
    assert found["files"]["relative.csv"] == b"records"


def test_nothing_is_noted_outside_the_block(tmp_path):
    with watched(tmp_path) as seen:
        pass
    (tmp_path.parent / "afterwards").write_text("")
    assert seen.elsewhere == []
    assert os.getcwd() != str(tmp_path)
    assert files_in(tmp_path, inputs=["temporary"])["modes of files"] == []

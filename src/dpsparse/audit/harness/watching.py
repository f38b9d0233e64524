"""Everything by which a program can tell of its data: streams, log, warnings, files, connections."""

import contextlib
import io
import logging
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpsparse.audit.harness.patching import replaced

# Other programs and other machines.
_ELSEWHERE = ("socket.connect", "socket.sendto", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_folders: list[str] = []
_elsewhere: list[str] = []
_hooked: list[bool] = []


@dataclass
class Watched:
    """What was seen: texts by stream, lines of logs, warnings, and what was opened elsewhere."""

    streams: dict[str, str | bytes] = field(default_factory=dict)
    log: list[tuple[str, str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        """All of it but the warnings, by name."""
        return {**self.streams, "log": self.log, "files and connections elsewhere": self.elsewhere}


@contextlib.contextmanager
def watched(folder: Path) -> "Iterator[Watched]":
    """Run the block in a folder, which has the temporary files too, and keep all that leaves it.

    `folder`: where the block may write.
    """
    seen, out, err, place = Watched(), io.StringIO(), io.StringIO(), os.getcwd()
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        stack.callback(os.chdir, place)
        os.chdir(folder)
        stack.enter_context(replaced(tempfile, tempdir=str(temporary)))
        stack.enter_context(_elsewhere_than(folder, seen.elsewhere))
        stack.enter_context(_logged(seen.log))
        below = stack.enter_context(_below_python())
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        yield seen
    seen.warnings += [(warning.category.__name__, str(warning.message)) for warning in caught]
    seen.streams |= {"standard output": out.getvalue(), "standard error": err.getvalue(), "descriptors": bytes(below)}


def files_in(folder: Path, inputs: Collection[str] = (), held: Collection[str] = ()) -> dict[str, Any]:
    """Names and modes of all files but the inputs, and the content of those that are not held back, by their names."""
    paths = sorted(path for path in folder.rglob("*") if path.name not in inputs)
    modes = [(str(path.relative_to(folder)), stat.filemode(path.stat().st_mode)) for path in paths]
    published = [path for path in paths if path.is_file() and not {*path.relative_to(folder).parts} & {*held}]
    content = {str(path.relative_to(folder)): path.read_bytes() for path in published}
    return {"modes of files": modes, "files": content}


def _flush() -> None:
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            stream.flush()


@contextlib.contextmanager
def _below_python() -> Iterator[bytearray]:
    """What is written to the descriptors of standard output and error, and not to Python's streams."""
    kept, written = [os.dup(number) for number in (1, 2)], bytearray()
    with tempfile.TemporaryFile() as file:
        _flush()
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        try:
            yield written
        finally:
            _flush()
            for number, before in zip((1, 2), kept, strict=True):
                os.dup2(before, number)
                os.close(before)
            file.seek(0)
            written += file.read()


@contextlib.contextmanager
def _elsewhere_than(folder: Path, found: list[Any]) -> Iterator[None]:
    """Note files that are opened for writing outside a folder, connections and other programs."""
    if not _hooked:
        # For the life of the process: a hook cannot be taken back.
        sys.addaudithook(_hook)
        _hooked.append(True)
    _folders.append(str(Path(folder).resolve()))
    before, _elsewhere[:] = list(_elsewhere), []
    try:
        yield
    finally:
        _folders.pop()
        found += _elsewhere
        _elsewhere[:] = before


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _folders:
        return
    if event in _ELSEWHERE:
        _elsewhere.append(event)
    elif event == "open":
        path, mode, flags = arguments
        writes = set("wax+") & set(mode) if isinstance(mode, str) else (flags or 0) & _WRITES
        if writes and isinstance(path, (str, bytes)):
            place = os.path.realpath(os.fsdecode(path))
            if not place.startswith((_folders[-1] + os.sep, "/dev/")) and not _is_cache(place):
                _elsewhere.append(place)


def _is_cache(path: str) -> bool:
    """Whether Python or a compiler keeps a module there."""
    return "__pycache__" in path or path.endswith((".pyc", ".nbi", ".nbc"))


@contextlib.contextmanager
def _logged(lines: list[Any]) -> Iterator[None]:
    """Every line that any logger writes, those of the package whatever their level."""

    class Kept(logging.Handler):
        def emit(self, record: Any) -> None:
            lines.append((record.name, record.levelname, record.getMessage()))

    root, ours, kept = logging.getLogger(), logging.getLogger("dpsparse"), Kept()
    level = ours.level
    root.addHandler(kept)
    ours.setLevel(1)
    try:
        yield
    finally:
        root.removeHandler(kept)
        ours.setLevel(level)

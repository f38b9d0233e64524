"""Files that appear whole or not at all, figures too."""

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dpsparse.schema import FileError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def atomic_file(
    path: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]] = (),
    replace: bool = True,
    private: bool = False,
) -> Iterator[IO[bytes]]:
    """A binary stream that becomes the file `path` once the block ends well, and vanishes if it does not.

    The stream is opened at once, so that a path that cannot be written is refused before any work is done.

    A file that exists is replaced if `replace` allows it; a database, which may be a ledger, never is. `inputs` must
    not be overwritten, because the command reads or writes them too. Where `private`, only its owner may read the file,
    whatever the umask says, because it holds records.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder) / "a.txt") as stream:
    ...         _ = stream.write(b"whole")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('a.txt', 'whole')]
    """
    target = Path(os.path.realpath(path))
    if any(target == Path(os.path.realpath(source)) for source in inputs):
        raise FileError(f"cannot write {path}: the command needs that file for something else; choose another name")
    # In the same folder and longer than the name itself, so that the last step, a rename, succeeds if this does.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with _opened(temporary, path, private) as stream:
            if target.exists() and not (target.is_file() and os.access(target, os.W_OK)):
                raise FileError(f"cannot write {path}: it is a folder, a device or read-only; choose another name")
            if target.exists() and _is_database(target):
                raise FileError(f"cannot write {path}: it is a database, maybe a ledger; choose another name")
            if target.exists() and not replace:
                raise FileError(f"cannot write {path}: it exists; choose another name, or move it away first")
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    finally:
        with suppress(OSError):
            temporary.unlink()


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder outlive a power failure, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_database(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def write_file(path: str | os.PathLike[str], content: str | bytes, private: bool = False) -> None:
    """Write text or bytes as a whole file or not at all."""
    with atomic_file(path, private=private) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


def _opened(temporary: Path, path: str | os.PathLike[str], private: bool) -> IO[bytes]:
    try:
        return open(temporary, "xb", opener=_for_its_owner if private else None)
    except FileNotFoundError:
        raise FileError(
            f"cannot write {path}: there is no folder {os.path.dirname(path) or '.'}; make it first"
        ) from None
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from None


def _for_its_owner(path: str, flags: int) -> int:
    """An opener of new files: private from the first moment, and open to the owner whatever the umask says."""
    file = os.open(path, flags, 0o600)
    if hasattr(os, "fchmod"):
        os.fchmod(file, 0o600)
    return file


_KINDS = (".png", ".pdf", ".svg")


def save_figure(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Write a matplotlib figure as PNG, PDF or SVG, by the ending of the name, and close it."""
    import matplotlib.pyplot as plt

    kind = Path(path).suffix.lower()
    if kind not in _KINDS:
        raise FileError(f"{path}: the picture's name must end in {', '.join(_KINDS)}")
    with atomic_file(path) as stream:
        figure.savefig(stream, format=kind[1:], dpi=150)
    plt.close(figure)

"""Uploads: second copies of the records. Their owner alone can read them, and they are removed when the page ends.

After a crash they are removed at the next start.
"""

import os
import secrets
import shutil
from pathlib import Path
from typing import IO

from dpsparse.app.draft_table import ENDINGS
from dpsparse.schema import FileError

_PIECE = 2**20


class Uploads:
    """The folder of uploads.

    It is emptied, made anew and closed to others.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.clear()

    def clear(self) -> None:
        """Remove all uploads."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        os.chmod(self.folder, 0o700)

    def remove(self) -> None:
        """Remove all uploads and their folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep(self, name: str, stream: IO[bytes]) -> Path:
        """Copy a stream into a new file; gives its path.

        Of the file's name in the browser only the last part is used.
        """
        # Imported when it is needed, so that the first page comes at once.
        from dpsparse.io.formats import OTHER_PROGRAMS

        name = name.replace("\\", "/").rpartition("/")[2]
        if name.lower().endswith(OTHER_PROGRAMS):
            raise FileError(f"{name}: save the table as CSV in the program that made it, then upload that file")
        if not name.lower().endswith(ENDINGS) or not name.isprintable() or len(name) > 200:
            raise FileError(f"the file's name must end in {' or '.join(ENDINGS)}, and have at most 200 letters")
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        if size > shutil.disk_usage(self.folder).free:
            raise FileError("there is no room on the disk for a copy of this file; give its path instead of uploading")
        folder = self.folder / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        path = folder / name
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            shutil.copyfileobj(stream, file, _PIECE)
        return path

    def holds(self, path: str | os.PathLike[str] | None) -> bool:
        """Whether a path is that of an upload."""
        return path is not None and self.folder in Path(path).parents

    def forget(self, path: str | os.PathLike[str] | None) -> None:
        """Remove one upload."""
        if path is not None and self.holds(path):
            shutil.rmtree(Path(path).parent, ignore_errors=True)

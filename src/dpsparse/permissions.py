"""Files and folders that are their owner's alone, where the system keeps POSIX permissions."""

import os
import stat
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def is_open_to_others(path: str | os.PathLike[str]) -> bool:
    """Whether anybody but the owner may read, write or enter the file or folder at a path."""
    return os.name == "posix" and bool(os.stat(path).st_mode & _OTHERS)


def close_to_others(path: str | os.PathLike[str]) -> None:
    """Take all permissions from everybody but the owner, who keeps theirs; OSError where it is not the caller's.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     os.chmod(file.name, 0o664)
    ...     close_to_others(file.name)
    ...     is_open_to_others(file.name)
    False
    """
    if is_open_to_others(path):
        # By its name: opening and closing a database would release the locks that this process holds on it.
        os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~_OTHERS)


def folder_others_may_change(path: str | os.PathLike[str]) -> str | None:
    """The nearest folder by which others may put files beside a path, or replace what leads to it; None without one.

    The owners of the folders are trusted, and root. A folder with the sticky bit, such as ``/tmp``, lets others touch
    only what is theirs: that will do above the path's own folder, but not there, where they could add a file. The
    group may write where it is the owner's alone, as many systems set it up.

    The path need not exist; symbolic links are followed.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     folder_others_may_change(os.path.join(folder, "budget.db")) is None
    True
    """
    if os.name != "posix":
        return None
    own, *above = Path(os.path.realpath(path)).parents
    for folder in (own, *above):
        if folder.is_dir() and _others_may_write(folder.stat()) and (folder == own or not _is_sticky(folder.stat())):
            return str(folder)
    return None


def _others_may_write(folder: os.stat_result) -> bool:
    if folder.st_mode & stat.S_IWOTH:
        return True
    return bool(folder.st_mode & stat.S_IWGRP) and not _is_group_of_one(folder.st_gid, folder.st_uid)


def _is_sticky(folder: os.stat_result) -> bool:
    # The folder's owner may still rename what lies in it.
    return bool(folder.st_mode & stat.S_ISVTX) and folder.st_uid in (0, os.geteuid())


def _is_group_of_one(group: int, user: int) -> bool:
    """Whether a group bears its user's name and has no other member."""
    import grp
    import pwd

    try:
        name, entry = pwd.getpwuid(user).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return entry.gr_name == name and set(entry.gr_mem) <= {name}

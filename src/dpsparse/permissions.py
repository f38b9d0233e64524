"""Files and folders that are their owner's alone, where the system keeps POSIX permissions."""

import os
import stat

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def is_open_to_others(path: str | os.PathLike[str]) -> bool:
    """Whether anybody but the owner may read, write or enter the file or folder at a path."""
    return os.name == "posix" and bool(os.stat(path).st_mode & _OTHERS)


def close_to_others(path: str | os.PathLike[str]) -> None:
    """Take all permissions from everybody but the owner, who keeps theirs; OSError where it is not the caller's.

    Parameters
    ----------
    path : str or path
        A file or a folder.

    Examples
    --------
    >>> import os, tempfile
    >>> from dpsparse.permissions import close_to_others, is_open_to_others
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     os.chmod(file.name, 0o664)
    ...     close_to_others(file.name)
    ...     is_open_to_others(file.name)
    False
    """
    if is_open_to_others(path):
        # By its name: opening and closing a database would release the locks that this process holds on it.
        os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~_OTHERS)

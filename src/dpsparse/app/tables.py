"""The table of a draft: its public facts, and which paths may be opened at all."""

import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from dpsparse.schema import FileError, existing_path

ENDINGS = (".csv", ".parquet")
_MOST_LISTED = 200


@dataclass(frozen=True)
class PublicFacts:
    """What may be known of a table before any of the budget is spent.

    Parameters
    ----------
    names : tuple of str
        Of its columns.
    n_records : int
        The number of records.
    kinds : dict of str to str
        How columns are read, where a schema declares it.
    """

    names: tuple[str, ...]
    n_records: int
    kinds: dict = field(default_factory=dict, hash=False)


def public_facts(path, separator=None, encoding="utf-8"):
    """The public facts of the table at a path.

    Parameters
    ----------
    path : str or path
        A .csv or .parquet file, or a folder of the latter.
    separator, encoding : str or None
        Of a CSV file.
    """
    path = existing_path(path)
    stamp = os.stat(path)
    return _facts(str(path), separator, encoding, (stamp.st_mtime_ns, stamp.st_size))


@lru_cache(maxsize=8)
def _facts(path, separator, encoding, _stamp):
    from dpsparse.engine.refusals import HEADER_NOT_TEXT
    from dpsparse.io.cells.raw_table import as_raw_table
    from dpsparse.io.formats import require_format

    require_format(path)
    if path.lower().endswith(".npy"):
        raise FileError("the page reads .csv and .parquet files; for an .npy file use: dpsparse fit")
    try:
        table = as_raw_table(path, separator=separator, encoding=encoding)
    except FileError as error:
        if str(error) != HEADER_NOT_TEXT.format(path=path, encoding=encoding):
            raise
        raise FileError(
            f"{Path(path).name}: its first line is not valid {encoding}; choose other letters below, under 'If a CSV "
            "file is unusual', or save the file as UTF-8"
        ) from None
    kinds = {name: str(kind.value) for name, kind in table.declared.items()}
    return PublicFacts(tuple(table.names), table.n_records, kinds)


def within(path, opened):
    """The path, if it lies in the folder that was opened; links are followed first.

    Parameters
    ----------
    path : str
        As it was typed: absolute, or from that folder on.
    opened : path
        The folder.
    """
    text = str(path).strip()
    if not text:
        raise FileError("no file was named; choose one from the list, type its path, or upload it")
    if not text.isprintable():
        raise FileError("the path has characters that cannot be printed; rename the file, or upload it")
    root = Path(os.path.realpath(opened))
    place = Path(os.path.realpath(root / Path(text).expanduser()))
    if place != root and root not in place.parents:
        raise FileError(
            f"{text} lies outside {root}, the folder that was opened; upload the file, or start again with: "
            "dpsparse app --data FOLDER"
        )
    if not place.exists():
        raise FileError(f"{text} does not exist in {root}; choose a name from the list, or upload the file")
    return place


def tables_in(opened):
    """Names of tables directly in a folder, for a list to choose from."""
    try:
        names = sorted(entry.name for entry in os.scandir(opened) if entry.name.lower().endswith(ENDINGS))
    except OSError:
        return []
    return [name for name in names if name.isprintable()][:_MOST_LISTED]

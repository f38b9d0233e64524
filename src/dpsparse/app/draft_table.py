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
    """What may be known of a table before any of the budget is spent."""

    names: tuple[str, ...]
    n_records: int
    n_people: int  # that of records, unless a column says whose they are
    kinds: dict[str, str] = field(default_factory=dict, hash=False)  # How columns are read, where a schema declares it.
    types: dict[str, str] = field(default_factory=dict, hash=False)  # The types of these columns, as the file has them.


def public_facts(
    path: str | os.PathLike[str], separator: str | None = None, encoding: str = "utf-8", person: str | None = None
) -> PublicFacts:
    """The public facts of the table at a path; `person` is the column that says whose record it is."""
    path = existing_path(path)
    stamp = os.stat(path)
    return _facts(str(path), separator, encoding, person, (stamp.st_mtime_ns, stamp.st_size))


@lru_cache(maxsize=8)
def _facts(path: str, separator: str | None, encoding: str, person: str | None, _stamp: tuple[int, int]) -> PublicFacts:
    from dpsparse.data.person_ids import people_of
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
    n_people = table.n_records
    if person in table.names:
        n_people = people_of(table.names_of(person), n_people).n_people
    return PublicFacts(tuple(table.names), table.n_records, n_people, kinds, dict(getattr(table, "types", {})))


def within(path: str, opened: Path) -> Path:
    """The path, if it lies in the folder that was opened; links are followed first.

    A path that was typed is absolute, or from that folder on.
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


def tables_in(opened: Path) -> list[str]:
    """Names of tables directly in a folder, for a list to choose from."""
    try:
        names = sorted(entry.name for entry in os.scandir(opened) if entry.name.lower().endswith(ENDINGS))
    except OSError:
        return []
    return [name for name in names if name.isprintable()][:_MOST_LISTED]

"""Reading our own small files against their schema: every key known, every value of its type, every number finite."""

import difflib
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeGuard, TypeVar

# Bytes: far more than any bounds or model file needs; Python's parsers take a second for them.
LARGEST = 64 * 2**20
_REQUIRED: Any = object()
Default = TypeVar("Default")


class FileError(ValueError):
    """A file that cannot be used. The message is one line with the remedy, and quotes none of the file's values."""


def existing_path(path: str | os.PathLike[str]) -> Path:
    """The path, if something is there."""
    path = Path(path)
    try:
        there = path.exists()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    if not there:
        raise FileError(f"{path} does not exist")
    return path


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The path, if a regular file that can be opened is there."""
    path = existing_path(path)
    try:
        if not path.is_file():
            raise FileError(f"{path} is not a file")
        path.open("rb").close()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    return path


def read_toml(path: str | os.PathLike[str]) -> "Fields":
    """The top table of a TOML file."""
    return _read(path, "TOML", tomllib.loads)


def read_json(path: str | os.PathLike[str], remedy: str = "") -> "Fields":
    """The top object of a JSON file; NaN, infinity and repeated keys are refused.

    A `remedy` ends the message about a file that is not JSON.
    """

    def parse(text: str) -> object:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_without_repetition)

    return _read(path, "JSON", parse, remedy)


def _read(path: str | os.PathLike[str], language: str, parse: Callable[[str], object], remedy: str = "") -> "Fields":
    path = checked_path(path)
    if path.stat().st_size > LARGEST:
        raise FileError(f"{path} is larger than {LARGEST >> 20} MiB; it is no file of ours")
    try:
        # Parsers quote the text that they cannot read, and a file given by mistake may hold data.
        return Fields(parse(path.read_text(encoding="utf-8")), str(path))
    except FileError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not valid {language}{_place(error)}{remedy}") from None


def _place(error: Exception) -> str:
    """Where a parser failed, in words of our own: its text may quote the file."""
    if isinstance(error, UnicodeDecodeError):
        return f": line {error.object.count(bytes([10]), 0, error.start) + 1} is not UTF-8"
    if "(at end of document)" in str(error):
        return ": it ends too early"
    # Before Python 3.14 its TOML parser names the line in its text alone.
    number = getattr(error, "lineno", None) or next(
        iter(re.findall(r"\(at line (\d+), column \d+\)$", str(error))), None
    )
    return "" if number is None else f": see line {number}"


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise ValueError
    return unique


class Fields:
    """The entries of a table in such a file. Each is checked when it is taken; `finish` refuses entries that were not.

    `data` is the parser's result, and anything but a dict is refused; `where` is how messages name the place.

    Examples
    --------
    >>> fields = Fields({"low": 0, "high": 2.5}, "bounds.toml: columns.age")
    >>> fields.number("low"), fields.number("high")
    (0.0, 2.5)
    >>> fields.finish()
    """

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise FileError(f"{where} must be a table of names and values")
        self._data: dict[str, Any] = dict(data)
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def peek(self, key: str) -> Any:
        """A value as it stands, left for a later check."""
        return self._data.get(key)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._data))

    def take(self, key: str, default: Any = _REQUIRED) -> Any:
        """A value as it stands."""
        value = self._data.pop(key, default)
        if value is _REQUIRED:
            raise FileError(f"{self.where} lacks '{key}'")
        return value

    def _checked(self, key: str, good: Callable[[Any], bool], kind: str, default: Any) -> Any:
        value = self.take(key, default)
        if value is not default and not good(value):
            raise FileError(f"{self.where}: '{key}' must be {kind}")
        return value

    def text(self, key: str, default: Default = _REQUIRED) -> str | Default:
        """A printable, non-empty string."""
        result: str | Default = self._checked(key, is_name, "a non-empty printable text", default)
        return result

    def flag(self, key: str, default: Default = _REQUIRED) -> bool | Default:
        """True or false."""
        result: bool | Default = self._checked(key, lambda value: isinstance(value, bool), "true or false", default)
        return result

    def count(self, key: str, default: Default = _REQUIRED, least: int = 1) -> int | Default:
        """A whole number of at least `least`, and below 2^53."""
        kind = f"a whole number of at least {least}"
        result: int | Default = self._checked(
            key, lambda value: _is_integer(value) and least <= value < 2**53, kind, default
        )
        return result

    def number(
        self, key: str, default: Default = _REQUIRED, *, least: float = -math.inf, above: float = -math.inf
    ) -> float | Default:
        """A finite number, at least `least` and above `above`, as float."""
        limit = f" above {above:g}" if above > -math.inf else f" of at least {least:g}" if least > -math.inf else ""

        def good(value: Any) -> bool:
            return (isinstance(value, float) or _is_integer(value)) and _is_finite(value) and least <= value > above

        value = self._checked(key, good, f"a finite number{limit}", default)
        return value if value is default else float(value)

    def names(self, key: str, default: Default = _REQUIRED) -> list[str] | Default:
        """A list of different printable strings."""

        def good(value: object) -> bool:
            return isinstance(value, list) and all(map(is_name, value)) and len(set(value)) == len(value)

        result: list[str] | Default = self._checked(key, good, "a list of different texts", default)
        return result

    def counts(self, key: str, default: Default = _REQUIRED) -> list[int] | Default:
        """A list of whole numbers of at least 0."""

        def good(value: object) -> bool:
            return isinstance(value, list) and all(_is_integer(each) and 0 <= each < 2**53 for each in value)

        result: list[int] | Default = self._checked(key, good, "a list of whole numbers", default)
        return result

    def table(self, key: str, default: Default = _REQUIRED) -> "Fields | Default":
        """A table within."""
        value = self.take(key, default)
        return value if value is default else Fields(value, f"{self.where}: {quoted(key)}")

    def tables(self, key: str) -> "list[Fields]":
        """A list of tables."""
        rows: Any = self._checked(key, lambda value: isinstance(value, list), "a list", _REQUIRED)
        return [Fields(row, f"{self.where}: {key}[{place}]") for place, row in enumerate(rows)]

    def finish(self) -> None:
        """Refuse keys that were not taken."""
        if self._data:
            raise FileError(
                f"{self.where} has an unknown entry {ascii(next(iter(self._data)))[:80]}; check its spelling"
            )


def quoted(name: str) -> str:
    """A name as messages show it: in quotes, escaped, and cut where it is very long."""
    return repr(name) if len(name) <= 100 else repr(name[:100]) + "..."


def listed(names: Sequence[str]) -> str:
    """Names as messages show them: the first twenty."""
    return ", ".join(map(quoted, names[:20])) + (", ..." if len(names) > 20 else "")


def alternatives(name: str, names: Sequence[str]) -> str:
    """What a message says to somebody who mistyped a name: the nearest one, and all there are.

    Examples
    --------
    >>> alternatives("cots", ["age", "cost"])
    "did you mean 'cost'? The columns are 'age', 'cost'"
    """
    near = difflib.get_close_matches(name, names, n=1)
    return (f"did you mean {quoted(near[0])}? The" if near else "the") + f" columns are {listed(names)}"


def is_name(value: object) -> TypeGuard[str]:
    """Whether a value is a text fit to be printed."""
    return isinstance(value, str) and value != "" and value.isprintable()


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False

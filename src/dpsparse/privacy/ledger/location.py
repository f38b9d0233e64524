"""The place of a ledger, and the names of datasets in it.

Symbolic links in a file's path are resolved here, once: SQLite keeps a journal beside the name by which it opens a
file, and all links to a ledger must lead to one journal (`sqlite_file`).
"""

import os
import re
import unicodedata
from collections.abc import Collection, Iterable

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

# Alphabets with letters that look like those of another.
_ALIKE_ALPHABETS = {"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "GOTHIC", "DESERET"}

# Cyrillic and Greek letters that look like Latin ones, for names written in one of these alphabets alone.
_LATIN_SHAPES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405"
    "\u03bf\u03bd\u03b1\u03b9\u03c1"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "aeopcyxijshdqwABEKMHOPCTYXIJSovaipABEZHIKMNOPTYX",
)

# Characters that print as nothing or as a blank, though Python counts them as printable.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def url_of(location: object) -> URL:
    """The URL of a path or a URL; ValueError, without a password in it, where no ledger can be kept there."""
    if not isinstance(location, str | os.PathLike) or not str(location):
        raise ValueError("ledger must be a path, a database URL or a PrivacyLedger")
    text = str(location)
    if "://" not in text:
        return URL.create("sqlite", database=os.path.realpath(text))
    try:
        url = make_url(text)
        backend = url.get_backend_name()
        url.get_dialect()
    except NoSuchModuleError:
        raise ValueError("ledger: the URL's database is not known; use sqlite:// or postgresql://") from None
    except (ArgumentError, ValueError):
        # SQLAlchemy would quote the URL, and with it a password.
        raise ValueError("ledger: the URL could not be read; write postgresql://user@host/database") from None
    if url.password is not None and text.partition("://")[2].partition(":")[2].count("@") > 1:
        # SQLAlchemy ends a password at its first @: the rest of it would be shown as the host.
        raise ValueError("ledger: the URL has an @ too many; write %40 for one in a password, or use ~/.pgpass")
    if any("pass" in key.lower() for key in url.query):
        raise ValueError("ledger: no password in the URL's query; write user:password@host, or use ~/.pgpass")
    if backend == "sqlite":
        if url.query:
            raise ValueError("ledger: an SQLite URL takes no query; name the file, as in sqlite:///budget.db")
        if url.database in (None, "", ":memory:"):
            raise ValueError("ledger: a budget must outlive the process; name a file, as in sqlite:///budget.db")
        return url.set(database=os.path.realpath(str(url.database)))
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def check_name(dataset: object) -> None:
    """Raise ValueError unless this may be the name of a dataset."""
    if not isinstance(dataset, str) or not 0 < len(dataset) <= 200 or not dataset.isprintable():
        raise ValueError("dataset must be a name of 1 to 200 printable characters")
    if "://" in dataset and "@" in dataset:
        # Names are shown and kept for good, and a URL may hold a password.
        raise ValueError("dataset must be a name, not a database URL; were ledger and dataset swapped?")


def granted_name(dataset: object, granted: Collection[str]) -> str:
    """The name in a ledger that a spelling means.

    Names differ by what is seen: the spelling is normalised (Unicode's NFKC, blanks stripped and single). A ledger of
    an earlier release may hold a name that is not, which its own spelling finds.

    `dataset` is the name as the caller writes it, `granted` the names in the ledger.

    Examples
    --------
    >>> granted_name(" trial  7", {"trial 7"}), granted_name("old ", {"old "})
    ('trial 7', 'old ')
    """
    check_name(dataset)
    name = str(dataset)
    return name if name in granted else " ".join(unicodedata.normalize("NFKC", name).split())


def check_new_name(name: str) -> None:
    """Raise ValueError unless a budget may be granted under this normalised name: it must look like no other."""
    check_name(name)
    if _INVISIBLE.search(name):
        raise ValueError("dataset has a character that cannot be seen; two names would look the same: leave it out")
    alphabets = {unicodedata.name(letter, "").partition(" ")[0] for letter in name if letter.isalpha()}
    if len(alphabets & _ALIKE_ALPHABETS) > 1:
        mixed = " and ".join(sorted(alphabet.title() for alphabet in alphabets & _ALIKE_ALPHABETS))
        raise ValueError(f"dataset mixes {mixed} letters, some of which look the same; write the name in one alphabet")


def check_unlike(name: str, granted: Iterable[str]) -> None:
    """Raise ValueError if a granted name differs from this one in case, blanks, dashes or look-alikes alone."""
    for other in granted:
        if _shape(other) == _shape(name):
            raise ValueError(
                f"dataset {name!r} is written like {other!r}, which has a budget; use that name, or an unlike one for "
                "other people"
            )


def _shape(name: str) -> str:
    """What is seen of a name: equal for names that differ in case, blanks, dashes or look-alike letters alone."""
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", unicodedata.normalize("NFKC", name)))
    seen = ["-" if unicodedata.category(each) == "Pd" else each for each in text.translate(_LATIN_SHAPES)]
    return "".join("".join(str(unicodedata.digit(each, each)) for each in seen).casefold().split())

"""Error messages without passwords: a message may quote the URL of a ledger as it was typed."""

import re

# A path made of a URL keeps one of its slashes; what is not percent-encoded may hold a space or an @. Too much
# may be hidden, never too little.
_IN_URL = re.compile(r"(:/+[^/\s:]*):[^@\n]*@(?:\S*@)?")
_IN_QUERY = re.compile(r"([?&]\w*pass\w*=)[^&\s'\"]*", re.IGNORECASE)


def without_passwords(text: str) -> str:
    """The text, with *** for the passwords of the URLs in it.

    Examples
    --------
    >>> without_passwords("No such command 'postgresql://me:secret@host/db'.")
    "No such command 'postgresql://me:***@host/db'."
    """
    return _IN_QUERY.sub(r"\1***", _IN_URL.sub(r"\1:***@", text))


def one_line(error: BaseException) -> str:
    """An error as one line, without passwords."""
    return without_passwords(" ".join(str(error).split())) or type(error).__name__

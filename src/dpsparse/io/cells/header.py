"""Whether a first line names columns: names are printed, and a record must not pass for them."""

import re

from dpsparse.io.cells.number_grammar import read_number

# What a record holds and a name does not: dates with a month in words or a time, e-mail addresses, UUIDs and values
# that programs write for nothing, yes and no.
_NO_NAME = re.compile(
    r"""\d{4}-\d\d-\d\d.*
    |\d{1,4}[-/.\s]*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/.,\s]*\d{1,4}.*
    |(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/.,\s]+\d{1,2}[-/.,\s]+\d{2,4}.*
    |[^@\s]+@[^@\s]+\.[^@\s]+
    |[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}
    |nan|null|none|true|false""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def may_be_a_name(text: str) -> bool:
    """Whether a cell of the first line may be the name of a column, as far as it tells by itself."""
    text = text.strip()
    digits, letters = any(map(str.isdigit, text)), any(map(str.isalpha, text))
    return not (digits and (not letters or _is_number(text))) and not _NO_NAME.fullmatch(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        # EUR 1.234,50 is an amount, while EUR 2019 may be the name of a column.
        return read_number(text) is not None and not "".join(text.split()).isalnum()
    return True

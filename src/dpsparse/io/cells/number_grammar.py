r"""How people write numbers: signs, currencies, percent, decimals, and groups of three digits.

==============================  ========================================================================================
before or after the digits      a sign, a currency (a sign such as €, a code such as EUR, ``kr``, ``US$``), once
after the digits only           ``%``, a minus as in ``12-``, no cents as in ``12,-``
around them                     parentheses, which mean a minus
between groups of three digits  a comma, a dot, an apostrophe or a space, be it plain, thin or one that does not break
==============================  ========================================================================================

Groups by spaces and apostrophes leave no doubt, and a dot or a comma after them is decimal. Of groups by commas or dots
the column decides; see `grammar`.
"""

import re
from typing import NamedTuple

# A space, one that does not break, a figure space, a thin one, and a narrow one that does not break.
_SPACE = r"[\s\u00a0\u2007\u2009\u202f]"
_MARK = r"[ \u00a0\u2007\u2009\u202f'\u2019]"
_MINUS = "\u2212-"
# The most traded currencies (BIS, 2022), by their codes, and two words of which a code is rarely written.
CURRENCIES = frozenset(
    (
        *("aed", "ars", "aud", "bgn", "bhd", "brl", "cad", "chf", "clp", "cnh", "cny", "cop", "czk", "dkk"),
        *("eur", "gbp", "hkd", "huf", "idr", "ils", "inr", "jpy", "krw", "mxn", "myr", "nok", "nzd", "pen"),
        *("php", "pln", "ron", "rub", "sar", "sek", "sgd", "thb", "try", "twd", "usd", "zar", "kr", "zł"),
    )
)
# A sign, a dollar after at most two letters that say whose, or a word.
_CURRENCY = r"(?:[£¥฿\u20a0-\u20cf]|[a-z]{0,2}\$|[a-zł]{2,3})"

# Nothing is given back once it is read (`++`, `*+`, `?+`, `(?>`), so that a long text is read once.
_NUMBER = re.compile(
    rf"(?P<outer>\(?+)(?:(?P<first>[+{_MINUS}]){_SPACE}*+)?+(?:(?P<before>{_CURRENCY}){_SPACE}*+)?+"
    rf"(?:(?P<second>[+{_MINUS}]){_SPACE}*+)?+(?P<inner>\(?+)"
    rf"(?P<body>(?>[1-9][0-9]{{0,2}}(?P<mark>{_MARK})[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*+(?:[.,][0-9]*+)?+)|[0-9.,]++)"
    rf"(?P<exponent>e[+-]?[0-9]++)?+(?P<cents>(?<=[.,])(?:--?|[\u2013\u2014]))?(?P<third>[{_MINUS}]?)"
    rf"(?:{_SPACE}*+(?:%|(?P<after>{_CURRENCY})))?(?P<fourth>[{_MINUS}]?)(?P<close>\)?)",
    re.ASCII,
)
_PLAIN = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_DECIMAL_COMMA = re.compile(r"(?:[0-9]+|[1-9][0-9]{0,2}(?:\.[0-9]{3})+),[0-9]*|,[0-9]+")
_DOTS = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+")


class Readings(NamedTuple):
    """A number as Python writes it, in each way to read its dots and commas; None where it cannot be read so.

    `plain`: a dot is decimal and there is no comma. `grouped`: commas are between thousands. `comma`: a comma is
    decimal and dots are between thousands.
    """

    plain: str | None
    grouped: str | None
    comma: str | None


def read_number(text: str) -> Readings | None:
    """The readings of a stripped text; None where it is no number.

    Examples
    --------
    >>> read_number("EUR 1.234,50-").comma, read_number("1'234.50").plain, read_number("(1,234)").grouped
    ('-1234.50', '1234.50', '-1234')
    """
    match = _NUMBER.fullmatch(text.lower())
    if match is None:
        return None
    outer, first, before, second, inner, body, mark, exponent, cents, third, after, fourth, close = match.groups("")
    currency, signs = before + after, first + second + third + fourth
    parentheses = len(outer + inner)
    if (before and after) or (currency[-1:].isalpha() and currency not in CURRENCIES):
        return None
    if len(signs) + parentheses > 1 or parentheses != len(close):
        return None
    sign = "-" if parentheses or (signs and signs in _MINUS) else ""
    if mark:
        body = body.replace(mark, "")
    plain = body if _PLAIN.fullmatch(body) else None
    grouped = body.replace(",", "") if not mark and _THOUSANDS.fullmatch(body) else None
    comma = _DECIMAL_COMMA.fullmatch(body) or (not mark and _DOTS.fullmatch(body))
    # Dots before each three digits are between thousands where commas are decimal.
    readings = plain, grouped, body.replace(".", "").replace(",", ".") if comma else None
    if not any(readings) or (exponent and (mark or cents or third or fourth)):
        return None
    return Readings(*(None if digits is None else sign + digits + exponent for digits in readings))

import datetime
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.io.cells.grammar import N_BUCKETS, CellClass, Kind, bucket, classify, value

NUMBERS = (Kind.number, Kind.number_grouped, Kind.number_comma)
DATES = (Kind.date_ymd, Kind.date_dmy, Kind.date_mdy)


@pytest.mark.parametrize(
    ("texts", "cell_class"),
    [
        ("|  |NA|n/a|N/A|NaN|NULL|None|nil|-|?|.|inf|-Inf|+infinity|1e999|-1e400", "EMPTY"),
        ("0|12| 12 |-1.5|+3|.5|5.|1e-3|1E5|$5|-$5|$-5|€ 7.5|5%|5 %|£1e3|1.234|00012", "NUMBER"),
        ("1 234|1 234 567.5|1'234.50|1\u2019234|1\u00a0234|1\u2009234|1\u202f234 %|CHF 1'234.50|1 234.50 $", "NUMBER"),
        ("5$|5 EUR|usd 5|US$ 5|R$5|5 kr|zł 5|5 zł|₹ 5|5\u00a0€|CHF 12.\u2013", "NUMBER"),
        ("12-|\u22125|- 5|5 €-|(5)|($5)|$(5)|12.-", "NUMBER"),
        ("1,234.5|1,234,567|-1,234.|$1,234.50|12,345,678.9|1,234,567 %|(1,234.50)|USD 1,234.50|1,234.5-", "GROUPED"),
        ("1,5|1.234,5|0,123|1234,567|,5|5,|1.234.567|-1,25|€1.234,50|1,5e3|12,3456|0,5%", "COMMA"),
        ("1 234,50|1'234,5|1\u202f234\u202f567,8|1 234,567|1.234,50 €|EUR 1.234,50|1.234,50-|12,-|1.234,--", "COMMA"),
        ("1,234|-12,345|$123,456|999,000|1,234 $|(1,234)", "EITHER"),
        ("true|FALSE|Yes|no|t|F|y|N", "BOOLEAN"),
        ("2024-01-31|2024/1/5|2024.01.31|2024-01-31T10:30|2024-01-31 10:30:59.25+02:00|1600-02-29", "DATE_YMD"),
        ("31/01/2024|13.12.2023|31-1-99|29/02/2024 08:00", "DATE_DMY"),
        ("01/31/2024|12-13-2023|2/29/2024|1.31.99", "DATE_MDY"),
        ("01/02/2024|3-4-99|05.05.2024|12/12/2012 23:59:59Z", "DATE_EITHER"),
        ("north|1,23,4|1.2.3|12 kg|$|,|.,|%|--5|-$-5|$$5|1e|e5|1_0|0x1F|1e5.0|yes!|nan1|١٢|1,234,", "TEXT"),
        ("1 23|0 123|1 234 56|1'234 567|1 234.567,8|1 234e5|1  234|1234 567|EUR|5 EUR %|EUR 5 $|europe 5|FR 5", "TEXT"),
        ("-5-|5--|+-5|(-5)|(5|5)|(5-)|((5))|$ -|1e5-|5 kronor|12 - 3|()", "TEXT"),
        ("2024-02-30|2023-02-29|32/01/2024|2024-13-01|0000-01-01|2024-01/31|2024-01-31T24:00|31/01/024", "TEXT"),
        ("2024-01-31 10|2024-01-31 10:60|2024-01-31 10:30+25:00|12345-01-01|1-2024-3", "TEXT"),
    ],
)
def test_classes(texts, cell_class):
    assert {text: classify(text).name for text in texts.split("|")} == dict.fromkeys(texts.split("|"), cell_class)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1.5", {kind: 1.5 for kind in NUMBERS}),
        ("-$1,234.50", {Kind.number_grouped: -1234.5}),
        ("1,234", {Kind.number_grouped: 1234.0, Kind.number_comma: 1.234}),
        ("€ 1.234,5", {Kind.number_comma: 1234.5}),
        # Where commas are decimal, a dot before three digits is between thousands; any other dot is decimal.
        ("1.234", {Kind.number: 1.234, Kind.number_grouped: 1.234, Kind.number_comma: 1234.0}),
        ("0.234", {kind: 0.234 for kind in NUMBERS}),
        ("12 %", {kind: 12.0 for kind in NUMBERS}),
        # Groups by spaces and apostrophes are in no doubt, and what follows them is decimal.
        ("1 234.567", {kind: 1234.567 for kind in NUMBERS}),
        ("1'234'567", {kind: 1234567.0 for kind in NUMBERS}),
        ("1 234,50", {Kind.number_comma: 1234.5}),
        ("1.234,50 €", {Kind.number_comma: 1234.5}),
        ("EUR 1.234,50", {Kind.number_comma: 1234.5}),
        ("1'234.50", {kind: 1234.5 for kind in NUMBERS}),
        ("1.234,50- EUR", {Kind.number_comma: -1234.5}),
        ("$ (1,234.50)", {Kind.number_grouped: -1234.5}),
        # No cents, not a minus.
        ("12,-", {Kind.number_comma: 12.0}),
        ("12.-", {kind: 12.0 for kind in NUMBERS}),
        ("Yes", {Kind.boolean: 1.0}),
        ("f", {Kind.boolean: 0.0}),
        ("1970-01-02", {Kind.date_ymd: 1.0}),
        ("1969-12-31 18:00", {Kind.date_ymd: -0.25}),
        ("1970-01-01T00:00:00-06:00", {Kind.date_ymd: 0.25}),
        ("02/01/1970", {Kind.date_dmy: 1.0, Kind.date_mdy: 31.0}),
        ("02/01/70", {Kind.date_dmy: 1.0, Kind.date_mdy: 31.0}),
        ("north", {}),
        ("", {}),
        ("1e999", {}),
    ],
)
def test_values(text, values):
    found = {kind: value(text, kind) for kind in Kind if not math.isnan(value(text, kind))}
    assert found == values
    assert all(classify(text) in kind.reads for kind in values)


def test_years_of_two_digits():
    assert value("31/12/68", Kind.date_dmy) == value("31/12/2068", Kind.date_dmy)
    assert value("31/12/69", Kind.date_dmy) == value("31/12/1969", Kind.date_dmy) == -1


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_is_read_as_written(number):
    for text in (repr(number), f"{number:.17g}", f"{number / 2:.3e}"):
        assert struct.pack("d", value(text, Kind.number)) == struct.pack("d", float(text))


@given(st.integers(-(10**15), 10**15), st.integers(0, 99))
def test_separators(whole, cents):
    number = float(f"{whole}.{cents:02}")
    grouped = f"{whole:,}.{cents:02}"
    assert value(grouped, Kind.number_grouped) == number
    swapped = grouped.replace(",", " ").replace(".", ",").replace(" ", ".")
    assert value(swapped, Kind.number_comma) == number
    for mark in " \u00a0\u2007\u2009\u202f'\u2019":
        for text in (grouped.replace(",", mark), f"{grouped.replace(',', mark)} EUR"):
            assert [value(text, kind) for kind in NUMBERS] == [number] * 3
        assert value(swapped.replace(".", mark) + "\u00a0€", Kind.number_comma) == number


@given(st.datetimes(min_value=datetime.datetime(1, 1, 2), max_value=datetime.datetime(9999, 12, 30)), st.booleans())
def test_dates_are_those_of_the_calendar(moment, with_time):
    if not with_time:
        moment = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    time = moment.time().isoformat("microseconds") if with_time else ""
    expected = (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    year, month, day = f"{moment.year:04}", moment.month, moment.day
    texts = (f"{year}-{month:02}-{day:02} {time}", f"{day}/{month}/{year} {time}", f"{month}.{day}.{year} {time}")
    assert [value(text, kind) for text, kind in zip(texts, DATES, strict=True)] == [expected] * 3
    assert value(texts[1], Kind.date_mdy) == expected or month != day
    assert (classify(texts[1]) == CellClass.DATE_EITHER) == (day <= 12)


@given(st.text(max_size=40))
def test_every_text_has_one_class_and_a_bucket(text):
    cell_class = classify(text)
    readable = [kind for kind in Kind if not math.isnan(value(text, kind))]
    assert all(cell_class in kind.reads for kind in readable)
    assert cell_class == classify(f"  {text}\t")
    assert 0 <= bucket(text) < N_BUCKETS
    assert bucket(text) == bucket(text.strip())


@pytest.mark.slow
def test_long_cells_take_no_time():
    for piece in ("1", "1,", "1.", "1,234", " ", "-", "$", "e5", "2024-", " 123", "'123", "(", "kr", "EUR ", "1 "):
        text = piece * (2**20 // len(piece))
        for start in ("", "1", "-", "1 234", "EUR", "("):
            assert classify(f"{start}{text}") == classify(f"{start}{text}")
            assert classify(f"{start}{text}x") == CellClass.TEXT

"""CSV files: commas, UTF-8, the first line names the columns, a dot in decimals."""

import re

from dpsparse.engine import config
from dpsparse.engine.refusals import NOT_A_NAME
from dpsparse.io.tables.arrow import ArrowReader, skip_rows
from dpsparse.schema import FileError

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


class CsvReader(ArrowReader):
    """A CSV file. It has no schema: only its values show which columns are text, and which first line holds names."""

    kind = "CSV"
    declares_names = False

    def _read_names(self):
        from pyarrow import csv

        with csv.open_csv(self.path, **_options()) as reader:
            names = reader.schema.names
        # Names are printed: a first record must not pass for them.
        if not all(map(_may_be_a_name, names)):
            raise FileError(NOT_A_NAME.format(path=self.path))
        return names

    def _text_columns(self):
        return []

    def _n_records(self):
        return None

    def _arrow(self, numbers, categories):
        import pyarrow
        from pyarrow import csv

        try:
            return csv.read_csv(self.path, **_options(_types(numbers, categories)))
        except pyarrow.ArrowInvalid as error:
            _raise_unless_conversion(error)
        return _parsed(csv.read_csv(self.path, **_options(_types([], [*numbers, *categories]))), numbers)

    def _batches(self, numbers, categories, start):
        import pyarrow
        from pyarrow import csv

        try:
            with csv.open_csv(self.path, **_options(_types(numbers, categories))) as reader:
                for batch in skip_rows(reader, start):
                    yield batch
                    start += batch.num_rows
            return
        except pyarrow.ArrowInvalid as error:
            _raise_unless_conversion(error)
        with csv.open_csv(self.path, **_options(_types([], [*numbers, *categories]))) as reader:
            for batch in skip_rows(reader, start):
                yield _parsed(batch, numbers)


def _types(numbers, text):
    """The types of the columns to read."""
    import pyarrow

    return dict.fromkeys(numbers, pyarrow.float64()) | dict.fromkeys(text, pyarrow.string())


def _options(types=None):
    """Options of pyarrow; without `types` it reads all columns and infers their types."""
    from pyarrow import csv

    columns = {} if types is None else {"column_types": types, "include_columns": list(types)}
    return {
        "read_options": csv.ReadOptions(block_size=config.current.csv_block_bytes),
        "parse_options": csv.ParseOptions(newlines_in_values=True),
        "convert_options": csv.ConvertOptions(**columns),
    }


def _raise_unless_conversion(error):
    """Raise an error again unless it says that a cell is not a number: then the columns are read as text instead."""
    if "CSV conversion error" not in str(error):
        raise error


def _parsed(columns, numbers):
    """Text as numbers. A cell that is none becomes NaN, which a fit refuses with one text whatever the column."""
    import pyarrow

    for name in numbers:
        values = pyarrow.array([_number(cell) for cell in columns[name].to_pylist()], pyarrow.float64())
        columns = columns.set_column(columns.schema.get_field_index(name), name, values)
    return columns


def _number(text):
    try:
        return float("" if text is None or "_" in text else text)
    except ValueError:
        return float("nan")


def _may_be_a_name(text):
    """Whether a cell of the first line may be the name of a column, as far as it tells by itself."""
    text = text.strip()
    digits, letters = any(map(str.isdigit, text)), any(map(str.isalpha, text))
    return not (digits and (not letters or _is_number(text))) and not _NO_NAME.fullmatch(text)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True

"""CSV files: commas, UTF-8, the first line names the columns, a dot in decimals."""

from dpsparse.engine import config
from dpsparse.io.tables.arrow import ArrowReader, skip_rows
from dpsparse.schema import FileError


class CsvReader(ArrowReader):
    """A CSV file. It has no schema: only its values show which columns are text."""

    kind = "CSV"

    def _read_names(self):
        from pyarrow import csv

        with csv.open_csv(self.path, **_options()) as reader:
            names = reader.schema.names
        # Names are printed: a first record must not pass for them.
        if any(_is_number(name) for name in names):
            raise FileError(f"{self.path}: the first line must name the columns, and a number is no name")
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


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return any(map(str.isdigit, text))

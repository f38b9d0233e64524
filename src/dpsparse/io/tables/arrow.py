"""CSV and Parquet files, by pyarrow, which is imported when one is read."""

import numpy as np

from dpsparse.io.tables.base import Table, block_rows
from dpsparse.schema import FileError, quoted

# Bytes of a CSV file parsed at a time; no record may be longer.
CSV_BLOCK = 2**22


class ArrowTable(Table):
    """What CSV and Parquet share once they are Arrow columns."""

    def _text_columns(self):
        return [field.name for field in self._schema() if not _is_number(field.type)]

    def _read(self, numbers, categories):
        return self._values(self._arrow(numbers, categories), numbers, categories)

    def _blocks(self, numbers, categories, start):
        from pyarrow import Table as Columns

        for batch in self._batches(numbers, categories, start):
            yield self._values(Columns.from_batches([batch]), numbers, categories)

    def _values(self, columns, numbers, categories):
        import pyarrow
        from pyarrow import compute, float64, string

        matrix = np.empty((columns.num_rows, len(numbers)), order="F")
        for place, name in enumerate(numbers):
            if not _is_number(columns[name].type):
                raise self.not_numbers(name)
            matrix[:, place] = columns[name].cast(float64(), safe=False).to_numpy()
        codes = {}
        for name, public in categories.items():
            found = compute.index_in(columns[name].cast(string()), value_set=pyarrow.array(public, string()))
            codes[name] = found.fill_null(-1).to_numpy()
        return matrix, codes

    def not_numbers(self, name):
        """The error for text in a column of numbers."""
        return FileError(
            f"{self.path}: column {quoted(name)} holds text; in the bounds file list its public categories, or drop it"
        )


def _is_number(arrow_type):
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(arrow_type) for test in tests)


def _after(batches, skipped):
    """Batches without their first rows."""
    for batch in batches:
        if skipped < batch.num_rows:
            yield batch.slice(skipped)
        skipped = max(0, skipped - batch.num_rows)


class CsvTable(ArrowTable):
    """A CSV file: commas, UTF-8, the first line names the columns, a dot in decimals."""

    kind = "CSV"

    def _text_columns(self):
        return []

    def _n_records(self):
        return None

    def _read_names(self):
        from pyarrow import csv

        with csv.open_csv(self.path, **self._format()) as reader:
            names = reader.schema.names
        # A first record taken for names would be printed.
        if any(_parses(name) for name in names):
            raise FileError(f"{self.path}: the first line must name the columns, and a number is no name")
        return names

    def _arrow(self, numbers, categories):
        import pyarrow
        from pyarrow import csv

        as_numbers, as_text = self._types(numbers, categories)
        try:
            return csv.read_csv(self.path, **self._format(as_numbers))
        except pyarrow.ArrowInvalid as error:
            _refuse_unless_a_cell(error)
        return _parsed(csv.read_csv(self.path, **self._format(as_text)), numbers)

    def _batches(self, numbers, categories, start):
        import pyarrow
        from pyarrow import csv

        as_numbers, as_text = self._types(numbers, categories)
        try:
            with csv.open_csv(self.path, **self._format(as_numbers)) as reader:
                for batch in _after(reader, start):
                    yield batch
                    start += batch.num_rows
            return
        except pyarrow.ArrowInvalid as error:
            _refuse_unless_a_cell(error)
        with csv.open_csv(self.path, **self._format(as_text)) as reader:
            for batch in _after(reader, start):
                yield _parsed(batch, numbers)

    @staticmethod
    def _types(numbers, categories):
        """The columns' types where all cells of numbers are some, and where one is none."""
        import pyarrow

        text = dict.fromkeys(categories, pyarrow.string())
        return dict.fromkeys(numbers, pyarrow.float64()) | text, dict.fromkeys(numbers, pyarrow.string()) | text

    @staticmethod
    def _format(types=None):
        from pyarrow import csv

        known = {} if types is None else {"column_types": types, "include_columns": list(types)}
        return {
            "read_options": csv.ReadOptions(block_size=CSV_BLOCK),
            "parse_options": csv.ParseOptions(newlines_in_values=True),
            "convert_options": csv.ConvertOptions(**known),
        }


def _refuse_unless_a_cell(error):
    """Raise an error again unless it says that some cell is no number."""
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


def _parses(text):
    try:
        float(text)
    except ValueError:
        return False
    return any(map(str.isdigit, text))


class ParquetTable(ArrowTable):
    """Parquet files with the same flat columns."""

    kind = "Parquet"

    def _schema(self, file=None):
        from pyarrow import parquet

        return parquet.read_schema(self.files[0] if file is None else file)

    def _read_names(self):
        names = self._schema().names
        if any(self._schema(file).names != names for file in self.files[1:]):
            raise FileError(f"{self.path}: its .parquet files must all have the same columns in the same order")
        return names

    def _n_records(self):
        from pyarrow import parquet

        return sum(parquet.read_metadata(file).num_rows for file in self.files)

    def _arrow(self, numbers, categories):
        import pyarrow
        from pyarrow import parquet

        parts = []
        for path in self.files:
            with parquet.ParquetFile(path) as file:
                parts.append(file.read(columns=[*numbers, *categories]))
        return pyarrow.concat_tables(parts, promote_options="permissive") if len(parts) > 1 else parts[0]

    def _batches(self, numbers, categories, start):
        from pyarrow import parquet

        names = [*numbers, *categories]
        for path in self.files:
            # Mapped, so that a row group larger than memory is no harm.
            with parquet.ParquetFile(path, memory_map=True) as file:
                sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
                first = 0
                while first < len(sizes) and start >= sizes[first]:
                    start, first = start - sizes[first], first + 1
                if first < len(sizes):
                    groups = list(range(first, len(sizes)))
                    yield from _after(file.iter_batches(block_rows(len(names)), groups, names), start)
                    start = 0

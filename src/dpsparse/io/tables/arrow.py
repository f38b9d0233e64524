"""Numbers and text from Arrow columns: what the formats that pyarrow reads share. pyarrow is imported on first use."""

import numpy as np

from dpsparse.io.tables.reader import TableReader
from dpsparse.schema import FileError, quoted


class ArrowReader(TableReader):
    """A format that pyarrow reads.

    Subclasses implement `_read_names`, `_n_records` and `_schema`; `_arrow`, which gives all rows of some columns as an
    Arrow table; and `_batches`, which gives them as record batches from a row on.
    """

    needs, extra = "pyarrow", "data"

    def _text_columns(self):
        return [field.name for field in self._schema() if not is_number(field.type)]

    def _read(self, numbers, categories):
        return self._values(self._arrow(numbers, categories), numbers, categories)

    def _texts(self, name):
        from pyarrow import string

        cells = self._arrow([], {name: []})[name]
        return ["" if cell is None else cell for cell in cells.cast(string()).to_pylist()]

    def _blocks(self, numbers, categories, start):
        from pyarrow import Table

        for batch in self._batches(numbers, categories, start):
            yield self._values(Table.from_batches([batch]), numbers, categories)

    def _values(self, columns, numbers, categories):
        import pyarrow
        from pyarrow import compute, float64, string

        matrix = np.empty((columns.num_rows, len(numbers)), order="F")
        for place, name in enumerate(numbers):
            if not is_number(columns[name].type):
                raise FileError(
                    f"{self.path}: column {quoted(name)} holds text; in the bounds file list its public categories, or "
                    "drop it"
                )
            matrix[:, place] = columns[name].cast(float64(), safe=False).to_numpy()
        codes = {}
        for name, public in categories.items():
            positions = compute.index_in(columns[name].cast(string()), value_set=pyarrow.array(public, string()))
            codes[name] = positions.fill_null(-1).to_numpy()
        return matrix, codes


def is_number(arrow_type):
    """Whether cells of this type can be read as numbers; a column of nulls can, as NaN."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(arrow_type) for test in tests)


def skip_rows(batches, count):
    """Record batches without their first rows."""
    for batch in batches:
        if count < batch.num_rows:
            yield batch.slice(count)
        count = max(0, count - batch.num_rows)

from dpsparse.audit.harness.raw_pairs import N_LINES
from dpsparse.audit.harness.raw_shapes import COLUMNS, STYLES, as_frame, as_lines, mixed, raw_shapes, with_column
from dpsparse.io.cells.raw_table import as_raw_table


def test_all_tables_have_the_same_public_shape(tmp_path):
    for number, table in enumerate(raw_shapes().values()):
        path = tmp_path / f"{number}.csv"
        path.write_bytes(as_lines(table))
        for read in (as_raw_table(path), as_raw_table(as_frame(table))):
            assert (read.n_records, list(read.names)) == (N_LINES, COLUMNS)


def test_every_column_is_of_every_style():
    tables = raw_shapes()
    for place, name in enumerate(COLUMNS):
        found = {tuple(record[place] for record in table if len(record) > place) for table in tables.values()}
        for style, cell in STYLES.items():
            assert tuple(cell(k) for k in range(N_LINES)) in found, (name, style)


def test_rows_and_columns_are_exchanged():
    own, others = [[b"a"] * 8, [b"b"] * 8], [[b"c"] * 8, [b"\xff"] * 8]
    assert mixed(own, others, lambda place: place == 1) == [own[0], others[1]]
    made = with_column(own, "member", others)
    assert [record[1] for record in made] == [b"c", "\N{REPLACEMENT CHARACTER}".encode()]
    assert [record[0] for record in made] == [b"a", b"b"]

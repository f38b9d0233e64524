"""A table with all that files hold, and what it gives as a store of cells."""

import numpy as np
import pandas as pd

from dpsparse.io.bounds import Bounds
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.cells.raw_table import as_raw_table
from dpsparse.io.convert import convert_cells
from dpsparse.io.provenance import cells_of

NUMERIC = [kind for kind in Kind if kind != Kind.text]
N = 1_500
# Chunks of 400 records of eight columns, blocks of 150, and batches of 100 of a Parquet file.
SMALL = {"store_chunk_bytes": 400 * 8 * 16, "csv_block_bytes": 150 * 8 * 16, "table_block_cells": 800}


def make_people():
    """All that files hold: an ID, gaps, thousands, True and False, dates, 100 towns, notes with commas and quotes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": [f"p{k:06d}" for k in range(N)],
            "age": rng.normal(50, 15, N).round(1),
            "fee": [f"{fee:,.1f}" for fee in rng.lognormal(8, 1, N)],
            "member": rng.choice(["True", "False"], N),
            "joined": pd.to_datetime(rng.integers(10_000, 19_000, N), unit="D").strftime("%d/%m/%Y"),
            "town": [f"town {k}" for k in rng.zipf(1.5, N).clip(1, 100)],
            "note": [f'words, "quoted" {k}' for k in range(N)],
        }
    )
    table.loc[rng.random(N) < 0.1, "age"] = np.nan
    table.loc[rng.random(N) < 0.1, "town"] = None
    effects = 100 * table.age.fillna(50) + 3_000 * (table.town == "town 1") + 1_000 * (table.member == "True")
    cost = effects + 500 * rng.standard_t(3, N)
    return table.assign(cost=[f"{each:.2f}" for each in cost])


def stored(table, folder, target="c", bounds=None):
    convert_cells(table, cells_of(table, bounds or Bounds(), target), folder)
    return as_raw_table(folder)


def everything(table):
    """All that a fit may ask of a raw table."""
    values = [table.numbers(table.names, [kind] * len(table.names)).tobytes() for kind in NUMERIC]
    of_columns = []
    for name in table.names:
        buckets = table.buckets(name)
        counts = [table.value_counts(name, each) for each in sorted({*buckets.tolist()} - {-1})[:9]]
        codes = table.category_codes(name, ["north", "true", "none", "12"]).tolist()
        of_columns.append((buckets.tolist(), counts, codes, table.texts(name)))
    counts = table.class_counts(table.names).tolist(), table.distinct_counts(table.names).tolist()
    return table.n_records, values, of_columns, counts

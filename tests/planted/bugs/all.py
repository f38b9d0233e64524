"""Every planted bug. An edit that no longer finds its piece of source is an error, so the list cannot go stale."""

import zlib

from bugs.accounting import ACCOUNTS, LEDGER
from bugs.all_at_once import ALL_AT_ONCE
from bugs.classifiers import CLASSIFIERS
from bugs.configurations import CONFIGURATIONS, SIZES
from bugs.counts import COUNTS
from bugs.draws import DRAWS
from bugs.evaluation import EVALUATION
from bugs.fits import FITS, TERMS
from bugs.forgeries import FORGERIES
from bugs.formulas import FORMULAS
from bugs.gaps import GAPS
from bugs.inequalities import INEQUALITIES
from bugs.mechanisms import NOISE, SENSITIVITIES
from bugs.newer import APP, FITTING, STORES
from bugs.people import PEOPLE
from bugs.program import PROGRAM
from bugs.raw_paths import RAW_PATHS
from bugs.raw_tables import RAW_TABLES
from bugs.reading import READING
from bugs.references import REFERENCES
from bugs.tuning import SHARED_UNITS, TUNING
from bugs.two_part import TUNED_TWO_PARTS, TWO_PART
from bugs.units import UNITS

# CI hunts one in so many, by a hash of its name; `pytest -m long` hunts them all.
ONE_IN = 40
BUGS = (
    *(*NOISE, *SENSITIVITIES, *ACCOUNTS, *LEDGER, *TERMS, *FITS, *GAPS, *UNITS, *ALL_AT_ONCE, *TUNING, *SHARED_UNITS),
    *(*EVALUATION, *READING, *RAW_TABLES, *RAW_PATHS, *DRAWS, *PROGRAM, *CONFIGURATIONS, *SIZES),
    *(*FITTING, *STORES, *APP, *INEQUALITIES, *FORGERIES, *REFERENCES, *CLASSIFIERS, *PEOPLE, *TWO_PART, *COUNTS),
    *TUNED_TWO_PARTS,
    *FORMULAS,
)


def in_ci(bug):
    """Whether CI hunts a bug."""
    return zlib.crc32(bug.name.encode()) % ONE_IN == 0

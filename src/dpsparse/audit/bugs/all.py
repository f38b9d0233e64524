"""Every planted bug. An edit that no longer finds its piece of source is an error, so the list cannot go stale."""

from dpsparse.audit.bugs.accounting import ACCOUNTS, LEDGER
from dpsparse.audit.bugs.all_at_once import ALL_AT_ONCE
from dpsparse.audit.bugs.configurations import CONFIGURATIONS, SIZES
from dpsparse.audit.bugs.draws import DRAWS
from dpsparse.audit.bugs.evaluation import EVALUATION
from dpsparse.audit.bugs.fits import FITS, TERMS
from dpsparse.audit.bugs.forgeries import FORGERIES
from dpsparse.audit.bugs.gaps import GAPS
from dpsparse.audit.bugs.inequalities import INEQUALITIES
from dpsparse.audit.bugs.mechanisms import NOISE, SENSITIVITIES
from dpsparse.audit.bugs.newer import APP, FITTING, STORES
from dpsparse.audit.bugs.program import PROGRAM
from dpsparse.audit.bugs.raw_paths import RAW_PATHS
from dpsparse.audit.bugs.raw_tables import RAW_TABLES
from dpsparse.audit.bugs.reading import READING
from dpsparse.audit.bugs.tuning import SHARED_UNITS, TUNING
from dpsparse.audit.bugs.units import UNITS

# Those that came last: CI hunts all of them, and a sample of the others.
NEWEST = (*FITTING, *STORES, *APP, *SHARED_UNITS, *INEQUALITIES, *FORGERIES, *RAW_PATHS)
MUTATIONS = (
    *(*NOISE, *SENSITIVITIES, *ACCOUNTS, *LEDGER, *TERMS, *FITS, *GAPS, *UNITS, *ALL_AT_ONCE, *TUNING),
    *(*EVALUATION, *READING, *RAW_TABLES, *DRAWS, *PROGRAM, *CONFIGURATIONS, *SIZES, *NEWEST),
)

"""Every planted bug. A piece of source that an edit no longer finds is an error: the list cannot go stale unnoticed."""

from dpsparse.audit.bugs_in_fits import FITS, TERMS
from dpsparse.audit.bugs_in_privacy import ACCOUNTS, LEDGER, NOISE, SENSITIVITIES
from dpsparse.audit.bugs_in_tuning import TUNING

MUTATIONS = (*NOISE, *SENSITIVITIES, *ACCOUNTS, *LEDGER, *TERMS, *FITS, *TUNING)

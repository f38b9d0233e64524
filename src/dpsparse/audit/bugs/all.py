"""Every planted bug. A piece of source that an edit no longer finds is an error: the list cannot go stale unnoticed."""

from dpsparse.audit.bugs.fits import FITS, TERMS
from dpsparse.audit.bugs.privacy import ACCOUNTS, LEDGER, NOISE, SENSITIVITIES
from dpsparse.audit.bugs.tuning import TUNING

MUTATIONS = (*NOISE, *SENSITIVITIES, *ACCOUNTS, *LEDGER, *TERMS, *FITS, *TUNING)

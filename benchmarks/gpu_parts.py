"""The parts of a fit that the CPU does, as `gpu.py` clocks them: their homes, their names and what they add up to."""

from dpsparse.algorithms.pursuit import releases, updates
from dpsparse.algorithms.pursuit.quantiles import Tally
from dpsparse.algorithms.pursuit.releases import Releases
from dpsparse.data.remote_table import RemoteTable
from dpsparse.estimators import sparse_regressor

PICKS, SOLVING, OTHER = "private picks (CPU)", "least squares (CPU)", "noise, schedule, validation (CPU)"

ON_THE_CPU = [
    (Releases, "pick", PICKS),
    (releases, "release_point", PICKS),
    (Tally, "of", PICKS),
    (updates, "solve_gls", SOLVING),
    (releases, "release_vector", OTHER),
    (releases, "release_gram", OTHER),
    (sparse_regressor, "schedule_for", OTHER),
    (RemoteTable, "validate", OTHER),
]

"""The parts of a fit, as `gpu.py` clocks them: their homes, their names and what they add up to."""

from dpsparse.algorithms.pursuit import releases, updates
from dpsparse.algorithms.pursuit.grids import Tally
from dpsparse.algorithms.pursuit.releases import Releases
from dpsparse.algorithms.pursuit.steps import reference
from dpsparse.data.remote_table import RemoteTable
from dpsparse.engine import scores
from dpsparse.estimators import _pursuit

PICKS, SOLVING, OTHER = "private picks (CPU)", "least squares (CPU)", "noise, schedule, validation (CPU)"
SCORES, INFERENCE = "step to the reference (GPU)", "step to the reference (CPU)"

STEPS = [
    (reference.ReferenceStep, "run", INFERENCE),
    (reference.LevelStep, "run", INFERENCE),
]
OF_SCORES = [
    (scores, "norm_counts", SCORES),
    (scores, "clipped_sums", SCORES),
    (scores, "score_counts", SCORES),
    (scores, "ranged_sums", SCORES),
    (scores, "second_moment_sums", SCORES),
]

ON_THE_CPU = [
    (Releases, "pick", PICKS),
    (releases, "release_point", PICKS),
    (Tally, "of", PICKS),
    (updates, "solve_gls", SOLVING),
    (releases, "release_vector", OTHER),
    (releases, "release_gram", OTHER),
    (_pursuit, "schedule_for", OTHER),
    (RemoteTable, "validate", OTHER),
]

"""The numbers of the public grids, each with its reason; see `grids`."""

# Sizes lie between these powers of ten in steps of a factor of 1.3.
SMALLEST_SIZE, LARGEST_SIZE, SIZE_STEP = 1e-12, 1e12, 1.3
# Centres in scales: steps of 1/4 up to 64, of 1/2 up to 4,096, of 1 up to 16,384 (years need about a thousand).
FINE_CENTERS, MIDDLE_CENTERS, COARSE_CENTERS = (0.25, 64), (64, 4096), (4096, 16385.0)
FINE_STEP, MIDDLE_STEP = 0.25, 0.5
# In nats: centres further than this many scales lose, and 0 gains.
FAR_CENTER, FAR_LOSS, ZERO_GAIN = 40, 0.7, 2.0
# Slopes in residual scales up to the first, in steps of exp of the second; odds for 0; the power of the prior.
LARGEST_SLOPE, SLOPE_STEP, ZERO_ODDS, SLOPE_POWER = 4096, 0.25, 20, 0.5
# Splits between these sizes of either sign in steps of a factor; the prior's power; 0 leads by `nats` less SPLIT_NATS,
# within limits.
SMALLEST_SPLIT, LARGEST_SPLIT, SPLIT_STEP, SPLIT_POWER = 1e-9, 1e9, 1.5, 0.25
SPLIT_NATS, LEAST_ZERO_NATS, MOST_ZERO_NATS = 6, 3, 6
# The step where even splits lead by more than MOST_NATS: a finer grid can be afforded, and values of a rare 0/1 feature
# that lie near each other, far from 0, have a point between them. 0 leads by the least there. Set by `classifiers.py`.
FINE_SPLIT_STEP = 1.15
# Around given units: that many steps of sizes either way (a factor of 40), and the prior's loss a step; that many
# quarters of a scale (40 scales).
NEAR_STEPS, NEAR_LOSS, NEAR_QUARTERS, QUARTERS = 14, 0.15, 160, 4
# How far a feature's upper tail reaches, in units of a normal's, and the prior.
TAIL_FACTORS, TAIL_PRIOR = [1, 1.4, 2, 2.8, 4, 5.6, 8], [0.6, 0.15, 0.1, 0.06, 0.04, 0.03, 0.02]
# The response's scale about its first estimate: from, to, points.
FINE_SCALE_GRID = (0.2, 5, 60)
# Points of the grid of residual scales.
RESIDUAL_SCALE_POINTS = 47
# How far a tenth of the responses lie from their centre, in response scales; 2.4 for a normal law. Quarters of octaves.
# In small tables in unknown units a distance has a lead of a nat or two: there the prior is steeper (`NORMAL_UNTIL` of
# `pursuit_constants`). Set by `small_tables.py`.
NORMAL_TENTH, REACH_STEPS, REACH_LOSS, OCTAVE = 2.4, (-10, 45), 0.35, 4
NORMAL_REACH_LOSS = 1.0
# Medians of residuals: that many steps of a twentieth of a scale either way.
MEDIAN_STEPS, MEDIAN_STEP = 30, 20
# How much nearer predictions are than a constant, in response scales: quarters of octaves.
IMPROVEMENT_STEPS, IMPROVEMENT_LOSS = (-24, 33), 0.2
# The grid of sizes of errors in `tune`: from, to, and steps of 2 %.
SMALLEST_ERROR, LARGEST_ERROR, ERROR_STEP = 1e-6, 1e12, 0.02

"""The numbers of the inference, each with its reason.

Where no benchmark is named, a number follows from the sentence beside it. `honesty.py`, `intervals.py`, `permuted.py`
and `accuracy.py` are in `benchmarks/`.
"""

import math

# --- weights

# Quantiles of a chi-square law that stand for it in expectations: their error is far below that of any release.
QUANTILES = 4000
# Weights that are kept: sizes of rows recur, within a fit and between fits.
CACHED_WEIGHTS = 256

# --- gls

# Relative error of a linearised gradient, and what it grows by for every tau that an effect is off: beyond tau a
# gradient saturates. Set by `accuracy.py`.
MODEL_ERROR, SATURATION = 0.15, 0.3
# A first solve, and two rounds of reweighting by the model error, which depends on the effects.
ROUNDS = 3

# --- matrices

# Released correlations below this many standard deviations become 0. Set by `accuracy.py`.
KEEP_ABOVE = 2.5
# Where the noise of a correlation exceeds this, one standard deviation more is asked for. Set by `honesty.py`.
NOISY_CORRELATION = 0.08
# The least eigenvalue of a matrix of correlations, and that of a released Jacobian or variance, whose noise is smaller.
LEAST_EIGENVALUE, LEAST_RELEASED_EIGENVALUE = 0.1, 0.05
# The least eigenvalue of second moments of many columns, in units of the mean one.
LEAST_EIGENVALUE_OF_MANY = 0.05
# The least that a released second moment is taken to be, relative to what is expected.
LEAST_SECOND_MOMENT = 0.2
# Far below any variance that a release can tell from 0; they keep quotients finite.
NO_VARIANCE, NO_RELATIVE_VARIANCE, NO_RELATIVE_EIGENVALUE = 1e-300, 1e-12, 1e-6
# Relative spread of a released matrix about what is expected: of its diagonal, and of the rest. Set by `honesty.py`.
DIAGONAL_SPREAD, REST_SPREAD = 0.6, 0.2
# The least that a released matrix is taken to be, relative to what is expected.
LEAST_RATIO = 0.05

# --- sandwich

# A column is weak if its entry of the Jacobian is below this share of what is expected and one standard deviation, but
# not above the second share: then most of its carriers lie outside tau.
WEAK_SHARE, NOT_WEAK_SHARE = 0.25, 0.5
# A standard error with a relative error of r covers as one of a t law with 1 / (2 r^2) degrees of freedom does, whose
# 90 % interval is wider by (1.645^2 + 1) r^2 / 2, and its square by about 4 r^2. An error of the variance is half of
# that in its root.
INFLATION, VARIANCE_PART = 4, 0.25
# Without a released Jacobian and variance standard errors are larger by this factor. Set by `intervals.py`.
INFLATION_WITHOUT_SANDWICH = 1.05

# --- shrinkage

# An effect of more than this many standard errors is there, whatever a noisy gain says. Set by `honesty.py`.
SURE = 3.5
# An effect whose error cannot be relied on is kept from this many standard errors on. Set by `honesty.py`.
UNRELIABLE_KEPT_FROM = 4.0
# Errors of all effects together may be this many times as large as they are said to be: small tables whose features are
# correlated have such errors where nothing has an effect. Set by `honesty.py`.
DOUBTFUL = 2.0
# Sweeps over all effects at most, and what a variance may still move by in the last one. Two sweeps suffice for
# independent errors, 3,000 did for each of 2,000 covariances of nearly collinear features. No sweep makes the effects
# less likely, so the bound is one on time alone.
SWEEPS, CONVERGED = 10_000, 1e-6
# Added to the errors' correlations, so that they can be inverted.
JITTER = 1e-9

# --- reliability

# An effect has not settled if the last gradient moved it further than both of these, in tau and in standard errors.
SETTLED_TAU, SETTLED_ERRORS = 0.25, 4.0
# Beyond this many tau gradients saturate: the last move says nothing of what is left of the way.
LARGEST_MOVE = 2.0
# No error is reliable if a gradient's noise alone moves effects by more than this many tau, where gradients saturate:
# without any effect the estimates of 20 fits each spread by 1.0 to 1.3 errors below this, by 1.7 to 7 errors above it.
LARGEST_NOISE = 0.27
# A feature that may have fewer carriers than this has no reliable error. Set by `honesty.py`.
LEAST_CARRIERS = 150
# Along a direction in which columns vary by less than this, in units of their own, they are nearly collinear.
COLLINEAR = 0.25
# Errors of effects along such a direction, in units of these effects; and what other effects take over of that error.
# With these, 90 % intervals of 191 such effects of five real tables held the root of their equation in 96 %, and those
# of 60 other effects of the same fits in 98 %; without, in 39 and 53 %.
ALONG, ELSEWHERE = 2.0, 0.03

# --- significance

# Of two-sided tests, over all features together.
FAMILY_WISE_LEVEL = 0.05

# --- what a normal law has

# The median of |z| for a standard normal z; the median difference of two of them is sqrt 2 times that.
NORMAL_MEDIAN = 0.6745
NORMAL_DIFFERENCE = math.sqrt(2) * NORMAL_MEDIAN

# --- what people read

# The level of intervals in summaries, tables, reports, pictures and forecasts.
SHOWN_LEVEL = 0.95

# --- steps to a likelihood's maximum

# Effects among rows that are weighted down for their norm may differ by this, in log odds for one standard deviation
# of what a feature has beside the others.
# Set by `classifiers.py`.
MISFIT = 0.2
# The same in intervals, where the share of their squared norms counts: one row far from all others tells much of an
# effect without privacy. Set by `classifiers.py`.
MISFIT_OF_SQUARES = 0.15
# The error of a step of Newton's, relative to the step and to the effect, for one that moves log odds by one: half of
# the relative change of p (1 - p), which is at most 1.
CURVATURE = 0.5

# --- effects whose spread nobody knows

# How likely it is that no feature has an effect, before anything is released, and the spreads of all effects together,
# in log odds, that are as likely as each other otherwise: features that tell a little have .15, and with 4 hardly any
# response is a surprise. Set by `classifiers.py`: tables with permuted responses, and tables as they are.
NO_SPREAD = 0.5
SPREADS = tuple(0.15 * (4 / 0.15) ** (k / 8) for k in range(9))

# --- scores at several effects

# How often slopes at the effects are worked out again: the fifth time moves them by less than any noise.
RELINEARIZED = 5

# --- tails of norms

# The fitted law of a tail stands for a histogram from the highest norm on beyond which this share of the records lies,
# within the next bins, and as many as this many standard deviations of a count's noise. Set by `answers.py`.
TAIL_SHARE, TAIL_DEVIATIONS = 0.005, 12
# Beyond a gap it takes this many standard deviations of a window's noise, in a window of any of these widths: some 150
# such windows, of which noise alone fills one in 20,000 histograms. Of 27,000 people whose drinks are counted, 238 have
# the code 99: they are 8 standard deviations in a window of two bins, and 3.4 in one of twelve.
FAR_WINDOWS, FAR_DEVIATIONS = (1, 2, 4, 8, 12), 5.0
# The same in octaves: equal values are in one, or on both sides of an edge.
FAR_OCTAVES = (1, 2)
# Bins that it is fitted to: a factor of 14 in the norm. Of octaves as many as reach about as far. Fewer bins have less
# noise together, and a mean residual needs no more than the size of its tail. Set by `answers.py --part level`.
TAIL_BINS, TAIL_OCTAVES = 12, 4
# The tail index a: above 1, or there is no mean; a lognormal prior about 2. Set by `answers.py`.
LEAST_TAIL_INDEX, MOST_TAIL_INDEX, TYPICAL_TAIL_INDEX, TAIL_INDEX_SPREAD, TAIL_INDICES = 1.2, 10.0, 2.0, 0.6, 22
# The curvature q, with exponential priors on either side of 0; below it the tail grows heavier outward, as that of a
# mixture does. Set by `answers.py`.
TYPICAL_CURVATURE, TYPICAL_CONVEXITY = 1.0, 0.4
TAIL_CURVATURES = (-0.6, -0.4, -0.2, 0.0, 0.3, 0.7, 1.5, 3.0, 6.0)
# The survival function is the mean of its powers by the posterior, to one over this power. The mean itself is that of
# the heaviest tails which a noisy histogram leaves possible: with 1, intervals were wider by 14 % at epsilon 1 and by 9
# at 3, and held in .954 and .967 in place of .948 and .960; at the limit of 0 by 9 and 13 % narrower again, and held in
# less than .80 on three more of 44 tables. Laws of octaves, for levels, have 1. Set by `answers.py`.
TAIL_POWER = 0.5
# The law is looked at up to this many thresholds, at so many points; what lies beyond is not seen by any clip.
TAIL_REACH, TAIL_POINTS, TAIL_STRIDE = 60, 400, 4
# The most that a clip may rise faster than the norm.
MOST_RISE = 2.0
# By what part of itself a law of octaves may be off in one of them, where it begins among most records. Without it the
# level of lognormal responses of which 55 to 80 % are 0 was 10 % too high. Set by `answers.py`.
LAW_DOUBT = 0.25
# Rounds of reweighted least squares for the number of records beyond the threshold, and the least of it: this part of
# what the threshold needs.
TAIL_ROUNDS, TAIL_LEAST_SIZE = 3, 4

# --- one step to a reference estimator

# Rows that rough second moments make white are longer along a direction, by this many standard deviations of the noise
# of their second moments. Set by `answers.py --part codes`; 2 of them do no better.
FAR_ROW_DEVIATIONS = 3.0
# The most noise of second moments of rows, in units in which a typical row's are 1: with a clip further out all
# directions are noise, and steps far too short. With .3 of it rows of codes such as 98 are clipped, and intervals three
# to eight times as wide. On tables without such rows the noise is at most .2. Set by `answers.py`, on PSID.
MOST_ROW_NOISE = 1.0
# The least eigenvalue of released second moments of rows, in units in which a typical row's is 1.
LEAST_ROW_MOMENT = 0.05
# The same in standard deviations of their noise. Of one that is smaller little is known: a step along it is too short,
# or errors say how long. With the root of the number of columns in its place 90 % intervals of two features that are
# correlated by .97 held in half of the fits. Set by `answers.py`.
ROW_MOMENT_DEVIATIONS = 2.0
# The least eigenvalue of a released variance of scores, in standard deviations of its noise and of the mean eigenvalue.
SCORE_NOISE, LEAST_SCORE_VARIANCE = 0.7, 0.05
# What a clip leaves out of a mean in one white direction of k is taken to be at most this many times a sqrt(k)-th of
# what it leaves out of the norm. Set by `answers.py`.
LEFT_OUT = 1.2
# By what power of the mean root of the number of a person's rows it falls, where scores are sums of bounded residuals.
# The skewness of a sum falls by the first power where rows are independent; by it alone 98 to 99 % of 90 % intervals
# held. By this one 91 to 98 % do, and 71 to 95 % of an effect that skewed noise grows with. Set by `people.py`.
SUMS_LEFT_OUT = 1.5
# How much what a clip leaves out counts against noise where the clip of scores is chosen. Half of it, for vectors
# beyond a clip do not all point the same way. Set by `answers.py`.
SCORE_BIAS = 0.5
# The least privacy noise of a mean score whose residuals are not bounded, in sampling errors. A closer clip would gain
# a fifth of the width at most, and leaves out what a histogram cannot tell. Of 54,000 diamonds, prices by carat alone,
# 139 lay beyond it, and 90 % intervals held in 4 of 12 fits; with it they did in 18 of 20. Set by `answers.py`.
INSURED_NOISE = 0.7
# The most privacy noise of it, in sampling errors: a single record may lie so far out along one direction that a clip
# beyond it would bury all the others. On tables the noise is 5 sampling errors at most. Set by `peers`.
MOST_NOISE = 10.0
# What a step of Newton's of length 1, in white units, leaves of the curve of an exponential: half of its square.
EXPONENTIAL_CURVE = 0.5
# Early steps to Huber's estimator go by the second moments of all rows, and this much further, for not all residuals
# are within the clip: where .5 to 1 of them are, a step leaves about a third of the way at most.
EARLY_STEP = 1.3
# The first one clips at this many times what the pursuit's residual scale tells, which may be half of Huber's own. With
# 1.5 widths were smaller by 3 % at epsilon 1 and by 1 at 3, and intervals of taxi, countymurders and InstInnovation
# were refused or missed more often. Set by `answers.py`.
EARLY_TAU = 2.0
# They are no longer than this, in units of tau and for white rows: beyond it residuals are clipped anew.
LONGEST_EARLY_STEP = 1.0
# Standard errors with an allowance for bias give bias-aware intervals of this level, and wider ones above it.
INTERVAL_LEVEL = 0.9
# A step of this many standard deviations of what is expected has not settled: on 26 tables most were below 2.6, and
# between 1.9 and 7 where codes of 98 and 99 stand among numbers of children. Set by `answers.py`.
UNSETTLED = 3.0
# What a step leaves of itself, squared and in units of tau, where residuals are clipped there: up to twice that where
# few rows are far longer than others, and a tenth of it elsewhere, which is far below an error. And while the logarithm
# of the residuals' scale moves by so much, as much as the step is long. With 1 for the first intervals of countymurders
# held in .7, and without both those of taxi in .67 and of loans by income in .7. Steps of many tau have intervals, too:
# where 98 stands among numbers of children they held in .8 to 1 (`--part codes`). Set by `answers.py`.
CLIPPED_CURVE, SCALE_DRIFT = 2.0, 0.5
# A step whose squared length is up to this many times that of its noise may be noise alone. With 1 intervals of
# features with a lognormal law were up to three times as wide, and always held; those of tables were wider by a
# twentieth at most, and held in .97 to .98 as well. Set by `answers.py` and `honesty.py`.
MAY_BE_NOISE = 4.0
# A squared norm to this power is a cubed norm.
CUBED = 1.5
# A bound on the bias of so many errors is rare, and a step with one may lead astray: beyond it the bound counts in the
# weights of predictions. Squared errors of PSID and crime1 were 20 and 1.2 times those of OLS at epsilon 1, and are 5
# and 1.04; those of five other tables stay as they are. From one error on it would cost MedExp and ames up to a
# hundredth. Set by `answers.py`.
LARGE_BIAS = 2.0
# A step is taken to be at least this part as long, squared, as it is with its own noise.
LEAST_LENGTH = 0.25

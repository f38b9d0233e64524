"""The numbers of the pursuit, each with its reason; prices are in `budget`, and what a response is in `families`.

N = n sqrt(rho) is the size of a table as privacy sees it. Scripts are in `benchmarks/`. Thresholds of N were set by
`accuracy.py` where units are public and by `honesty.py` where they are not, unless another reason stands beside them.
"""

import math

import numpy as np
from numpy.typing import NDArray

# --- decisions: which features are in the result

# One pick more than asked; the least significant is dropped after the first final gradient. In unknown units the budget
# allows it from this N on.
SPARE_PICKS, SPARE_FROM = 1, 300
# Units that are not known cost a share in proportion to 1 / N^2 for each feature: of (N / LEAST_SIZE)^2 features they
# can be learned beside a selection, and below this N of none, so that a constant is all there is to learn. Where no
# selection costs anything, since all features are taken, of so many times as many. Set by `small_tables.py`.
LEAST_SIZE, TAKEN_FOR_ONE = 60, 3
# "auto" takes all features where there are at most this many in known units, or N is this many times their number;
# otherwise it selects this many. Set by `real_tables.py`: at 7 and more all features predicted better than eight on
# each of four tables (squared errors of .73 to .96 of theirs), and at 5 they did not on one.
MOST_TAKEN, RECORDS_A_FEATURE, MOST_SELECTED = 300, 7, 10
# Of a table for which the step to a mean carries fewer columns it selects fewer, but this many at least. A variable of
# a raw table has so many columns, about: categories come as wholes. Set by `answers.py --part auto`.
FEW_SELECTED, COLUMNS_A_VARIABLE = 5, 3
# For yes/no responses, whatever is known of the features, N must be this many times their number: at 16 all of 75
# predict better than six selected ones on each of four tables, at 12 not on all. Set by `classifiers.py`.
RECORDS_A_LOG_ODDS = 15
# Otherwise it selects this many: ten predict no better, and fewer of them are significant. Set by `classifiers.py`.
MOST_LOG_ODDS = 6

# --- decisions: how candidates are seen

# Beyond this many features another pass over all of them takes more time than it is worth.
WIDE = 1_000
# Nats by which the most balanced split of a feature must lead, at least and at most; what all features' splits may cost
# beyond the least, and at all.
LEAST_NATS, MOST_NATS, SPLITS_CHEAP, SPLITS_SHARE = 9, 15, 0.01, 0.08
# The same for yes/no responses, whose pairs say less: a difference of two is 0 half of the time. Set by
# `classifiers.py`: a rare 0/1 feature far from 0 is seen by its threshold or not at all.
BOUNDED_MOST_NATS, BOUNDED_SPLITS_CHEAP, BOUNDED_SPLITS_SHARE = 60, 0.15, 0.2
# From this N on thresholds at 0 are candidates, where no splits are released.
THRESHOLDS_FROM = 350
# The clip of features in public units is BASE sqrt(AT / h), h the noise-to-signal ratio of a pick, within limits: the
# noisier, the smaller, since the clipped feature is an instrument that biases no effect.
CLIP_BASE, CLIP_AT, LEAST_CLIP, MOST_CLIP = 0.5, 0.04, 0.4, 1.5
# The base for yes/no responses: where yes is rare the signal is smaller. Set by `classifiers.py`.
BOUNDED_CLIP_BASE = 0.38
# A clip so small that levels are signs. Thresholds lie above their split by this share, more than rounding moves them.
SIGN, ABOVE_SPLIT = 1e-30, 2.0**-20
# A split between the two values of a 0/1 feature.
BETWEEN_0_AND_1 = 0.5

# --- decisions: what is learned of a selected feature

# From this N of the pursuit on given units are checked, on short grids about them: it is cheap. With 10,000 records,
# of an N of 1,120 to 1,470, centres 3 standard deviations off had errors 30 to 37 times as large where they were not
# checked, and right units lost nothing. Set by `honesty.py`. Log odds lose a tenth to a half there: the second number
# is for bounded residuals. Set by `classifiers.py`.
CHECK_UNITS_FROM, CHECK_UNITS_OF_ODDS_FROM = 1050, 1500
# Of more features than this N must be in proportion to them: each has less of the budget, and noise would move units
# that are right. Set by `classifiers.py`.
CHECKED_AT_ONCE = 10
# From this N on a feature's mean is released; where few features share the budget, from `LEAST_SIZE` on.
MEANS_FROM = 100
# From this N on it has a share that makes it good to some hundredths of a scale.
GOOD_MEANS_FROM = 350
# From these N on a feature's scale looks at its upper tail: one difference in 5, and one in 10.
TAIL_FROM, FAR_TAIL_FROM, TAIL, FAR_TAIL = 500, 1500, 5, 10
# An effect starts from the slopes of pairs from this N on, in known units and in unknown ones; from the third on it
# starts so a second time, once all features are selected.
SLOPES_FROM_KNOWN, SLOPES_FROM_UNKNOWN, SECOND_SLOPES_FROM = 500, 275, 800
# A Gram row is released where its noise, RISE sqrt(s) over N at the root of SHARE / (s + 1) of rho, is at most MOST.
GRAM_ROW_RISE, GRAM_ROW_SHARE, MOST_GRAM_ROW_NOISE = 2.6, 0.12, 0.12

# --- decisions: second moments and errors

# The noise of a released second moment is about sqrt 2 times NORM (k + 1) over SHARE times N, for k features. Jacobian
# and score variance are released where it is at most MOST: above that they would be noise.
MOMENT_NORM, MOMENT_SHARE, MOST_MOMENT_NOISE = 0.9, 0.2, 0.08
# Standard errors of selected features in given units grow by RATE for each unit of that noise above FROM, up to MOST.
# Set by `permuted.py`: without it one fit in five on permuted responses of real tables finds a feature significant.
CAUTION_RATE, CAUTION_FROM, MOST_CAUTION = 12, 0.12, 1.5
# Where row norms are clipped and where their weight begins to fall with its square, in units of the square root of
# their length; where features in unknown units are selected both move out by these where sampling noise dominates.
# Where all are taken rows are long, and noise in proportion to them counts for more. Set by `peers`, on splits from
# 1,000 on.
INNER, OUTER_BEYOND, INNER_ABUNDANT, OUTER_ABUNDANT = 0.6, 0.9, 0.2, 0.3
OUTER_KNOWN = 1.5
# From the first N on sampling noise begins to matter beside privacy noise; that many further on it dominates.
SCARCE_UNTIL, ABUNDANT_WITHIN = 400, 1000

# --- decisions: the last steps

# From this N on a slope of residuals on predictions is more than noise.
CALIBRATE_FROM = 200
# One response in this many lies beyond the released distance from the centre, at least and at most; between them it is
# N over the number in the middle: a distance far from all responses loses then by 6 nats at the least price.
OUTSIDE, A_RESPONSE_OUTSIDE, FAR_OUTSIDE = 10, 100, 50

# --- the order of releases

# How many final gradients there are; after this one the spare feature is dropped.
FINAL_GRADIENTS, DROP_AFTER = 3, 1
# Where all features are taken: how many gradients there are, how many of the last are averaged, and before which the
# residual scale is released again.
N_STEPS, N_AVERAGED, RESCALED = 60, 30, (11, 31)
# From this N on that residual scale is released.
RESCALES_FROM = 280
# The most features for which a start from slopes is looked for then.
MOST_STARTS = 12
# A calibration releases four numbers.
LEAST_NUMBERS = 4

# --- the response

# Nats by which the right size and centre of the response must lead those far from all responses. Where m responses take
# part a far point has the utility -m, and the right one about 1.5 m: three quarters of them lie in its window.
SAFE_NATS, SAFE_LEAD = 8.0, 2.5
# A scale below this part of the typical difference is the distance of a lump from the centre, which lies beside it: the
# grid of centres is coarse.
BESIDE_A_LUMP = 0.23

# A warning is given below the first share of the cells that are not empty, and nothing is to be predicted below the
# second; and only where the number is this many standard deviations of its noise below theirs, so that no complete
# response is called short.
SHORT_SHARE, TOO_SHORT_SHARE, RESPONSE_DEVIATIONS = 0.98, 0.5, 3.0
# Numbers are shown in tens: no digit that noise alone decides.
TEN = 10

# --- units

# Carriers of a rare feature lie at 1 / RARE scales at most, inside the outer norm of a row.
RARE = 0.25
# Sizes are cut here in the average size, which is this for a normal feature; units are cut here in their mean.
MOST_SIZES, NORMAL_REACH, MOST_UNITS = 6.0, 1.18, 2.5
# A mean size changes a scale by this factor at most.
MOST_REACH = 4
# The least that a noisy mean size is taken for, over a normal law's; the typical spread of its log among features; and
# how much larger a standard deviation is than a normal law's of the same median difference, typically. Set by `peers`,
# on splits from 1,000 on: with 1.3 in place of 1 errors are less by 0 to 3 % where no tail is looked at;
# where one was, those of elevators at epsilon .3 were larger by 8 %.
LEAST_REACH, REACH_SPREAD, HEAVIER = 0.2, 0.4, 1.3
# The least scale of a 0/1 feature: carriers lie at 5 scales at most. By how many nats the share of pairs that differ
# can tell it from others. Set by `peers`, on splits from 1,000 on: errors on bike, of which 25 columns are 0/1, were
# 1.35 times as large at epsilon .3 without both, and 1.05 times at 3.
RARE_BINARY, BINARY_NATS = 0.2, 3.0
# A feature of which few records have an amount seems to be 0/1 where the typical difference is about 1. Its mean
# difference is larger, by twice this or more. Set by `honesty.py`.
UNEQUAL = 0.2
# A feature of which a smaller share of the pairs differ counts as constant, where the noise of the share is below the
# second number.
CONSTANT, CONSTANT_NOISE = 0.008, 0.05
# Below this many standard deviations of its noise a share may be next to nothing, and so may the second moment of a 0/1
# feature among records with a response. In its unit that is about 1; below the second number it is hardly there, though
# noise tells it from 0: clips of long rows vary it a little. Set by `absent.py`.
UNSURE, ABSENT = 3.0, 0.1
# The least share of pairs that differ that a scale is made for; a lower bound on it is this many deviations below.
LEAST_DIFFERING, LEAST_SHARE_DEVIATIONS = 1 / 64, 1.5
# Sizes in units of their median and cut at `MOST_SIZES` have a mean of at most 3.5, and values cut at `MOST_UNITS` one
# of at most 1.25 from their median: beyond these numbers the size, or the centre, was chosen by noise. The first is
# exceeded where the mean lies beyond it by two standard deviations of its noise.
SIZE_ASTRAY, CENTER_ASTRAY = 4.0, 2.0
# A share of that many standard deviations of its noise shows a size that is far too small: sizes are cut at 6, and
# 6 s - 2 (6 e) > 4 s from s = 6 e on. Below that the size of a feature of which few pairs differ is not believed to be
# small, for most such features are 0/1. Set by `peers`, on splits from 1,000 on.
SEEN = 6.0
# The scale of a feature that is left out: beside it all values on the grids are about 0.
OUT_OF_THE_WAY = 1e18
# A tail is looked at where more than this share of the pairs differ.
CONTINUOUS = 0.6
# How far a mean may be from the median, in scales, and a second moment from what is expected, relatively: noise beyond
# this shrinks them. Limits of a second moment: relative to what is expected, and at all.
MEAN_SPREAD, SECOND_MOMENT_SPREAD, LEAST_MOMENT, MOST_MOMENT = 0.4, 0.5, 0.25, 2.0
# Norms of the vectors of `queries.spread_sums`, `queries.mean_sums` and `queries.gain_sums`; 1/2 is taken off a square
# and off a share, so that these have the smallest norms.
SPREAD_NORM, MEAN_NORM, GAIN_NORM = math.sqrt(0.5), math.sqrt(1.25), math.sqrt(1.5)
# A split below a released median, in scales: more than a threshold is moved by rounding.
BELOW_MEDIAN = 2.0**-5

# --- windows of points on grids

# A size counts values within this factor either way; a centre those within two scales; a slope those within two scales
# and this share of itself.
SIZE_WINDOW, SLOPE_WINDOW = 3, 0.15

# --- effects

# Where residuals are clipped in sums over categories, in residual scales: one category may lie far from all others. Set
# by `answers.py --part errors`.
MEANS_REACH = 4.0
# A weak prior: the effects together are of about this size, in units of the response's scale.
PRIOR_SCALE = 2.0
# How far the diagonal of the second moments may be from what is expected: weighted rows of a skewed feature have a
# second moment of a third of a normal one's, whatever its unit.
TRUST = 0.5
# Effects that make the median residual larger by this factor are taken back, unless it stays below this share of the
# response's scale: where most responses are equal any effect makes it larger.
WORSE, SMALL = 1.6, 0.5
# Where products with the newest feature are clipped, in units of their typical norm.
GRAM_ROW_NORM = 1.3
# The least that the newest feature's own second moment is taken to be, relative to what is expected; the factor on its
# other second moments where they make the matrix singular.
LEAST_OWN_MOMENT, DAMPED = 0.3, 0.8

# --- all effects at once

# How far a step goes: of the way to the root, if the second moments are right.
RATE = 0.6
# The least eigenvalue of the second moments, in units of a column's own.
LEAST_EIGENVALUE_OF_STEPS = 0.1
# The most that noise may move predictions in one step, in residual scales.
MOST_NOISE = 0.1
# After these steps that noise may be this many times as much where gradients since the one before are clearly more than
# noise, by the nats below. Set by `peers`, on splits from 1,000 on: squared errors of tables with many weak directions
# (elevators and diamonds at epsilon .3) are less by 4 to 10 %, those of others do not change.
LOOKS, BOLDER = (10, 20, 30, 40), 2.0
# Effects move on after the steps where their last gradient is likelier by so many nats than noise alone. The least
# eigenvalue of the second moments then, in units of their mean; and variances of what effects lack: from, to and how
# many, in units of those that noise makes along the longest direction. Set by `peers`, on splits from 1,000 on: with a
# lead of two nats one fit of 12 on a small table of 274 features moved on by noise, and predicted worse by a third.
NATS_FURTHER, LEAST_EIGENVALUE_FURTHER = 4.0, 0.3
VARIANCES_FURTHER = (1e-4, 1e4, 161)

# --- the last steps

# Predictions are compared with responses up to this many response scales.
GAIN_WIDTH = 4.0
# The offset's clip and the range of predictions reach this many times as far.
REACH = 1.4
# How far the mean may be from the constant so far, in response scales, where the features explain something and where
# not: noise beyond this shrinks the offset.
OFFSET_SPREAD, CENTER_SPREAD = 0.3, 0.5
# The weight of the features in predictions, before it is looked at: where an effect is sure, where one is but the
# responses lump together, and otherwise; its standard deviation.
SURE_WEIGHT, LUMPED_WEIGHT, UNSURE_WEIGHT, WEIGHT_SPREAD = 1.0, 0.5, 0.2, 0.4
# Below this weight the features explain nothing. Sure effects keep all of it, unless the slope is below that by this
# many standard deviations: clips pull it below 1 where nothing is wrong.
NO_WEIGHT, DOUBT = 0.25, 2.5
# Tables smaller than this N are tiny, in unknown units: the budget does not allow any number of features, and a sure
# effect is more often a wrong one, so that the slope must not be below 1 by this many standard deviations.
TINY, TINY_DOUBT = 250, 1.5
# Below this N a response's range is looked for near a normal law's. Set by `small_tables.py`.
NORMAL_UNTIL = 100
# Responses this many response scales from the centre are at it. A lump is this share of them there: a normal law has
# .11, and a noisy share must exceed that by so many standard deviations. Beyond the last share nothing is off the lump.
LUMP_WIDTH, NO_LUMP, LUMP, LUMP_DEVIATIONS, ALL_EQUAL = 0.2, 0.11, 0.35, 3, 0.95
# A lump of more than this share holds the median.
HALF = 0.5
# Where it holds the median, the scale of Huber's regression is the distance of the lump from predictions, which fall
# with the scale: effects are known to this part of themselves only. Beyond this share effects fall as fast as the scale
# does, and are far off or nothing. Of responses that were cut so that .45 to .68 were 0 effects were off by up to a
# tenth, of .73 to .81 they had no reference or were 1.4 to 60 times too large. Set by `answers.py`.
LUMP_DOUBT, MOSTLY_EQUAL = 0.1, 0.7
# A residual scale is at an end of its range within these factors of it.
AT_LOWER_END, AT_UPPER_END = 1.05, 0.95
# The share of the response's spread that is explained is stated where the noise of a share of records is below this:
# its standard error is then below about 0.07.
LARGEST_FRACTION_NOISE = 0.05
# Nor where the tail of the responses begins further away than this many scales: a lump near the centre, which the
# response's scale holds and the residuals' does not, or tails beside which a median distance says little. One response
# in 50 of a lognormal law is further away than 12.
LARGEST_TAIL = 20.0
# Nor where the fit moved its constant by more than this many scales from the centre about which the responses' scale
# was taken: residuals are then smaller for a better centre, and not for the features.
LARGEST_SHIFT = 0.5
# Nor where the residuals' median is further than this many scales from 0: those of skewed responses are smaller than
# the responses' for a better centre, too.
SKEWED = 0.1
# A share explained a little below 0 is noise; below this the two scales are not comparable.
LEAST_EXPLAINED = -0.1
# The offset's clip is narrower where the features explain much: by this factor on the residuals' scale.
NARROWER = 1.5
# Predictions are clipped this many standard deviations from their mean where residuals are compared with them. Their
# variance is believed from this many standard deviations of its noise on.
PREDICTIONS_REACH, SURELY_VARY = 2.5, 4.0
# A slope of residuals on predictions of this many standard deviations of its noise, or less, is taken for 0: where
# features were selected, and where all were taken, whose effects stop before they are where they tend to.
SELECTED_DOUBT, TAKEN_DOUBT = 2.0, 1.25
# A line of medians, in order: the number of residual scales from which on a residual counts as its sign; the share of
# normal residuals that are nearer; the mean square of normal predictions, clipped as above; and by what part of
# themselves the last two, and a height computed from them, may be off. Then the spread of slopes about 1. Set on the
# tables of `peers`, on splits from 1,000 on.
MEDIAN_WIDTH, MEDIAN_INSIDE, NORMAL_SQUARE, MEDIAN_DOUBT = 0.5, 0.264, 0.157, 0.25
MEDIAN_SLOPE_SPREAD = 0.3
# Two mean scores and three entries of their derivative; and the standard deviation of a uniform number, in its range.
MEDIAN_LINE_NUMBERS, UNIFORM_DEVIATION = 5, 12**-0.5
# The furthest that a slope may be from 1, in these spreads: one of 16 fits on 200,000 yes/no responses had one of 9.
MOST_MEDIAN_SLOPE = 2.0
# The median size of a normal variable, in its standard deviations.
NORMAL_MAD = 0.6745

# --- steps of Newton's, for residuals that are bounded by their link

# Where rows are clipped, in units of the root of their length. Set by `classifiers.py`.
NEWTON_NORM = 1.1
# The same where all columns have scores at once, whose noise grows with their number. Set by `classifiers.py`.
MANY_NORM = 0.8
# The power of their correlations that rows are multiplied by then: -1/2 would make them white. Set by
# `classifiers.py`: white rows predict a little worse, and rows as they are, too.
HALF_WHITE = -0.25
# The prior's standard deviation, in log odds, of an effect for one scale of a feature, and of the constant about the
# log odds of the share of yes. Set by `classifiers.py`.
EFFECT_SPREAD, CONSTANT_SPREAD = 0.7, 1.0
# That of all effects together, where many features share it. Set by `classifiers.py`.
EFFECTS_SPREAD = 3.0
# Features explain nothing where it is this likely that none has an effect.
NOTHING = 0.95
# Predicted log odds lie within this many standard deviations of them from their middle. Set by `classifiers.py`.
ODDS_REACH = 4.0
# How far effects drift from one step to the next, in log odds: those of a feature shrink where others are left out.
DRIFT = 0.05
# The same of the constant: where few responses are yes, it falls by half a log odds with the first features.
CONSTANT_DRIFT = 0.3
# The bound of residuals in the last steps is N over this, within limits: weights of .8 or more on residuals where the
# model is sure of yes or no hardly move the estimate, and take a fifth of the noise. Set by `classifiers.py`.
FULL_RESIDUALS_FROM, LEAST_LAST_BOUND = 4000, 0.8
# How many steps there are where all features are taken: from no effects two are near the estimate, and three are at it.
NEWTON_STEPS = 3
# How many mean scores there are where all features of a yes/no fit are taken: they count together, so that more of
# them cost nothing, and each sees what second moments with noise left. Set by `classifiers.py`: 6 predict a little
# worse, and 16 as well.
SCORES_OF_ALL = 10
# Where the next of them is taken if no step to the reference follows, between the effects that those so far make most
# likely, 0, and their mean over all spreads, 1. Set by `classifiers.py`: where yes is rare 0 loses AUC (.003 to .018 on
# four tables with 20 to 78 features), and 1 may lose some where a feature tells much (.01 on e-mails in one of three
# runs).
TOWARDS_MEAN = 0.5
# The line of log odds on predicted ones: how far both ends count, in standard deviations; how far the constant and the
# factor of all effects may be off, as standard deviations; and the least that this factor becomes. Set by
# `classifiers.py`.
LINE_REACH, LINE_SPREAD, LEAST_STRETCH = 2.0, 0.3, 0.2
# Points of a sum that stands for a mean over a standard normal law: none lies beyond, and steps are small beside it.
LINE_FROM, LINE_TO, LINE_STEPS = -5.0, 5.0, 101
LINE_POINTS: NDArray[np.float64] = np.linspace(LINE_FROM, LINE_TO, LINE_STEPS)

# --- counts and costs, in units of the mean response

# The limits of the mean size of a residual: that of all responses near their mean, and of nearly all of them 0.
LEAST_DEVIATION, MOST_DEVIATION = 0.05, 2.0
# How far the pursuit's effects may be off beside their noise, by the clips of early residuals. Set by `counts.py`.
EARLY_BIAS = 0.2
# Where exposures are clipped for their mean, in units of their typical size: a start needs no more.
MOST_EXPOSURES = 8
# Predictions reach this many times the mean response at least, and otherwise as far as residuals count for the level.
LEAST_CEILING = 20.0
# The least mean prediction that a level is told by, and the most that it moves the constant at a time, in logs.
LEAST_LEVEL, MOST_LEVEL_STEP = 0.05, 3.0

# --- safe medians

# The odds that a median on a grid is far from all data are at most exp of minus this.
SAFE_MEDIAN_NATS = 6
# A pick that is e0-bounded-range costs e0^2 / 8 in zCDP; a utility of n / 2 has odds of exp(e0 n / 4).
BOUNDED_RANGE, OF_A_MEDIAN = 8, 4

# --- the step to a reference estimator

# It needs a table of this size times the number of columns, the constant included, to a power, and for so many at
# least: rough second moments of k columns have noise in proportion to k, and k^1.5 of it in their eigenvalues. Of 1,000
# records at epsilon 1 intervals held in two cases of three, of 2,000 in nine of ten. Set by `answers.py`.
REFERENCE_FROM, REFERENCE_POWER, REFERENCE_COLUMNS = 18, 1.5, 8
# A selection of typical effects, which a pursuit estimates by itself, has the step from a table on that is larger by
# this factor. With a step from 2,000 records on errors of three kinds of features were 1.8 times as large there, 1.0 to
# 1.7 times with 2,600 and 1.0 to 1.6 times with 3,300. Set by `honesty.py`.
TYPICAL_SELECTION_LATER = 1.7
# Scores are of features about their means where the numbers of rows that people count as have a standard deviation of
# more than this many times their mean: 1 to 500 rows by Zipf's law, or 100 rows of every twentieth and 3 of others.
# Errors of effects are 0.81 to 1.0 there of what they are with the constant in one clip with the features. With 20 rows
# each, or a geometric law of mean 20, they are 0.89 to 1.1, and the constant is twice as far off. Set by `people.py`.
UNEVEN_ROWS = 1.0
# Categories that come with a selected one make no more columns than this: the step takes k^2 passes over k columns.
MOST_COLUMNS = 24

# Norms are counted in bins of a geometric sequence, in units of what is typical: from a thirtieth to 18,000 of it.
BIN_RATIO, LOWEST_BIN, HIGHEST_BIN = 1.25, -16, 44
NORM_BINS: NDArray[np.float64] = np.power(BIN_RATIO, np.arange(LOWEST_BIN, HIGHEST_BIN + 1))
MOST_BINS = len(NORM_BINS) - 1
# Residuals are counted in octaves of their size, apart above 0 and below it: from a thirtieth to 16,000 scales.
LOWEST_OCTAVE, HIGHEST_OCTAVE = -5, 14
OCTAVES: NDArray[np.float64] = np.power(2.0, np.arange(LOWEST_OCTAVE, HIGHEST_OCTAVE + 1))
# Rough second moments are of rows clipped at this many times their typical squared norm.
ROUGH_ROWS = 2
# Then rows far out are looked at: clipped where the noise of their second moments is this, in units in which a typical
# row's are 1. With a code of 98 among numbers of children, of 2.5 or 10 % of the people, 90 % intervals held in 38 to
# 73 % of 5,000 and 20,000 records, and hold in 90 to 98 %. At half and twice of it they do much the same. Set by
# `answers.py --part codes`.
FAR_NOISE = 0.5
# How much what a clip leaves out counts against noise where the clip of rows is chosen. Half of it, for vectors beyond
# a clip do not all point the same way. Set by `answers.py`.
ROW_BIAS = 0.5
# The same where the range of residuals for their mean is chosen: its rises make up for most of it. Set by `answers.py`.
LEVEL_BIAS = 0.5
# All of it for the mean of counts, and of their residuals: those beyond the clip are on one side. Set by `counts.py`.
COUNTS_BIAS = 1.0
# The residuals' scale is looked for again within a factor of 4 of the last one, in steps of 2 %.
SCALE_AGAIN = (0.25, 4.0, 141)

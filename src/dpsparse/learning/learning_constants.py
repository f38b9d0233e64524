"""The numbers by which a fit learns what the columns of a raw table are, each with its reason; `raw_files.py` in
`benchmarks/` set those without another one. Prices are in `table_prices`.
"""

# --- kinds

# A class counts where its noisy count exceeds this many standard deviations of the noise; the largest class counts from
# fewer on, for a column has some kind, and where it has hardly a cell no kind does harm.
KIND_DEVIATIONS, LARGEST_DEVIATIONS = 3.0, 2.0
# A class is the largest, up to rounding.
NEARLY_ALL = 1 - 1e-9
# By how many standard deviations cells with a decimal comma must lead those with commas between thousands, where they
# are the largest class and where they are not: the wrong reading multiplies some cells by a thousand.
LARGEST_LEAD, COMMA_LEAD = 2.0, 5.5
# By how many standard deviations the cells that another kind reads must lead those that numbers read, in a column that
# is no text: with a wrong kind hardly a response is read, and in small tables of many columns noise is large.
NUMERIC_LEAD = 4.0
# A column of words for true and false is text where other words are more than one in this many of them: F may be a sex.
WORDS_PER_OTHER = 4
# A column has gaps where the noisy number of cells of a class that it does not read exceeds this many standard
# deviations of the noise, and this share of the records.
GAPS_DEVIATIONS, LEAST_GAPS = 2.0, 0.005

# --- categories

# A column with more distinct values than this share of the records, and this many standard deviations of the noise, is
# an identifier or free text. One that is kept by chance does no harm: its buckets hold few records each.
MOST_DISTINCT, DISTINCT_DEVIATIONS = 1 / 5, 2.0
# A bucket is a candidate above this many standard deviations of the noise, at which about one column in four has an
# empty one among its candidates, and above this share of the records.
BUCKET_DEVIATIONS, LEAST_SHARE = 3.5, 0.002
# The most categories of a column, the baseline included; others are together "another".
MOST_CATEGORIES = 32

# --- names

# The most characters of a name that are shown.
LONGEST_NAME = 100

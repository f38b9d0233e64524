"""What a refusal may say of the values of a table: every sentence that appears or not depending on them, in one place.

A sentence quotes no value. Where it has a field in braces, that is the name of a file, of its format or its encoding,
or a place in the line of names. Whatever else this package raises while it reads a table comes from public facts.
docs/privacy.md lists these names (L11), and a test holds the list, and the code that reads tables, against this file.
"""

# The one text for the data's curator: it names no row, column or count.
NOT_FINITE = (
    "Input contains NaN or infinity; the data must be finite: fill in public constants, or have "
    'PrivateSparseRegressor count them as missing by missing="center"'
)
NOT_NUMBERS = "every entry, as float()'s argument must be a string or a real number; encode other objects first"
NOT_NUMERIC = (
    "Input could not be converted to numbers; encode text and categories as numbers first, or have "
    "PrivateSparseRegressor learn them: fit(frame, y) without units, or fit(read_table(frame, target))"
)
Y_NOT_NUMERIC = (
    "y could not be converted to numbers; for labels such as yes and no use PrivateSparseClassifier(positive='yes'), "
    "and where its texts are numbers convert them first"
)
NOT_LABELS = (
    "Only binary classification is supported. y must be 0 or 1, or False or True, in every record; for other labels "
    "say which one is yes, as in positive='yes', and every other one is no; of more than two labels make one fit for "
    "each; continuous responses are for PrivateSparseRegressor"
)
NOT_COUNTS = (
    "y must be a number from 0 on in every record, such as a count or a cost; numbers below 0 are for "
    "PrivateSparseRegressor"
)
# The beginning of scikit-learn's own, by which it refuses bytes and strings.
NOT_DECIMAL = "Unable to convert array of bytes/strings into decimal numbers"
MASKED = (
    "X and y must not be masked arrays: a fit would use what lies under the mask; pass x.filled(c) with a public c, or "
    'x.filled(nan) to PrivateSparseRegressor with missing="center"'
)
NOT_IDS = "person has ids that cannot be compared, such as lists; pass texts or whole numbers"
UNREAD_IDS = (
    "the column of people has ids of a type that is not read, texts beside other ids, or no ids at all; make all of "
    "them texts or whole numbers"
)
MIXED_IDS = (
    "person has texts beside other ids, so that a person may have two: 7 and '7'; read the ids as texts, all of them, "
    'as pandas.read_csv does with dtype={"id": str}'
)
BROKEN_SPARSE = "Input is a sparse matrix with inconsistent or out-of-range indices; rebuild it from its triplets"
OTHER_SHAPE = "X has another shape once it is converted; pass an array, a data frame or a sparse matrix"

# The table is not what it was when the fit began.
CHANGED = "X has another shape than when it was opened: it changed while it was read; fit a copy that nobody changes"
COLUMN_CHANGED = "a column and the responses differ in length: X changed while it was read"
ROWS_CHANGED = "records and rows differ in number: X changed while it was read"
NOT_AS_DECLARED = (
    "a partition of X does not have the shape or the dtype that X declares; persist X, or repair its metadata"
)
# The tasks that make a dask table are not ours, and their errors quote values.
NOT_COMPUTED = "dask could not compute X or y: a task failed; compute them by themselves to see which and why"

# A worker may die of the memory that its records take.
NO_WORKERS = (
    "the dask cluster lost all its workers and none came back in time; start workers, or wait longer for them: "
    'dask.config.set({"distributed.scheduler.no-workers-timeout": "1 hour"})'
)

# Files. Whatever is broken in a page of Parquet or the like is the same sentence.
NOT_READABLE = "{path} is not a readable {kind} file"
NOT_A_NAME = (
    "{path}: the first line must name the columns; it has a number, a date, an address or the like where a name should "
    "be: put a line of names before the records"
)
HEADER_TOO_LONG = "{path}: line 1 is longer than 1 MiB; it must name the columns"
HEADER_NOT_TEXT = (
    "{path}: line 1 is not valid {encoding}; save the file as UTF-8, or give its encoding: --encoding cp1252 if it "
    'comes from Windows, or --encoding latin-1; encoding="cp1252" in Python'
)
HEADER_WIDE = "{path}: the file is UTF-16 or UTF-32, which Excel calls Unicode text; save it as CSV UTF-8"
HEADER_QUOTES = "{path}: line 1 has a quote that is left open, or text after a closing quote"
NO_NAME = "{path}: every column needs a printable name; an index without one is better left out"
SAME_NAME = "{path}: two columns have the same name"
NOT_FINITE_IN_FILE = (
    "{path}: "
    + NOT_FINITE
    + "; text where a number is due counts as NaN, and a column of text needs its categories in "
    "the bounds file (True and False are text in a CSV file)"
)

SENTENCES = {name: value for name, value in sorted(globals().items()) if name.isupper()}

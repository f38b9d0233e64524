"""Sentences that depend on values: one list in the code, one in the documentation, and nothing beside them."""

import ast
import re
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dpsparse
from dpsparse import PrivacyLedger, PrivateSparseRegressor
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine import refusals
from dpsparse.io.formats import open_table

PACKAGE = Path(dpsparse.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "privacy.md"
SECRET = "Lovelace"
Y = np.arange(40.0)

# The code that sees values, or hands them on.
READERS = [
    "data",
    "engine",
    "io/cells",
    "io/tables",
    "io/table_features.py",
    "io/convert.py",
    "estimators/_private.py",
    "algorithms",
]

# Those that are constants elsewhere.
PUBLIC_NAMES = ("ONLY_STORES_HAVE_A_RESPONSE", "NO_IDS", "ON_WORKERS")
# How the messages of these files begin that come from public facts: parameters, shapes, types, names, the machine,
# or from the state of a file as a whole.
PUBLIC = (
    "Complex data not supported",
    "OnDisk takes columns",
    "Streamed features need a CUDA GPU",
    "Streamed takes a NumPy array",
    "The feature names should match",
    "X and y must have the same number of rows",
    "X has chunks of type",
    "X has dtype",
    "X has no column",
    "X is a dask",
    "X is a path",
    "X must be a 2D array",
    "dask arrays and data frames need dask",
    "drop leaves no column",
    "every column of a frame needs",
    "feature_center must lie",
    "feature_scale must be above 0",
    "features on a GPU need torch",
    "kinds: ",
    "ledger and dataset go together",
    "ledger with random_state",
    "faults takes one kind",
    "numbers takes one kind",
    "--exposure needs a table",
    "exposure has shape",
    "exposure must be a column",
    "exposure: X has no column",
    "exposure={} must be",
    "person has {} ids",
    "person must be",
    "person: ",
    "person={}",
    "positive: ",
    "random_state=",
    "residues must be numbers",
    "within: ",
    "step, clip_bound and the loss's bound",
    "the encoding must be",
    "the environment's",
    "the exposure {} is the response",
    "the separator must be",
    "the target is missing",
    "there is no column",
    "X and y must have the same number of rows",
    "y has shape",
    "y is None",
    "y is missing",
    "y must be left out",
    "y must be a 1D dask array",
    "zeta=",
    "{} goes by name",
    "{} has no column",
    "{} has shape",
    "{} holds no records",
    "{} changed while it was read; remove",
    "{} is empty",
    "{} is no Parquet file",
    "{} is not as long as its header says",
    "{} must be a number, one number",
    "{} must hold one array",
    "{} names {}, but X has no such column",
    "{} needs {}: pip install",
    "{} reads X in",
    "{} records are more than",
    "{} requires y",
    "{} cannot be both the",
    "{}: a store has its bounds",
    "{}: it keeps no column of people",
    "{}: a store of an npy file keeps no label",
    "{}: an npy file has no columns of text",
    "{}: column {} has other types",
    "{}: column {} holds text",
    "{}: the target of this store",
    "{}: {} has columns of other types",
    "{}: {} has other columns",
    "{}={} must be",
    "a table of cells must be",
    "formula",
    "{}: --formula needs a table",
    "schema",
    "column {} holds",
    "the response ",
)


def text_of(node):
    """A message as it is written, with {} for what is put in; None for none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def messages():
    """The place and the message of every error raised by the readers, and of every warning."""
    files = [
        file
        for part in READERS
        for file in ([PACKAGE / part] if part[-3:] == ".py" else (PACKAGE / part).rglob("*.py"))
    ]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                yield f"{file.relative_to(PACKAGE)}:{node.lineno}", node.exc.args[0]


def is_listed(message):
    """Whether a message is one of `refusals`, as it is or filled in."""
    if isinstance(message, ast.Call) and isinstance(message.func, ast.Attribute) and message.func.attr == "format":
        message = message.func.value
    return isinstance(message, ast.Name) and message.id in refusals.SENTENCES


def test_every_message_of_the_readers_is_listed_or_public():
    found = list(messages())
    unknown = [
        f"{place}: {ast.unparse(message)}"
        for place, message in found
        if not is_listed(message)
        and not (text_of(message) or "").startswith(PUBLIC)
        and not (isinstance(message, ast.Name) and message.id in PUBLIC_NAMES)
    ]
    texts = [text_of(message) or "" for _, message in found]
    assert [beginning for beginning in PUBLIC if not any(text.startswith(beginning) for text in texts)] == []
    assert unknown == [], "put what depends on values into engine/refusals.py, and what is public into this test"


@pytest.mark.slow
def test_every_sentence_is_used_and_defined_once():
    sources = {file: file.read_text() for file in PACKAGE.rglob("*.py") if file.name != "refusals.py"}
    for name, sentence in refusals.SENTENCES.items():
        assert any(re.search(rf"\b{name}\b", text) for text in sources.values()), name
        beginning = sentence.replace("{path}", "").strip(" :")[:30]
        assert not [file for file, text in sources.items() if beginning in text], name


def test_the_privacy_page_lists_the_sentences():
    section = PAGE.read_text().partition("**L11.")[2].partition("**The meter**")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`([A-Z_]+)`", "".join(rows))) == sorted(refusals.SENTENCES)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path):
    path = tmp_path / "people.parquet"
    pd.DataFrame({"age": [SECRET] * 3, "cost": [1.0, 2.0, 3.0]}).to_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:40] = b"\xff" * 36
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a readable") as refusal:
        open_table(path).read(["cost"], {"age": ["x"]})
    assert str(refusal.value) == refusals.NOT_READABLE.format(path=path, kind="Parquet")
    assert refusal.value.__suppress_context__


def unread(_):
    raise ValueError(f"could not convert string to float: {SECRET!r}")


def failing_array():
    return da.zeros((40, 3), chunks=(10, 3)).map_blocks(unread, dtype=float, meta=np.empty((0, 0)))


def failing_frame():
    frame = pd.DataFrame(np.zeros((40, 3)), columns=list("abc"))
    return dd.from_pandas(frame, npartitions=2).map_partitions(unread, meta=frame.iloc[:0])


def failing_responses():
    return da.zeros(40, chunks=10).map_blocks(unread, dtype=float, meta=np.empty(0))


@pytest.mark.filterwarnings("ignore:With n=:UserWarning")
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (failing_array, lambda: Y),
        (failing_frame, lambda: Y),
        (lambda: da.zeros((40, 3), chunks=(10, 3)), failing_responses),
    ],
    ids=["array", "frame", "responses"],
)
def test_a_failing_task_of_dask_quotes_nothing(X, y, tmp_path):
    ledger = PrivacyLedger(tmp_path / "b.db")
    ledger.grant("people", epsilon=3, delta=1e-6)
    estimator = PrivateSparseRegressor(
        sparsity=1, epsilon=1.0, delta=1e-7, ledger=ledger, dataset="people", **STANDARDIZED
    )
    with pytest.raises(ValueError, match=f"^{refusals.NOT_COMPUTED}$") as refusal:
        estimator.fit(X(), y())
    assert refusal.value.__suppress_context__
    assert "charge" not in [event.kind for event in ledger.history()]

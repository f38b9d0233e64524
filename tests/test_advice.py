"""No page and no message advises to leave out records by what is in them: their number would not be public."""

import ast
import re
from pathlib import Path

import pandas as pd
import pytest

import dpsparse
from dpsparse import PrivateSparseRegressor, read_table

ROOT = Path(__file__).parents[1]
PACKAGE = Path(dpsparse.__file__).parent

UNSOUND = re.compile(
    r"\b(fit|model|evaluate|run|use|keep|take|try)\b[^.|]{0,40}\bon (only )?(those|the ones)\b"
    r"|\b(only|just) (the |those )?(records|rows|people|patients|responses)\b[^.|]{0,30}"
    r"\b(with|without|where|whose|who|that have|off|above|below|beyond)\b"
    r"|\b(drop|remove|delete|filter|discard|exclude|leave out|leaving out)( out)? (all |the |those |any |these |such )?"
    r"(records|rows|people|patients|zeros|outliers|gaps|missing|incomplete)\b"
    r"|\.dropna\(|\bdrop_nulls\(",
    re.I,
)
WARNS = re.compile(r"\bnever\b|\bdo not\b|\bnot public\b|\bvoids?\b|\bno (record|row) is\b", re.I)


def unsound(text):
    """The sentences that advise it, and do not warn of it."""
    sentences = re.split(r"(?<=[.:;|])\s", " ".join(text.split()))
    return [each for each in sentences if UNSOUND.search(each) and not WARNS.search(each)]


def pages():
    found = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs/gallery").rglob("*.py")]
    found += [*PACKAGE.rglob("*.html"), *PACKAGE.rglob("*.js")]
    return sorted(path for path in found if "_build" not in path.parts)


def modules():
    """Every module whose texts a user may read; what the audit plants are bugs."""
    return sorted(path for path in PACKAGE.rglob("*.py") if "audit" not in path.parts)


def texts_in(module):
    """Its string literals, docstrings included; a message in several pieces is one."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize(
    "advice",
    [
        "If the mean is your question, fit a second model on those with a cost.",
        "a response that is not computed from the features; only the records off the lump",
        "Drop the rows without a response first.",
        "Fit only the people who have a cost.",
        "people = people.dropna()",
        "the data must be finite: drop such records",
    ],
)
def test_such_advice_would_be_seen(advice):
    assert unsound(advice)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_no_page_advises_to_leave_out_records_by_what_is_in_them(page):
    assert unsound(page.read_text()) == []


@pytest.mark.slow
def test_no_message_does():
    assert {(path.name, each) for path in modules() for text in texts_in(path) for each in unsound(text)} == set()


def test_the_way_that_is_advised_keeps_the_number_of_records(tmp_path, monkeypatch):
    """Responses set to missing: every record stays, whatever its response is."""
    monkeypatch.chdir(tmp_path)
    section = (ROOT / "docs/how-to/read-a-result.md").read_text().partition("## Only some of the records")[2]
    block = re.search(r"```python\n(.*?)```", section, re.S)[1]
    people = pd.DataFrame({"age": [30.0, 40.0, 50.0, 60.0] * 250, "cost": [0.0, 900.0, 0.0, 1_300.0] * 250})
    counts = set()
    for first in (0.0, 900.0):
        people.loc[0, "cost"] = first
        people.to_csv("people.csv", index=False)
        exec(compile(block, "example", "exec"), {})
        blanked = pd.read_csv("with-a-cost.csv")
        assert blanked.cost.isna().sum() == (people.cost == 0).sum()
        fitted = PrivateSparseRegressor(sparsity=1).fit(read_table("with-a-cost.csv", "cost"))
        counts.add(fitted.privacy_.n_records)
    assert counts == {1_000}

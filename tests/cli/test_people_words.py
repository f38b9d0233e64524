"""Every sentence of a fit by person speaks of people and of their rows, never of records."""

import html
import re

import numpy as np
import pandas as pd
import pytest

from dpsparse import load_model
from dpsparse.cli import main

# Names of parameters and options are no sentences.
STRAY = re.compile(r"(?<![-_\w])[Rr]ecords?(?![-_\w])")
TARGETS = {
    "gaussian": ("cost",),
    "binomial": ("sick", "--family", "binomial", "--positive", "yes"),
    "poisson": ("visits", "--family", "poisson"),
    "two-part": ("amount", "--family", "two-part"),
}


def stray(text):
    """The sentences, without tags, that speak of records."""
    text = re.sub(r"<(script|style).*?</\1>", "", text, flags=re.S)
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())
    return [text[max(0, found.start() - 60) : found.end() + 60] for found in STRAY.finditer(text)]


@pytest.fixture
def panel(folder):
    """Three rows a patient, with a number, yes or no, a count, a cost that is often 0, and a gap."""
    rng = np.random.default_rng(0)
    n = 900
    age = rng.normal(50, 10, n).round(1)
    frame = pd.DataFrame({"patient": np.arange(n) // 3, "age": age, "smoker": rng.choice(["yes", "no"], n)})
    frame["rare"] = (rng.random(n) < 0.01).astype(int)
    frame["free"] = [f"text {k}" for k in range(n)]
    frame["cost"] = (3 * age + 20 * rng.standard_t(3, n)).round(2)
    frame["sick"] = np.where(rng.random(n) < 1 / (1 + np.exp((50 - age) / 10)), "yes", "no")
    frame["visits"] = rng.poisson(np.exp((age - 50) / 20))
    frame["amount"] = np.where(rng.random(n) < 0.5, 0.0, abs(frame.cost))
    frame.loc[::20, "age"] = np.nan
    frame.to_csv("panel.csv", index=False)
    return folder


def commands(family):
    """Commands of a fit, each with the files that it writes for people to read."""
    target, *options = TARGETS[family]
    table = ["panel.csv", "--target", target, "--person", "patient", *options]
    fit = ["fit", *table, "--sparsity", "3", "--epsilon"]
    yield [*fit, "4", "--out", "a.json", "--report", "a.html"], ["a.html"]
    yield [*fit, "8", "--holdout", "0.3", "--out", "b.json", "--report", "b.html"], ["b.html"]
    # So small that nothing is learned.
    yield [*fit, "0.05", "--out", "c.json", "--report", "c.html"], ["c.html"]
    yield ["evaluate", "a.json", "panel.csv", "--person", "patient", "--epsilon", "4"], []
    yield ["inspect", "a.json", "--registry", "a.yaml", "--nist", "a.md"], ["a.yaml", "a.md"]
    yield ["table", "a.json"], []
    if family != "two-part":
        tune = ["tune", *table, "--sparsity", "1", "--sparsity", "2", "--epsilon", "4", "--out", "d.json"]
        yield [*tune, "--report", "d.html"], ["d.html"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", TARGETS)
def test_no_sentence_speaks_of_records(panel, capsys, family):
    found = {}
    for command, files in commands(family):
        main(command)
        shown = capsys.readouterr()
        texts = {"shown": shown.out, "told": shown.err} | {name: (panel / name).read_text() for name in files}
        found |= {f"{command[0]} {name}": stray(text) for name, text in texts.items()}
    model = load_model("a.json")
    found["summary"] = stray(f"{model.summary()} {model.privacy} {model.privacy.statement()} {model.effects_.reason}")
    assert {name: sentences for name, sentences in found.items() if sentences} == {}


def test_a_plan_for_people_speaks_of_them(capsys):
    main(["plan", "--n", "2000", "--d", "40", "--sparsity", "5", "--epsilon", "1", "--rows-per-person", "5"])
    assert stray(capsys.readouterr().out) == []

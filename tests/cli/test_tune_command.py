import ast
import inspect
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpsparse import PrivacyLedger, load_model
from dpsparse.cli import main
from dpsparse.cli.fit_command import fit
from dpsparse.cli.tune_command import tune
from dpsparse.privacy.accounting.meter import Meter

OPTIONS = ["--target", "cost", "--epsilon", "3"]


def test_from_a_file_to_the_chosen_model(folder, capsys, people):
    main(["tune", "people.csv", *OPTIONS, "--sparsity", "1", "--sparsity", "3", "--drop", "id", "--report", "r.html"])
    told = " ".join(capsys.readouterr().out.split())
    chosen = int(re.search(r"Chosen: --sparsity (\d), among 1, 3, by a private score on every fifth record", told)[1])
    assert "Guarantee: (3, " in told
    model = load_model("r.json")
    assert chosen in (1, 3)
    # A column counts once, with all of its categories.
    assert len({effect.feature.partition("=")[0].partition(" (")[0] for effect in model.effects}) <= chosen
    assert "smoker" in {effect.feature for effect in model.effects}
    assert (model.privacy.n_records, model.privacy.private) == (len(people), True)
    assert model.privacy.epsilon <= 3
    page = (folder / "r.html").read_text()
    assert "smoker" in page
    assert "dpsparse tune DATA" in page
    main(["predict", "r.json", "people.csv", "--out", "predictions.csv"])
    np.testing.assert_array_equal(pd.read_csv("predictions.csv").prediction, model.predict(people))


def test_every_option_reaches_the_candidates(folder, capsys, monkeypatch):
    seen = []

    def stop(candidates, X, y):
        seen.extend(candidates)
        assert (X.target, X.columns, y) == ("cost", ["age", "smoker"], None)
        raise KeyboardInterrupt

    monkeypatch.setattr("dpsparse.fitting.tune", stop)
    main(["budget", "grant", "budget.db", "people", "--epsilon", "3", "--delta", "1e-4", "--records-per-person", "2"])
    ledger = ["--ledger", "budget.db", "--dataset", "people", "--delta", "1e-5", "--records-per-person", "2"]
    drop = ["--bounds", "bounds.toml", "--drop", "region"]
    with pytest.raises(SystemExit) as stopped:
        main(["tune", "people.csv", *OPTIONS, *drop, *ledger, "--out", "model.json"])
    assert stopped.value.code == 130
    assert "what was reserved or charged stays spent" in capsys.readouterr().err
    assert not (folder / "model.json").exists()
    assert [candidate.sparsity for candidate in seen] == [2, 5, 15]
    for candidate in seen:
        assert (candidate.epsilon, candidate.delta, candidate.records_per_person) == (3.0, 1e-5, 2)
        assert (str(candidate.ledger), candidate.dataset) == (str(folder / "budget.db"), "people")


@pytest.mark.slow
def test_json_and_a_ledger_that_is_charged_once(folder, capsys):
    main(["budget", "grant", "budget.db", "people", "--epsilon", "3", "--delta", "1e-4"])
    capsys.readouterr()
    ledger = ["--ledger", "budget.db", "--dataset", "people", "--delta", "1e-5"]
    sizes = ["--sparsity", "1", "--sparsity", "3", "--sparsity", "auto"]
    main(["tune", "people.csv", *OPTIONS[:2], "--epsilon", "2", *sizes, *ledger, "--json", "--out", "model.json"])
    told = json.loads(capsys.readouterr().out)
    assert told["candidates"] == [1, 3, "auto"]
    assert told["chosen"] in told["candidates"]
    assert told["out"] == "model.json"
    assert told["effects"]
    state = PrivacyLedger("budget.db").state()
    assert len(state.filters["people"].costs) == 1


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (["--target", "cots", "--epsilon", "1", "--out", "m.json"], "did you mean 'cost'?", 1),
        (["--target", "cost", "--epsilon", "1"], "--out is missing, so nothing was fitted", 2),
        (["--target", "cost", "--epsilon", "0"], "epsilon=0.0 must be a number", 1),
        ([*OPTIONS, "--sparsity", "3", "--sparsity", "3", "--out", "m.json"], "a choice needs two or more", 2),
        ([*OPTIONS, "--sparsity", "0", "--sparsity", "3", "--out", "m.json"], "sparsity", 1),
        ([*OPTIONS, "--sparsity", "few", "--out", "m.json"], "'few' is neither a whole number nor 'auto'", 2),
        (["--epsilon", "1", "--out", "m.json"], "Missing option '--target', or '--formula'", 2),
        ([*OPTIONS, "--out", "people.csv"], "cannot write", 1),
    ],
)
def test_what_cannot_be_done_costs_nothing(folder, capsys, monkeypatch, options, message, code):
    monkeypatch.setattr(Meter, "charge", lambda *_: pytest.fail("it was charged"))
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(SystemExit) as stopped:
        main(["tune", "people.csv", *options])
    told = capsys.readouterr()
    assert (stopped.value.code, told.out) == (code, "")
    assert message in " ".join(told.err.split())
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize("data", ["people.npy", "cells"])
def test_other_tables(folder, capsys, data):
    if data == "cells":
        main(["convert", "people.csv", "--target", "cost", "--out", "cells"])
    target = ["--target", "2"] if data == "people.npy" else []
    main(["tune", data, *target, "--epsilon", "3", "--sparsity", "1", "--sparsity", "2", "--out", "model.json"])
    assert "Chosen: --sparsity" in capsys.readouterr().out
    assert load_model("model.json").effects


def test_it_takes_the_options_of_a_fit_which_are_written_once():
    assert {each.name for each in fit.params} - {each.name for each in tune.params} == {"sparsity", "holdout", "within"}
    sources = [ast.parse(Path(inspect.getfile(each.callback)).read_text()) for each in (fit, tune)]
    decorators = [
        {
            ast.unparse(each)
            for node in ast.walk(source)
            if isinstance(node, ast.FunctionDef)
            for each in node.decorator_list
        }
        for source in sources
    ]
    shared = {"options.DATA", "options.target(' A store knows its own.')", "options.epsilon(required=True)"}
    assert decorators[0] & decorators[1] == shared | {"options.of_a_fit", "options.of_a_model"}

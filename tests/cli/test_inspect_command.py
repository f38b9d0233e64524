import json

from dpsparse import load_model
from dpsparse.cli import main, output
from dpsparse.model.effect import EFFECT_HEADINGS


def test_inspect_shows_the_guarantee_in_words_and_in_full(folder, capsys, people, fit):
    fit("people.csv", "--out", "model.json")
    capsys.readouterr()
    main(["inspect", "model.json"])
    told = capsys.readouterr().out
    for words in ("at most 95.3 % sure", "differentially private", "exponential-mechanism pick", "Gram matrix", "rho"):
        assert words in told
    main(["inspect", "model.json", "--json"])
    told = json.loads(capsys.readouterr().out)
    effects = load_model("model.json").effects
    shown = [[effect.pop(name) for name in ("effect", "interval", "p_value", "verdict")] for effect in told["effects"]]
    assert [(value, tuple(interval.values()), *others) for value, interval, *others in shown] == [
        (effect.estimate, effect.interval, effect.p_value, effect.verdict.value) for effect in effects
    ]
    assert all(effect.pop("reason") is None and effect.pop("remedy") is None for effect in told["effects"])
    assert told == json.loads((folder / "model.json").read_text())


def test_inspect_writes_drafts_for_the_registry_and_for_a_review(folder, capsys, fit, failed):
    fit("people.csv", "--out", "model.json")
    capsys.readouterr()
    main(["inspect", "model.json", "--registry", "entry.yaml", "--nist", "sheet.md"])
    told = capsys.readouterr().out
    assert "Registry: entry.yaml; fill in what is marked TO FILL" in told
    assert "NIST: sheet.md; fill in what is marked TO FILL" in told
    assert (folder / "entry.yaml").read_text().startswith("# Draft of an entry")
    assert "## Unit of privacy" in (folder / "sheet.md").read_text()
    # A draft that somebody has filled in is not overwritten.
    assert "it exists" in failed("inspect", "model.json", "--registry", "entry.yaml")
    assert "something else" in failed("inspect", "model.json", "--registry", "new.yaml", "--nist", "new.yaml")


def test_headings_are_folded_before_names(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    row = ["region (gap)", "0.005858", "[-0.02749, 0.03921]", "1.2e-05", "not significant", "195.3"]
    output.print_table(EFFECT_HEADINGS, [row])
    shown = capsys.readouterr().out
    assert "region (gap)" in shown
    assert "used for" in shown
    output.print_table(EFFECT_HEADINGS, [])
    capsys.readouterr()
    row = ["(intercept)", "0.005858", "[0.0000002749, 0.03921]", "1.2e-05", "not significant", "-0.001953"]
    output.print_table(EFFECT_HEADINGS, [row])
    shown = capsys.readouterr().out
    assert all(part in shown for part in row if part != "not significant")
    assert "significant│" in shown

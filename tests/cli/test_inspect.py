import json

from dpsparse import load_model
from dpsparse.cli import main


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
    shown = [(effect.pop("interval"), effect.pop("verdict")) for effect in told["effects"]]
    assert [(tuple(interval.values()), verdict) for interval, verdict in shown] == [
        (effect.interval, effect.verdict.value) for effect in effects
    ]
    assert told == json.loads((folder / "model.json").read_text())

import json

from dpsparse.cli import main


def test_inspect_shows_the_guarantee_in_words_and_in_full(folder, capsys, people, fit):
    fit("people.csv", "--out", "model.json")
    capsys.readouterr()
    main(["inspect", "model.json"])
    told = capsys.readouterr().out
    for words in ("at most 95.3 % sure", "differentially private", "exponential-mechanism pick", "Gram matrix", "rho"):
        assert words in told
    main(["inspect", "model.json", "--json"])
    assert json.loads(capsys.readouterr().out) == json.loads((folder / "model.json").read_text())

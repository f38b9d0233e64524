"""`dpsparse table` writes what `compare_models` makes of the files."""

import json

import pytest

from dpsparse import compare_models, load_model
from dpsparse.cli import main


def test_tables_are_printed_or_written(folder, capsys, fit, failed):
    fit("people.csv", "--out", "a.json")
    fit("people.csv", "--out", "b.json", epsilon="2")
    capsys.readouterr()
    table = compare_models([load_model("a.json"), load_model("b.json")], names=["A", "B"])
    main(["table", "a.json", "b.json", "--name", "A", "--name", "B"])
    assert capsys.readouterr().out == table.to_markdown()
    main(["table", "a.json", "b.json", "--name", "A", "--name", "B", "--latex", "--out", "t.tex"])
    assert capsys.readouterr().out == "Table: t.tex\n"
    assert (folder / "t.tex").read_text() == table.to_latex()
    main(["table", "a.json", "--word", "--out", "t.docx", "--json"])
    assert json.loads(capsys.readouterr().out) == {"style": "word", "out": "t.docx"}
    assert (folder / "t.docx").stat().st_size > 10_000
    main(["table", "a.json", "--json"])
    assert json.loads(capsys.readouterr().out)["table"] == load_model("a.json").to_markdown()
    assert "does not exist" in failed("table", "none.json")
    with pytest.raises(SystemExit):
        main(["table", "a.json", "--word"])
    assert "--word needs --out" in capsys.readouterr().err

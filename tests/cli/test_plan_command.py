import json

from dpsparse.cli import main


def test_plan_gives_a_table_a_picture_and_json(folder, capsys, failed):
    main(["plan", "--n", "10000", "--d", "1000", "--epsilon", "1,0.1", "--out", "plan.png"])
    told = capsys.readouterr().out
    assert "unknown units" in told
    assert "Picture: plan.png" in told
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")
    main(["plan", "--n", "10000", "--d", "1000", "--epsilon", "1,0.1", "--json"])
    strict, loose = json.loads(capsys.readouterr().out)["forecasts"]
    assert (strict["epsilon"], loose["epsilon"]) == (0.1, 1.0)
    assert strict["expected_error"] > loose["expected_error"]
    known, unknown = (_forecast(capsys, units) for units in ("known", "unknown"))
    assert unknown == strict
    assert known["expected_error"] < unknown["expected_error"]
    main(["plan", "--n", "1000", "--d", "20", "--epsilon", "1,3"])
    told = " ".join(capsys.readouterr().out.split())
    assert "effects on the mean response" in told
    assert "effects are in units of the response's noise, per standard deviation of a feature" in told
    assert "No intervals: effects on a mean cannot be had from 1,000 records at epsilon 1" in told
    main(["plan", "--n", "1000", "--d", "20", "--epsilon", "1,3", "--estimand", "typical"])
    assert "No intervals" not in capsys.readouterr().out
    main(["plan", "--n", "400", "--d", "20", "--epsilon", "0.5", "--estimand", "typical"])
    assert "Few features: the fit looks for no feature" in " ".join(capsys.readouterr().out.split())
    main(["plan", "--n", "1000", "--d", "20", "--epsilon", "0.1,0.5,2", "--json"])
    assert [each["n_looked_for"] for each in json.loads(capsys.readouterr().out)["forecasts"]] == [0, 4, 5]
    assert "must end in .png" in failed("plan", "--n", 10, "--d", 10, "--out", "plan.txt")


def _forecast(capsys, units):
    main(["plan", "--n", "10000", "--d", "1000", "--epsilon", "0.1", "--units", units, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["units"] == units
    return told["forecasts"][0]

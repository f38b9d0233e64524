import json

from dpsparse.cli import main


def test_plan_gives_a_table_a_picture_and_json(folder, capsys, failed):
    main(["plan", "--n", "10000", "--d", "1000", "--epsilon", "1,0.1", "--out", "plan.png"])
    told = capsys.readouterr().out
    assert "Picture: plan.png" in told
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")
    main(["plan", "--n", "10000", "--d", "1000", "--epsilon", "1,0.1", "--json"])
    strict, loose = json.loads(capsys.readouterr().out)["forecasts"]
    assert (strict["epsilon"], loose["epsilon"]) == (0.1, 1.0)
    assert strict["expected_error"] > loose["expected_error"]
    assert "must end in .png" in failed("plan", "--n", 10, "--d", 10, "--out", "plan.txt")

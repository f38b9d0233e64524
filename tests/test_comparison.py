import json

import pytest
from PIL import Image

from dpsparse import plan
from dpsparse.cli import main
from dpsparse.comparison import METHODS

SMALL = ["compare", "--n", "3000", "--d", "20", "--sparsity", "2", "--epsilon", "10", "--repeats", "2"]


def test_the_table_shows_every_method_and_the_forecast(capsys):
    main(SMALL)
    printed = capsys.readouterr().out
    for method in METHODS:
        assert method.__name__ in printed
    assert "plan forecast an error of" in printed
    assert "all zeros" in printed


@pytest.mark.slow
def test_json_and_picture(capsys, tmp_path):
    picture = tmp_path / "c.png"
    main([*SMALL, "--df", "inf", "--correlation", "0.5", "--json", "--out", str(picture)])
    comparison = json.loads(capsys.readouterr().out)
    ours, *others = comparison["methods"]
    assert [method["method"] for method in comparison["methods"]] == [method.__name__ for method in METHODS]
    assert max(ours["errors"]) < min(min(other["errors"]) for other in others)
    assert all(1 <= hits <= 2 for hits in ours["hits"])
    assert all(len(method["errors"]) == 2 for method in comparison["methods"])
    assert comparison["forecast_error"] == pytest.approx(
        plan(3_000, 20, 2, 10.0, estimand="typical", units_known=True, correlation=0.5).expected_error
    )
    with Image.open(picture) as image:
        assert image.width > 600


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "0"], "epsilon=0.0 must be"),
        (["--sparsity", "21"], "sparsity=21 must be at most d=20"),
        (["--df", "0"], "df=0.0 must be above 0"),
        (["--df", "nan"], "df=nan must be above 0"),
        (["--correlation", "1"], "correlation=1.0 must lie"),
        (["--repeats", "0"], "repeats=0 must be at least 1"),
        (["--n", "100000000"], "n times d must be at most"),
        (["--out", "picture.txt"], "must end in .png"),
    ],
)
def test_mistakes_take_one_line(capsys, options, message):
    with pytest.raises(SystemExit):
        main([*SMALL, *options])
    errors = capsys.readouterr().err.strip().splitlines()
    assert message in errors[-1]
    assert "Traceback" not in "".join(errors)

import json
import os
import subprocess
import sys

import pytest
from PIL import Image

from dpsparse.cli import main


@pytest.mark.slow
def test_demo_tells_the_whole_story(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    main(["demo", "--out", str(picture)])
    told = capsys.readouterr().out
    for word in ("Guarantee", "differentially private", "Released", "Found", "of the 5 true features", "not private"):
        assert word in told.replace("\n", " ")
    # Beside intervals that exclude 0.
    assert "Significant: at the 5 % family-wise level over 1,000 features" in told.replace("\n", " ")
    with Image.open(picture) as image:
        assert image.width > 600
        assert len(image.convert("RGB").getcolors(2**24)) > 10


@pytest.mark.slow
def test_demo_as_json(tmp_path, capsys):
    main(["demo", "--json", "--out", str(tmp_path / "demo.png")])
    found = json.loads(capsys.readouterr().out)
    assert found["error"] < found["zero_error"]
    assert "differentially private" in found["guarantee"]


def test_the_shell_completes_commands():
    line = {**os.environ, "_DPSPARSE_COMPLETE": "bash_complete", "COMP_WORDS": "dpsparse bu", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", "from dpsparse.cli import main; main([])"]
    done = subprocess.run(command, env=line, capture_output=True, text=True, timeout=120)
    assert "budget" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["demo", "--epsilon", "-1"], 1, "epsilon=-1.0 must be"),
        (["demo", "--out", "no/such/folder/x.png"], 1, "no/such/folder"),
        (["demon"], 2, "No such command"),
        (["demo", "--epsilon", "much"], 2, "'much' is not a valid float"),
    ],
)
def test_errors_take_one_line_and_a_status(arguments, status, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == status
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told


def test_verbose_shows_the_traceback():
    with pytest.raises(ValueError, match="epsilon"):
        main(["-v", "demo", "--epsilon", "-1"])


def test_help_is_light():
    code = (
        "import sys; from dpsparse.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'sklearn', 'numba', 'opendp', 'numpy', 'matplotlib', 'pyarrow', 'rich', 'sqlalchemy'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert "demo" in done.stdout

import json
import subprocess
import sys

from dpsparse.cli import main


def test_bounds_init_asks_for_hands_and_reads_no_value(folder, capsys, people, failed):
    main(["bounds", "init", "people.csv", "--target", "cost", "--out", "empty.toml"])
    assert "BY HAND" in capsys.readouterr().out
    assert "not filled in yet" in failed(
        "fit", "people.csv", "--target", "cost", "--epsilon", 1, "--bounds", "empty.toml"
    )
    main(["bounds", "init", "people.csv"])
    printed = capsys.readouterr().out
    assert "would leak" in printed
    # Other people, the same names and kinds: the same template.
    people.assign(age=-people.age, region="else")[::-1].to_csv("people.csv", index=False)
    main(["bounds", "init", "people.csv", "--json"])
    assert json.loads(capsys.readouterr().out)["template"] == printed


def test_without_pyarrow_the_error_says_what_to_install(folder, people):
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from dpsparse.cli import main; main(['bounds', 'init', 'people.csv'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'dpsparse[data]'" in done.stderr

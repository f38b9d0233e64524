import json
import os
import stat
import subprocess
import sys

import pytest

from dpsparse.cli import main


def test_bounds_init_asks_for_hands_and_reads_no_value(folder, capsys, people, failed):
    main(["bounds", "init", "people.csv", "--target", "cost", "--out", "empty.toml"])
    assert "BY HAND" in capsys.readouterr().out
    text = (folder / "empty.toml").read_text()
    (folder / "empty.toml").write_text(text.replace("#[columns", "[columns").replace("#low", "low"))
    assert "not filled in yet" in failed(
        "fit", "people.csv", "--target", "cost", "--epsilon", 1, "--bounds", "empty.toml", "--out", "model.json"
    )
    main(["bounds", "init", "people.csv", "--target", "cost"])
    printed = capsys.readouterr().out
    assert "would leak" in printed
    # Other people, the same names and kinds: the same template.
    people.assign(age=-people.age, region="else")[::-1].to_csv("people.csv", index=False)
    main(["bounds", "init", "people.csv", "--target", "cost", "--json"])
    assert json.loads(capsys.readouterr().out)["template"] == printed


RECORDS = [
    "Ada,Lovelace,north",
    "Ada,1815-12-10,north",
    "Ada,1815-12-10T08:00:00Z,north",
    "Ada,10 Dec 1815,north",
    "Ada,December 10 1815,north",
    "Ada,10.12.1815,north",
    "Ada,ada@example.org,north",
    "Ada,123e4567-e89b-12d3-a456-426614174000,north",
    "Ada,+44 20 7946 0000,north",
    'Ada,"1,200",north',
    "Ada,$12,north",
    "Ada,3e5,north",
    "Ada,,north",
    "Ada,Ada,north",
    "Ada,null,north",
    "Ada,True,north",
]


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("options", [(), ("--json",), ("--json", "--out", "b.toml"), ("--target", "cost")])
def test_a_file_without_names_is_never_printed(folder, capsys, record, options):
    (folder / "people.csv").write_text(f"{record}\n{record}\n")
    with pytest.raises(SystemExit) as ended:
        main(["bounds", "init", "people.csv", *options])
    assert ended.value.code == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert "Ada" not in printed.err
    assert not (folder / "b.toml").exists()


def test_a_template_that_may_hold_a_record_is_its_owners_alone(folder, capsys):
    (folder / "people.csv").write_text("Ada,Lovelace,north\nBo,Byron,south\n")
    main(["bounds", "init", "people.csv", "--out", "b.toml"])
    assert "Ada" not in capsys.readouterr().out
    assert "Ada" in (folder / "b.toml").read_text()
    if os.name == "posix":
        assert stat.S_IMODE((folder / "b.toml").stat().st_mode) == 0o600


def test_names_of_columns_pass(folder, capsys):
    names = ["1007_s_at", "rs123456", "x1", "#", "may", "no", "Na", "24h", "ENSG00000141510", "5-HT (ng/ml)", "cost"]
    (folder / "people.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    main(["bounds", "init", "people.csv", "--target", "cost", "--json"])
    assert json.loads(capsys.readouterr().out)["columns"] == names


def test_a_schema_tells_names_from_records(folder, people, capsys):
    people.to_parquet("people.parquet")
    main(["bounds", "init", "people.parquet"])
    assert "age" in capsys.readouterr().out


@pytest.mark.slow
def test_without_pyarrow_the_error_says_what_to_install(folder, people):
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from dpsparse.cli import main; main(['bounds', 'init', 'people.parquet'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "pip install 'dpsparse[data]'" in done.stderr


def test_a_template_of_a_file_with_semicolons(folder, capsys):
    (folder / "people.csv").write_bytes("née;cost\n1,5;2\n".encode("latin-1"))
    main(["bounds", "init", "people.csv", "--target", "cost", "--encoding", "latin-1", "--json"])
    assert json.loads(capsys.readouterr().out)["columns"] == ["née", "cost"]
    with pytest.raises(SystemExit):
        main(["bounds", "init", "people.csv", "--target", "cost"])
    assert "line 1 is not valid utf-8; save the file as UTF-8, or give its encoding" in capsys.readouterr().err

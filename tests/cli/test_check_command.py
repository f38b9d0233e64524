"""`dpsparse check` of files; test_convert.py has that of stores."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from dpsparse.cli import main

BOUNDS = '[columns.region]\ncategories = ["north", "south"]\n'
FAULTY = """P900,ninety,Nroth,31/12/2023,7391
P901,,south,,

P902,3
"P903,1,north,2024-01-01,7391
P904,40,SOUTH,2024-01-05,NA
"""


@pytest.fixture
def people(tmp_path, monkeypatch):
    """60 good records, then a few with faults; the numbers of these lines begin at 62."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"name": [f"Q{k}zx" for k in range(60)], "age": rng.integers(7391, 7399, 60)})
    table["region"] = rng.choice(["north", "south", "qzxwest"], 60)
    table["joined"], table["cost"] = "2024-01-31", 7391 + rng.random(60)
    table.to_csv("people.csv", index=False)
    with open("people.csv", "a") as file:
        file.write(FAULTY)
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    return tmp_path


def told(capsys, *more):
    main(["check", "people.csv", *more])
    return capsys.readouterr().out


def faults(capsys, *more):
    shown = json.loads(told(capsys, "--json", *more))
    return {(each["column"], each["fault"]): each["lines"] for each in shown["faults"]}, shown


def test_a_narrow_screen_shows_whole_names_faults_and_lines(people, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"age_{k}" for k in range(3)]
    pd.DataFrame({name: [1.0] * 20 + [None] * 12 + [2.0] * 28 for name in names}).to_csv("people.csv", index=False)
    with open("people.csv", "a") as file:
        file.write('"1,1,1\n')
    shown = told(capsys)
    table = [line for line in shown.splitlines() if "│" in line]
    assert {len(line) for line in table} == {80}
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in table]
    columns, faults, lines = (" ".join(filter(None, cells)) for cells in zip(*rows, strict=True))
    assert columns == "(whole line) age_0 age_1 age_2"
    assert "a quote is left open, or text follows a closing quote" in faults
    assert lines == "62" + " 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, ..." * 3


def test_faults_have_their_lines(people, capsys):
    seen, shown = faults(capsys, "--bounds", "bounds.toml", "--target", "cost")
    assert seen == {
        (None, "the line is empty"): [64],
        (None, "the line has another number of cells than line 1"): [65],
        (None, "a quote is left open, or text follows a closing quote"): [66],
        ("age", "not a number"): [62],
        ("age", "missing"): [63],
        ("joined", "not a date as 2024-01-31"): [62],
        ("joined", "missing"): [63],
        ("cost", "missing"): [63, 67],
        ("region", "perhaps a misspelling of 'north'"): [62],
        ("region", "perhaps a misspelling of 'south'"): [67],
    }
    remarks = {each["column"]: each["remark"] for each in shown["remarks"]}
    assert "it may be an identifier" in remarks["name"]
    assert set(remarks) == {None, "name"}


def test_it_shows_no_value_and_no_category_that_was_not_given(people, capsys):
    for options in ((), ("--json",), ("--bounds", "bounds.toml")):
        out = told(capsys, *options)
        for value in ("7391", "ninety", "Nroth", "qzx", "P90", "2023", "SOUTH"):
            assert value not in out
    assert "north" not in told(capsys)


def test_one_more_record_of_the_same_kinds_changes_nothing(people, capsys):
    """So that no count, range or list of categories can be read off it."""
    before = told(capsys)
    text = (people / "people.csv").read_text().splitlines()
    text.insert(3, "Q77zx,99999,east,1999-12-31,-1e9")
    (people / "people.csv").write_text("\n".join(text) + "\n")
    after = told(capsys)
    shifted = after
    for line in range(63, 69):
        shifted = shifted.replace(str(line), str(line - 1))
    assert shifted == before


def test_it_ends_with_what_must_not_be_done_with_it(people, capsys):
    out = told(capsys)
    assert out.startswith("For your eyes only: this comes from the records, and no guarantee covers it.")
    end = "Nothing seen here may be typed into bounds or decide which columns to use"
    assert out.splitlines()[-1].startswith(end)
    assert json.loads(told(capsys, "--json"))["then"].startswith(end)


def test_it_takes_no_ledger_and_writes_nothing(people, capsys):
    before = sorted(os.listdir())
    told(capsys)
    with pytest.raises(SystemExit) as stopped:
        main(["check", "people.csv", "--ledger", "budget.db"])
    assert stopped.value.code == 2
    assert "no budget could pay for it; leave out --ledger" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check", "people.csv", "--out", "faults.txt"])
    assert sorted(os.listdir()) == before


def test_separators_and_encodings(people, capsys):
    text = (people / "people.csv").read_text().replace(",", ";").replace("name;", "name,x;")
    (people / "people.csv").write_bytes(text.replace("Q7zx", "Zoë").encode("latin-1"))
    out = told(capsys, "--separator", ",")
    assert "cells seem to be separated by a semicolon" in out
    out = told(capsys)
    assert (
        "some lines are not UTF-8: if the file comes from Windows, give cp1252 as its encoding, or else latin-1" in out
    )
    assert "not UTF-8" not in told(capsys, "--encoding", "latin-1")


def test_a_good_file(people, capsys):
    pd.DataFrame({"age": [30, 40, 50] * 10, "sex": ["female", "male"] * 15, "cost": np.arange(30) + 0.5}).to_csv(
        "people.csv", index=False
    )
    assert "No fault was seen." in told(capsys, "--target", "cost")


def test_a_file_of_names_alone_has_no_records(people, capsys):
    (people / "people.csv").write_text("age,sex,cost\n")
    out = told(capsys, "--target", "cost")
    assert "The file: it has names of columns and no records: a fit is refused" in out
    assert "No fault was seen." not in out


def test_parquet_is_checked_by_records(people, capsys):
    pd.DataFrame({"age": [30.0, None, 50.0], "sex": ["f", None, "m"]}).to_parquet("people.parquet")
    main(["check", "people.parquet", "--json"])
    seen = {(each["column"], each["fault"]): each["lines"] for each in json.loads(capsys.readouterr().out)["faults"]}
    assert seen == {("age", "missing"): [2], ("sex", "missing"): [2]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "nothing.csv does not exist"),
        (["bounds.toml"], "must end in .csv, .parquet or .npy"),
        (["people.csv", "--bounds", "other.toml"], "the data have no column 'regio'"),
    ],
)
def test_mistakes(people, failed, arguments, message):
    (people / "other.toml").write_text('[columns.regio]\ncategories = ["north", "south"]\n')
    assert message in failed("check", *arguments)


def test_fit_says_nothing_of_values_and_points_to_check(people, capsys):
    options = ["--target", "cost", "--epsilon", "1", "--sparsity", "1", "--json"]
    main(["fit", "people.csv", *options, "--out", "one.json"])
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any(note.endswith("for your eyes only: dpsparse check people.csv") for note in notes)
    (people / "people.csv").write_text("\n".join((people / "people.csv").read_text().splitlines()[:61]) + "\n")
    main(["fit", "people.csv", *options, "--out", "two.json"])
    # The same is said of a file without a fault.
    assert [note for note in json.loads(capsys.readouterr().out)["notes"] if "dpsparse check" in note] == [
        note for note in notes if "dpsparse check" in note
    ]


def panel(rng, names):
    """2,000 people with one to five rows each; an income and an age, which repeat too."""
    who = np.repeat(names, rng.integers(1, 6, len(names)))
    return pd.DataFrame({"who": who, "age": rng.integers(20, 80, len(who)), "income": rng.integers(0, 9_000, len(who))})


@pytest.mark.parametrize("names", [125_024 + 3 * np.arange(2_000), [f"P{k:04d}" for k in range(2_000)]], ids=type)
def test_people_with_several_rows_are_remarked_on(people, capsys, names):
    table = panel(np.random.default_rng(0), names)
    table.to_csv("people.csv", index=False)
    _, shown = faults(capsys)
    (remark,) = [each for each in shown["remarks"] if each["column"] is not None]
    assert remark["column"] == "who"
    assert f"it has 2,000 values in {len(table):,} rows: if it names people, a person has several" in remark["remark"]
    assert "--records-per-person" in remark["remark"]
    # In any order, where everybody has as many.
    even = table.drop_duplicates("who")
    pd.concat([even, even, even]).to_csv("people.csv", index=False)
    assert "it has 2,000 values in 6,000 rows" in told(capsys, "--json")
    # In any order, where not: these are counted off, as quantities are not.
    table.sample(frac=1, random_state=0).to_csv("people.csv", index=False)
    _, shown = faults(capsys)
    assert [each["column"] for each in shown["remarks"] if "values in" in each["remark"]] == ["who"]


def scattered(rng, names, **facts):
    """People with one to twelve rows each in any order; a score for each row, and facts that are a person's."""
    who = rng.permutation(np.repeat(np.arange(len(names)), rng.integers(1, 13, len(names))))
    table = pd.DataFrame({"k": names[who], "score": rng.integers(0, 500, len(who))})
    return table.assign(**{fact: values[who] for fact, values in facts.items()})


@pytest.mark.parametrize("kind", ["numbers", "texts"])
@pytest.mark.parametrize("sign", ["a fact", "its name", "nothing"])
def test_people_with_scattered_rows_of_any_number_are_remarked_on(people, capsys, kind, sign):
    rng = np.random.default_rng(1)
    names = rng.choice(900_000, 90, replace=False) + 100_000
    if kind == "texts":
        names = np.array([f"P{name}" for name in names])
    facts = {"sex": rng.choice(["f", "m"], 90)} if sign == "a fact" else {}
    table = scattered(rng, names, **facts).rename(columns={"k": "patient_id" if sign == "its name" else "k"})
    table.to_csv("people.csv", index=False)
    _, shown = faults(capsys)
    remarked = [each["column"] for each in shown["remarks"] if "90 values in" in each["remark"]]
    assert remarked == ([] if sign == "nothing" else [table.columns[0]])


def test_quantities_that_repeat_are_not_called_names(people, capsys):
    rng = np.random.default_rng(2)
    age = rng.integers(20, 80, 900)
    income = np.round(rng.lognormal(8, 1, 900), -2).astype(int)
    table = pd.DataFrame({"age": age, "group": age // 10, "squared": age**2, "income": income, "rich": income > 5_000})
    # In order of another column, too.
    table.assign(sex=rng.choice(["f", "m"], 900)).sort_values("sex").to_csv("people.csv", index=False)
    _, shown = faults(capsys)
    assert [each for each in shown["remarks"] if "values in" in each["remark"]] == []


def test_a_target_that_is_no_column_is_refused(people, capsys):
    with pytest.raises(SystemExit):
        main(["check", "people.csv", "--target", "cots"])
    assert "--target: there is no column 'cots'; did you mean 'cost'?" in capsys.readouterr().err

"""How many responses could be read is released, said, and warned of where they are few."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from dpsparse import PrivateSparseRegressor, UnreadResponsesWarning, load_model, read_table, save_model, tune
from dpsparse.algorithms.pursuit.result import ResponseCount
from dpsparse.cli import main
from dpsparse.datasets import make_heavy_tailed
from dpsparse.report.fit_page import fit_page

N = 6_000
X, Y, _ = make_heavy_tailed(N, 4, 2, random_state=0)


def people(unread, text="n/k"):
    """A table of which a share of the responses is text."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    cells = [f"{value:.4f}" for value in Y]
    n_unread = round(unread * N)
    return frame.assign(y=[text] * n_unread + cells[n_unread:])


def fit(data, **options):
    return PrivateSparseRegressor(**{"sparsity": 2, "epsilon": 3.0, "random_state": 5} | options).fit(data)


def told(caught):
    return [str(each.message) for each in caught if each.category is UnreadResponsesWarning]


@pytest.mark.parametrize(
    ("number", "noise", "short", "too_short"),
    [
        (10_000, 50.0, False, False),
        (9_810, 50.0, False, False),
        (9_790, 50.0, True, False),
        # Within three standard deviations of all: perhaps none is missing.
        (9_000, 400.0, False, False),
        (5_010, 50.0, True, False),
        (4_990, 50.0, True, True),
        (4_990, 2_000.0, False, False),
        (1, 50.0, True, True),
    ],
)
def test_few_responses_are_told_from_noise(number, noise, short, too_short):
    count = ResponseCount(number, noise, 10_000)
    assert (count.is_short, count.is_too_short) == (short, too_short)


@pytest.mark.parametrize(
    ("number", "noise", "words"),
    [
        (24_683.2, 182.0, "about 24,700 of 28,155"),
        (24_683.2, 3.0, "about 24,683 of 28,155"),
        (24_683.2, 0.0, "about 24,683 of 28,155"),
        (28_155.0, 182.0, "as far as the noise lets one tell, all 28,155"),
    ],
)
def test_a_count_shows_no_digit_that_noise_decides(number, noise, words):
    assert str(ResponseCount(number, noise, 28_155)) == words


@pytest.mark.slow
def test_unread_responses_are_counted_and_warned_of_everywhere(tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit(read_table(people(unread=0.3), "y")).released_
    count = model.responses
    assert count.n_records == N
    assert abs(count.number - 0.7 * N) < 5 * count.noise < 0.1 * N
    sentence = f"{count}{count.margin} responses are numbers; the others counted as missing"
    assert [text.split(". If they")[0] for text in told(caught)] == [sentence]
    for text in (" ".join(model.summary().split()), model.as_html(), fit_page(model)):
        # A report begins it with a capital.
        assert sentence[1:] in text
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").responses == count


@pytest.mark.slow
def test_complete_responses_are_said_to_be_complete_without_a_warning():
    for seed in range(10):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnreadResponsesWarning)
            model = fit(read_table(people(unread=0.0), "y"), epsilon=1.0, random_state=seed).released_
        assert not model.responses.is_short
        assert "Responses: " in model.summary()


def test_where_no_response_may_be_missing_nothing_is_said():
    model = PrivateSparseRegressor(sparsity=2, epsilon=3.0, random_state=0).fit(X, Y).released_
    assert model.responses is None
    assert "Responses" not in model.summary()


def test_gaps_in_responses_of_an_array_are_counted_too():
    model = PrivateSparseRegressor(sparsity=2, epsilon=3.0, missing="center", random_state=0)
    with pytest.warns(UnreadResponsesWarning, match="responses are numbers.* lines in another encoding .*--encoding"):
        model.fit(X, np.where(np.arange(N) % 5 == 0, np.nan, Y))
    assert abs(model.released_.responses.number - 0.8 * N) < 5 * model.released_.responses.noise


@pytest.mark.slow
def test_a_tuned_fit_knows_the_number_on_its_own_rows():
    candidates = [PrivateSparseRegressor(sparsity=k, epsilon=6.0, random_state=0) for k in (1, 2)]
    with pytest.warns(UnreadResponsesWarning):
        count = tune(candidates, read_table(people(unread=0.3), "y"))[0].released_.responses
    assert count.n_records == N * 4 // 5
    assert count.is_short
    assert not count.is_too_short


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--json",), ("--holdout", "0.2")], ids=["plain", "json", "holdout"])
def test_the_command_fails_where_most_responses_are_no_numbers(tmp_path, monkeypatch, capsys, options):
    monkeypatch.chdir(tmp_path)
    people(unread=0.8).to_csv("people.csv", index=False)
    asked = ["--target", "y", "--epsilon", "3", "--out", "model.json", "--report", "report.html"]
    with pytest.raises(SystemExit) as ended:
        main(["fit", "people.csv", *asked, *options])
    assert ended.value.code == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    assert "responses are numbers in 'y'" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv"]


def test_the_command_warns_where_some_are_none(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people(unread=0.2).to_csv("people.csv", index=False)
    options = ["--target", "y", "--epsilon", "3", "--sparsity", "2"]
    main(["fit", "people.csv", *options, "--out", "model.json"])
    shown = " ".join(capsys.readouterr().out.split())
    assert len(re.findall("Warning: about [45],", shown)) == 1
    assert shown.count("responses are numbers") == 1
    main(["fit", "people.csv", *options, "--out", "again.json", "--json"])
    responses = json.loads(capsys.readouterr().out)["responses"]
    assert responses["n_records"] == N
    assert abs(responses["number"] - 0.8 * N) < 7 * responses["noise"]


@pytest.mark.parametrize("unread", [False, True])
def test_responses_left_empty_on_purpose_are_not_called_unread(tmp_path, monkeypatch, capsys, unread):
    monkeypatch.chdir(tmp_path)
    table = people(unread=0.0)
    blank = np.arange(N) % 10 < 7
    table["y"] = np.where(blank, "so" if unread else "", table["y"].astype(str))
    table.to_csv("people.csv", index=False)
    asked = ["fit", "people.csv", "--target", "y", "--epsilon", "3", "--sparsity", "2", "--out", "model.json"]
    if unread:
        with pytest.raises(SystemExit) as ended:
            main(asked)
        assert ended.value.code == 1
        return
    main(asked)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Warning" not in shown
    model = load_model("model.json")
    assert model.responses.empty == pytest.approx(0.7, abs=0.03)
    sentence = f"about {100 * model.responses.empty:.0f} % of the records have an empty cell there"
    assert sentence in " ".join(model.summary().split())

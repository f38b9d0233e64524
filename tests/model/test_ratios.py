import html
import math
from dataclasses import replace

import numpy as np
import pytest

from dpsparse import PrivateSparseClassifier
from dpsparse.algorithms.pursuit.result import ResponseCount
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect, effect_rows
from dpsparse.model.ratios import hardly_any, label_of_yes, odds_ratio, ratio_interval_text, ratio_text
from dpsparse.model.remarks import remarks
from dpsparse.model.unread_responses import ResponsesUnread, readable, refuse_unread, unread
from dpsparse.report.charts import Row, forest
from dpsparse.report.fit_page import fit_page
from dpsparse.report.ratio_sentence import ratio_sentence
from dpsparse.report.report_summary import publishable


@pytest.fixture(scope="module")
def model():
    """A fit of which the odds of yes double with the second feature, about."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8_000, 4))
    y = np.where(rng.random(8_000) < 1 / (1 + np.exp(1 - math.log(2) * X[:, 1])), "denied", "granted")
    units = {"feature_center": 0, "feature_scale": 1}
    return PrivateSparseClassifier(sparsity=1, positive="denied", epsilon=3.0, **units).fit(X, y).released_


@pytest.mark.parametrize("log_odds", [-1e300, -800.0, -1e-300, 0.0, 3e-9, 0.0099, 0.0101, 5.0, 800.0, 1e300])
def test_every_effect_has_a_ratio_that_can_be_written(log_odds):
    ratio = odds_ratio(log_odds)
    assert 0 < ratio < math.inf
    assert float(ratio_text(log_odds).replace(",", "")) == pytest.approx(ratio, rel=1e-3)


def test_a_ratio_near_one_is_told_from_it():
    assert ratio_text(2e-7) == "1.00000020"
    assert ratio_text(-2e-7) == "0.99999980"


def test_an_interval_that_tells_nothing_is_not_written_out():
    wide = math.log(2e6)
    assert ratio_interval_text((-200.0, 210.0)) == ratio_interval_text((-wide, wide)) == "[<1e-06, >1e+06]"
    # In tiny units one end may well be so large, and tell something.
    assert ratio_interval_text((wide, 2 * wide)) == "[2,000,000, 4e+12]"
    assert ratio_interval_text((-2 * wide, -wide)) == "[2.5e-13, 5e-07]"
    assert ratio_interval_text(None) == "-"


def test_a_table_has_ratios_with_their_intervals_and_predicts_by_log_odds():
    effect = Effect("age", 0.5, math.log(2), 0.1, clear=True)
    row, last = effect_rows([effect], -1.5, ratios=True)
    reach = 1.959964 * 0.1
    assert row[1] == "2"
    assert row[2] == f"[{2 * math.exp(-reach):.4g}, {2 * math.exp(reach):.4g}]"
    assert (row[5], last[5]) == ("0.5", "-1.5")


def test_the_sentence_to_publish_tells_odds(model):
    text = publishable(replace(model, target="answer"))
    assert text.startswith(
        "What is associated with answer being denied in 8,000 records, by a sparse logistic regression"
    )
    assert "times the odds that answer is denied (between " in text
    (ratio, low, high) = model.odds_ratios()["1"]
    assert abs(ratio - 2) < 0.3
    assert f"{ratio:.4g} times the odds" in text
    assert f"(between {low:.4g} and {high:.4g} times" in text


@pytest.mark.parametrize(("scale", "told"), [(25_000.0, "an increase of 10,000"), (3.0, "a one-unit increase")])
def test_where_one_unit_hardly_matters_the_sentence_takes_a_larger_step(model, scale, told):
    effect = Effect("income", 1e-5, 1e-5, 1e-6, clear=True, center=0.0, scale=scale)
    text = ratio_sentence(model, effect, Feature("income"), "a one-unit increase")
    assert text.startswith(f"income: {told} is associated with {ratio_text(1e-5 * (1e4 if scale > 10 else 1))} times")
    # What is a step of itself stays one.
    assert "a day later" in ratio_sentence(model, effect, Feature("joined"), "a day later")


def test_few_of_yes_or_of_no_are_warned_of(model):
    assert hardly_any(model) == ""
    none = replace(model, constant=-12.0)
    assert "is yes, no more than the noise" in hardly_any(none)
    assert "Is 'denied' written as in the table?" in hardly_any(none)
    assert ("Warning", hardly_any(none)) in list(remarks(none))
    assert hardly_any(none)[:20] in html.unescape(fit_page(none)).replace("By the", "by the")
    every = hardly_any(replace(model, constant=12.0))
    assert "is no, no more than the noise" in every
    assert "written as" not in every
    # Zero and one are no labels that were given.
    assert "written as" not in hardly_any(replace(none, classes=("0", "1")))
    # A number has no share of yes.
    assert hardly_any(replace(none, classes=None)) == ""


def test_responses_are_not_called_numbers(model):
    count = ResponseCount(2_000.0, 10.0, 8_000)
    text = replace(model, responses=count, target_kind="text")
    zero_one, words = replace(text, target_kind="number"), replace(text, target_kind="boolean")
    assert "'denied' (yes) or another label (no)" in readable(text)
    assert "0 or 1" in readable(zero_one)
    assert "true or false" in readable(words)
    assert label_of_yes(words) == "yes"
    assert "--positive" not in unread(text)
    assert "say which one is yes: --positive LABEL" in unread(zero_one)
    with pytest.raises(ResponsesUnread, match="one fit for each"):
        refuse_unread(zero_one)
    with pytest.raises(ResponsesUnread, match="fewer gaps"):
        refuse_unread(text)


def test_a_forest_of_ratios_is_marked_with_ratios():
    rows = [Row("a", math.log(2), (math.log(1.5), math.log(2.6)), True, ""), Row("b", -0.1, None, False, "")]
    picture = forest(rows, 0.2, "", ratios=True)
    labels = [text for text in ("0.5", "1", "2") if f">{text}</text>" in picture]
    assert labels == ["1", "2"]
    assert "noise floor, 0.8187 to 1.221" in picture
    # The same places as without: only the marks differ.
    assert picture.count("<circle") == 2
    assert forest([Row("a", 1e300, None, True, "")], None, "", ratios=True) is None


def test_the_summary_and_the_notebook_have_ratios(model):
    assert "Odds ratios, per one-unit increase: 1 " in model.summary()
    assert "<th" in model.as_html()
    assert "odds ratio" in model.as_html()

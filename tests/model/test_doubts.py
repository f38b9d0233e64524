"""An effect that is not reliable says why and what would help, wherever it is shown."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from dpsparse import PrivateSparseRegressor
from dpsparse.algorithms.pursuit import result
from dpsparse.cli.output import model_facts
from dpsparse.datasets import make_heavy_tailed
from dpsparse.model.doubts import DOUBTS
from dpsparse.model.effect import Effect
from dpsparse.model.unread_responses import UnreadResponsesWarning
from dpsparse.report.fit_page import fit_page
from dpsparse.report.report_summary import publishable, verdicts

X, Y, _ = make_heavy_tailed(3_000, 6, 2, random_state=0)
FITTED = PrivateSparseRegressor(sparsity=2, epsilon=2.0, feature_center=0, feature_scale=1).fit(X, Y).released_
SURE, SMALL = Effect("0", 2.0, 2.0, 0.1, clear=True), Effect("1", 0.1, 0.1, 0.1)
ALONE = [reason for reason in result.DOUBTS if reason not in (result.NOTHING_LEARNED, result.NOTHING_EXPLAINED)]


def doubtful(reason, feature="2"):
    return Effect(feature, 1.5, trusted=False, doubt=reason)


def with_effects(*effects, **changes):
    return replace(FITTED, effects=effects, **changes)


def words(html):
    return " ".join(unescape(re.sub("<style>.*?</style>|<[^>]*>", " ", str(html), flags=re.S)).split())


def said(model):
    """What the page and the report say of what matters."""
    return words(" ".join(map(str, verdicts(model))))


def test_every_reason_has_words():
    assert set(DOUBTS) == set(result.DOUBTS)
    # A record has a category, and not a number: the words are for both.
    assert not any("have it" in str(doubt) or "carr" in str(doubt) for doubt in DOUBTS.values())


def test_a_column_that_is_constant_within_people_is_not_said_to_need_more_records():
    model = with_effects(SURE, doubtful("few carriers"), within=True)
    shown = " ".join(model.summary().split()), words(model.as_html()), words(fit_page(model)), said(model)
    shown = (*shown, model_facts(model)["effects"][1]["reason"], " ".join(model.effects_.reason), model.to_markdown())
    assert all("it hardly changes within people" in text for text in shown)
    assert not any("records differ in it" in text for text in shown)
    model = with_effects(SURE, doubtful("maybe few carriers"), within=True)
    assert "leaves open whether it changes within people" in " ".join(model.summary().split())


@pytest.mark.parametrize("reason", [*ALONE, None])
def test_reason_and_remedy_are_in_summary_notebook_report_page_and_json(reason):
    model = with_effects(SURE, doubtful(reason))
    doubt = DOUBTS.get(reason)
    parts = ("standard error cannot be trusted", "more records") if doubt is None else (doubt.reason, doubt.remedy)
    shown = " ".join(model.summary().split()), words(model.as_html()), words(fit_page(model)), said(model)
    assert all(part in text for part in parts for text in shown)
    facts = model_facts(model)["effects"]
    assert (facts[0]["reason"], facts[0]["remedy"]) == (None, None)
    assert all(part in facts[1][name] for part, name in zip(parts, ("reason", "remedy"), strict=True))


def test_effects_of_one_reason_are_named_together():
    model = with_effects(SURE, *(doubtful("few carriers", name) for name in "123"), doubtful("moved far", "4"))
    lines = " ".join(model.summary().split()).split("** Not reliable: ")[1:]
    assert [line.split(":")[0] for line in lines] == ["'1', '2', '3'", "'4'"]


@pytest.mark.parametrize(
    ("effects", "sentence"),
    [
        ((SMALL,), "No effect is significant."),
        ((SMALL, doubtful("too noisy")), "No effect that could be tested is significant."),
        ((doubtful("too noisy"),), None),
        ((SURE, doubtful("too noisy")), None),
        ((), None),
    ],
)
def test_only_what_could_be_tested_is_called_not_significant(effects, sentence):
    model = with_effects(*effects)
    found = re.findall("No effect[^.]*significant[.]", said(model))
    assert found == ([] if sentence is None else [sentence])
    paragraph = publishable(model) or ""
    assert re.findall("No effect[^.]*significant[.]", paragraph) == found
    assert bool(paragraph) == any(effect.interval is not None for effect in effects)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"explains": False}, "nothing explained"),
        ({"response_scale_known": False, "reason": "nearly all responses are equal"}, "nothing learned"),
        ({"response_scale_known": False, "explains": False, "reason": "most are equal"}, "nothing learned"),
    ],
)
def test_where_nothing_was_tested_nothing_is_called_not_significant(change, reason):
    model = with_effects(doubtful(reason), noise_floor=None, **change)
    for text in (model.summary(), words(model.as_html()), words(fit_page(model)), said(model)):
        assert "significant" not in text
    assert publishable(model) is None
    assert "no effect could be tested" in said(model)


@pytest.mark.slow
def test_nothing_learned_is_not_said_beside_effects():
    """With 2,400 responses in 24,000 records a scale cannot be relied on, and effects are near the truth or not."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(24_000, 4))
    y = np.where(rng.random(24_000) < 0.1, 3 * table[:, 0] - 2 * table[:, 1] + rng.standard_t(3, 24_000), np.nan)
    guessed = 0
    for seed in range(6):
        estimator = PrivateSparseRegressor(sparsity=2, epsilon=1.0, random_state=seed, missing="center")
        with pytest.warns(UnreadResponsesWarning):
            model = estimator.fit(table, y).released_
        assert not model.response_scale_known
        has_effects = any(effect.coef for effect in model.effects)
        for text in (model.summary(), words(model.as_html()), words(fit_page(model)), said(model)):
            text = " ".join(text.split())
            assert ("Effects and predictions are guesses" in text) == has_effects
            assert ("Nothing learned" in text or "Nothing was learned" in text) != has_effects
            assert "predictions are the constant" not in text or not has_effects
        guessed += has_effects
    assert guessed > 0


def test_a_fit_that_learned_nothing_has_no_intervals():
    model = PrivateSparseRegressor(sparsity=2, epsilon=2.0, random_state=0).fit(X, Y > 1e9).released_
    assert not model.response_scale_known
    assert [effect.doubt for effect in model.effects] == ["nothing learned"] * 2
    assert all(effect.interval is None for effect in model.effects)
    assert "significant" not in model.summary()

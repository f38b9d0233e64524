import inspect
import re
from dataclasses import replace
from html import unescape

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import sklearn

import dpsparse
from dpsparse import DPIHTH, PrivateSparseRegressor
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.model.privacy_html import record_html

# Lines that a window shows.
SCREEN = 40
X, Y, _ = make_heavy_tailed(500, 5, 2, random_state=0)
NAMED = pd.DataFrame(X, columns=["age", "<script>alert(1)</script>", "c", "d", "e"])
MODELS = [PrivateSparseRegressor(sparsity=3, epsilon=2.0, **STANDARDIZED), DPIHTH(sparsity=2, epsilon=2.0)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_before_the_fit_it_is_scikit_learns_diagram(model):
    fresh = sklearn.clone(model)
    assert "sk-container" in fresh._repr_html_()
    assert "sk-container" in fresh._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_after_the_fit_guarantee_effects_and_releases(model):
    fitted = sklearn.clone(model).fit(NAMED, Y)
    before = plt.get_fignums()
    shown = fitted._repr_html_()
    assert fitted._repr_mimebundle_() == {"text/plain": repr(fitted), "text/html": shown}
    assert "sk-container" not in shown
    assert "differentially private" in shown
    assert record_html(fitted.privacy_) in shown
    rows = re.findall('<th scope="row">(.*?)</th>', shown.split("</table>")[0])
    assert list(map(unescape, rows)) == [*(NAMED.columns[j] for j in fitted.support_), "(intercept)"]
    assert len(re.sub(r'src="data:[^"]*"', "", shown)) < 6_000
    # A picture of the effects, which no open figure shows a second time.
    assert shown.count("<img alt=") == 1
    assert "data:image/png;base64," in shown
    assert plt.get_fignums() == before


def test_what_cannot_be_drawn_is_shown_without_a_picture():
    model = sklearn.clone(MODELS[0]).fit(X, Y).released_
    huge = replace(model.effects[0], coef=1e250, estimate=1e250, standard_error=1e240, trusted=True)
    for other in (replace(model, effects=()), replace(model, effects=(huge,))):
        assert "<img" not in other._repr_html_()
        assert "differentially private" in other._repr_html_()


def test_names_are_escaped():
    fitted = PrivateSparseRegressor(sparsity=5, epsilon=2.0, **STANDARDIZED).fit(NAMED, Y)
    assert "<script" not in fitted._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in fitted._repr_html_()


def test_the_display_option_is_obeyed():
    fitted = sklearn.clone(MODELS[1]).fit(X, Y)
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert "text/html" not in fitted._repr_mimebundle_()


def test_a_record_shows_the_guarantee_and_the_price_of_each_kind():
    record = sklearn.clone(MODELS[0]).fit(X, Y).privacy_
    kinds = re.findall(r"^\| ([^|]+) \| (\d+) \|", record._repr_markdown_(), re.M)
    assert re.findall(r'<th scope="row">(.*?)</th><td class="number">(\d+)</td>', record_html(record)) == kinds
    assert sum(int(count) for _, count in kinds) == len(record.releases)
    assert ("pick", "4") in kinds
    assert ("final gradient", "3") in kinds


def test_a_seeded_record_says_so_first():
    shown = sklearn.clone(MODELS[1]).set_params(random_state=0).fit(X, Y).privacy_._repr_markdown_()
    assert shown.startswith("**NOT PRIVATE")
    assert "Nothing is guaranteed" in shown


def test_help_fits_two_screens():
    public = [getattr(dpsparse, name) for name in dpsparse.__all__ if name != "__version__"]
    documented = [each for each in public if callable(each)]
    documented += [each.fit for each in documented if hasattr(each, "fit")]
    assert max(len(inspect.getdoc(each).splitlines()) for each in documented) <= 2 * SCREEN

"""Pictures of released numbers: they show them, and no two labels overlap."""

from dataclasses import replace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from dpsparse.algorithms.estimates import Estimate
from dpsparse.algorithms.evaluation_outcomes import Decile
from dpsparse.families.estimands import LOG_ODDS
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect
from dpsparse.model.plots import plot_calibration

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    """No figure stays open."""
    yield
    plt.close("all")


def with_effects(model, count):
    # Signs of formulas are text too.
    names = [f"{'a $feature$ of many_{words} ' * 5 if k % 2 else 'x' * 190} {k}" for k in range(count)]
    features = tuple(Feature(name, 0.0, 2.5) for name in names)
    effects = tuple(Effect(name, 1.0 * k, 1.0 * k, 0.25, clear=k > 1) for k, name in enumerate(names))
    return replace(model, features=features, effects=effects, correlations=None)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 20])
def test_labels_lie_within_the_figure_and_apart(fitted, count):
    axes = with_effects(fitted.released_, count).plot_effects()
    figure = axes.figure
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert len(boxes) == count
    assert all(box.x0 >= 0 and box.y0 >= 0 for box in boxes)
    assert all(box.y1 <= figure.bbox.y1 for box in boxes)
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
    # Names that begin alike are told apart by their ends.
    assert len({label.get_text() for label in axes.get_yticklabels()}) == count


def drawn(axes, marker):
    return [line.get_xdata()[0] for line in axes.lines if line.get_marker() == marker]


def test_effects_are_drawn_where_they_are(region):
    axes = region.plot_effects(per="unit")
    assert drawn(axes, "o") == [2.1, -3.2]
    assert drawn(axes, "x") == [1.0]
    scaled = region.plot_effects()
    assert drawn(scaled, "o") == [2.1 * 15, -3.2]
    assert [label.get_text() for label in scaled.get_yticklabels()] == ["age (per 15)", "region=north", "region=east"]
    own = plt.subplots()[1]
    assert region.plot_effects(own) is own
    with pytest.raises(ValueError, match="per='sd' must be"):
        region.plot_effects(per="sd")


def test_an_unnamed_value_without_an_interval_is_counted_below(region):
    unnamed = Feature("sex", buckets=(2,), rank=2)
    effects = (*region.effects, Effect(unnamed.name, 0.0, trusted=False))
    model = replace(region, features=(*region.features, unnamed), effects=effects, correlations=None)
    axes = model.plot_effects()
    assert len(axes.get_yticklabels()) == len(region.effects)
    assert axes.get_xlabel().endswith("not shown: 1 effect of an unnamed value, which has no interval")
    assert "not shown" not in region.plot_effects().get_xlabel()


def test_a_product_has_the_step_of_its_number(region):
    product = Feature("age", within=Feature("region", category="north"))
    effects = (*region.effects[:2], Effect(product.name, 0.5, 0.5, 0.1))
    model = replace(region, features=(*region.features, product), effects=effects, correlations=None)
    axes = model.plot_effects()
    texts = [label.get_text() for label in axes.get_yticklabels()]
    assert texts == ["age (per 15)", "region=north", "age:region=north (per 15)"]
    assert drawn(axes, "o")[-1] == 0.5 * 15
    # Alone, it has its own.
    alone = replace(model, effects=(replace(effects[2], center=50.0, scale=9.0),))
    assert [label.get_text() for label in alone.plot_effects().get_yticklabels()] == ["age:region=north (per 9)"]


def test_effects_on_log_odds_are_ratios_on_a_logarithmic_axis(region):
    axes = replace(region, estimand=LOG_ODDS.name, classes=("no", "yes")).plot_effects(per="unit")
    np.testing.assert_allclose(drawn(axes, "o"), np.exp([2.1, -3.2]))
    assert axes.get_xscale() == "log"


@pytest.mark.parametrize("reach", [0.05, 0.7, 3.0, 80.0])
def test_an_axis_of_ratios_has_round_numbers_apart(region, reach):
    effects = (replace(region.effects[0], coef=reach, estimate=reach, standard_error=reach / 4),)
    model = replace(region, estimand=LOG_ODDS.name, classes=("no", "yes"), effects=effects, correlations=((),))
    axes = model.plot_effects(per="unit")
    axes.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
    assert len(boxes) >= 3
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])


def test_categories_have_the_same_step_whatever_unit_was_learned(region):
    north = replace(region.effects[1], center=0.2, scale=0.6)
    model = replace(region, effects=(region.effects[0], north, region.effects[2]))
    assert drawn(model.plot_effects(), "o") == [2.1 * 15, -3.2]


def test_a_model_without_effects_has_an_empty_picture(fitted):
    axes = replace(fitted.released_, effects=(), correlations=()).plot_effects()
    assert len(axes.get_yticks()) == 0


def test_calibration_is_drawn_where_it_is():
    deciles = [Decile(p, Estimate(p / 2, 0.01, p / 4, p, 0.0), 0.5) for p in (0.2, 0.8)]
    axes = plot_calibration(deciles, "ill")
    (dots,) = [line for line in axes.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(dots.get_xydata(), [[0.2, 0.1], [0.8, 0.4]])

"""Whatever a response is, its model has every frame, table and picture, and its file gives the same bytes."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dpsparse import (
    NotPrivateWarning,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    PrivateSparseTwoPartRegressor,
    compare_models,
    load_model,
    save_model,
)
from dpsparse.model.plots import effects_picture
from dpsparse.report.fit_page import fit_page

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
N = 4_000
PEOPLE = pd.DataFrame(
    {
        "age": RNG.normal(50, 15, N),
        "smoker": np.where(RNG.random(N) < 0.3, "yes", "no"),
        "region": RNG.choice(["north", "south", "east"], N),
        "years": RNG.uniform(0.5, 2, N),
    }
)
SMOKES = (PEOPLE.smoker == "yes").to_numpy(dtype=float)
WHETHER = RNG.random(N) < 0.3 + 0.4 * SMOKES
RESPONSES = {
    "mean": 100 * PEOPLE.age + 9_000 * SMOKES + RNG.normal(0, 2_000, N),
    "typical": 100 * PEOPLE.age + 9_000 * SMOKES + 2_000 * RNG.standard_t(3, N),
    "yes or no": pd.Series(np.where(WHETHER, "yes", "no")),
    "counts": pd.Series(RNG.poisson(PEOPLE.years * np.exp(0.8 * SMOKES))),
    "two parts": pd.Series(np.where(WHETHER, 500 + 300 * SMOKES + RNG.exponential(50, N), 0.0)),
}
SEEDED = {"epsilon": 8.0, "sparsity": 3, "random_state": 0}
FITS = {
    "mean": PrivateSparseRegressor(**SEEDED),
    "typical": PrivateSparseRegressor(estimand="typical", **SEEDED),
    "yes or no": PrivateSparseClassifier(positive="yes", **SEEDED),
    "counts": PrivateSparsePoissonRegressor(exposure="years", **SEEDED),
    "two parts": PrivateSparseTwoPartRegressor(**SEEDED),
}
RATIOS = {"yes or no": "odds ratio", "counts": "rate ratio"}


@pytest.fixture(scope="module")
def models():
    """One of each kind."""
    with pytest.warns(NotPrivateWarning):
        return {kind: fit.fit(PEOPLE, RESPONSES[kind].rename("cost")).released_ for kind, fit in FITS.items()}


def shown(model):
    """All that is made of a released model alone."""
    table, word = compare_models([model]), io.BytesIO()
    table.write_word(word)
    both = compare_models([model, model])
    pictures = [effects_picture(model, kind) for kind in ("png", "pdf")]
    frames = [frame.to_csv() for frame in (model.effects_, model.glance(), model.vcov())]
    return [
        *frames,
        table.to_latex(),
        table.to_markdown(),
        both.to_latex(),
        word.getvalue(),
        *pictures,
        fit_page(model),
    ]


@pytest.mark.parametrize("kind", FITS)
def test_it_has_every_frame_table_and_picture(kind, models, tmp_path):
    model = models[kind]
    frame = model.effects_
    assert frame.reliable.any()
    assert "smoker" in frame.variable.tolist()
    errors = np.sqrt(np.diag(model.vcov()))
    np.testing.assert_allclose(errors, frame.std_error, rtol=1e-9)
    assert model.ratio == RATIOS.get(kind)
    beside = model.augment(PEOPLE.iloc[:50])
    assert np.isfinite(beside.prediction).all()
    axes = model.plot_effects()
    assert len(axes.get_yticks()) == len(frame)
    assert (axes.get_xscale() == "log") is (kind in RATIOS)
    plt.close(axes.figure)
    save_model(model, tmp_path / "model.json")
    assert shown(load_model(tmp_path / "model.json")) == shown(model)


def test_all_of_them_stand_side_by_side(models):
    table = compare_models([*models.values()], names=[*models])
    assert table.headings == tuple(models)
    assert table.measures == ("effect", "effect", "odds ratio", "rate ratio", "effect")
    (smoker,) = (line for line in table.lines if line.label == "smoker")
    assert all(cell.count("[") == 1 for cell in smoker.cells)


def test_a_formula_has_them_too(tmp_path):
    # Gaps of a spline's columns have names of their own.
    formula = "cost ~ age*region + bs(age, knots=[30, 50, 70], lower=0, upper=110)"
    people = PEOPLE.assign(cost=RESPONSES["mean"], age=PEOPLE.age.where(PEOPLE.index % 20 > 0))
    with pytest.warns(NotPrivateWarning):
        model = PrivateSparseRegressor(**SEEDED).fit(people, formula=formula).released_
    assert len({feature.name for feature in model.features}) == len(model.features)
    save_model(model, tmp_path / "model.json")
    assert shown(load_model(tmp_path / "model.json")) == shown(model)

"""Variables as wholes: a test that leaves out an effect which is not reliable says so, wherever it is shown."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpsparse import load_model
from dpsparse.algorithms.pursuit.result import FEW_CARRIERS, FeatureEffects
from dpsparse.estimators._results import _variables
from dpsparse.io.table_features import Feature
from dpsparse.model.json_file import as_dict
from dpsparse.model.variables import Variable

SAYS = "'region': 2 effects against 'south', together not significant (p = 0.774), without 'region=east', which is not"


@pytest.fixture
def tested(region):
    features = (*region.features, Feature("region", category="west"))
    effects = (*region.effects, replace(region.effects[1], feature="region=west"))
    variable = Variable("region", ("region=north", "region=west"), 0.774, False, ("region=east",))
    return replace(region, features=features, effects=effects, variables=(variable,), correlations=None)


def test_a_fit_names_the_effects_that_a_test_is_without():
    features = [Feature("region", category=name) for name in ("north", "east", "west")] + [Feature("age")]
    ones = np.ones(4)
    doubts = np.array(["", FEW_CARRIERS, "", ""], dtype=object)
    numbers = {name: ones for name in ("effects", "shrunk_effects", "standard_errors", "center", "scale", "mean")}
    selected = FeatureEffects(support=np.arange(4), covariance=np.eye(4), learned=ones > 1, doubts=doubts, **numbers)
    (variable,) = _variables(selected, np.arange(4), features, None)
    assert variable.features == ("region=north", "region=west")
    assert variable.without == ("region=east",)
    (variable,) = _variables(replace(selected, doubts=np.full(4, "", dtype=object)), np.arange(4), features, None)
    assert variable.without == ()


def test_every_place_says_what_a_test_is_without(tested, tmp_path):
    assert SAYS in " ".join(tested.summary().split())
    table = tested.to_markdown()
    assert "0.774‡" in table
    assert "‡ tests the reliable effects of the variable together, without region=east." in table
    assert r"0.774\ensuremath{^{\ddagger}}" in tested.to_latex()
    (tmp_path / "model.json").write_text(json.dumps(as_dict(tested)))
    assert json.loads((tmp_path / "model.json").read_text())["variables"][0]["without"] == ["region=east"]
    assert load_model(tmp_path / "model.json").variables == tested.variables

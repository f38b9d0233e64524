"""A fitted model, and one of categories whose numbers are chosen."""

from dataclasses import replace

import pandas as pd
import pytest

from dpsparse import NotPrivateWarning, PrivateSparseRegressor
from dpsparse.algorithms.pursuit.result import FEW_CARRIERS
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect


@pytest.fixture(scope="session")
def fitted():
    """A fit on named columns, by seeded noise that counts as private here."""
    X, y, _ = make_heavy_tailed(2_000, 6, 3, random_state=0)
    model = PrivateSparseRegressor(sparsity=3, epsilon=3.0, estimand="typical", random_state=0, **STANDARDIZED)
    with pytest.warns(NotPrivateWarning):
        model.fit(pd.DataFrame(X, columns=list("abcdef")), y)
    model.privacy_ = replace(model.privacy_, private=True)
    model.released_ = replace(model.released_, privacy=model.privacy_)
    return model


@pytest.fixture(scope="session")
def region(fitted):
    """A model of an age and a region, of which one effect is not reliable; its correlations are chosen."""
    features = (
        Feature("age", 50.0, 15.0),
        Feature("region", category="north"),
        Feature("region", category="east"),
        Feature("age", missing=True),
    )
    effects = (
        Effect("age", 2.0, 2.1, 0.5, clear=True),
        Effect("region=north", -3.0, -3.2, 2.0),
        Effect("region=east", 1.0, trusted=False, doubt=FEW_CARRIERS),
    )
    return replace(
        fitted.released_, features=features, effects=effects, baselines={"region": "south"}, correlations=((), (0.25,))
    )

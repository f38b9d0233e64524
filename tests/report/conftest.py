"""Models made up by hand."""

import pytest

from dpsparse import PrivateSparseRegressor
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect
from dpsparse.model.released import LinearModel

LONG = "a feature with <b>markup</b> & a name of more than sixty letters in all"


@pytest.fixture(scope="session")
def record():
    """The record of a private fit."""
    X, y, _ = make_heavy_tailed(1_000, 6, 2, random_state=0)
    return PrivateSparseRegressor(sparsity=4, epsilon=1.0, **STANDARDIZED).fit(X, y).privacy_


@pytest.fixture(scope="session")
def model(record):
    """A released model with effects of every kind."""
    return LinearModel(
        estimator="PrivateSparseRegressor",
        target="cost",
        features=tuple(
            Feature(name, None if scale is None else 0.0, scale)
            for name, scale in (("smoker", 0.4), ("age", None), (LONG, 1.0), ("bmi", 4.0), ("steps", 1.0))
        ),
        effects=(
            Effect("smoker", 8_900.0, 9_000.0, 200.0, clear=True),
            Effect("age", -99.0, -100.0, 4.0, clear=True, center=50.25, scale=15.0),
            Effect(LONG, 20.0, 40.0, 80.0),
            Effect("bmi", 500.0, trusted=False, doubt="few carriers"),
        ),
        intercept=1_234.5,
        noise_floor=250.0,
        response_scale_known=True,
        privacy=record,
        prediction_range=(0.0, 60_000.0),
        cut=3_000.0,
    )

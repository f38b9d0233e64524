"""Models made up by hand, and a browser to show their reports in."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from dpsparse import PrivateSparseRegressor
from dpsparse.data.units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.io.features import Feature
from dpsparse.model.effect import Effect
from dpsparse.model.released import LinearModel

sys.path.insert(0, str(Path(__file__).parent))

from chromium import Chromium

ARTIFACTS = Path(__file__).parents[2] / "artefacts"
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
            Effect("bmi", 500.0, trusted=False),
        ),
        intercept=1_234.5,
        noise_floor=250.0,
        response_scale_known=True,
        privacy=record,
        prediction_range=(0.0, 60_000.0),
        cut=3_000.0,
    )


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium."""
    binary = shutil.which("chromium")
    if binary is None:
        reason = "Chromium is not installed: apt-get install chromium"
        if os.environ.get("DPSPARSE_REQUIRE_CHROMIUM"):
            pytest.fail(reason)
        pytest.skip(reason)
    running = Chromium(binary, tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def artifacts():
    """Where pictures for people go; git ignores it."""
    ARTIFACTS.mkdir(exist_ok=True)
    return ARTIFACTS

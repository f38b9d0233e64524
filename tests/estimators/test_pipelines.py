"""Steps before a private fit: those that read single records pass, every other one is refused by its name."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
    scale,
)

from dpsparse import PrivateSparseRegressor, check_pipeline
from dpsparse.estimators.pipelines import REMEDIES

MODEL = PrivateSparseRegressor()
LEARNING = [
    *(StandardScaler(), MinMaxScaler(), RobustScaler(), QuantileTransformer(), PowerTransformer()),
    *(SimpleImputer(), KNNImputer(), OneHotEncoder(), OrdinalEncoder(), TargetEncoder()),
    *(SelectKBest(), VarianceThreshold(), SplineTransformer(), KBinsDiscretizer(), PCA()),
    *(OneHotEncoder(categories=[["a", "b"]], min_frequency=5), FunctionTransformer(scale)),
]
KNOTS = np.array([[0.0], [50.0], [110.0]])
ROW_WISE = [
    *(FunctionTransformer(np.log1p), Normalizer(), PolynomialFeatures(2), SplineTransformer(knots=KNOTS)),
    *(OneHotEncoder(categories=[["a", "b"]]), OrdinalEncoder(categories=[["a", "b"]])),
    make_column_transformer((FunctionTransformer(np.sqrt), ["age"]), ("drop", ["id"]), remainder="passthrough"),
]


@pytest.mark.parametrize("step", LEARNING, ids=lambda step: type(step).__name__)
def test_what_learns_from_the_records_is_refused_in_one_line(step):
    inside = make_column_transformer((make_pipeline(step), ["age"]))
    for first in (step, inside, FeatureUnion([("both", step)]), make_column_transformer(("drop", []), remainder=step)):
        with pytest.raises(ValueError, match=f"^{type(step).__name__} learns from the records") as refused:
            check_pipeline(make_pipeline(first, MODEL))
        assert "\n" not in str(refused.value)
        if type(step).__name__ in REMEDIES:
            assert str(refused.value).endswith(REMEDIES[type(step).__name__])


@pytest.mark.parametrize("step", ROW_WISE, ids=lambda step: type(step).__name__)
def test_what_reads_single_records_passes(step):
    pipeline = make_pipeline(step, "passthrough", MODEL)
    assert check_pipeline(pipeline) is pipeline


def test_a_class_of_the_same_name_is_not_scikit_learns():
    own = type("Normalizer", (Normalizer,), {"__module__": "mine"})
    with pytest.raises(ValueError, match="Normalizer learns"):
        check_pipeline(make_pipeline(own(), MODEL))


def test_other_things_are_no_private_pipelines():
    for other in (MODEL, make_pipeline(StandardScaler(), LinearRegression())):
        with pytest.raises(ValueError, match="needs a Pipeline"):
            check_pipeline(other)

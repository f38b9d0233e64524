"""Steps before a private fit: those that read single records pass, every other one is refused by its name."""

import inspect
import re
from functools import partial

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
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
from sklearn.utils import all_estimators

from dpsparse import PrivateSparseRegressor, check_pipeline
from dpsparse.estimators._steps_before import OTHERWISE, REMEDIES

MODEL = PrivateSparseRegressor()
LEARNING = [
    *(StandardScaler(), MinMaxScaler(), RobustScaler(), QuantileTransformer(), PowerTransformer()),
    *(SimpleImputer(), KNNImputer(), OneHotEncoder(), OrdinalEncoder(), TargetEncoder()),
    *(SelectKBest(), VarianceThreshold(), SplineTransformer(), KBinsDiscretizer(), PCA()),
    *(OneHotEncoder(categories=[["a", "b"]], min_frequency=5), FunctionTransformer(scale)),
    *(OrdinalEncoder(categories=[["a", "b"]], max_categories=2), FunctionTransformer(partial(scale, axis=0))),
]
KNOTS = np.array([[0.0], [50.0], [110.0]])
ROW_WISE = [
    *(FunctionTransformer(np.log1p), Normalizer(), PolynomialFeatures(2), SplineTransformer(knots=KNOTS)),
    OneHotEncoder(categories=[["a", "b"]], handle_unknown="ignore"),
    OrdinalEncoder(categories=[["a", "b"]], handle_unknown="use_encoded_value", unknown_value=-1),
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


TELLING = [
    OneHotEncoder(categories=[["a", "b"]]),
    OneHotEncoder(categories=[["a", "b"]], handle_unknown="warn"),
    OneHotEncoder(categories=[["a", "b"]], handle_unknown="ignore", drop="first"),
    OrdinalEncoder(categories=[["a", "b"]]),
    SplineTransformer(knots=KNOTS, extrapolation="error"),
]


def of_unknown(step):
    """Records of which one is not what the step knows."""
    return np.array([["a"], ["c"]], dtype=object) if "Encoder" in repr(step) else [[1.0], [111.0]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("step", TELLING, ids=lambda step: type(step).__name__)
def test_what_tells_of_a_record_in_an_error_or_a_warning_is_refused(step):
    with pytest.raises(ValueError, match=f"^{type(step).__name__} would say so .*; give "):
        check_pipeline(make_pipeline(step, MODEL))
    with pytest.raises((ValueError, UserWarning), match=r"unknown categories|beyond the limits"):
        step.fit_transform(of_unknown(step))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("step", ROW_WISE[3:6], ids=lambda step: type(step).__name__)
def test_what_passes_says_nothing_of_a_record(step):
    step.fit_transform(of_unknown(step))


@pytest.mark.parametrize("step", ROW_WISE, ids=lambda step: type(step).__name__)
def test_what_reads_single_records_passes(step):
    pipeline = make_pipeline(step, "passthrough", MODEL)
    assert check_pipeline(pipeline) is pipeline


# What scikit-learn's transformers need that has no default: anything that makes them.
NEEDED = {
    "estimator": LinearRegression(),
    "estimators": [("one", LinearRegression())],
    "transformers": [],
    "transformer_list": [],
    "dictionary": np.eye(3),
}
HOLDERS = ("ColumnTransformer", "FeatureUnion")


def made(cls):
    parameters = inspect.signature(cls).parameters.values()
    return cls(**{each.name: NEEDED[each.name] for each in parameters if each.default is inspect.Parameter.empty})


def reads_single_records(pipeline):
    try:
        return check_pipeline(pipeline) is pipeline
    except ValueError:
        return False


@pytest.mark.parametrize(("name", "cls"), all_estimators("transformer"), ids=lambda each: str(each))
def test_each_transformer_of_scikit_learn_reads_single_records_or_is_refused_by_name(name, cls):
    step = made(cls)
    pipeline, refusal = make_pipeline(step, MODEL), f"{name} learns from the records, which no release pays for; "
    if not reads_single_records(pipeline):
        with pytest.raises(ValueError, match=f"^{re.escape(refusal + REMEDIES.get(name, OTHERWISE))}$"):
            check_pipeline(pipeline)
        return
    if name in (*HOLDERS, "FeatureHasher", "HashingVectorizer"):
        # They read nothing of the records, or hold steps that are looked at one by one.
        return
    rows = np.random.default_rng(0).exponential(size=(2, 30, 4))
    if "random_state" in step.get_params():
        step.set_params(random_state=0)
    if name.endswith("RandomProjection"):
        step.set_params(n_components=2)
    first, second = (clone(step).fit(table, table[:, 0]).transform(rows[0, :5]) for table in rows)
    np.testing.assert_array_equal(*(np.asarray(each.todense() if issparse(each) else each) for each in (first, second)))


def test_a_fit_that_a_pipeline_calls_refuses_it_before_anything_is_spent():
    X, y = np.random.default_rng(0).normal(size=(500, 3)), np.ones(500)
    for pipeline in (
        make_pipeline(StandardScaler(), MODEL),
        make_pipeline(make_pipeline(StandardScaler(), MODEL)),
        TransformedTargetRegressor(MODEL, transformer=StandardScaler()),
        GridSearchCV(make_pipeline(StandardScaler(), MODEL), {}, error_score="raise"),
    ):
        with pytest.raises(ValueError, match="StandardScaler learns from the records"):
            pipeline.fit(X, y)
    public = FrozenEstimator(StandardScaler().fit(np.random.default_rng(1).normal(size=(50, 3))))
    quiet = PrivateSparseRegressor(sparsity=1, epsilon=4.0, random_state=0, feature_center=0, feature_scale=1)
    assert make_pipeline(public, FunctionTransformer(np.abs), quiet).fit(X, X[:, 0]).predict(X).shape == (500,)


def test_a_class_of_the_same_name_is_not_scikit_learns():
    own = type("Normalizer", (Normalizer,), {"__module__": "mine"})
    with pytest.raises(ValueError, match="Normalizer learns"):
        check_pipeline(make_pipeline(own(), MODEL))


def test_other_things_are_no_private_pipelines():
    for other in (MODEL, make_pipeline(StandardScaler(), LinearRegression())):
        with pytest.raises(ValueError, match="needs a Pipeline"):
            check_pipeline(other)

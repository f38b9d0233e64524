"""Steps before a private fit: which of scikit-learn's transformers read single records, and what to do without others.

A transformer that is fitted on the records, such as a scaler, publishes what it learned through the model's effects and
predictions: no release pays for it. A fit sees the rows that come out of it. So the steps themselves are looked at, by
`check_pipeline`, and by every fit that a pipeline calls.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.pipeline import FeatureUnion, Pipeline

_UNITS = "leave it out: the fit learns units within its guarantee, or takes public ones (feature_center, feature_scale)"
_GAPS = "leave it out: missing='center', or a frame with text in it, takes gaps"
_CATEGORIES = (
    "leave it out: a frame with its text columns is read as it is; or give public categories=[...], of which none is "
    "merged with others"
)
_SELECTION = "leave it out: the fit selects features privately"
_FEWER = "leave it out: the fit selects a few of many columns privately"
_LABELS = "leave it out: PrivateSparseClassifier takes labels as they are, with positive= for yes"
# What to do in place of a step, by its name.
REMEDIES = {
    **dict.fromkeys(
        ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "QuantileTransformer", "PowerTransformer"],
        _UNITS,
    ),
    **dict.fromkeys(["SimpleImputer", "IterativeImputer", "KNNImputer", "MissingIndicator"], _GAPS),
    **dict.fromkeys(["OneHotEncoder", "OrdinalEncoder", "TargetEncoder", "DictVectorizer"], _CATEGORIES),
    **dict.fromkeys(["LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer"], _LABELS),
    **dict.fromkeys(
        [
            *("SelectKBest", "SelectPercentile", "SelectFromModel", "SelectFdr", "SelectFpr", "SelectFwe", "RFE"),
            *("RFECV", "GenericUnivariateSelect", "SequentialFeatureSelector", "VarianceThreshold"),
        ],
        _SELECTION,
    ),
    **dict.fromkeys(
        [
            *("PCA", "IncrementalPCA", "KernelPCA", "SparsePCA", "MiniBatchSparsePCA", "TruncatedSVD", "FastICA"),
            *("FactorAnalysis", "NMF", "MiniBatchNMF", "DictionaryLearning", "MiniBatchDictionaryLearning"),
            *("PLSRegression", "PLSCanonical", "PLSSVD", "CCA", "FeatureAgglomeration"),
        ],
        _FEWER,
    ),
    "SplineTransformer": "give public knots=[...] as an array",
    "KBinsDiscretizer": "use FunctionTransformer with public edges (numpy.digitize)",
    "RBFSampler": "give a public gamma as a number",
}
OTHERWISE = (
    "use a row-wise FunctionTransformer, or one that was fitted on public records, as FrozenEstimator(transformer)"
)


def _has_arrays(name: str) -> Callable[[Any], bool]:
    """Whether a parameter is a list or an array rather than the name of a rule that learns it."""
    return lambda step: not isinstance(getattr(step, name), str)


def _has_public_categories(step: Any) -> bool:
    """Whether categories are given, and none is merged with others for how few records have it."""
    return _has_arrays("categories")(step) and not step.min_frequency and not step.max_categories


def _is_own_function(step: Any) -> bool:
    """Whether a function is not one of scikit-learn's, such as `scale`, which read all records."""
    function = step.func.func if isinstance(step.func, partial) else step.func
    return not (getattr(function, "__module__", "") or "").startswith("sklearn")


# Steps that read one record at a time, and when. What a FunctionTransformer's function reads is its author's promise,
# and so is on which records a frozen step was fitted.
ROW_WISE: dict[str, Callable[[Any], bool]] = {
    "FunctionTransformer": _is_own_function,
    **dict.fromkeys(
        [
            *("Normalizer", "Binarizer", "PolynomialFeatures", "FeatureHasher", "HashingVectorizer", "FrozenEstimator"),
            # Random numbers for a public number of columns.
            *("GaussianRandomProjection", "SparseRandomProjection", "PolynomialCountSketch", "SkewedChi2Sampler"),
            "AdditiveChi2Sampler",
        ],
        lambda step: True,
    ),
    "OneHotEncoder": _has_public_categories,
    "OrdinalEncoder": _has_public_categories,
    "SplineTransformer": _has_arrays("knots"),
    "RBFSampler": _has_arrays("gamma"),
}
# When such a step neither raises nor warns for what a record holds, and what to give for that.
SILENT: dict[str, tuple[Callable[[Any], bool], str]] = {
    "OneHotEncoder": (
        lambda step: step.handle_unknown in ("ignore", "infrequent_if_exist") and step.drop is None,
        "give handle_unknown='ignore' and no drop",
    ),
    "OrdinalEncoder": (
        lambda step: step.handle_unknown != "error",
        "give handle_unknown='use_encoded_value' and unknown_value=-1",
    ),
    "SplineTransformer": (lambda step: step.extrapolation != "error", "give extrapolation='constant'"),
}


def refuse_learning(steps: Any) -> None:
    """Raise ValueError, with the remedy, for a step that learns from the records, or tells of one in an error."""
    for step in _transformers(steps):
        name = type(step).__name__
        if not ROW_WISE.get(name, lambda step: False)(step) or not _is_sklearn(step):
            remedy = REMEDIES.get(name, OTHERWISE)
            raise ValueError(f"{name} learns from the records, which no release pays for; {remedy}")
        is_silent, remedy = SILENT.get(name, (lambda step: True, ""))
        if not is_silent(step):
            raise ValueError(f"{name} would say so where a record holds what it does not know; {remedy}")


def refuse_learning_around(estimator: object) -> None:
    """The same for the pipelines that call the fit of an estimator: nothing is spent yet.

    scikit-learn does not tell an estimator what it is a step of, so the calls that led here are looked through.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        # Names of other frames are not looked up: their snapshot would keep the records in memory.
        of_sklearn = frame.f_globals.get("__name__", "").startswith("sklearn.")
        caller = frame.f_locals.get("self") if of_sklearn else None
        if isinstance(caller, Pipeline) and caller.steps[-1][1] is estimator:
            refuse_learning(Pipeline(caller.steps[:-1]) if len(caller.steps) > 1 else None)
        if isinstance(caller, TransformedTargetRegressor) and caller.transformer is not None:
            refuse_learning(caller.transformer)
        frame = frame.f_back


def _transformers(step: Any) -> Iterator[Any]:
    """The transformers of a pipeline, those inside of others too."""
    if isinstance(step, Pipeline):
        parts = [part for _, part in step.steps]
    elif isinstance(step, FeatureUnion):
        parts = [part for _, part in step.transformer_list]
    elif isinstance(step, ColumnTransformer):
        parts = [part for _, part, _ in step.transformers] + [step.remainder]
    elif step is None or isinstance(step, str):
        # "passthrough" and "drop".
        parts = []
    else:
        yield step
        return
    for part in parts:
        yield from _transformers(part)


def _is_sklearn(step: Any) -> bool:
    """Whether a step is scikit-learn's own: a class of another's may do anything under the same name."""
    return type(step).__module__.partition(".")[0] == "sklearn"

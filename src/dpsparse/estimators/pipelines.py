"""Pipelines of scikit-learn before a private fit: steps that read single records, and steps that learn from all.

A transformer that is fitted on the records, such as a scaler, publishes what it learned through the model's effects and
predictions: no release pays for it. A fit sees the rows that come out of it and cannot tell. So a pipeline is looked
at before it is fitted.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from dpsparse.estimators._private import PrivateEstimator

Checked = TypeVar("Checked")

_UNITS = "leave it out: the fit learns units within its guarantee, or takes public ones (feature_center, feature_scale)"
_GAPS = "leave it out: missing='center', or a frame with text in it, takes gaps"
_CATEGORIES = "leave it out: a frame with its text columns is read as it is; or give public categories=[...]"
_SELECTION = "leave it out: the fit selects features privately"
# What to do in place of a step, by its name.
REMEDIES = {
    **dict.fromkeys(
        ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "QuantileTransformer", "PowerTransformer"],
        _UNITS,
    ),
    **dict.fromkeys(["SimpleImputer", "IterativeImputer", "KNNImputer", "MissingIndicator"], _GAPS),
    **dict.fromkeys(["OneHotEncoder", "OrdinalEncoder", "TargetEncoder", "LabelBinarizer"], _CATEGORIES),
    **dict.fromkeys(
        ["SelectKBest", "SelectPercentile", "SelectFromModel", "VarianceThreshold", "RFE", "RFECV"], _SELECTION
    ),
    "SplineTransformer": "give public knots=[...] as an array",
    "KBinsDiscretizer": "use FunctionTransformer with public edges (numpy.digitize)",
}
_OTHERWISE = "use a row-wise FunctionTransformer, or numbers that are public"


def _has_arrays(name: str) -> Callable[[Any], bool]:
    """Whether a parameter is a list or an array rather than the name of a rule that learns it."""
    return lambda step: not isinstance(getattr(step, name), str)


def _is_own_function(step: Any) -> bool:
    """Whether a function is not one of scikit-learn's, such as `scale`, which read all records."""
    return not (getattr(step.func, "__module__", "") or "").startswith("sklearn")


# Steps that read one record at a time, and when; what a FunctionTransformer's function does is its author's promise.
ROW_WISE: dict[str, Callable[[Any], bool]] = {
    "FunctionTransformer": _is_own_function,
    **dict.fromkeys(
        ["Normalizer", "Binarizer", "PolynomialFeatures", "FeatureHasher", "HashingVectorizer"],
        lambda step: True,
    ),
    "OneHotEncoder": lambda step: (
        _has_arrays("categories")(step) and not step.min_frequency and not step.max_categories
    ),
    "OrdinalEncoder": _has_arrays("categories"),
    "SplineTransformer": _has_arrays("knots"),
}


def check_pipeline(pipeline: Checked) -> Checked:
    """Refuse a pipeline with a step that learns from the records outside of the private fit.

    A fit sees what comes out of the steps before it, and cannot tell what they read. This looks at the steps
    themselves. What the function of a FunctionTransformer does is its author's promise: it must read one record at a
    time.

    Parameters
    ----------
    pipeline : Pipeline
        Of scikit-learn, with a private estimator at its end; nothing is fitted.

    Returns
    -------
    Pipeline
        The same one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> from dpsparse import PrivateSparseRegressor, check_pipeline
    >>> logs = make_pipeline(FunctionTransformer(np.log1p), PrivateSparseRegressor())
    >>> check_pipeline(logs) is logs
    True
    >>> check_pipeline(make_pipeline(StandardScaler(), PrivateSparseRegressor()))
    Traceback (most recent call last):
    ...
    ValueError: StandardScaler learns from the records, which no release pays for; leave it out: the fit learns units \
within its guarantee, or takes public ones (feature_center, feature_scale)
    """
    if not isinstance(pipeline, Pipeline) or not isinstance(pipeline.steps[-1][1], PrivateEstimator):
        raise ValueError("check_pipeline needs a Pipeline of scikit-learn with a private estimator at its end")
    for step in _steps(pipeline):
        name = type(step).__name__
        if not ROW_WISE.get(name, lambda step: False)(step) or not _is_sklearn(step):
            remedy = REMEDIES.get(name, _OTHERWISE)
            raise ValueError(f"{name} learns from the records, which no release pays for; {remedy}")
    return pipeline


def _steps(step: Any) -> Iterator[Any]:
    """The transformers of a pipeline, those inside of others too."""
    if isinstance(step, Pipeline):
        parts = [part for _, part in step.steps]
        parts = parts[:-1] if isinstance(parts[-1], PrivateEstimator) else parts
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
        yield from _steps(part)


def _is_sklearn(step: Any) -> bool:
    """Whether a step is scikit-learn's own: a class of another's may do anything under the same name."""
    return type(step).__module__.partition(".")[0] == "sklearn"

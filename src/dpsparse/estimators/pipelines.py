"""Pipelines of scikit-learn before a private fit, looked at before anything is fitted."""

from typing import TypeVar

from sklearn.pipeline import Pipeline

from dpsparse.estimators._private import PrivateEstimator
from dpsparse.estimators._steps_before import refuse_learning

Checked = TypeVar("Checked")


def check_pipeline(pipeline: Checked) -> Checked:
    """Refuse a pipeline with a step that learns from the records outside of the private fit.

    A fit that a pipeline calls makes the same check before anything is spent. What the function of a
    FunctionTransformer does is its author's promise: it must read one record at a time, and neither raise nor warn for
    what a record holds. So is on which records a transformer in a FrozenEstimator was fitted: on public ones. A step
    that would quote a record in an error, as encoders do by default, is refused too.

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
    refuse_learning(Pipeline(pipeline.steps[:-1]) if len(pipeline.steps) > 1 else None)
    return pipeline

"""What the replays attack: every estimator, in configurations that together make every release there is."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dpsparse import DPIHTH, DPIHTL, DPSLR, PrivateSparseRegressor, PrivateSparseTwoPartRegressor
from dpsparse.audit.harness.fits import (
    CountPursuit,
    EvaluatedInAnyUnit,
    EvaluatedMeans,
    EvaluatedModel,
    EvaluatedOutcomes,
    HeldOutPursuit,
    TunedPursuit,
    TunedTwoParts,
    YesNoPursuit,
    at_size,
)
from dpsparse.audit.harness.many_rows import (
    ManyRowsCounts,
    ManyRowsHeldOut,
    ManyRowsPursuit,
    ManyRowsTwoParts,
    ManyRowsYesNo,
)
from dpsparse.audit.harness.neighbors import CLIP
from dpsparse.data.public_units import STANDARDIZED

# At this guarantee the Gaussian account covers every pursuit below, which therefore commits to its releases.
OPTIONS: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-2}
PURSUIT = OPTIONS | STANDARDIZED
# So weak that picks follow the records, where noise would leave the units anywhere on their grids.
WEAK: dict[str, Any] = {"epsilon": 200.0, "delta": 1e-2}
LOOP: dict[str, Any] = {"sparsity": 2, "n_iter": 3, "clip_bound": CLIP, **OPTIONS}


def made(estimator: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A maker of an estimator with these options, which takes further ones."""
    return partial(estimator, **options)


PURSUITS: dict[str, Callable[..., Any]] = {
    # Two records a person leave a record a quarter of the budget, and change no sensitivity.
    "PrivateSparseRegressor, units unknown, every release": made(
        at_size(2_000), sparsity=2, records_per_person=2, **(WEAK | {"epsilon": 300.0})
    ),
    # Of the sizes that have splits, one at which they cost most and follow the records.
    "PrivateSparseRegressor, units unknown, splits": made(at_size(110), sparsity=2, **WEAK),
    "PrivateSparseRegressor, public response, no intercept": made(
        PrivateSparseRegressor, sparsity=2, response_center=0.0, response_scale=1.0, fit_intercept=False, **PURSUIT
    ),
    "PrivateSparseRegressor": made(
        PrivateSparseRegressor, sparsity=2, feature_center=0.3, feature_scale=2.0, **OPTIONS
    ),
    'PrivateSparseRegressor(sparsity="auto")': made(PrivateSparseRegressor, sparsity="auto", max_sparsity=2, **PURSUIT),
    # A guarantee so weak that the schedule affords a release of each row of the Gram matrix.
    "PrivateSparseRegressor, Gram rows": made(PrivateSparseRegressor, sparsity=2, **(PURSUIT | {"epsilon": 100.0})),
    "PrivateSparseRegressor, units unknown": made(PrivateSparseRegressor, sparsity=2, **OPTIONS),
    "PrivateSparseRegressor, units unknown, middle size": made(at_size(600), sparsity=1, **WEAK),
    "PrivateSparseRegressor, some units": made(
        at_size(1_000), sparsity=2, feature_center={0: 0.3, 2: 1.0}, feature_scale={0: 2.0}, **WEAK
    ),
    "PrivateSparseRegressor, units checked": made(
        at_size(2_000), sparsity=2, response_scale=1.0, **(STANDARDIZED | WEAK)
    ),
}
ALL_FEATURES: dict[str, Callable[..., Any]] = {
    "PrivateSparseRegressor, all features": made(PrivateSparseRegressor, sparsity=4, **PURSUIT),
    "PrivateSparseRegressor, units unknown, all features, no intercept": made(
        at_size(2_000), sparsity=4, fit_intercept=False, **WEAK
    ),
}
# Steps to the estimator that an estimand names, of a table large enough for them.
REFERENCES: dict[str, Callable[..., Any]] = {
    "PrivateSparseRegressor, step to the mean": made(at_size(2_000), sparsity=2, **(STANDARDIZED | WEAK)),
    "PrivateSparseRegressor, step to the mean, one column": made(
        at_size(2_000), sparsity=1, fit_intercept=False, **(STANDARDIZED | WEAK)
    ),
    "PrivateSparseRegressor, step to the typical response": made(
        at_size(2_000), sparsity=2, estimand="typical", response_scale=1.0, **(STANDARDIZED | WEAK)
    ),
    "PrivateSparseRegressor, step to the typical response, all features, units unknown": made(
        at_size(2_000), sparsity=4, estimand="typical", **WEAK
    ),
}
# Responses are yes or no; every release of theirs is made at every size.
CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "PrivateSparseClassifier": made(YesNoPursuit, sparsity=2, feature_center=0.3, feature_scale=2.0, **OPTIONS),
    "PrivateSparseClassifier, units known": made(at_size(2_000, YesNoPursuit), sparsity=2, **(STANDARDIZED | WEAK)),
    "PrivateSparseClassifier, units unknown": made(
        at_size(2_000, YesNoPursuit), sparsity=2, records_per_person=2, **(WEAK | {"epsilon": 300.0})
    ),
    "PrivateSparseClassifier, one column": made(
        at_size(2_000, YesNoPursuit), sparsity=1, fit_intercept=False, **(STANDARDIZED | WEAK)
    ),
    "PrivateSparseClassifier, all features": made(YesNoPursuit, sparsity=4, missing="center", **WEAK),
}
# Each record is a person with several rows.
PEOPLE: dict[str, Callable[..., Any]] = {
    "PrivateSparseRegressor, by person": made(at_size(2_000, ManyRowsPursuit), sparsity=2, **(STANDARDIZED | WEAK)),
    "PrivateSparseRegressor, by person, units unknown": made(at_size(110, ManyRowsPursuit), sparsity=2, **WEAK),
    "PrivateSparseRegressor, by person, all features": made(
        ManyRowsPursuit, sparsity=4, estimand="typical", missing="center", **PURSUIT
    ),
    # Deviations from a person's mean; people with one row are left out.
    "PrivateSparseRegressor, within people": made(
        at_size(2_000, ManyRowsPursuit), sparsity=2, within=True, **(STANDARDIZED | WEAK)
    ),
    "PrivateSparsePoissonRegressor, by person": made(
        at_size(2_000, ManyRowsCounts), sparsity=2, exposure=1, **(STANDARDIZED | WEAK)
    ),
    "fit_and_evaluate, by person": made(ManyRowsHeldOut, sparsity=1, **(STANDARDIZED | WEAK)),
    "PrivateSparseTwoPartRegressor, by person": made(
        at_size(2_000, ManyRowsTwoParts), sparsity=2, **(STANDARDIZED | WEAK)
    ),
    # Splits are of people with several rows here alone: numbers are selected by pairs.
    "PrivateSparseClassifier, by person": made(at_size(2_000, ManyRowsYesNo), sparsity=2, **WEAK),
}
# Responses are counts or costs; the exposure may be a column of any numbers.
COUNTS: dict[str, Callable[..., Any]] = {
    "PrivateSparsePoissonRegressor": made(CountPursuit, sparsity=2, feature_center=0.3, feature_scale=2.0, **OPTIONS),
    "PrivateSparsePoissonRegressor, exposure, units unknown": made(
        at_size(2_000, CountPursuit), sparsity=2, exposure=1, **WEAK
    ),
    "PrivateSparsePoissonRegressor, all features": made(CountPursuit, sparsity=4, missing="center", exposure=0, **WEAK),
}
# Responses that are not above 0 are no amounts: a changed record may change from or to one.
TWO_PARTS: dict[str, Callable[..., Any]] = {
    "PrivateSparseTwoPartRegressor": made(
        at_size(2_000, PrivateSparseTwoPartRegressor), sparsity=2, **(STANDARDIZED | WEAK)
    ),
    "tune, two parts": made(TunedTwoParts, sparsity=1, **(STANDARDIZED | WEAK)),
}
TUNED: dict[str, Callable[..., Any]] = {
    "tune": made(TunedPursuit, sparsity=1, **(STANDARDIZED | WEAK)),
    "tune, units unknown": made(at_size(1_000, TunedPursuit), sparsity=1, **WEAK),
}
EVALUATIONS: dict[str, Callable[..., Any]] = {
    "evaluate": made(EvaluatedModel, **OPTIONS),
    "evaluate, scale unknown": made(EvaluatedInAnyUnit, **WEAK),
    "evaluate, yes or no": made(EvaluatedOutcomes, **WEAK),
    "evaluate, counts": made(EvaluatedMeans, **WEAK),
    "fit_and_evaluate": made(HeldOutPursuit, sparsity=1, **(STANDARDIZED | WEAK)),
}
LOOPS: dict[str, Callable[..., Any]] = {
    "DPIHTH": made(DPIHTH, **LOOP),
    "DPIHTH, largest step": made(DPIHTH, step=1e100, tau=1e100, radius=1.0, **LOOP),
    "DPIHTL": made(DPIHTL, **LOOP),
    # A small radius, since a residual reaches its bound only where predictions are small beside the response.
    "DPSLR": made(DPSLR, radius=0.01, **LOOP),
}
ESTIMATORS = {
    **PURSUITS,
    **ALL_FEATURES,
    **LOOPS,
    **TUNED,
    **EVALUATIONS,
    **REFERENCES,
    **CLASSIFIERS,
    **PEOPLE,
    **COUNTS,
    **TWO_PARTS,
}

"""The package's own method, with units given exactly as public numbers and with nothing known."""

import warnings

from dpsparse import PrivateSparseRegressor
from dpsparse.algorithms.pursuit.decisions import predicts_with_all
from dpsparse.families.estimands import ESTIMANDS
from dpsparse.families.robust_linear import RobustLinear
from dpsparse.privacy.guarantee import Guarantee
from peers.problem import NORMAL_MAD, Line, exact_feature_units, robust_units


def fit(X, y, budget, rng, *, estimand="typical", units_known=True, response_known=True, adjacency="replace-one"):
    """PrivateSparseRegressor. Units known: it is given what `with_exact_units` gives to others, as public numbers.

    Effects are on the typical response, as those of most rivals, or on the mean, which squared error judges. Where
    nobody knows how many features matter it takes all of them if that is likely to predict better, by public numbers;
    ``sparsity="auto"`` selects in some of these settings, since a selection alone has intervals there.
    """
    center, scale = exact_feature_units(X) if units_known else (None, None)
    response_center, response_scale = robust_units(y) if units_known and response_known else (None, None)
    if response_scale is not None:
        response_scale *= NORMAL_MAD  # the package's scale is a median distance
    n, d = X.shape
    rho = Guarantee(budget.epsilon, budget.delta, adjacency=adjacency).rho_per_record
    all_of_them = not budget.sparsity_known and predicts_with_all(
        n, d, rho, units_known, RobustLinear(estimand=ESTIMANDS[estimand])
    )
    model = PrivateSparseRegressor(
        sparsity=d if all_of_them else min(budget.sparsity, d),
        estimand=estimand,
        epsilon=budget.epsilon,
        delta=budget.delta,
        feature_center=center,
        feature_scale=scale,
        response_center=response_center,
        response_scale=response_scale,
        adjacency=adjacency,
        random_state=int(rng.integers(2**32)),
    )
    with warnings.catch_warnings():
        # A forecast from public numbers that the fit may be weak, and the seed's, say nothing new here.
        warnings.simplefilter("ignore")
        model.fit(X, y)
    limits = model.prediction_range_ or Line._field_defaults["limits"]
    turn = (model.calibration_slope_, model.released_.constant, model.median_slope_)
    return Line(model.coef_, model.intercept_, limits, model.median_shift_ or 0.0, *turn)

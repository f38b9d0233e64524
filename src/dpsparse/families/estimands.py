"""What effects are of: the estimand, named by the estimator that anyone can run on the same columns without privacy."""

import math
from dataclasses import dataclass
from typing import Literal

# Users of a regression give one of the first two.
EstimandName = Literal["mean", "typical", "log odds", "log mean"]

# Huber's estimator is 95 % as precise as least squares where errors are normal.
HUBER_TUNING = 1.345


@dataclass(frozen=True)
class Estimand:
    """A question about a response, and the estimator that answers it without privacy.

    `name`: as users of a regression give it.
    `tuning`: where the estimator clips residuals, in units of their scale: the median size over that of a standard
      normal.
    `words`: what effects say, without a full stop; with a place for `target`.
    `ratio`: what an effect is as a factor, where it is a logarithm; None where it is a difference.
    """

    name: EstimandName
    tuning: float
    words: str
    ratio: str | None = None


# Effects on the mean response: least squares, statsmodels' `OLS`.
MEAN = Estimand(
    "mean", math.inf, "on the mean of {target}, as least squares (OLS) gives them for these features without privacy"
)
# Effects on the typical response: Huber's M-estimator, statsmodels' `RLM(HuberT())`.
TYPICAL = Estimand(
    "typical",
    HUBER_TUNING,
    "on the typical {target}, as Huber's robust regression gives them for these features without privacy",
)
# Effects on the log odds of a yes/no response: logistic regression, statsmodels' `Logit`. Residuals are bounded anyway.
LOG_ODDS = Estimand(
    "log odds",
    math.inf,
    "on the log odds that {target} is yes, as logistic regression gives them for these features without privacy",
    ratio="odds ratio",
)
# Effects on the log of a mean: Poisson regression, statsmodels' `GLM(family=Poisson())` with sandwich errors.
LOG_MEAN = Estimand(
    "log mean",
    math.inf,
    "on the log of the mean of {target}, as Poisson regression gives them for these features without privacy",
    ratio="rate ratio",
)
# Those that users of a regression choose from.
ESTIMANDS: dict[str, Estimand] = {each.name: each for each in (MEAN, TYPICAL)}
ALL_ESTIMANDS: dict[str, Estimand] = ESTIMANDS | {each.name: each for each in (LOG_ODDS, LOG_MEAN)}

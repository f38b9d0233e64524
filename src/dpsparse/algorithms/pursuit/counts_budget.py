"""What the releases of a pursuit of counts and costs cost, beside those that it shares with yes/no responses.

Shares are of the pursuit's rho, as in `budget`. The step to the estimand's estimator has the prices of
`reference_budget`.
"""

from dpsparse.algorithms.pursuit.budget import Case, Price
from dpsparse.algorithms.pursuit.decisions import reliable_columns
from dpsparse.algorithms.pursuit.facts import PublicFacts
from dpsparse.algorithms.pursuit.price_cases import always
from dpsparse.algorithms.pursuit.shares import Fixed, Share

# The share of rho that the pursuit has, before the step to the estimand's estimator: where features are selected, where
# all are taken, and where these are too many for second moments that are not noise. Set by `counts.py`.
SELECTS, TAKES_ALL, TAKES_MANY = 0.5, 0.3, 0.7


def has_exposure(facts: PublicFacts) -> bool:
    """Where means are in proportion to an exposure."""
    return facts.family.link.exposure is not None


def pursuit_share(facts: PublicFacts) -> float:
    """The share of a whole rho, that of `facts`, which the pursuit has."""
    if facts.n_candidates > facts.sparsity:
        return SELECTS
    return TAKES_ALL if facts.sparsity < reliable_columns(facts, 0.0) else TAKES_MANY


RESPONSE_SIZE = Price(
    "response size",
    "once",
    (Case("always", always, Share(6000, 0.004, 0.15)),),
    "All that follows is in this unit; many responses may be 0, which leaves fewer to tell it.",
    "counts.py",
)
RESPONSE_SIZES = Price(
    "response sizes",
    "once",
    (Case("always", always, Fixed(0.02)),),
    "Where to clip responses for their mean, and how large residuals are.",
    "counts.py",
)
MEAN_RESPONSE = Price(
    "mean response",
    "once",
    (Case("always", always, Fixed(0.03)),),
    "The unit of residuals, and where the constant starts.",
    "counts.py",
)
EXPOSURE_SIZE = Price(
    "exposure size",
    "once",
    (Case("with an exposure", has_exposure, Share(400, 0.004, 0.1)),),
    "The unit of the exposure.",
    "counts.py",
)
MEAN_EXPOSURE = Price(
    "mean exposure",
    "once",
    (Case("with an exposure", has_exposure, Fixed(0.01)),),
    "Where the constant starts: rates are of the mean exposure.",
    "counts.py",
)
FIRST_RESIDUAL_SIZES = Price(
    "first residual sizes",
    "once",
    (Case("always", always, Fixed(0.02)),),
    "Where to clip residuals for their mean, before the last steps.",
    "counts.py",
)
FIRST_MEAN_RESIDUAL = Price(
    "first mean residual",
    "once",
    (Case("always", always, Fixed(0.04)),),
    "Clips of early steps leave the constant too low; one step is as good as the estimator only from nearby.",
    "counts.py",
)
# In order of time.
PRICES = (
    *(RESPONSE_SIZE, RESPONSE_SIZES, MEAN_RESPONSE, EXPOSURE_SIZE, MEAN_EXPOSURE),
    *(FIRST_RESIDUAL_SIZES, FIRST_MEAN_RESIDUAL),
)

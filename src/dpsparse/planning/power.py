"""How large an effect must be to be significant with a given power."""

from statistics import NormalDist

from dpsparse.inference.inference_constants import FAMILY_WISE_LEVEL

# Of a minimum detectable effect, as sample sizes are planned for.
POWER = 0.8


def standard_errors_detected(d: int) -> float:
    """How many standard errors an effect must have to be significant among d features with 80 % power.

    Examples
    --------
    >>> from dpsparse.planning.power import standard_errors_detected
    >>> round(standard_errors_detected(1), 2), round(standard_errors_detected(1_000), 2)
    (2.8, 4.9)
    """
    normal = NormalDist()
    return normal.inv_cdf(1 - FAMILY_WISE_LEVEL / 2 / d) + normal.inv_cdf(POWER)

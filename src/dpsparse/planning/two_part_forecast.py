"""What a budget buys where a response is modelled in two parts: a forecast of each part, from public numbers alone."""

from typing import Any, NamedTuple

from dpsparse.algorithms.guarantee_shares import share_of
from dpsparse.algorithms.overall_level import HOW_MUCH, SHARES, WHETHER
from dpsparse.planning.forecast import ROW_CORRELATION, Plan, plan
from dpsparse.privacy.guarantee import Guarantee, default_delta


class TwoPartForecast(NamedTuple):
    """Forecasts of the two parts, each with its share of the guarantee.

    Parameters
    ----------
    whether : Plan
        Of log odds that a response is above 0.
    how_much : Plan
        Of effects on the mean among responses above 0, in units of their noise: for as many records as have one. The
        budget does not know which these are, so it counts for less: n sqrt(rho) is that of these records alone.
    """

    whether: Plan
    how_much: Plan


def plan_two_part(
    n: int,
    d: int,
    sparsity: int,
    epsilon: float,
    delta: float | None = None,
    *,
    share_above_0: float,
    units_known: bool = False,
    records_per_person: int = 1,
    rows_per_person: float = 1.0,
    row_correlation: float = ROW_CORRELATION,
) -> TwoPartForecast:
    """Forecast the accuracy of both parts of a `PrivateSparseTwoPartRegressor`, from public numbers alone.

    Parameters
    ----------
    n, d, sparsity : int
        Records, or people where they have several rows; features, features to select in each part.
    epsilon : float
        The privacy guarantee of both parts together.
    delta : float or None, default=None
        Its failure probability; None for n**-1.1.
    share_above_0 : float
        A guess of the share of responses above 0.
    units_known : bool, default=False
        Whether public centres and scales of all features are given to the fit, and right.
    records_per_person : int, default=1
        The most rows one person may have.
    rows_per_person, row_correlation : float
        The mean number of rows of the n people whose ids a fit is given, and how alike they are; see `plan`.

    Returns
    -------
    TwoPartForecast
        `whether` and `how_much`, a `Plan` each.

    Examples
    --------
    >>> from dpsparse.planning.two_part_forecast import plan_two_part
    >>> rare, common = (plan_two_part(20_000, 20, 5, 1.0, share_above_0=share) for share in (0.1, 0.5))
    >>> common.how_much.smallest_effect < rare.how_much.smallest_effect
    True
    >>> 1 < common.whether.smallest_odds_ratio < rare.whether.smallest_odds_ratio < 2
    True
    """
    whole = Guarantee(
        float(epsilon), default_delta(n) if delta is None else float(delta), records_per_person=records_per_person
    )
    shares = {name: share_of(whole, SHARES[name], len(SHARES), by_mu=True) for name in (WHETHER, HOW_MUCH)}
    common: dict[str, Any] = {"units_known": units_known, "records_per_person": records_per_person}
    common |= {"rows_per_person": rows_per_person, "row_correlation": row_correlation}

    def part(name: str, n_records: int, **own: Any) -> Plan:
        return plan(n_records, d, sparsity, shares[name].epsilon, shares[name].delta, **common, **own)

    amounts = max(1, round(share_above_0 * n))
    return TwoPartForecast(part(WHETHER, n, share_of_yes=share_above_0), part(HOW_MUCH, amounts))

"""`plan`: a forecast of what a budget buys, from public numbers and guesses alone, before any of it is spent."""

import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from dpsparse.algorithms.pursuit import decisions
from dpsparse.algorithms.pursuit.facts import Known, PublicFacts
from dpsparse.engine.people import RowsPerPerson
from dpsparse.families.binomial import BINOMIAL
from dpsparse.families.estimands import ESTIMANDS, LOG_MEAN, LOG_ODDS, TYPICAL, EstimandName
from dpsparse.families.poisson import POISSON
from dpsparse.families.robust_linear import RobustLinear
from dpsparse.inference.intervals import SHOWN_PERCENT, reach
from dpsparse.planning.accuracy import TYPICAL_PART, Accuracy, standard_errors_detected
from dpsparse.planning.plan_picture import draw
from dpsparse.planning.score_accuracy import CountAccuracy, OutcomeAccuracy, ScoreAccuracy
from dpsparse.privacy.accounting.zcdp import epsilon_from_rho
from dpsparse.privacy.guarantee import Guarantee, default_delta

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The selection cuts what lies further from its prediction: a larger effect is no easier to find. In units of the noise.
_MOST_EFFECT = 2.0

# Ratios beyond this log are infinite to everybody.
_MOST_LOG = 700.0

# An epsilon beyond this protects nobody: none is advised.
_MOST_EPSILON = 10.0

# How alike the rows of a person are, where nothing is said: half of what a row tells, those before it have told.
ROW_CORRELATION = 0.5

# The epsilons of a table of forecasts.
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)

# What two columns of such a table are.
SELECTED = "Selected: the effect that is selected in 4 fits of 5."
DETECTABLE = (
    "Detectable: the minimum detectable effect, which is selected and, with 80 % power, significant (family-wise 5 %)."
)


def plan(
    n: int,
    d: int,
    sparsity: int,
    epsilon: float,
    delta: float | None = None,
    *,
    estimand: EstimandName = "mean",
    units_known: bool = False,
    noise_scale: float = 1.0,
    correlation: float = 0.0,
    records_per_person: int = 1,
    rows_per_person: float = 1.0,
    row_correlation: float = ROW_CORRELATION,
    share_of_yes: float | None = None,
    mean_response: float | None = None,
    overdispersion: float = 1.0,
    typical_noise: float | None = None,
) -> "Plan":
    """Forecast the accuracy of a private fit, from public numbers alone.

    Parameters
    ----------
    n, d, sparsity : int
        Records, or people where they have several rows; features, features to select.
    epsilon : float
        The privacy guarantee.
    delta : float or None, default=None
        Its failure probability; None for n**-1.1.
    estimand : {"mean", "typical"}, default="mean"
        What effects are on: the mean response, or the typical one.
    units_known : bool, default=False
        Whether public centres and scales of all features are given to the fit, and right.
    noise_scale : float, default=1.0
        A guess of the noise's size in units of the response: its standard deviation where effects are on the mean, and
        1.48 times its median distance from its centre where they are on the typical response. Both are the same if it
        is normal.
    correlation : float, default=0.0
        A guess of the correlation of neighbouring features, in [0, 1).
    records_per_person : int, default=1
        The most rows one person may have, where no ids say whose they are.
    rows_per_person : float, default=1.0
        The mean number of rows of the n people, where `fit` is given their ids.
    row_correlation : float, default=0.5
        A guess of how alike the rows of a person are, in [0, 1]: 0 where they tell as much as those of different people
        (features and responses vary from row to row), 1 where they are copies.
    share_of_yes : float or None, default=None
        A guess of the share of yes, for the logistic regression of a yes/no response: effects and errors are log odds
        then, whatever `estimand` and `noise_scale` are. None where the response is a number.
    mean_response : float or None, default=None
        A guess of the mean of a count or a cost, for its Poisson regression: effects and errors are logs of its mean
        then, and ratios follow. None for others.
    overdispersion : float, default=1.0
        A guess of the variance of such a response over its mean, among records of the same features: 1 for a Poisson
        law, 5 or more for visits, and more for costs, where it is in units of the response.
    typical_noise : float or None, default=None
        Where effects are on the mean, a guess of 1.48 times the median distance of the noise from its centre, or about
        .74 times its interquartile range: `noise_scale` if it is normal, and less of it the heavier its tails. None for
        .75 of `noise_scale`, as of tails that are a little heavy.

    Returns
    -------
    Plan
        The forecast, with a table and a plot.

    Examples
    --------
    >>> from dpsparse import plan
    >>> forecast = plan(10_000, 1_000, 5, 0.5)
    >>> forecast.expected_error < 0.2
    True
    >>> forecast.n_for_error(0.02) > 10_000
    True
    >>> plan(10_000, 1_000, 5, 0.5, units_known=True).expected_error < forecast.expected_error
    True
    >>> one, five = (plan(2_000, 1_000, 5, 0.5, rows_per_person=m, row_correlation=0.1) for m in (1, 5))
    >>> five.expected_error < one.expected_error
    True
    >>> plan(1_000, 20, 5, 1.0).has_intervals, plan(1_000, 20, 5, 1.0, estimand="typical").has_intervals
    (False, True)

    Which odds ratio can be found, for a step of one standard deviation:

    >>> rare, even = (plan(10_000, 60, 5, 1.0, share_of_yes=share) for share in (0.05, 0.5))
    >>> 1 < even.smallest_odds_ratio < 1.2 < rare.smallest_odds_ratio < 2
    True

    Which rate ratio:

    >>> plan(10_000, 60, 5, 1.0, mean_response=3, overdispersion=2).smallest_rate_ratio < 1.3
    True
    """
    for name, value in (("n", n), ("d", d), ("sparsity", sparsity)):
        if not isinstance(value, numbers.Real) or not value >= 1 or value != int(value):
            raise ValueError(f"{name}={value!r} must be a whole number of at least 1")
    if sparsity > d:
        raise ValueError(f"sparsity={sparsity!r} must be at most d={d!r}, the number of features")
    if estimand not in ESTIMANDS:
        raise ValueError(f"estimand={estimand!r} must be 'mean' or 'typical'")
    if not noise_scale > 0:
        raise ValueError(f"noise_scale={noise_scale!r} must be above 0; 1 measures errors in units of the noise")
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation={correlation!r} must lie in [0, 1)")
    if not rows_per_person >= 1 or not 0 <= row_correlation <= 1:
        raise ValueError(
            f"rows_per_person={rows_per_person!r} must be at least 1, and row_correlation={row_correlation!r} must lie "
            "in [0, 1]"
        )
    if typical_noise is not None and not (estimand == "mean" and 0 < typical_noise < math.inf):
        raise ValueError(
            f"typical_noise={typical_noise!r} must be above 0, and is for effects on the mean: noise_scale itself is "
            "that of typical ones"
        )
    if rows_per_person > 1 and records_per_person > 1:
        raise ValueError("records_per_person is for tables without ids: leave it out where rows_per_person is given")
    if share_of_yes is not None and not 0 < share_of_yes < 1:
        raise ValueError(f"share_of_yes={share_of_yes!r} must lie strictly between 0 and 1")
    if mean_response is not None and not 0 < mean_response < math.inf:
        raise ValueError(f"mean_response={mean_response!r} must be above 0; it is the mean of a count or a cost")
    if not 0 < overdispersion < math.inf:
        raise ValueError(f"overdispersion={overdispersion!r} must be above 0; 1 is that of a Poisson law")
    if mean_response is not None and share_of_yes is not None:
        raise ValueError("mean_response is of counts and costs, share_of_yes of a yes/no response: give one of them")
    return Plan(
        int(n),
        int(d),
        int(sparsity),
        epsilon,
        delta,
        bool(units_known),
        float(noise_scale),
        float(correlation),
        records_per_person,
        estimand if share_of_yes is None and mean_response is None else (LOG_MEAN if mean_response else LOG_ODDS).name,
        None if share_of_yes is None else float(share_of_yes),
        None if mean_response is None else float(mean_response),
        float(overdispersion),
        float(rows_per_person),
        float(row_correlation),
        None if typical_noise is None else float(typical_noise),
    )


def plan_under(guarantee: Guarantee, n: int, d: int, sparsity: int, known: bool, **response: Any) -> "Plan":
    """`plan` for a fit under a guarantee, whose people may have several rows; `response` are guesses of it."""
    return plan(
        n,
        d,
        sparsity,
        guarantee.epsilon,
        guarantee.delta,
        units_known=known,
        records_per_person=guarantee.records_per_person,
        rows_per_person=1.0 if guarantee.rows is None else max(1.0, guarantee.rows / n),
        **response,
    )


@dataclass(frozen=True)
class Plan:
    """A forecast. Errors and effects are per scaled feature, in units of the response, or logs of odds or of a mean."""

    n: int
    d: int
    sparsity: int
    epsilon: float
    delta: float | None
    units_known: bool
    noise_scale: float
    correlation: float
    records_per_person: int
    estimand: EstimandName = "mean"
    share_of_yes: float | None = None
    mean_response: float | None = None
    overdispersion: float = 1.0
    rows_per_person: float = 1.0
    row_correlation: float = ROW_CORRELATION
    typical_noise: float | None = None

    @cached_property
    def guarantee(self) -> Guarantee:
        """The privacy guarantee that the forecast is for."""
        delta = default_delta(self.n) if self.delta is None else self.delta
        return Guarantee(float(self.epsilon), delta, records_per_person=self.records_per_person)

    def _accuracy_at(self, rho: float) -> Accuracy | ScoreAccuracy:
        """What to expect of a fit whose records may cost this much."""
        units: Known = "all" if self.units_known else "none"
        rows = RowsPerPerson(self.rows_per_person, math.sqrt(self.rows_per_person))
        shared: dict[str, Any] = {"units_known": units, "rows": rows}
        if self.share_of_yes is not None:
            facts = PublicFacts(self.n, self.d, self.sparsity, rho, family=BINOMIAL, **shared)
            return OutcomeAccuracy(facts, self.correlation, self._rows_that_tell, self.share_of_yes)
        if self.mean_response is not None:
            facts = PublicFacts(self.n, self.d, self.sparsity, rho, family=POISSON, **shared)
            return CountAccuracy(facts, self.correlation, self._rows_that_tell, self.mean_response, self.overdispersion)
        family = RobustLinear(estimand=ESTIMANDS[self.estimand])
        facts = PublicFacts(self.n, self.d, self.sparsity, rho, family=family, **shared)
        typical = 1.0 if self.estimand == TYPICAL.name else TYPICAL_PART
        if self.typical_noise is not None:
            typical = self.typical_noise / self.noise_scale
        return Accuracy(facts, self.noise_scale, self.correlation, self._rows_that_tell, typical)

    @property
    def _rows_that_tell(self) -> float:
        """How many rows of different people tell as much as all rows of a person: m / (1 + (m - 1) correlation)."""
        return self.rows_per_person / (1 + (self.rows_per_person - 1) * self.row_correlation)

    @cached_property
    def _accuracy(self) -> Accuracy | ScoreAccuracy:
        """What to expect of the fit."""
        return self._accuracy_at(self.guarantee.rho_per_record)

    @property
    def expected_error(self) -> float:
        """The expected l2 error of the coefficients."""
        return self._accuracy.expected_error

    @property
    def smallest_effect(self) -> float:
        """The effect that is selected in 4 fits of 5; that is significant in as many, where all features are taken."""
        return self._accuracy.smallest_effect

    @property
    def minimum_detectable_effect(self) -> float:
        """The effect that is significant, at the family-wise level over all features, with 80 % power; or infinity.

        It follows from the forecast of the standard error, and is no less than what is selected: an effect must be
        selected to be tested.

        Examples
        --------
        >>> from dpsparse import plan
        >>> forecast = plan(20_000, 50, 5, 1.0)
        >>> forecast.smallest_effect <= forecast.minimum_detectable_effect < float("inf")
        True
        """
        of_test = standard_errors_detected(self.d) * self.interval_width / (2 * reach())
        return max(self.smallest_effect, of_test)

    @property
    def smallest_odds_ratio(self) -> float:
        """The effect that is selected in 4 fits of 5 as an odds ratio, for a step of one scale; of yes or no."""
        if self.share_of_yes is None:
            raise ValueError("odds ratios are of a yes/no response: give share_of_yes to plan")
        return self.smallest_ratio

    @property
    def smallest_rate_ratio(self) -> float:
        """The effect that is selected in 4 fits of 5 as a rate ratio, for a step of one scale; of a count or a cost."""
        if self.mean_response is None:
            raise ValueError("rate ratios are of counts and costs: give mean_response to plan")
        return self.smallest_ratio

    @property
    def smallest_ratio(self) -> float:
        """The effect that is selected in 4 fits of 5 as a ratio, where effects are logs."""
        return math.exp(min(self.smallest_effect, _MOST_LOG))

    @property
    def ratio(self) -> str | None:
        """What the exponential of an effect is: "odds ratio", or "rate ratio"; None where effects are no logs."""
        if self.mean_response is not None:
            return "rate ratio"
        return None if self.share_of_yes is None else "odds ratio"

    @property
    def unit(self) -> str:
        """What errors and effects are in."""
        if self.mean_response is not None:
            return "logs of the mean"
        return "units of the response" if self.share_of_yes is None else "log odds"

    @property
    def interval_width(self) -> float:
        """The expected width of a 95 % interval; infinite where there is none."""
        return self._accuracy.interval_width

    @property
    def has_intervals(self) -> bool:
        """Whether effects have intervals: those on a mean need a larger table (`n_for_intervals`)."""
        return self._accuracy.has_intervals

    @property
    def n_for_intervals(self) -> int:
        """The number of records from which on effects have intervals at this epsilon."""
        return self._smallest_n(lambda other: other.has_intervals)

    @property
    def epsilon_for_intervals(self) -> float:
        """The epsilon from which on effects have intervals with these records."""
        if self._accuracy_at(0.0).has_intervals:
            return 0.0
        rho = (decisions.reference_size(self.sparsity) / self.n) ** 2
        # A little more, so that the rho of this epsilon is not below by rounding.
        return epsilon_from_rho(self.guarantee.protects.rho(rho), self.guarantee.delta) * (1 + 1e-6)

    @property
    def caveat(self) -> str:
        """That effects on a mean cannot be had, and what it takes, without a full stop; empty where they can be.

        Examples
        --------
        >>> from dpsparse import plan
        >>> plan(1_000, 20, 5, 1.0).caveat  # doctest: +ELLIPSIS
        'effects on a mean cannot be had from 1,000 records at epsilon 1: that takes about ...'
        """
        if self.has_intervals:
            return ""
        epsilon = self.epsilon_for_intervals
        or_epsilon = f" at this epsilon, or epsilon {epsilon:.2g} with these" if epsilon <= _MOST_EPSILON else ""
        if self.ratio is not None:
            what = "log odds" if self.mean_response is None else "effects"
            return (
                f"{self.sparsity} {what} together have no intervals with {self.n:,} {self.units_of_n} at epsilon "
                f"{self.epsilon:g}: that takes about {self.n_for_intervals:,} {self.units_of_n}{or_epsilon}; fewer "
                "features need fewer"
            )
        return (
            f"effects on a mean cannot be had from {self.n:,} {self.units_of_n} at epsilon {self.epsilon:g}: that "
            f"takes about {self.n_for_intervals:,} {self.units_of_n}{or_epsilon}; effects on the typical response need "
            "fewer"
        )

    @property
    def n_looked_for(self) -> int:
        """How many of the features to select are looked for: fewer in small tables whose units nobody knows."""
        return self._accuracy.n_looked_for

    @property
    def few_features(self) -> str:
        """That not all features are looked for, and what more would take, without a full stop; empty where they are.

        Examples
        --------
        >>> from dpsparse import plan
        >>> plan(400, 20, 5, 0.5).n_looked_for, plan(5_000, 20, 5, 0.5).few_features
        (0, '')
        >>> plan(400, 20, 5, 0.5).few_features  # doctest: +ELLIPSIS
        'the fit looks for no feature and spends all of the budget on a constant, as 400 records at epsilon 0.5 are ...'
        """
        count = self.n_looked_for
        if count == self.sparsity:
            return ""
        every = self.n_for_features(self.sparsity)
        here = f"{self.n:,} {self.units_of_n} at epsilon {self.epsilon:g} are too few to learn the units of"
        later = f"with public units all are looked for, and in unknown ones from about {every:,} {self.units_of_n} on"
        if count:
            are = "is" if count == 1 else "are"
            return f"{count} of {self.sparsity} features {are} looked for, as {here} more; {later}"
        first = "" if self.sparsity == 1 else f" (one from about {self.n_for_features(1):,} on)"
        none = "the fit looks for no feature and spends all of the budget on a constant"
        return f"{none}, as {here} features; {later}{first}"

    @property
    def units_of_n(self) -> str:
        """What n counts: "people" where they have several rows, "records" elsewhere."""
        return "people" if self.rows_per_person > 1 else "records"

    def n_for_features(self, count: int) -> int:
        """The number of records from which on so many of the features to select are looked for.

        Examples
        --------
        >>> from dpsparse import plan
        >>> forecast = plan(400, 20, 5, 0.5)
        >>> 400 < forecast.n_for_features(1) < forecast.n_for_features(5) < 1_500
        True
        """
        return self._smallest_n(lambda other: other.n_looked_for >= min(count, other.sparsity))

    def n_for_error(self, target: float) -> int:
        """The number of records at which the expected error falls to `target`."""
        return self._smallest_n(lambda other: other.expected_error <= target)

    def n_for_effect(self, target: float) -> int:
        """The number of records at which the effect that is selected in 4 fits of 5 falls to `target`."""
        return self._smallest_n(lambda other: other.smallest_effect <= target)

    def epsilon_for_effect(self, target: float) -> float:
        """The epsilon at which the effect selected in 4 fits of 5 falls to `target`; infinite if none suffices."""
        # Effects depend on epsilon through rho alone. rho is searched, because epsilon follows from it at once, while
        # rho from epsilon is a search of its own.
        person = self.guarantee.protects
        low, high = (person.rho_of_a_record(rho) for rho in (1e-14, 1e4))
        if not self._detects(target, high):
            return math.inf
        while high / low > 1.001:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self._detects(target, middle) else (middle, high)
        # A little more, so that the rho of this epsilon is not below by rounding.
        return epsilon_from_rho(person.rho(high), self.guarantee.delta) * (1 + 1e-9)

    def _detects(self, target: float, rho: float) -> bool:
        return self._accuracy_at(rho).smallest_effect <= target

    def effect_for_share(self, share: float) -> float:
        """The difference between the records with a 0/1 feature and the others that is selected in 4 fits of 5.

        A selection compares pairs of records. A share of 2 p (1 - p) of the pairs differs in a feature that a share of
        p has, while pairs of normal records lie 2 / sqrt(pi) scales apart. So rare features are harder to find than
        their variance says. The difference is infinite where even the largest effect is too rare.

        Parameters
        ----------
        share : float
            The share of the records that have the feature, such as a category; between 0 and 1.

        Examples
        --------
        >>> from dpsparse import plan
        >>> forecast = plan(8_000, 50, 5, 1.0)
        >>> forecast.effect_for_share(0.5) < forecast.effect_for_share(0.05) < forecast.effect_for_share(0.001)
        True
        """
        effect = self.smallest_effect / (math.sqrt(math.pi) * share * (1 - share))
        return effect if effect <= self._most_effect else math.inf

    @property
    def _most_effect(self) -> float:
        return _MOST_EFFECT * self.noise_scale if self.ratio is None else _MOST_LOG

    def share_for_effect(self, effect: float) -> float:
        """The smallest share of records that must have a 0/1 feature for such a difference to be selected.

        The inverse of `effect_for_share`; infinite if no share suffices. With an infinite effect it is the share below
        which nothing is found.

        Parameters
        ----------
        effect : float
            The difference between the records that have the feature and the others, above 0.

        Examples
        --------
        >>> import math
        >>> from dpsparse import plan
        >>> forecast = plan(8_000, 50, 5, 1.0)
        >>> forecast.share_for_effect(math.inf) < forecast.share_for_effect(0.5) < 0.5
        True
        """
        product = self.smallest_effect / (math.sqrt(math.pi) * min(effect, self._most_effect))
        return math.inf if product > 0.25 else 0.5 * (1 - math.sqrt(1 - 4 * product))

    def _smallest_n(self, reached: Callable[["Plan"], bool]) -> int:
        low, high = 1, 2
        while not reached(replace(self, n=high)):
            low, high = high, 2 * high
            if high > 10**15:
                # An n that is never reached prints and compares as infinity.
                return math.inf  # type: ignore[return-value]
        while high - low > max(1, high // 1000):
            middle = (low + high) // 2
            low, high = (low, middle) if reached(replace(self, n=middle)) else (middle, high)
        return high

    def table(self, epsilons: Iterable[float] = EPSILONS) -> str:
        """The forecast at several epsilons, as text."""
        ratio = "" if self.ratio is None else f" {self.ratio:>11}"
        rows = [
            f"{'epsilon':>8} {'l2 error':>10} {'selected':>13}{ratio} {'detectable':>13} {'interval width':>15} "
            f"{'n for half the error':>21}"
        ]
        for epsilon in sorted({*epsilons, self.epsilon}):
            at = replace(self, epsilon=epsilon)
            ratio = "" if self.ratio is None else f" {at.smallest_ratio:>11.3g}"
            rows.append(
                f"{epsilon:>8g} {at.expected_error:>10.3g} {_or_dash(at.smallest_effect):>13}{ratio} "
                f"{_or_dash(at.minimum_detectable_effect):>13} {_or_dash(at.interval_width):>15} "
                f"{at.n_for_error(at.expected_error / 2):>21,}"
            )
        return "\n".join(rows)

    def plot(
        self,
        axes: "Axes | None" = None,
        epsilons: Iterable[float] | None = None,
        *,
        over: Literal["epsilon", "n"] = "epsilon",
    ) -> "Axes":
        """Draw the expected error and the effect that is selected in 4 fits of 5 over epsilon, or over n.

        Parameters
        ----------
        axes : matplotlib Axes or None, default=None
            Where; None makes a figure.
        epsilons : iterable of float or None, default=None
            The epsilons to draw; None for 0.03 to 10.
        over : {"epsilon", "n"}, default="epsilon"
            What varies. Over n, from a tenth of this plan's records to ten times as many.

        Returns
        -------
        matplotlib Axes
            With this plan's own epsilon or n marked.
        """
        if over not in ("epsilon", "n"):
            raise ValueError(f"over={over!r} must be 'epsilon' or 'n'")
        return draw(self, axes, epsilons, over)

    @property
    def _people(self) -> str:
        return "" if self.rows_per_person == 1 else f" people with {self.rows_per_person:g} rows each"

    @property
    def units(self) -> str:
        """Whether the features' units are known, in words."""
        return "known units" if self.units_known else "unknown units"

    @property
    def response(self) -> str:
        """What effects are on, in words."""
        if self.mean_response is not None:
            over = f"overdispersion {self.overdispersion:.3g}"
            return f"log of the mean response, which is {self.mean_response:.3g}, with {over}"
        if self.share_of_yes is None:
            return f"{self.estimand} response"
        return f"log odds of yes, which {self.share_of_yes:.3g} of the responses are"

    def __str__(self) -> str:
        caveats = (each for each in (self.few_features, self.caveat) if each)
        caveat = "".join(f"\n{each[0].upper()}{each[1:]}." for each in caveats)
        noise = f", noise {self.noise_scale:g}" if self.ratio is None else ""
        if self.typical_noise is not None:
            noise += f", typically {self.typical_noise:g}"
        unit = self.unit[0].upper() + self.unit[1:]
        return (
            f"n = {self.n:,}{self._people}, d = {self.d:,}, sparsity {self.sparsity}, effects on the {self.response}, "
            f"{self.units}{noise}, correlation {self.correlation:g}\n{self.table()}\n"
            f"{unit} per scaled feature. {SELECTED}\n{DETECTABLE}\n"
            f"Interval width: of a {SHOWN_PERCENT} interval; - where there is none.{caveat}"
        )


def _or_dash(value: float) -> str:
    return "-" if value == math.inf else f"{value:.3g}"

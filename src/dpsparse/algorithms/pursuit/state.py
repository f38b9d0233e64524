"""What a pursuit knows between two steps, all computed from releases and public numbers; a step returns a new one.

Nothing here reads data. `updates` has the functions that take in a release.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpsparse.algorithms.pursuit.descent import Descent
from dpsparse.algorithms.pursuit.feature_unit import FeatureUnit
from dpsparse.inference.gls import Estimate, Gradient
from dpsparse.inference.matrices import NoisyMatrix
from dpsparse.inference.one_step import OneStep
from dpsparse.inference.sandwich import Jacobian
from dpsparse.inference.scores_together import MeanScore, Together


@dataclass(frozen=True)
class ResponseUnit:
    """What is known of the response: its centre and scale, and how many records have one; None where it is not.

    `noise` is the standard deviation of that number. `lost` says that the centre is a mean which noise hides, and
    `exposure` is the mean exposure.
    """

    center: float | None = None
    scale: float | None = None
    n_records: float | None = None
    noise: float | None = None
    lost: bool = False
    exposure: float | None = None


@dataclass(frozen=True)
class Response:
    """The response as a fit sees it.

    `given`: public numbers of this fit; they come first.
    `released`: what was released here, or by another fit on the same records.
    `center`, `scale`: what follows; NaN while the scale is not known.
    `n_records`: the number of records that have a response: all, as far as releases tell.
    """

    given: ResponseUnit
    released: ResponseUnit
    center: float
    scale: float
    n_records: float


@dataclass(frozen=True)
class Column:
    """A selected feature, or another category of its variable, and its unit.

    `came_with`: of another category, the column of the selected one; None for a selected feature.
    `beside`: of a selected category, how far the means of its variable's categories lie from 0 together, in standard
      deviations of their noise, beyond chance.
    """

    feature: int
    unit: FeatureUnit
    came_with: int | None = None
    beside: float = 0.0


@dataclass(frozen=True)
class Fallback:
    """What to return to where effects make residuals larger.

    `effects` are those with the smallest residual `scale` so far; `before_slopes` are those before the first start from
    slopes since residuals were last looked at, None where there was none.
    """

    effects: NDArray[np.float64]
    scale: float
    before_slopes: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Moments:
    """Second moments of the columns, the noise of an entry, and where released the Jacobian and the score's variance.

    `released_jacobian` is the release; `jacobian` what was made of it with the last gradient.
    """

    gram: NDArray[np.float64]
    noise: float = 0.0
    released_jacobian: NoisyMatrix | None = None
    jacobian: Jacobian | None = None
    variance: NoisyMatrix | None = None


@dataclass(frozen=True)
class Evidence:
    """All released gradients, the latest solution for the kept columns, and the noise of the last fraction.

    `step` is the one to the estimand's estimator; None where it was not taken. `precision` is that of the effects of a
    row of Newton steps, `scores` are the mean scores on all kept columns, and `together` what they tell.
    """

    gradients: tuple[Gradient, ...] = ()
    solution: Estimate | None = None
    fraction_noise: float = math.inf
    step: OneStep | None = None
    precision: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    scores: tuple[MeanScore, ...] = ()
    together: Together | None = None

    @property
    def last(self) -> Gradient:
        """The last gradient."""
        return self.gradients[-1]

    @property
    def estimate(self) -> Estimate:
        """The latest solution."""
        assert self.solution is not None, "nothing was solved yet"
        return self.solution


@dataclass(frozen=True)
class MedianLine:
    """Medians of responses along predictions.

    `height`, `error`: the residuals' median, and the error of what is known of it before its release.
    `slope`: how many times as far from the constant predictions of a median are.
    """

    height: float = 0.0
    error: float = math.inf
    slope: float = 1.0


@dataclass(frozen=True)
class Conclusion:
    """What the last steps make of the effects, for predictions.

    `distance`: nearly all responses lie within this of their centre.
    `covariance`, `trusted`: of the kept columns' effects; whether a feature's standard error can be relied on.
    `effects`: shrunk effects of all columns.
    `means`: how far the kept features' means are from their centres, in scales.
    `lumped`, `all_equal`: whether many responses lie at one point, their centre, and whether nearly all do; `at_center`
      is the share that does at most, by a standard deviation of its noise.
    `explains`, `exact`: whether the features explain anything, and whether the residual scale is at the lower end of
      its range.
    `offset`, `slope`: what is added to the constant; how many times as far from it predictions of a mean are.
    `median`: where predictions of a median lie beside the others.
    """

    distance: float
    covariance: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    trusted: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    effects: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    means: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    lumped: bool = False
    at_center: float = 0.0
    all_equal: bool = False
    explains: bool = True
    exact: bool = False
    offset: float = 0.0
    slope: float = 1.0
    median: MedianLine = MedianLine()

    @property
    def errors(self) -> NDArray[np.float64]:
        """Standard errors of the kept columns' effects."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance)))


@dataclass(frozen=True)
class State:
    """Effects of the columns, and what they are computed from.

    With an intercept the first column is the constant 1; the selected features follow in the order of selection, each
    with the other categories of its variable behind it, where these take part in predictions.

    `constants`: 1 with an intercept, 0 without.
    `final_tau`: where final gradients clip residuals, in residual scales: a public number.
    `response`: what is known of the response.
    `columns`: the selected features, and what came with them.
    `effects`: one effect for each column.
    `kept`: the columns of gradients. Of the others, categories that came with one of these have an effect, which stays.
    `residual_scale`: the median size of the residuals.
    `fallback`: what to return to where effects make residuals larger.
    `moments`: second moments of the columns.
    `evidence`: all gradients, and their solution.
    `descent`: the steps so far, where all features are taken.
    `conclusion`: what the last steps make of the effects.
    """

    constants: int
    final_tau: float
    response: Response
    columns: tuple[Column, ...]
    effects: NDArray[np.float64]
    kept: NDArray[np.int64]
    residual_scale: float
    fallback: Fallback
    moments: Moments
    evidence: Evidence = Evidence()
    descent: Descent | None = None
    conclusion: Conclusion | None = None

    @property
    def center(self) -> float:
        """The response's centre."""
        return self.response.center

    @property
    def response_scale(self) -> float:
        """The response's scale."""
        return self.response.scale

    @property
    def n_records(self) -> float:
        """The number of records that have a response."""
        return self.response.n_records

    @property
    def score_scale(self) -> float:
        """The typical size of a bounded residual: where the last gradient clips it, or its scale without gradients."""
        return self.evidence.last.tau if self.evidence.gradients else self.residual_scale

    @property
    def features(self) -> list[int]:
        """The features of the columns."""
        return [column.feature for column in self.columns]

    @property
    def newest(self) -> int:
        """The column of the newest selected feature."""
        return int(self.kept[-1])

    @property
    def newest_pair(self) -> int:
        """Its column among the differences of pairs, which have no constant."""
        return self.newest - self.constants

    @property
    def newest_unit(self) -> FeatureUnit:
        """Its unit."""
        return self.columns[self.newest_pair].unit

    @property
    def kept_features(self) -> NDArray[np.int64]:
        """The kept columns without the constant."""
        return self.kept[self.constants :]

    @property
    def came_with(self) -> NDArray[np.int64]:
        """For each column the one that it came with; -1 for none."""
        with_others = [-1 if column.came_with is None else column.came_with for column in self.columns]
        return np.array([-1] * self.constants + with_others, dtype=np.int64)

    @property
    def mean_of_effects(self) -> float:
        """By how much the mean prediction lies above the prediction at the centres."""
        return float(self.concluded.effects[self.kept_features] @ self.concluded.means)

    def moments_of_predictions(self) -> tuple[float, NDArray[np.float64]]:
        """The variance of predictions and their covariances with the features, from released second moments.

        Of categories that came with a selected one there are none in a pursuit: they are left out.
        """
        gram, concluded = self.moments.gram, self.concluded
        known = self.kept_features < len(gram)
        columns, means = self.kept_features[known], concluded.means[known]
        moments = gram[np.ix_(columns, columns)] / gram[0, 0] - np.outer(means, means)
        covariances = moments @ concluded.effects[columns]
        return max(0.0, float(concluded.effects[columns] @ covariances)), covariances

    @property
    def kept_units(self) -> list[FeatureUnit]:
        """Their units."""
        return [self.columns[column - self.constants].unit for column in self.kept_features]

    @property
    def concluded(self) -> Conclusion:
        """What the last steps have concluded so far."""
        assert self.conclusion is not None, "the last steps have not begun"
        return self.conclusion

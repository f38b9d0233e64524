"""Records as queries see them, and the queries of algorithms: functions of records and public numbers that give sums.

The sums are of integers. A record's term depends on that record and the public numbers alone, and its size is bounded.
So the sum over all records is the sum of what a query gives for any division of them into blocks: in threads here, or
on the workers of a cluster. Where people have several records, `Records.people` says whose they are: blocks hold whole
people, a term is a person's, and it has the bound that a record's has.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsparse.engine import vector_sums
from dpsparse.engine.arrays import Array, as_float64, host, like, module_of, quotient, square_root, zero_for_nan
from dpsparse.engine.links import IDENTITY, Effects, Link
from dpsparse.engine.people import Held
from dpsparse.engine.quantize import Quantizer, level_shift, weight_levels
from dpsparse.engine.threads import slices

Thresholds: TypeAlias = NDArray[np.float64]

# The largest norms of the vectors of `calibration_sums` and of `median_line_sums`.
CALIBRATION_NORM, MEDIAN_LINE_NORM = math.sqrt(37 / 16), math.sqrt(19 / 8)


def total(values: Iterable[Any]) -> Any:
    """The sum of what one query gives for several blocks: arrays of integers, or tuples of them."""
    values = iter(values)
    result = next(values)
    for value in values:
        result = tuple(map(np.add, result, value)) if isinstance(result, tuple) else result + value
    return result


@dataclass(frozen=True)
class Column:
    """A selected feature in units: with NaN for gaps, and with these at 0 and huge values clipped.

    It is NaN in blank records too.
    """

    units: Array
    sanitized: Array

    @classmethod
    def of(cls, units: Array) -> "Column":
        """A column of these values."""
        return cls(units, vector_sums.sanitized(units))

    def take(self, rows: Any) -> "Column":
        """Some of the records."""
        return Column(self.units[rows], self.sanitized[rows])


@dataclass(frozen=True)
class Records:
    """Some records: responses, all features quantized (None where they are elsewhere), columns of the selected ones.

    `people` says whose records they are; None where each is a person's only one.
    """

    y: Array
    quantized: Any
    columns: tuple[Any, ...]
    link: Link = IDENTITY
    exposure: Array | None = None
    people: Held | None = None

    def take(self, rows: Any) -> Self:
        """Some of these records."""
        quantized = None if self.quantized is None else self.quantized.take(rows)
        exposure = None if self.exposure is None else self.exposure[rows]
        columns = tuple(column.take(rows) for column in self.columns)
        people = None if self.people is None else self.people.take(rows)
        return type(self)(self.y[rows], quantized, columns, self.link, exposure, people)

    def blocks(self, size: int) -> list[slice]:
        """Slices of about so many records, of whole people."""
        return slices(len(self.y), size) if self.people is None else self.people.blocks(size)

    def one_each(self, values: Array) -> Array:
        """The values of the records that stand for the people: of each record, one."""
        return values if self.people is None else values[self.people.chosen]

    def counts_at_most(self, values: Array, thresholds: Thresholds) -> NDArray[np.int64]:
        """For each of some rising thresholds how many values, given for each record, are at or below it.

        A person counts once.
        """
        return self._counts_at_most(self.one_each(values), thresholds)

    def _counts_at_most(self, values: Array, thresholds: Thresholds) -> NDArray[np.int64]:
        return vector_sums.counts_at_most(values, thresholds)

    def sanitized(self, positions: Sequence[int]) -> Array:
        """The columns at some positions, as one array with NaN as 0 and huge values clipped."""
        return module_of(self.y).stack([self.columns[k].sanitized for k in positions])

    def residuals(self, center: float, effects: Effects, bound: float = np.inf) -> Array:
        """Responses minus their means in float64, with gaps at 0; NaN for blank records. See `links` for the bound."""
        with np.errstate(all="ignore"):
            return self.link.residuals(self.y, center, self._explaining, effects, bound)

    def slope_roots(self, center: float, effects: Effects, bound: float = np.inf) -> Array:
        """Roots of the slopes of residuals at a bound; see `links`."""
        with np.errstate(all="ignore"):
            return self.link.slope_roots(self.y, center, self._explaining, effects, bound)

    @property
    def _explaining(self) -> Iterable[Array]:
        """The exposure, where there is one, and the columns."""
        columns = (each.sanitized for each in self.columns)
        return columns if self.exposure is None else (self.exposure, *columns)


def residual_counts(
    records: Records, center: float, effects: Effects, thresholds: Thresholds, sizes: bool = False
) -> NDArray[np.int64]:
    """For each of some rising thresholds how many residuals, or sizes of residuals, are at or below it."""
    residuals = records.residuals(center, effects)
    return records.counts_at_most(abs(residuals) if sizes else residuals, thresholds)


def response_counts(records: Records, thresholds: Thresholds) -> NDArray[np.int64]:
    """For each of some rising thresholds how many responses are at or below it."""
    return records.counts_at_most(records.y, thresholds)


def exposure_counts(records: Records, thresholds: Thresholds) -> NDArray[np.int64]:
    """For each of some rising thresholds how many exposures are at or below it."""
    return records.counts_at_most(records.exposure, thresholds)


def response_sums(records: Records, bound: float, start: float, rise: float) -> NDArray[np.int64]:
    """The sum of responses, clipped: u becomes min(u, bound) + rise (min(u, bound) - start)_+, and one below 0 is 0."""
    return _positive_sums(records, records.y, bound, start, rise)


def exposure_sums(records: Records, bound: float) -> NDArray[np.int64]:
    """The sum of exposures, clipped at 0 and `bound`."""
    return _positive_sums(records, records.exposure, bound, bound, 0.0)


def _positive_sums(
    records: Records, values: Array | None, bound: float, start: float, rise: float
) -> NDArray[np.int64]:
    assert values is not None, "a link with an exposure has one"
    values = zero_for_nan(values.clip(0.0, bound))
    values = values + (values - start).clip(0.0, None) * rise
    most = bound + max(bound - start, 0.0) * rise
    ones = module_of(values).ones_like(values)
    return vector_sums.vector_sums(*vector_sums.person_means(values[None], ones, records.people), most)


def pick_weights(records: Records, center: float, effects: Effects, bound: float, level: float = 0.0) -> Array:
    """Levels of the residuals, clipped at `bound`, less that of `level`: one for each record, and no sum.

    `level`, a public number or a release, is a mean of clipped residuals in units of `bound`. A blank record has
    weight 0.
    """
    most, shift = level_shift(level)
    residuals = records.residuals(center, effects, bound)
    return weight_levels(residuals, bound, most) - shift * as_float64(residuals == residuals)


def pick_sums(records: Records, center: float, effects: Effects, bound: float, level: float = 0.0) -> NDArray[np.int64]:
    """For each feature the sum of its levels times the residuals' levels."""
    sums: NDArray[np.int64] = records.quantized.weighted_sums(pick_weights(records, center, effects, bound, level))
    return sums


def pick_total(records: Records, center: float, effects: Effects, bound: float, level: float = 0.0) -> int:
    """The sum of the residuals' levels: what a feature that all records have at level 1 would sum."""
    return int(host(pick_weights(records, center, effects, bound, level).sum()))


def product_sums(records: Records, positions: Sequence[int], bound: float) -> NDArray[np.int64]:
    """Sums of the products of some columns with the last of them, as vectors clipped to norm `bound`."""
    columns = records.sanitized(positions)
    with np.errstate(all="ignore"):
        products = vector_sums.sanitized(columns * columns[-1])
    row_scale = vector_sums.clip_factor(vector_sums.norms(products), bound)
    return vector_sums.vector_sums(*vector_sums.person_means(products, row_scale, records.people), bound)


def column_counts(records: Records, position: int, thresholds: Thresholds, sizes: bool = False) -> NDArray[np.int64]:
    """For each of some rising thresholds how many values of a column, or their sizes, are at or below it."""
    column = records.columns[position].units
    return records.counts_at_most(abs(column) if sizes else column, thresholds)


def slope_counts(records: Records, effects: Effects, position: int, thresholds: Thresholds) -> NDArray[np.int64]:
    """For each of some rising thresholds how many slopes are at or below it: residual over column, where |column| >= 1.

    It is meant for differences of pairs: these have no intercept, and their centre is 0.
    """
    column = records.columns[position].units
    with np.errstate(all="ignore"):
        slopes = quotient(records.residuals(0.0, effects), column)
    nowhere = like(np.nan, slopes)
    return records.counts_at_most(module_of(slopes).where(abs(column) >= 1, slopes, nowhere), thresholds)


def spread_sums(records: Records, position: int, size: float, most: float) -> NDArray[np.int64]:
    """Sums of two numbers in [-1/2, 1/2]: whether a column is not 0, and its size in units of `size` up to `most`.

    A gap counts as 0.
    """
    with np.errstate(all="ignore"):
        sizes = quotient(quotient(abs(records.columns[position].units), size).clip(0, most), most)
        sizes = zero_for_nan(sizes)
        return bounded_sums(records, [as_float64(sizes > 0) - 0.5, sizes - 0.5], math.sqrt(0.5))


def mean_sums(records: Records, position: int, center: float, scale: float, most: float) -> NDArray[np.int64]:
    """Sums of a and a^2 - 1/2, of norm <= sqrt 1.25; a is a column's units, clipped at +-`most`, over `most`.

    It is 0 for a gap.
    """
    with np.errstate(all="ignore"):
        units = quotient(quotient(records.columns[position].units - center, scale).clip(-most, most), most)
        units = zero_for_nan(units)
        return bounded_sums(records, [units, units * units - 0.5], math.sqrt(1.25))


def gain_sums(records: Records, center: float, effects: Effects, most: float, near: float) -> NDArray[np.int64]:
    """Sums that tell how predictions go with responses: of q u and q^2, and of whether the centre is `near`.

    q is how far a prediction, u how far a response is from the centre, both clipped at `most` and in units of it. The
    second number, less 1/2, lies in [-1/2, 1/2], the third is 1/2 or -1/2, so the vector's norm is at most sqrt 1.5.
    """
    with np.errstate(all="ignore"):
        response = records.y - center
        predicted = quotient((response - records.residuals(center, effects)).clip(-most, most), most)
        is_near = as_float64(abs(response) <= near) - 0.5
        response = quotient(response.clip(-most, most), most)
        entries = [predicted * response, predicted * predicted - 0.5, is_near]
        return bounded_sums(records, entries, math.sqrt(1.5))


def calibration_sums(
    records: Records, center: float, effects: Effects, level: float, reach: float, width: float
) -> NDArray[np.int64]:
    """Sums for a line of residuals on predictions: of u, q u, q / 2 and q^2 / 2 - 1/4, of norm below 1.53.

    q is how far a prediction is from the centre and the `level`, clipped at `reach` and in units of it, and u a
    residual, clipped at `width` and in units of that. The squared norm is at most 1 + 1 + 1/4 + 1/16.
    """
    with np.errstate(all="ignore"):
        residuals = records.residuals(center, effects)
        predicted = quotient((records.y - center - residuals - level).clip(-reach, reach), reach)
        residuals = quotient(residuals.clip(-width, width), width)
        entries = [residuals, predicted * residuals, predicted / 2, predicted * predicted / 2 - 0.25]
        return bounded_sums(records, entries, CALIBRATION_NORM)


def median_line_sums(
    records: Records, center: float, effects: Effects, level: float, reach: float, width: float
) -> NDArray[np.int64]:
    """Sums for a line of medians of residuals along predictions: scores u and q u, and their derivative by the line.

    u and q are as in `calibration_sums`, but that u is nearly a sign where `width` is narrow. The derivative is of i,
    i q and i q^2, with i = 1 where u is not clipped and 0 elsewhere; they have half the weight, the first and the last
    less 1/2. The squared norm is at most 1 + 1 + (1/4 + 1 + 1/4) / 4.
    """
    with np.errstate(all="ignore"):
        residuals = records.residuals(center, effects)
        predicted = quotient((records.y - center - residuals - level).clip(-reach, reach), reach)
        score, inside = quotient(residuals.clip(-width, width), width), as_float64(abs(residuals) < width)
        slope = predicted * inside
        entries = [score, predicted * score, inside / 2 - 0.25, slope / 2, predicted * slope / 2 - 0.25]
        return bounded_sums(records, entries, MEDIAN_LINE_NORM)


def bounded_sums(records: Records, entries: Sequence[Array], bound: float) -> NDArray[np.int64]:
    """Sums of vectors with these entries, whose norm is at most `bound` by their clips.

    The vector of a blank record is 0, shifted entries included, and so is one with an entry of NaN.
    """
    xp = module_of(entries[0])
    vectors = xp.stack(entries)
    counts = as_float64(~(xp.isnan(vectors).any(0) | xp.isnan(records.y)))
    return vector_sums.vector_sums(*vector_sums.person_means(zero_for_nan(vectors), counts, records.people), bound)


def _row_weights(columns: Array, inner: float, outer: float) -> Array:
    """The weight v of a row z: min(1, inner / |z|) min(1, outer / |z|). |v z| <= inner, and v |z|^2 <= inner outer."""
    norms = vector_sums.norms(columns)
    return vector_sums.clip_factor(norms, inner) * vector_sums.clip_factor(norms, outer)


def gradient_sums(
    records: Records, center: float, effects: Effects, tau: float, positions: Sequence[int], inner: float, outer: float
) -> tuple[NDArray[np.int64], int]:
    """Sums of weighted rows times residuals clipped at tau; how many of these are within tau."""
    residuals = records.residuals(center, effects, tau)
    columns = records.sanitized(positions)
    row_scale = vector_sums.clipped_psi(residuals, tau) * _row_weights(columns, inner, outer)
    sums = vector_sums.vector_sums(*_clipped(columns, row_scale, inner, records.people), inner)
    return sums, int((abs(records.one_each(residuals)) <= tau).sum())


def _clipped(columns: Array, row_scale: Array, bound: float, people: Held | None) -> tuple[Array, Array]:
    """A vector of each person and its scale, which brings it within the bound; rows are within it by theirs.

    Where a person's rows are alike in a column, as in the constant where residuals are a person's own, the sums of
    people with many rows would be long in it, and cut in all others. An entry counts up to 1, what one row at one unit
    adds.
    """
    if people is None:
        return columns, row_scale
    vectors = vector_sums.person_sums(columns, row_scale, people)[0].clip(-1.0, 1.0)
    return vectors, vector_sums.clip_factor(vector_sums.norms(vectors), bound)


def mean_residual_sums(records: Records, center: float, effects: Effects, tau: float) -> NDArray[np.int64]:
    """Sums of the residuals clipped at tau, in units of it."""
    return bounded_sums(records, [_psi(records.residuals(center, effects, tau), tau)], 1.0)


def _psi(residuals: Array, tau: float) -> Array:
    """Residuals in units of tau, clipped at 1; NaN for blank records."""
    with np.errstate(all="ignore"):
        return quotient(residuals, tau).clip(-1, 1)


def gram_sums(records: Records, positions: Sequence[int], inner: float, outer: float) -> NDArray[np.int64]:
    """Sums of v z z', with v the weight of a row z."""
    columns = records.sanitized(positions)
    return _moment_sums(records, columns, square_root(_row_weights(columns, inner, outer)), inner * outer)


def _moment_sums(records: Records, columns: Array, row_scale: Array, bound: float) -> NDArray[np.int64]:
    """Sums of z z', z a row times its scale, of a squared norm of at most `bound`; of a person's rows their mean."""
    if records.people is not None:
        row_scale = row_scale / records.people.each(np.sqrt(records.people.sizes))
    return vector_sums.gram_sums(columns, row_scale, np.sqrt(bound), records.people)


def jacobian_sums(
    records: Records, center: float, effects: Effects, tau: float, positions: Sequence[int], inner: float, outer: float
) -> NDArray[np.int64]:
    """Sums of v z z' over the records whose residuals are within tau: the Jacobian of `gradient_sums`."""
    columns = records.sanitized(positions)
    within = as_float64(abs(records.residuals(center, effects)) <= tau)
    row_scale = square_root(_row_weights(columns, inner, outer)) * within
    return _moment_sums(records, columns, row_scale, inner * outer)


def variance_sums(
    records: Records, center: float, effects: Effects, tau: float, positions: Sequence[int], inner: float, outer: float
) -> NDArray[np.int64]:
    """Sums of g g', with g a term of `gradient_sums`, in units of tau."""
    columns = records.sanitized(positions)
    psi = vector_sums.clipped_psi(records.residuals(center, effects), tau)
    terms = _clipped(columns, psi * _row_weights(columns, inner, outer), inner, records.people)
    return vector_sums.gram_sums(*terms, inner)


def feature_counts(rows: Any, thresholds: Thresholds) -> NDArray[np.int64]:
    """For each feature and each of some rising thresholds how many values are at or below it; here of `Rows`."""
    counts: NDArray[np.int64] = rows.feature_counts(thresholds)
    return counts


def loss_sums(
    rows: Any,
    quantizer: Quantizer,
    loss: Any,
    coef: NDArray[np.float64],
    features: Sequence[int],
    clip_predictions: bool,
) -> NDArray[np.int64]:
    """For each feature the sum of its levels times the levels of psi of the residuals; here of `Rows`."""
    residuals = rows.residuals(coef, features, quantizer if clip_predictions else replace(quantizer, clip_bound=np.inf))
    sums: NDArray[np.int64] = rows.weighted_sums(quantizer, weight_levels(loss.psi(residuals), loss.bound))
    return sums


def nonfinite_blocks(rows: Any) -> int:
    """1 if a feature of these `Rows` is not finite, 0 otherwise."""
    return int(rows.has_nonfinite())

"""Partition selection: the names of those values of text that enough people hold.

Values of text are no public set: which values a table holds is data. `release_names` adds Gaussian noise to the count
of every value that the table holds, and releases the values whose noisy count exceeds a threshold T.

Theorem. Let K columns take part, each with one value of a record at most, let s be the scale of the noise in steps of
which a record counts U, and let a person hold at most m records. With D = `sensitivity.histograms` of K columns the
release costs what Gaussian noise of scale s on a vector of l2 sensitivity U D costs: rho = (U D)^2 / (2 s^2) to a
record, and by group privacy m^2 rho to a person, except for an event of probability at most

    f = K max(m P(N > T - U), P(N > T - U m)),    N discrete Gaussian noise of scale s.

Proof. Fix two tables that differ in the records of one person, and in the order of replacement the tables between
them.
*Coupling on the shared values.* Let A be the set of values (a value in two columns counts as two) that a record of
somebody else holds. A is the same for all these tables, and nobody's noise decides it. Let M* be the release that
draws noise for the counts of A alone and releases those above T. It is a post-processing of Gaussian noise on a vector
with the fixed index set A, whose l2 sensitivity to a record is U D. Real and ideal release draw the same noise for the
values in A. The others are held by this person alone, in at most m records; call a failure the event that one of them
exceeds T. Without a failure the real release equals M*. A failure depends on noise that M* does not use, so
conditioned on its absence the law of the real release is that of M*, on every one of these tables: this is what
`compose` asks for. (The event belongs to a pair of tables. So does its proof, which never compares more than one
pair.)
*Probability.* Let this person alone hold k values of a column, c_1 .. c_k times: each at least once, together at most
m times. The probability of a failure there is at most g(c_1) + .. + g(c_k) with g(c) = P(N > T - U c). T is above U m,
and P(N > t) is convex for t >= 0, since the probabilities of N fall. So for fixed k the sum is largest where one value
has all but k - 1 records: (k - 1) g(1) + g(m - k + 1), which is convex in k, and so largest at k = m, m values held
once each, or at k = 1, one value held m times. The K columns add up. Zeroed records hold no value, which only takes
terms away: the bound is the same in both relations. QED.

*The threshold.* For integers t >= 1, P(N >= t) <= P(Z >= t - 1), Z continuous of the same scale: the terms
exp(-k^2 / (2 s^2)), k >= t, are below the integral from t - 1 on, and the sum of all terms is at least sqrt(2 pi) s by
Poisson summation (Canonne, Kamath and Steinke 2020, Proposition 25). So P(N > t) <= P(Z >= t), which `name_threshold`
solves for both ends, rounding up.

The number of values that are drawn is data. It is in no record: `Release.size` is the public bound K n.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtri

from dpsparse.privacy import sensitivity as sensitivities
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.release import PartitionSelection, Release
from dpsparse.privacy.mechanisms.gaussian import gaussian_scale
from dpsparse.privacy.noise import NoiseSource

# Steps of a record: so fine that the discreteness of the noise on n counts does not matter.
RECORD_STEPS = 2**24


def name_threshold(
    scale: float, *, failure: float, records_per_person: int = 1, columns: int = 1, record_steps: int = RECORD_STEPS
) -> int:
    """The noisy count, in steps, above which a name is released: the T of this module's theorem.

    A value which one person alone holds is released with probability at most `failure`. A record counts `record_steps`
    steps; `columns` is how many columns take part.

    Examples
    --------
    >>> name_threshold(100.0, failure=1e-9, record_steps=1)
    601
    """
    m = records_per_person
    # P(Z > reach) is the probability wanted; the factor is far more than the error of the inverse.
    reaches = [-float(ndtri(failure / columns / values)) * scale * (1 + 1e-9) for values in (1, m)]
    return max(m * record_steps + math.ceil(reaches[0]), record_steps + math.ceil(reaches[1]))


def release_names(
    meter: Meter, counts: Sequence[Mapping[str, int]], *, rho: float, failure: float, name: str
) -> list[dict[str, float]]:
    """Release the values of text, column by column, that enough people hold, and their noisy counts, for `rho`.

    The meter is charged before anything is drawn. For each column that takes part `counts` has the number of records of
    each value; a record has at most one value a column. Which columns take part, and which of their values, is decided
    by public numbers, public functions of a value and earlier releases alone. A value which one person alone holds is
    released with probability at most `failure`. Returns for each column the released values and their noisy counts, the
    largest first.

    Examples
    --------
    >>> from dpsparse.privacy.guarantee import Guarantee
    >>> from dpsparse.privacy.noise import SecureSource
    >>> meter = Meter(Guarantee(1.0, 1e-6), 10_000, SecureSource())
    >>> counts = {"north": 9_999, "Ada's own": 1}
    >>> [list(names) for names in release_names(meter, [counts], rho=0.01, failure=1e-9, name="names")]
    [['north']]
    """
    guarantee, columns = meter.guarantee, len(counts)
    sensitivity = RECORD_STEPS * sensitivities.histograms(columns, guarantee.adjacency)
    scale = gaussian_scale(sensitivity, rho)
    threshold = name_threshold(scale, failure=failure, records_per_person=guarantee.records_per_person, columns=columns)
    size = columns * meter.n_records
    words = f"partition selection above {threshold / RECORD_STEPS:.4g} records"
    mechanism = PartitionSelection.drawn(scale=scale, size=size, rho=rho, failure_probability=failure, words=words)
    meter.charge(Release(name, mechanism, sensitivity, scale, size=size))
    released = select_names(counts, scale, threshold, meter.source)
    return [{text: noisy / RECORD_STEPS for text, noisy in names.items()} for names in released]


def select_names(
    counts: Sequence[Mapping[str, int]], scale: float, threshold: int, source: NoiseSource
) -> list[dict[str, int]]:
    """For each column the values whose noisy counts, in steps, exceed the threshold, the largest first.

    The order of the values in a table leaves no trace: ties are in the order of the alphabet.
    """
    selected = []
    for column in counts:
        values = sorted(column)
        exact = np.array([column[value] for value in values], dtype=np.int64) * RECORD_STEPS
        noisy = source.gaussian(exact, scale).tolist()
        above = sorted((-count, value) for value, count in zip(values, noisy, strict=True) if count > threshold)
        selected.append({value: -count for count, value in above})
    return selected

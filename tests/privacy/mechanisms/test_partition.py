"""Names of values: what one person alone holds, exactly; the noise; the accounts; the ledger."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpsparse.engine.quantize import check_exact
from dpsparse.privacy.accounting.compose import compose
from dpsparse.privacy.accounting.filter import ACCOUNTS
from dpsparse.privacy.accounting.meter import BudgetExceeded, Commitment, Meter
from dpsparse.privacy.accounting.release import GaussianMechanism, PartitionSelection, Slot
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.partition import RECORD_STEPS, name_threshold, release_names, select_names
from dpsparse.privacy.noise import SecureSource, SeededSource, ZeroSource
from dpsparse.privacy.protection import ADJACENCIES

GUARANTEE = Guarantee(1.0, 1e-6)


class Scripted(ZeroSource):
    """A source that adds given noise, and notes the scale."""

    def __init__(self, noise=0):
        self.noise, self.scales, self.drawn = noise, [], 0

    def gaussian(self, values, scale):
        self.scales.append(scale)
        self.drawn += len(values)
        return np.asarray(values) + self.noise


def partitions(total, largest=None):
    """All ways to write a number as a sum of positive ones."""
    if not total:
        yield ()
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


def tail(scale, above):
    """P(N > above) for discrete Gaussian noise, by its definition; a relative error of about 1e-14."""
    # Beyond 40 scales the terms are below exp(-800) of the first.
    terms = np.exp(-(np.arange(int(above + 40 * scale)) ** 2) / (2 * scale**2))
    return math.fsum(terms[above + 1 :]) / (2 * math.fsum(terms) - 1)


@pytest.mark.parametrize("m", [1, 3, 7])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize(("scale", "steps"), [(5.0, 1), (20.0, 4), (3.0, 16), (90.0, 8)])
@pytest.mark.parametrize("failure", [1e-3, 1e-9, 1e-14])
def test_what_one_person_holds_appears_with_at_most_the_stated_probability(m, columns, scale, steps, failure):
    threshold = name_threshold(scale, failure=failure, records_per_person=m, columns=columns, record_steps=steps)
    # A value held c times is released where the noise exceeds what is left of the threshold; several at most add up.
    appears = {held: tail(scale, threshold - held * steps) for held in range(1, m + 1)}
    ways = {way: columns * sum(appears[held] for held in way) for way in partitions(m)}
    assert max(ways.values()) <= failure
    assert max(ways, key=ways.get) in ((m,), (1,) * m)
    # The next lower thresholds would break it soon: a step of noise moves a probability by a factor of about e^(z / s).
    lower = {held: tail(scale, threshold - 3 - held * steps) for held in range(1, m + 1)}
    assert max(columns * sum(lower[held] for held in way) for way in ways) > failure


@pytest.mark.parametrize("m", [1, 3])
def test_at_real_steps_too(m):
    scale, failure = 40.0 * RECORD_STEPS, 1e-13
    threshold = name_threshold(scale, failure=failure, records_per_person=m)
    # A sum of falling terms is below the integral; the terms of all integers sum to at least that over the line.
    appears = {held: math.erfc((threshold - held * RECORD_STEPS) / (math.sqrt(2) * scale)) / 2 for held in (1, m)}
    assert 0.999 * failure < max(m * appears[1], appears[m]) <= failure


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("held", [1, 3])
def test_a_value_is_released_above_the_threshold_and_not_at_it(adjacency, m, held):
    guarantee = Guarantee(1.0, 1e-6, adjacency, m)
    rho, failure = 1e-3, 1e-12
    scale = math.sqrt((2 if adjacency == "replace-one" else 1) / (2 * rho)) * RECORD_STEPS
    threshold = name_threshold(scale, failure=failure, records_per_person=m)
    assert threshold > m * RECORD_STEPS + stats.norm.isf(failure) * scale
    for beyond, names in ((0, []), (1, ["own"])):
        source = Scripted(threshold - held * RECORD_STEPS + beyond)
        released = release_names(Meter(guarantee, 500, source), [{"own": held}], rho=rho, failure=failure, name="names")
        assert [list(column) for column in released] == [names]
        # The scale itself is rounded up by a unit or two, and moves the threshold by as little.
        assert source.scales == [pytest.approx(scale, rel=1e-14)]


def test_names_carry_gaussian_noise_of_the_stated_scale():
    meter = Meter(GUARANTEE, 10**6, SecureSource())
    counts = {f"value {k}": 10**6 for k in range(3_000)}
    released = release_names(meter, [counts], rho=1e-3, failure=1e-12, name="names")[0]
    assert len(released) == 3_000
    z = (np.array(list(released.values())) - 10**6) * math.sqrt(1e-3)
    assert stats.kstest(z, stats.norm.cdf).pvalue > 1e-10
    assert list(released.values()) == sorted(released.values(), reverse=True)


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 5)), st.randoms(use_true_random=False))
def test_the_order_of_values_leaves_no_trace(counts, shuffler):
    other = list(counts.items())
    shuffler.shuffle(other)
    first, second = (
        select_names([dict(each)], 2.0**24, 2 * RECORD_STEPS, SeededSource(3)) for each in (counts.items(), other)
    )
    assert [list(names.items()) for names in first] == [list(names.items()) for names in second]


def test_a_record_does_not_tell_how_many_values_there_are():
    records = []
    for counts in ({"a": 60}, {f"value {k}": 1 for k in range(60)}, {}):
        meter = Meter(GUARANTEE, 60, SeededSource(0))
        release_names(meter, [counts], rho=1e-3, failure=1e-12, name="names")
        records.append(meter.record().to_dict())
    assert records[0] == records[1] == records[2]
    assert records[0]["releases"][0]["size"] == 60


def test_unpaid_names_are_refused_before_a_draw():
    source = Scripted()
    meter = Meter(GUARANTEE, 100, source)
    with pytest.raises(BudgetExceeded):
        release_names(meter, [{"a": 99}], rho=1.0, failure=1e-12, name="names")
    assert not source.drawn
    assert meter.record().releases == ()


def slot(rho, failure, name="names"):
    return Slot(name, PartitionSelection.drawn(scale=1e9, size=10_000, rho=rho, failure_probability=failure))


def test_every_account_takes_the_failure_from_delta():
    failure = 1e-11
    items = [Slot("mean", GaussianMechanism.drawn(scale=1e9, size=1, rho=0.004)), slot(0.003, failure)]
    cost = Commitment(tuple(items)).cost(GUARANTEE)
    composed = compose(items)
    assert composed.failure_probability == cost.failure_probability == failure
    # Gaussian: mu is that of Gaussian noise, and the failure is part of the distance from it.
    assert composed.mu == pytest.approx(math.sqrt(2 * 0.007))
    assert failure < composed.tv_slack < 1.01 * failure
    assert composed.tv_slack_fits(GUARANTEE)
    # A failure of the whole delta leaves nothing to any account; pure composition is never available.
    assert composed.pure_epsilon == math.inf
    assert not compose([slot(1e-9, GUARANTEE.delta)]).is_within(GUARANTEE)
    # zCDP at the reduced delta: the same rho costs a little more.
    spent = GUARANTEE.epsilon_spent(0.007, failure_probability=0.5e-6)
    assert spent > GUARANTEE.epsilon_spent(0.007)
    assert spent == pytest.approx(Guarantee(1.0, 0.5e-6).epsilon_spent(0.007))
    # Basic composition adds (epsilon, delta), and delta has paid for the failure.
    assert (cost.epsilon, cost.delta) == (1.0, 1e-6)
    shares = {name: float(account.share(Guarantee(3.0, 1e-6), [cost])) for name, account in ACCOUNTS.items()}
    assert shares["basic"] == 1
    lighter = replace(cost, tv_slack=cost.tv_slack - failure, failure_probability=0.0)
    assert float(ACCOUNTS["zcdp"].share(Guarantee(3.0, 1e-6), [lighter])) < shares["zcdp"]
    assert float(ACCOUNTS["gaussian"].share(Guarantee(3.0, 1e-6), [lighter])) <= shares["gaussian"]


def test_counts_of_as_many_records_as_there_may_be_do_not_overflow():
    check_exact(10**9)
    released = release_names(
        Meter(GUARANTEE, 10**9, ZeroSource()), [{"all": 10**9, "few": 10**6}], rho=1e-3, failure=1e-12, name="names"
    )
    assert released == [{"all": 10**9, "few": 10**6}]

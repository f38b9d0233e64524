"""Prices are those of the draws that were made."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpsparse.audit.harness.tape import Draw, NameCounts
from dpsparse.audit.oracles.exact_curve import exact_delta
from dpsparse.audit.oracles.price_oracle import wrong_price
from dpsparse.privacy.accounting.release import ExponentialMechanism, PartitionSelection, Release, RepeatedPicks
from dpsparse.privacy.mechanisms.partition import name_threshold


def picks(count, rho, change=4):
    """A release of several picks, and its draws at the right rate."""
    rate = math.sqrt(8 * rho / count) / (2 * change)
    release = Release(
        "splits", RepeatedPicks(rho, 2 * change * rate * count, count=count), change, 1 / rate, size=count
    )
    return release, [Draw("pick", rate, np.zeros(3, dtype=np.int64), 0)] * count


def test_several_picks_cost_their_sum():
    release, draws = picks(3, 0.01)
    assert wrong_price(release, draws) is None
    assert "costs rho" in wrong_price(release, [*draws[:2], replace(draws[2], scale=1.1 * draws[2].scale)])
    assert "made 2 draws" in wrong_price(release, draws[:2])
    cheap = replace(release.mechanism, pure_epsilon=0.9 * release.mechanism.pure_epsilon)
    assert "costs epsilon" in wrong_price(replace(release, mechanism=cheap), draws)


def test_a_skipped_release_has_no_draw():
    release, draws = picks(1, 0.01)
    skipped = replace(release, size=0)
    assert wrong_price(skipped, []) is None
    assert "skipped" in wrong_price(skipped, draws)


def test_the_exact_curve_of_several_picks_is_that_of_single_ones():
    together, _ = exact_delta([RepeatedPicks(0.03, count=3)], [0.1, 0.3])
    apart, _ = exact_delta([ExponentialMechanism(0.01)] * 3, [0.1, 0.3])
    assert together == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("m", [1, 3])
def test_names_cost_their_noise_and_what_one_person_alone_may_hold(m):
    rho, failure, change = 0.02, 1e-9, 2**24 * math.sqrt(2)
    scale = change / math.sqrt(2 * rho)
    mechanism = PartitionSelection.drawn(scale=scale, size=50, rho=rho, failure_probability=failure)
    release = Release("names", mechanism, change, scale, size=50)
    threshold = name_threshold(scale, failure=failure, records_per_person=m)
    draw = Draw("names", scale, np.array(NameCounts(({"a": 40, "b": 1},), threshold)), [{"a": 40}])
    assert wrong_price(release, [draw], m) is None
    assert "fails with probability" in wrong_price(release, [draw], m + 1)
    assert "costs rho" in wrong_price(release, [replace(draw, scale=0.99 * scale)], m)
    assert "charged for one selection" in wrong_price(release, [draw, draw], m)
    assert "drew more" in wrong_price(replace(release, size=1), [draw], m)

"""Likelihood ratios are those of the laws."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpsparse.audit.oracles.likelihood import CERTAIN, _log_win, gaussian_loss, names_loss, peeling_loss, pick_loss
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms.partition import select_names
from dpsparse.privacy.mechanisms.selection import peel
from dpsparse.privacy.noise import SeededSource


def test_ratios_are_those_of_the_laws():
    output, first, second = np.array([3.0, -1.0]), np.array([1.0, 0.0]), np.array([0.0, 2.0])
    laws = [stats.norm(side, [2.0, 5.0]).logpdf(output).sum() for side in (first, second)]
    assert gaussian_loss(output, first, second, np.array([2.0, 5.0])) == pytest.approx(laws[0] - laws[1])
    odds = [np.exp(0.3 * side) / np.exp(0.3 * side).sum() for side in (first, second)]
    assert pick_loss(1, first, second, 0.3) == pytest.approx(math.log(odds[0][1] / odds[1][1]))


def test_one_of_several_always_wins():
    sizes = np.array([40.0, 0.0, 25.0, 90.0])
    assert sum(math.exp(_log_win(sizes, place, 20.0)) for place in range(4)) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.slow
def test_the_peeling_ratio_averages_to_one():
    # E[exp(-L)] under the first law is the total mass of the second.
    first, second, scale = np.array([2_000, 0, 500]), np.array([0, 2_000, 500]), 3_000.0
    source, guarantee = SeededSource(0), Guarantee(20.0, 1e-3)
    ratios = []
    for _ in range(3_000):
        meter = Meter(guarantee, 100, source)
        peeled = peel(meter, first, sparsity=2, sensitivity=2_000, scale=scale, name="p", part=None)
        ratios.append(math.exp(-peeling_loss(peeled.support.tolist(), peeled.values, first, second, scale)))
    assert np.mean(ratios) == pytest.approx(1.0, abs=5 * np.std(ratios) / math.sqrt(len(ratios)))


def test_picks_of_all_orders_are_covered():
    first, second = np.array([9.0, 3.0, 1.0]), np.array([2.0, 8.0, 1.0])
    for support in itertools.permutations(range(3), 2):
        loss = peeling_loss(list(support), np.zeros(2), first, second, 5.0)
        back = peeling_loss(list(support), np.zeros(2), second, first, 5.0)
        assert loss == pytest.approx(-back)


def test_the_ratio_of_names_averages_to_one_over_shared_values():
    step, scale, threshold = 2**24, 2.0**24 * 3, 2**24 * 5
    first, second = {"a": 6, "b": 3, "c": 1}, {"a": 5, "b": 4, "c": 1}
    in_steps = [{value: step * count for value, count in side.items()} for side in (first, second)]
    source, ratios = SeededSource(0), []
    for _ in range(3_000):
        (released,) = select_names([first], scale, threshold, source)
        ratios.append(math.exp(-names_loss(released, *in_steps, scale, threshold)))
    assert np.mean(ratios) == pytest.approx(1.0, abs=5 * np.std(ratios) / math.sqrt(len(ratios)))
    assert names_loss({"own": 6 * step}, {"own": step}, {}, scale, threshold) == CERTAIN
    assert names_loss({"own": 6 * step}, {}, {"own": step}, scale, threshold) == -CERTAIN

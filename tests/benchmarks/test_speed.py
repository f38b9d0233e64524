"""The harness of benchmarks/speed.py: what it calls the floor is a read of every cell, what it fits is a power."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def harness():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("speed_harness")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(3, 5), (40, 5_000), (61, 4_999)])
def test_the_floor_reads_every_cell_once(harness, shape, order):
    X = np.asarray(np.random.default_rng(0).standard_normal(shape), order=order)
    assert harness.read(X) == pytest.approx(X.sum(), abs=1e-8)
    assert harness.read(np.ones(shape, np.float32, order), np.ones(7, np.int32)) == X.size + 7


def test_a_known_power_is_found_beyond_a_fixed_time(harness):
    sizes = [1_000, 2_000, 4_000, 8_000]
    times = [0.05 + 1e-6 * size**1.3 for size in sizes]
    assert harness.exponent(sizes, times, fixed=0.05) == pytest.approx(1.3)


def test_a_ratio_is_of_times_beside_each_other(harness):
    # The machine gets ten times slower in mid-run; the ratio does not.
    floors = np.array([1.0, 1.0, 10.0, 10.0])
    measured = harness.in_floors("work", floors, 2 * floors + 0.1, allowance=0.1, at_most=1.5)
    assert measured["value"] == pytest.approx(2.0)
    assert measured["met"] is False


# In a new process: what an earlier test gave back could be used again, and no new memory would be seen. The pause lets
# the thread that watches take its turn on a busy machine.
HELD = """
import time, numpy as np, speed_harness
with speed_harness.AnonymousMemory() as memory:
    held = np.ones(10_000_000)
    time.sleep(0.5)
    del held
print(memory.extra)
"""


@pytest.mark.slow
def test_memory_given_back_before_the_end_is_seen():
    extra = subprocess.run(
        [sys.executable, "-c", HELD], cwd=BENCHMARKS, check=True, capture_output=True, timeout=240
    ).stdout
    assert 75e6 < int(extra) < 120e6


@pytest.mark.slow
def test_a_process_that_fails_is_told_from_one_that_answers(harness):
    assert harness.fresh(harness.exponent, [1, 2], [1, 2]) == pytest.approx(1.0)
    with pytest.raises(harness.Failed, match=r"^AttributeError$"):
        harness.fresh(harness.read, "no array")
    with pytest.raises(harness.Failed, match="not finished"):
        harness.fresh(harness.time.sleep, 60, timeout=0.5)


def test_committed_results_name_no_machine():
    text = (BENCHMARKS / "results" / "speed.json").read_text()
    assert "/" not in text
    json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))

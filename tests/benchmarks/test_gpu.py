"""What `benchmarks/gpu.py` clocks is there. The script needs a GPU, so elsewhere its names would go stale unnoticed."""

import importlib
import sys
from pathlib import Path


def test_the_parts_of_a_fit_that_are_clocked_exist(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2] / "benchmarks"), *sys.path])
    for home, name, _ in importlib.import_module("gpu_parts").ON_THE_CPU:
        assert callable(getattr(home, name)), name

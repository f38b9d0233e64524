"""What is asked of torch, without torch; `-m cuda` tests its answers."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from dpsparse.engine.arrays import as_float64, host, like, square_root


class Tensor:
    """As much of a tensor as is asked for: it notes what was done to it."""

    __module__ = "made_up_torch.tensors"
    device = "device 1"

    def double(self):
        return "in float64"

    def cpu(self):
        return SimpleNamespace(numpy=lambda: np.ones(2))


@pytest.fixture
def made_up(monkeypatch):
    torch = SimpleNamespace(
        float64="float64", as_tensor=lambda number, **how: (number, how), sqrt=lambda values: ("root", values)
    )
    monkeypatch.setitem(sys.modules, "made_up_torch", torch)
    return Tensor()


def test_a_number_is_put_beside_a_tensor_in_float64(made_up):
    """A Python number would be one of the device's, which divides by it as by its reciprocal."""
    assert like(0.1, made_up) == (0.1, {"dtype": "float64", "device": "device 1"})


def test_tensors_are_computed_with_where_they_are(made_up):
    assert square_root(made_up) == ("root", made_up)
    assert as_float64(made_up) == "in float64"
    assert host(made_up).tolist() == [1, 1]

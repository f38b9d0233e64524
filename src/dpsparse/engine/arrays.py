"""The few functions in which NumPy and torch differ, so that one implementation computes a record's terms on both.

Each rounds at most once, by IEEE arithmetic in float64. With one operation per call nothing is fused, so a GPU gives
the bits of the CPU.
"""

import sys
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""An array of NumPy or a tensor of torch, which is installed only where a GPU computes."""


def module_of(values: Array) -> Any:
    """NumPy for an array, torch for a tensor; where there is a tensor, torch has been imported."""
    return sys.modules[type(values).__module__.partition(".")[0]]


def like(number: Array | float, values: Array) -> Array:
    """A number, or an array of them, as float64 beside `values`."""
    if isinstance(values, np.ndarray):
        return np.asarray(number, dtype=np.float64)
    torch = module_of(values)
    return torch.as_tensor(number, dtype=torch.float64, device=values.device)


def as_float64(values: Array) -> Array:
    """Values widened to float64, without rounding."""
    return values.astype(np.float64, copy=False) if isinstance(values, np.ndarray) else values.double()


def as_places(values: Array) -> Array:
    """Whole numbers in float64 as integers that an array can be indexed by."""
    return values.astype(np.int64) if isinstance(values, np.ndarray) else values.long()


def quotient(numerator: Array | float, denominator: Array | float) -> Array:
    """Elementwise quotient of arrays and numbers, correctly rounded: torch multiplies by the reciprocal of a number."""
    array = denominator if hasattr(denominator, "ndim") and denominator.ndim else numerator
    return like(numerator, array) / like(denominator, array)


def square_root(values: Array) -> Array:
    """Elementwise square root, correctly rounded."""
    return module_of(values).sqrt(values)


def zero_for_nan(values: Array) -> Array:
    """Values that are finite or NaN, with 0 for NaN."""
    if isinstance(values, np.ndarray):
        # `nan_to_num` looks for infinities too, which takes twice as long.
        return np.where(values == values, values, 0.0)
    return module_of(values).nan_to_num(values, nan=0.0)


def backward(values: Array) -> Array:
    """Values, or rows of them, from the last to the first: torch has no views that run backward."""
    return values[::-1] if isinstance(values, np.ndarray) else values.flip(0)


def host(values: Array) -> Any:
    """Values as a NumPy array."""
    return values if isinstance(values, np.ndarray | np.generic) else values.cpu().numpy()

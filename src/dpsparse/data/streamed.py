"""Which features live on a GPU. Nothing of torch or triton is imported until such features arrive."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Streamed:
    """Features too large for the card: a NumPy array or memmap that a GPU reads piece by piece.

    The pieces go through two pinned buffers, so that one is filled while the other is read. As many of the features as
    the card has room for are kept there in a byte a cell for the length of a fit: where all have room, the array is
    read once, plus the columns that are picked.

    Parameters
    ----------
    array : ndarray or memmap of shape (n_samples, n_features)
        Features in float64, float32 or int8, in either memory order.
    device : str, default="cuda"
        The card.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import Streamed
    >>> Streamed(np.zeros((3, 2), dtype=np.float32)).shape
    (3, 2)
    """

    def __init__(self, array: NDArray[Any], device: str = "cuda") -> None:
        if not isinstance(array, np.ndarray):
            raise TypeError("Streamed takes a NumPy array or memmap; np.load(path, mmap_mode='r') opens a .npy file")
        self.array, self.device = array, device
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim


class GpuTable:
    """Features that the GPU engine can read; `shape` and `dtype` are those of the arithmetic on them."""


def is_on_gpu(X):
    """Whether X is for the GPU engine: a torch CUDA tensor, an array of CuPy or its like, or `Streamed`."""
    if isinstance(X, Streamed | GpuTable):
        return True
    on_card = getattr(X, "is_cuda", None)
    return hasattr(type(X), "__cuda_array_interface__") if on_card is None else bool(on_card)


def gpu_table(X):
    """X as a table of the GPU engine."""
    if isinstance(X, GpuTable):
        return X
    from dpsparse.engine.cuda.rows import table_of

    return table_of(X)


def gpu_rows_of(X, y):
    """The rows of a table on the GPU."""
    table = gpu_table(X)
    from dpsparse.engine.cuda.rows import CudaRows

    return CudaRows(table, y)


def on_host(values):
    """Values of a tensor or GPU array as a NumPy array; anything else as it is."""
    if not is_on_gpu(values):
        return values
    return values.get() if hasattr(values, "get") else values.detach().cpu().numpy()

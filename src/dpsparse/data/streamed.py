"""Features in host memory that a GPU reads, as a caller names them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Streamed:
    """Features too large for the card: a NumPy array or memmap that a GPU reads block by block.

    The blocks go through two pinned buffers, so that one is filled while the other is read. Features for which the card
    has room are kept there in a byte a cell for the length of a fit: where all have room, the array is read once, plus
    the selected columns.

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

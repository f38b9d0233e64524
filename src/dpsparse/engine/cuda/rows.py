"""Rows on a GPU: the passes over the features run there, and integer sums come back.

What depends on one record (residuals, weights, norms) is computed there too, in float64 and one operation at a time
(`arrays`), on the few columns that were picked; the bits are those of the CPU. Noise and picks never leave the CPU.
"""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dpsparse.data.streamed import GpuTable, Streamed
from dpsparse.engine.arrays import host
from dpsparse.engine.cpu.rows import NOT_FINITE, Rows
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.session import Reading

try:
    import torch

    from dpsparse.engine.cuda import kernels
    from dpsparse.engine.cuda.levels import Public, byte_grid
    from dpsparse.engine.cuda.terms import Terms
except ImportError:
    raise ImportError("features on a GPU need torch and triton: pip install 'dpsparse[cuda]'") from None

# Beside features that are on the card a fit takes at most 2 GB: levels, and some columns for each record's terms.
LEVEL_BYTES, BYTES_OF_A_RECORD = 1_950_000_000, 500
# From here on a few bytes more for a row of levels do not matter.
LONG_ROW = 1_000
# One of the two buffers through which features are streamed.
BUFFER_BYTES = 2**28
_COPYING_THREADS = 8

# The dtype of the arithmetic: bfloat16 and int8 are read as the float32 numbers they stand for.
ARITHMETIC = {torch.float64: np.float64, torch.float32: np.float32, torch.bfloat16: np.float32, torch.int8: np.float32}


def table_of(X):
    """Features on the card, or streamed to it, as a table."""
    if isinstance(X, Streamed):
        return StreamedTable(X.array, torch.device(X.device))
    if not isinstance(X, torch.Tensor):
        X = torch.from_dlpack(X) if hasattr(X, "__dlpack__") else torch.as_tensor(X, device="cuda")
    return CardTable(X.detach())


class _Table(GpuTable):
    """Features in pieces that kernels can read: pairs of slices, and tensors on the card that hold those cells."""

    def __init__(self, shape, dtype, device):
        if dtype not in ARITHMETIC:
            raise ValueError(f"X has dtype {dtype}; on a GPU use float32, float64, bfloat16 or int8")
        self.shape, self.device, self.stored = tuple(shape), device, dtype
        self.dtype = np.dtype(ARITHMETIC[dtype])
        self.looked = dtype == torch.int8
        # Whether a pursuit looks at the features before its first release, or in the pass for its first pick.
        self.check_before_release = True
        self.found = torch.zeros(1, dtype=torch.int32, device=device)

    def cells(self, piece):
        """How many cells a piece has."""
        return math.prod(len(range(*part.indices(size))) for part, size in zip(piece, self.shape, strict=True))

    def require_finite(self):
        """Raise ValueError with a constant text unless all features are finite."""
        if not self.looked:
            CudaLevels(self, Quantizer(1.0), 0).prepare()
        if self.found.item():
            raise ValueError(NOT_FINITE)

    def rows(self, rows):
        """A table of some rows."""
        part = self._rows(rows)
        part.looked, part.found, part.check_before_release = self.looked, self.found, self.check_before_release
        return part

    def on_host(self, features):
        """Values of some features in float64, as a NumPy array."""
        return host(self.columns(features).double())


class CardTable(_Table):
    """Features that are on the card."""

    def __init__(self, tensor):
        super().__init__(tensor.shape, tensor.dtype, tensor.device)
        self.tensor = tensor
        self.room = 0 if tensor.dtype == torch.int8 else max(0, LEVEL_BYTES - BYTES_OF_A_RECORD * len(tensor))

    def _rows(self, rows):
        return CardTable(self.tensor[rows])

    def columns(self, features):
        """Values of some features."""
        return self.tensor[:, features]

    def pieces(self):
        """As much as there is room for, and the rest."""
        n, d = self.shape
        by_columns = self.tensor.stride(0) < self.tensor.stride(1)
        whole, along = (d, n) if by_columns else (n, d)
        cut = min(whole, self.room // along)
        cuts = [slice(*ends) for ends in ((0, cut), (cut, whole)) if ends[0] < ends[1]]
        return [(slice(None), cut) if by_columns else (cut, slice(None)) for cut in cuts]

    def read(self, pieces):
        """Each piece with its cells."""
        for piece in pieces:
            yield piece, self.tensor[piece]


class StreamedTable(_Table):
    """Features in host memory or on a disk. Two pinned buffers: one is filled while the card reads the other."""

    def __init__(self, array, device):
        if device.type == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("Streamed features need a CUDA GPU and none was found; pass the array itself instead")
        names = {str(dtype).removeprefix("torch."): dtype for dtype in ARITHMETIC}
        super().__init__(array.shape, names.get(array.dtype.name, array.dtype), device)
        self.array = array
        self.room = _free_bytes(device) - 4 * BUFFER_BYTES
        self._by_columns = array.strides[0] < array.strides[1]

    def _rows(self, rows):
        return StreamedTable(self.array[rows], self.device)

    def columns(self, features):
        """Values of some features, on the card."""
        return torch.tensor(np.array(self.array[:, features]), device=self.device)

    def pieces(self):
        """Pieces of at most the size of a buffer, unless a single row (column) is larger."""
        across, along = self.shape if not self._by_columns else self.shape[::-1]
        step = max(1, BUFFER_BYTES // (along * self.array.itemsize))
        cuts = [slice(start, min(start + step, across)) for start in range(0, across, step)]
        return [(slice(None), cut) if self._by_columns else (cut, slice(None)) for cut in cuts]

    def read(self, pieces):
        """Each piece with its cells on the card, valid until the next is asked for."""
        if self.device.type != "cuda":
            for piece in pieces:
                yield piece, self._oriented(torch.tensor(self._oriented(self.array[piece])))
            return
        with torch.cuda.device(self.device), ThreadPoolExecutor(_COPYING_THREADS) as threads:
            try:
                yield from self._stream(pieces, threads)
            finally:
                torch.cuda.synchronize()

    def _stream(self, pieces, threads):
        slots, copying, arriving = [_Slot(), _Slot()], torch.cuda.Stream(), None
        for k, piece in enumerate([*pieces, None]):
            ahead, slot = None, slots[k % 2]
            if piece is not None:
                cells = slot.send(self._oriented(self.array[piece]), self.stored, copying, threads)
                ahead = (slot, piece, self._oriented(cells))
            if arriving is not None:
                arriving[0].arrived.wait()
                yield arriving[1:]
                arriving[0].used.record()
            arriving = ahead

    def _oriented(self, cells):
        """The cells with the axis along the memory last, and back."""
        return cells.T if self._by_columns else cells


class _Slot:
    """A pinned buffer, one on the card, and the events that say when either may be written again."""

    def __init__(self):
        self.arrived, self.used = torch.cuda.Event(), torch.cuda.Event()
        self.pinned = self.card = None

    def send(self, cells, dtype, stream, threads):
        """Start a copy to the card."""
        if self.pinned is None:
            self.pinned = torch.empty(cells.size, dtype=dtype, pin_memory=True)
            self.card = torch.empty(cells.size, dtype=dtype, device="cuda")
            # The memory may have been that of a tensor that kernels already under way still read.
            stream.wait_stream(torch.cuda.current_stream())
        self.arrived.synchronize()
        pinned, card = (buffer[: cells.size].view(cells.shape) for buffer in (self.pinned, self.card))
        step = -(-len(cells) // _COPYING_THREADS)
        parts = [slice(start, start + step) for start in range(0, len(cells), step)]
        list(threads.map(np.copyto, [pinned.numpy()[part] for part in parts], [cells[part] for part in parts]))
        with torch.cuda.stream(stream):
            self.used.wait(stream)
            card.copy_(pinned, non_blocking=True)
            self.arrived.record(stream)
        return card


def _free_bytes(device):
    return int(0.95 * torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else 4 * BUFFER_BYTES


class CudaRows(Rows):
    """Rows of a table on a GPU. That all features are finite is made sure of before the first sum is let out."""

    def __init__(self, table, y):
        super().__init__(torch.as_tensor(y, dtype=torch.float64, device=table.device), table.shape[1])
        self._table = table

    def take(self, rows):
        """Some of the rows; a look at a part only would miss the rest."""
        self._table.require_finite()
        return CudaRows(self._table.rows(rows), self.y[rows])

    def blocks(self):
        """All rows at once: the card has threads of its own."""
        return [slice(None)]

    def reading(self, grid, *, constant=False, look=True, tell=None):
        """The rows as a pursuit reads them; see `Rows.reading`."""
        return CudaReading(self, grid, constant, self.prepared(grid, look))

    def require_finite(self):
        """Raise ValueError with a constant text unless all features are finite."""
        self._table.require_finite()

    def column(self, j):
        """Raw values of a feature, on the card."""
        return self._table.columns(int(j))

    def residuals(self, coef, support, grid):
        """Residuals as a NumPy array; see `Rows.residuals`."""
        residuals = self.y
        for j in support:
            residuals = residuals - grid.clipped(self.column(j), j) * float(coef[j])
        return host(residuals)

    def prepared(self, grid, look=True):
        """The rows on a grid, with as many levels kept as there is room for. They are looked at in any case."""
        levels = CudaLevels(self._table, grid, self._table.room)
        if self._table.check_before_release:
            levels.prepare()
        return levels

    def weighted_sums(self, grid, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        self._table.require_finite()
        return CudaLevels(self._table, grid, 0).weighted_sums(weights)


class CudaReading(Reading):
    """A pursuit's reading of rows on a GPU: each question is a kernel of its own."""

    def _open(self, y):
        self._terms = Terms(y)

    def add(self, feature, tell=None):
        """Read one more feature."""
        self._terms.add(self._rows.column(feature), *self._grid.center_and_scale(feature))

    def _append(self, column):
        self._terms.add(column, 0.0, 1.0)

    def evaluate(self, query, *public):
        """The sum over records that a question asks for, given public numbers."""
        return self._terms.answer(query, *public)

    def scores(self, center, effects, bound, tell=None):
        """Sizes of the sums that `questions.pick_sums` asks for."""
        return _to_host(self._levels.sums(self._terms.pick_weights(center, effects, bound)).abs_())


class CudaLevels:
    """Feature levels: some kept on the card in a byte a cell, the others computed again in each pass.

    The first pass makes them, and looks: it raises ValueError, with a constant text, if a feature is not finite.
    """

    def __init__(self, table, grid, room):
        self._table, self._public = table, _on_card(grid, table)
        self._pieces = table.pieces()
        self._fit = np.searchsorted(np.cumsum([table.cells(piece) for piece in self._pieces]), room, side="right")
        self._kept = None

    def prepare(self):
        """Make the levels, and look."""
        self._first_pass()

    def weighted_sums(self, weights):
        """Sums over rows of weight level times feature level, as int64, one for each feature."""
        return _to_host(self.sums(torch.as_tensor(weights, device=self._table.device).to(torch.int32)))

    def sums(self, weights):
        """The same on the card, where the weights are."""
        if self._kept is None:
            return self._first_pass(weights)
        sums = self._zeros(torch.int64, 1)
        for (rows, columns), levels in self._kept:
            kernels.add_sums(levels, None, weights[rows], sums[columns])
        for (rows, columns), cells in self._table.read(self._pieces[self._fit :]):
            kernels.add_sums(cells, self._public.of(columns), weights[rows], sums[columns])
        return sums[: self._table.shape[1]]

    def _first_pass(self, weights=None):
        """Make the levels, look, and give the sums, where there are weights."""
        kept, pieces, sums = [], self._pieces, self._zeros(torch.int64, 1)
        if weights is None and self._table.looked:
            pieces = pieces[: self._fit]
        weights_or_zeros = self._zeros(torch.int32, 0) if weights is None else weights
        for (rows, columns), cells in self._table.read(pieces):
            public = self._public.of(columns)
            if len(kept) < self._fit:
                levels = _room_for_levels(cells)
                kernels.write_levels(cells, public, levels, self._table.found)
                if weights is not None:
                    kernels.add_sums(levels, None, weights[rows], sums[columns])
                kept.append(((rows, columns), levels))
            else:
                look = None if self._table.looked else self._table.found
                kernels.add_sums(cells, public, weights_or_zeros[rows], sums[columns], look)
        self._table.looked = True
        self._table.require_finite()
        self._kept = kept
        return sums[: self._table.shape[1]]

    def _zeros(self, dtype, axis):
        return torch.zeros(_in_sixteens(self._table.shape[axis]), dtype=dtype, device=self._table.device)


def _in_sixteens(count):
    return -(-count // 16) * 16


def _room_for_levels(cells):
    """Bytes in the order of the cells; long rows start at multiples of 16, so that they can be read 16 at a time."""
    n, d = cells.shape
    if cells.stride(1) == 1 and d >= LONG_ROW:
        return torch.empty((n, _in_sixteens(d)), dtype=torch.int8, device=cells.device)
    return torch.empty_like(cells, dtype=torch.int8)


def _to_host(sums):
    if not sums.is_cuda:
        return sums.numpy()
    # Pinned memory is several times as fast, and torch keeps it for the next time.
    pinned = torch.empty(sums.shape, dtype=sums.dtype, pin_memory=True)
    return pinned.copy_(sums).numpy()


def _on_card(grid, table):
    numbers = [np.atleast_1d(each) for each in grid.center_and_rate(table.dtype)]
    if len(numbers[0]) != len(numbers[1]):
        numbers = [np.array(np.broadcast_to(each, table.shape[1])) for each in numbers]
    ordinary = all(np.isfinite(each).all() for each in numbers) and (numbers[1] != 0).all()
    center, rate = (torch.from_numpy(each).to(table.device) for each in numbers)
    of_bytes = byte_grid(center, rate) if table.stored == torch.int8 and ordinary else None
    return Public(center if numbers[0].any() else None, rate, not ordinary, of_bytes)

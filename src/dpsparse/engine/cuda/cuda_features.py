"""Features that kernels can read: on the card, or streamed to it through two pinned buffers."""

import math
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from dpsparse.engine import config
from dpsparse.engine.arrays import backward, host
from dpsparse.engine.quantize import indicators
from dpsparse.engine.threads import ALL, slices

_COPYING_THREADS = 8

# The dtype of the arithmetic: bfloat16 and int8 are read as the float32 numbers they stand for.
ARITHMETIC = {torch.float64: np.float64, torch.float32: np.float32, torch.bfloat16: np.float32, torch.int8: np.float32}


# Rows and columns, the cells there, and those to subtract.
Block = tuple[slice, slice]
Cells = tuple[Block, torch.Tensor, torch.Tensor | None]
_TENSORS = {"float64": torch.float64, "float32": torch.float32}


def on_card(X: Any) -> "CardFeatures":
    """The features of a torch tensor, or of an array of CuPy or its like."""
    if not isinstance(X, torch.Tensor):
        X = torch.from_dlpack(X) if hasattr(X, "__dlpack__") else torch.as_tensor(X, device="cuda")
    return CardFeatures(X.detach())


def streamed(array: Any, device: str) -> "StreamedFeatures":
    """The features of an array on the host, read through buffers on a device."""
    return StreamedFeatures(array, torch.device(device))


class Keeper(Protocol):
    """Whoever keeps levels on the card."""

    bytes_kept: int


class Features:
    """Features in blocks that kernels can read: pairs of slices, and tensors on the card that hold those cells.

    A third member is None, or the cells that kernels subtract, from the last row to the first. `checked` says whether
    all features have been checked for values that are not finite, or need not be; `nonfinite`, on the card, becomes 1
    where there is one. `total` says whether cells may be NaN or infinite all the same.

    `shape`: records and features.
    `dtype`: that of the cells.
    `device`: the card.
    `memory`: bytes of levels that may be kept on the card.
    """

    total = False

    if TYPE_CHECKING:

        def _rows(self, rows: Any) -> "Features": ...

        def columns(self, features: Any) -> torch.Tensor:
            """Values of some features, on the card."""

        def blocks(self, room: int = 0, readers: int = 1) -> list[Block]:
            """Blocks in which to read all features."""

        def read(self, blocks: Sequence[Block]) -> Iterator[Cells]:
            """Each block with its cells on the card, and those to subtract."""

        def subtract(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
            """The differences of some cells, where there are cells to subtract."""

    def __init__(self, shape: Sequence[int], dtype: torch.dtype, device: torch.device, memory: int) -> None:
        if dtype not in ARITHMETIC:
            raise ValueError(f"X has dtype {dtype}; on a GPU use float32, float64, bfloat16 or int8")
        self.shape, self.device, self.stored = (shape[0], shape[1]), device, dtype
        self.dtype = np.dtype(ARITHMETIC[dtype])
        self.checked = dtype == torch.int8
        self.nonfinite = torch.zeros(1, dtype=torch.int32, device=device)
        # Who keeps levels: of these features, of some of their rows, of their differences.
        self._memory = memory
        self._keepers: weakref.WeakSet[Keeper] = weakref.WeakSet()

    @property
    def room(self) -> int:
        """Bytes of levels that may still be kept."""
        return max(0, self._memory - sum(keeper.bytes_kept for keeper in self._keepers))

    def keep(self, keeper: Keeper) -> None:
        """Take the keeper's bytes from the room for as long as it lives."""
        self._keepers.add(keeper)

    def accept_gaps(self) -> None:
        """Take cells that are not finite for missing ones, without a check; bytes have none."""
        self.checked, self.total = True, self.total or self.stored != torch.int8

    def n_cells(self, block: Block) -> int:
        """How many cells a block has."""
        return math.prod(len(range(*part.indices(size))) for part, size in zip(block, self.shape, strict=True))

    def take(self, rows: Any) -> "Features":
        """The features of some rows."""
        taken = self._rows(rows)
        taken.checked, taken.nonfinite, taken._keepers = self.checked, self.nonfinite, self._keepers
        taken.total = self.total
        return taken

    def column(self, feature: int) -> torch.Tensor:
        """The values of a feature, on the card; of feature d + j of d features the indicators of feature j."""
        values = self.columns(feature % self.shape[1])
        return values if feature < self.shape[1] else indicators(values)

    def on_host(self, features: Any) -> NDArray[np.float64]:
        """Values of some features in float64, as a NumPy array."""
        values: NDArray[np.float64] = host(self.columns(features).double())
        return values


class CardFeatures(Features):
    """Features that are on the card."""

    def __init__(self, tensor: torch.Tensor) -> None:
        sizes = config.current
        memory = sizes.cuda_memory_bytes - sizes.cuda_record_bytes * len(tensor)
        super().__init__(tensor.shape, tensor.dtype, tensor.device, memory)
        self.tensor, self.by_columns = tensor, tensor.stride(0) < tensor.stride(1)

    @property
    def room(self) -> int:
        """Bytes of levels that may still be kept; those of bytes would save nothing."""
        return 0 if self.stored == torch.int8 else super().room

    def _rows(self, rows: Any) -> Features:
        return CardFeatures(self.tensor[rows])

    def columns(self, features: Any) -> torch.Tensor:
        """Values of some features."""
        return self.tensor[:, features]

    def blocks(self, room: int = 0, readers: int = 1) -> list[Block]:
        """As many cells as `room`, and the rest."""
        n, d = self.shape
        whole, along = (d, n) if self.by_columns else (n, d)
        cut = min(whole, room // along)
        cuts = [slice(*ends) for ends in ((0, cut), (cut, whole)) if ends[0] < ends[1]]
        return [(ALL, cut) if self.by_columns else (cut, ALL) for cut in cuts]

    def read(self, blocks: Sequence[Block]) -> Iterator[Cells]:
        """Each block with its cells."""
        for block in blocks:
            yield block, self.tensor[block], None


class StreamedFeatures(Features):
    """Features in host memory or on a disk. Two pinned buffers: one is filled while the card reads the other."""

    def __init__(self, array: Any, device: torch.device) -> None:
        if device.type == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("Streamed features need a CUDA GPU and none was found; pass the array itself instead")
        names = {str(dtype).removeprefix("torch."): dtype for dtype in ARITHMETIC}
        memory = _free_bytes(device) - 4 * config.current.cuda_buffer_bytes
        super().__init__(array.shape, names.get(array.dtype.name, array.dtype), device, memory)
        self.array = array
        self.by_columns = array.strides[0] < array.strides[1]

    def _rows(self, rows: Any) -> Features:
        return StreamedFeatures(self.array[rows], self.device)

    def columns(self, features: Any) -> torch.Tensor:
        """Values of some features, on the card."""
        return torch.tensor(np.array(self.array[:, features]), device=self.device)

    def blocks(self, room: int = 0, readers: int = 1) -> list[Block]:
        """Blocks of at most the size of a buffer, which the readers share, unless a single row (column) is larger."""
        across, along = self.shape if not self.by_columns else self.shape[::-1]
        cuts = slices(across, config.current.cuda_buffer_bytes // readers // (along * self.array.itemsize))
        return [(ALL, cut) if self.by_columns else (cut, ALL) for cut in cuts]

    def read(self, blocks: Sequence[Block]) -> Iterator[Cells]:
        """Each block with its cells on the card, valid until the next is asked for."""
        if self.device.type != "cuda":
            for block in blocks:
                yield block, self._oriented(torch.tensor(self._oriented(self.array[block]))), None
            return
        with torch.cuda.device(self.device), ThreadPoolExecutor(_COPYING_THREADS) as threads:
            try:
                yield from self._stream(blocks, threads)
            finally:
                torch.cuda.synchronize()

    def _stream(self, blocks: Sequence[Block], threads: ThreadPoolExecutor) -> Iterator[Cells]:
        buffers, copying = [_Buffer(), _Buffer()], torch.cuda.Stream()
        arriving: tuple[_Buffer, Block, torch.Tensor, None] | None = None
        for k, block in enumerate([*blocks, None]):
            upcoming, buffer = None, buffers[k % 2]
            if block is not None:
                cells = buffer.send(self._oriented(self.array[block]), self.stored, copying, threads)
                upcoming = (buffer, block, self._oriented(cells), None)
            if arriving is not None:
                arriving[0].arrived.wait()
                yield arriving[1:]
                arriving[0].used.record()
            arriving = upcoming

    def _oriented(self, cells: Any) -> Any:
        """The cells with the axis along the memory last, and back."""
        return cells.T if self.by_columns else cells


class DifferenceFeatures(Features):
    """Features of some rows less those of others, from the last to the first, which kernels subtract.

    `first`, `second`: both of the same shape.
    `memory`: bytes of levels that may be kept on the card.
    """

    total = True

    def __init__(self, first: Features, second: Features, memory: int) -> None:
        super().__init__(first.shape, _TENSORS[first.dtype.name], first.device, memory)
        self._first, self._second = first, second
        # Whoever subtracts has these rows checked, and differences of finite features may be infinite.
        self.checked = True

    @classmethod
    def of_pairs(cls, features: Features) -> "DifferenceFeatures":
        """The differences of pairs of records, whose levels take what those of the features leave."""
        n, half = features.shape[0], features.shape[0] // 2
        differences = cls(features.take(slice(half)), features.take(slice(n - half, n)), features._memory)
        differences._keepers = features._keepers
        return differences

    def _rows(self, rows: Any) -> Features:
        return DifferenceFeatures(self._first.take(rows), self._second.take(self._mirrored(rows)), self._memory)

    def subtract(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """The differences of some cells, the second ones from the last row to the first."""
        # In the dtype of the arithmetic, which int8 and bfloat16 are not: as the CPU does.
        return first.to(self.stored) - backward(second)

    def column(self, feature: int) -> torch.Tensor:
        """The differences of a feature, or of the indicators of its gaps."""
        return self.subtract(self._first.column(feature), self._second.column(feature))

    def blocks(self, room: int = 0, readers: int = 1) -> list[Block]:
        """Those of the rows to subtract from."""
        return self._first.blocks(room, 2 * readers)

    def read(self, blocks: Sequence[Block]) -> Iterator[Cells]:
        """Each block with its cells and those to subtract."""
        # Both readers may leave another device current than they found.
        with torch.cuda.device_of(self.nonfinite):
            mirrored = [(self._mirrored(rows), columns) for rows, columns in blocks]
            both = zip(self._first.read(blocks), self._second.read(mirrored), strict=True)
            for (block, first, _), (_, second, _) in both:
                yield block, first, second

    def _mirrored(self, rows: slice) -> slice:
        """The places of the second records of some pairs, in rising order."""
        places = range(self.shape[0])[rows]
        if not places:
            return slice(0)
        last = self.shape[0] - 1
        return slice(last - places[-1], last - places[0] + 1, places.step)


class _Buffer:
    """A pinned buffer, one on the card, and the events that say when either may be written again."""

    def __init__(self) -> None:
        self.arrived, self.used = torch.cuda.Event(), torch.cuda.Event()
        self.pinned: Any = None
        self.card: Any = None

    def send(self, cells: Any, dtype: torch.dtype, stream: Any, threads: ThreadPoolExecutor) -> torch.Tensor:
        """Start a copy to the card."""
        if self.pinned is None:
            self.pinned = torch.empty(cells.size, dtype=dtype, pin_memory=True)
            self.card = torch.empty(cells.size, dtype=dtype, device="cuda")
            # The memory may have been that of a tensor that kernels already under way still read.
            stream.wait_stream(torch.cuda.current_stream())
        self.arrived.synchronize()
        pinned, card = (memory[: cells.size].view(cells.shape) for memory in (self.pinned, self.card))
        rows = slices(len(cells), -(-len(cells) // _COPYING_THREADS))
        list(threads.map(np.copyto, [pinned.numpy()[some] for some in rows], [cells[some] for some in rows]))
        with torch.cuda.stream(stream):
            self.used.wait(stream)
            card.copy_(pinned, non_blocking=True)
            self.arrived.record(stream)
        return card


def _free_bytes(device: torch.device) -> int:
    if config.current.cuda_free_bytes is not None:
        return config.current.cuda_free_bytes
    if device.type != "cuda":
        return 4 * config.current.cuda_buffer_bytes
    return int(0.95 * torch.cuda.mem_get_info(device)[0])

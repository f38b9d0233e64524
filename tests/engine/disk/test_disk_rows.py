import numpy as np
import pytest

from dpsparse.engine import queries
from dpsparse.engine.disk import memory
from dpsparse.engine.disk.disk_rows import DiskRows, QuantizedDisk
from dpsparse.engine.disk.feature_sources import ArraySource
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.threads import threads


class Watched(ArraySource):
    """Remembers the first rows of the blocks that are read, and of those that are announced."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.read_from, self.announced = [], []

    def read(self, block):
        self.read_from.append(block[0].start)
        return super().read(block)

    def prefetch(self, block):
        self.announced.append(block[0].start)


@pytest.mark.parametrize(("first", "step"), [(0, 1), (0, 5), (4, 5), (3, 4), (2, 9)])
def test_blocks_without_a_row_of_a_part_are_not_read(first, step, configure):
    configure(disk_block_bytes=3 * 8)
    X = np.arange(20.0)[:, None]
    source, mine = Watched([X]), range(first, 20, step)
    counts = DiskRows(source, np.zeros(20)).part(first, step).evaluate(_count_of_rows)
    assert counts == len(mine)
    assert sorted(source.read_from) == sorted({row // 3 * 3 for row in mine})


def _count_of_rows(rows):
    return rows.n_records


def test_levels_are_kept_while_there_is_room_and_the_rest_is_announced(configure, monkeypatch):
    """Four blocks of ten cells, each a byte for each of two quantizers: half of 100 bytes is room for two blocks."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    configure(disk_block_bytes=10 * 8, disk_memory_share=0.5)
    X, weights = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20.0) - 3
    source, quantizers = Watched([X]), (Quantizer(1.0), Quantizer(2.0, 0.5))
    with threads(1):
        quantized = QuantizedDisk(source, quantizers, True, None)
        assert source.read_from == [0, 5, 10, 15]
        assert source.announced == [10, 15]
        source.read_from, source.announced = [], []
        sums = quantized.weighted_sums(weights)
    assert source.read_from == [10, 15]
    assert source.announced == [10, 15]
    assert sums.tolist() == [(quantizer.levels(X) * weights[:, None]).sum(axis=0).tolist() for quantizer in quantizers]


def test_kept_blocks_are_not_announced(configure, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 60)
    configure(disk_block_bytes=10 * 8, disk_memory_share=0.5)
    source = Watched([np.zeros((20, 2))])
    with threads(1):
        quantized = QuantizedDisk(source, (Quantizer(1.0),), True, None)
        source.announced = []
        quantized.weighted_sums(np.zeros(20))
    assert source.announced == [15]


def test_pairs_are_cut_where_a_file_ends():
    """After one row, the first of which a pair may have as its first or as its second record."""
    X = np.random.default_rng(0).normal(size=(6, 2))
    for ends in (1, 4):
        pairs = DiskRows(ArraySource([X[:ends], X[ends:]]), np.zeros(6)).differences()
        assert pairs.evaluate(_sum_of_cells) == pytest.approx((X[:3] - X[3:]).sum())
        assert pairs.evaluate(queries.nonfinite_blocks) == 0


def _sum_of_cells(rows):
    return rows.X.sum()

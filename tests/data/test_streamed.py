"""The GPU engine where there is no GPU: its messages, and its arithmetic in NumPy."""

import subprocess
import sys

import numpy as np
import pytest

from dpsparse import AdaHuber, PrivateSparseRegressor, Streamed
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.data.validation import is_on_card
from dpsparse.engine.quantize import WEIGHT_LEVELS, Quantizer

RNG = np.random.default_rng(0)
OFFSET = 0x4B400000  # the bits of 1.5 * 2^23


class OnCard:
    """An array that says it lies on a card."""

    shape, dtype, ndim = (10, 3), np.dtype(np.float32), 2

    @property
    def __cuda_array_interface__(self):
        raise AssertionError("nothing may read it here")


def kernel_bits(x, center, rate):
    """`cuda_level_kernels.level_bits`, one NumPy operation for each of its own."""
    scaled = (x - center) * rate
    clipped = np.minimum(np.maximum(scaled, np.float32(-127)), np.float32(127))
    return (clipped + np.float32(12582912)).view(np.int32)


@pytest.mark.parametrize("quantizer", [Quantizer(2.5), Quantizer(1.27), Quantizer(0.7, 0.3, 3.1), Quantizer(63.5)])
def test_adding_a_large_number_rounds_as_the_quantizer_does(quantizer):
    ties = ((np.arange(-140, 140) + 0.5) * quantizer.step * quantizer.scale + quantizer.center).astype(np.float32)
    x = np.concatenate(
        [ties, np.nextafter(ties, np.inf, dtype=np.float32), np.nextafter(ties, -np.inf, dtype=np.float32)]
    )
    x = np.concatenate([x, RNG.normal(size=5_000).astype(np.float32), np.float32([0, -0.0, 3e38, -3e38, 1e-45])])
    center, rate = quantizer.center_and_rate(np.dtype(np.float32))
    with np.errstate(over="ignore"):
        levels = kernel_bits(x, center, rate) - OFFSET
    np.testing.assert_array_equal(levels, quantizer.levels(x).astype(np.int64))


def test_sums_modulo_two_to_the_32_come_out_whole():
    # 128 terms: the sum of (level + offset) times weight wraps round many times, the sum of level times weight never.
    for level in (-127, 127, 5):
        weights = np.where(RNG.random(128) < 0.9, WEIGHT_LEVELS, -WEIGHT_LEVELS).astype(np.int32)
        with np.errstate(over="ignore"):
            wrapped = (weights * np.int32(level + OFFSET)).sum(dtype=np.int32)
            total = wrapped - weights.sum(dtype=np.int32) * np.int32(OFFSET)
        assert int(total) == level * int(weights.sum(dtype=np.int64))
        assert 128 * 127 * WEIGHT_LEVELS < 2**31


def test_without_torch_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("dpsparse.engine.cuda")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("torch", "triton"):
        monkeypatch.setitem(sys.modules, name, None)
    for X in (OnCard(), Streamed(np.zeros((10, 3)))):
        with pytest.raises(ImportError, match=r"pip install 'dpsparse\[cuda\]'"):
            PrivateSparseRegressor(random_state=0, **STANDARDIZED).fit(X, np.zeros(10))


def test_who_reads_host_memory_says_so():
    with pytest.raises(TypeError, match=r"AdaHuber reads X in host memory; pass X.cpu\(\).numpy\(\)"):
        AdaHuber().fit(OnCard(), np.zeros(10))
    with pytest.raises(TypeError, match=r"opens a \.npy file"):
        Streamed([[1.0]])


def test_ordinary_arrays_are_not_on_a_card():
    assert is_on_card(OnCard())
    assert not any(map(is_on_card, (np.zeros((2, 2)), [[1.0]], None)))


@pytest.mark.slow
def test_ordinary_fits_import_no_gpu_stack():
    code = (
        "import sys, warnings, numpy as np, dpsparse; warnings.simplefilter('ignore');"
        "model = dpsparse.PrivateSparseRegressor(random_state=0, sparsity=1, feature_center=0, feature_scale=1);"
        "model.fit(np.eye(50), np.arange(50.0));"
        "print(sorted({'torch', 'triton', 'cupy'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120).stdout.strip() == "[]"
    )

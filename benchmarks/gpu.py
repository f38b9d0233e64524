"""The GPU engine against the card's memory: passes, whole fits, streaming. Needs a GPU and dpsparse[cuda].

Prints, and writes to benchmarks/results/gpu.json and docs/img/gpu.png:

- for each dtype, shape and memory order: one pass over X, the bytes it reads, TB/s, and its share of the floor, the
  fastest plain read of the same array in the same run (a kernel that does nothing but add up 16-byte loads);
- whole private fits with five features: time for each estimand, the floor reads it may take, where the rest of the
  time goes, and what the step to the reference estimator takes of it;
- streaming from host memory.

Every number is the median of nine, by CUDA events. `--small` divides all sizes by 16, to try the script.
"""

import json
import math
import sys
import time
import warnings
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
import triton
import triton.language as tl
from gpu_parts import OF_SCORES, ON_THE_CPU, STEPS
from gpu_picture import draw

from dpsparse import NotPrivateWarning, PrivateSparseRegressor, Streamed
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.engine.config import configured
from dpsparse.engine.cuda import cuda_kernels, cuda_quantized, cuda_rows, cuda_terms
from dpsparse.engine.cuda.cuda_features import CardFeatures
from dpsparse.engine.quantize import Quantizer

ROOT = Path(__file__).parent.parent
REPEATS = 9
SMALL = 16 if "--small" in sys.argv else 1

# Bytes of a cell, rows, columns, memory order.
TALL, WIDE = (400_000, 25_000), (20_000, 500_000)
PASSES = [
    *((torch.float32, *shape, order) for shape in (TALL, WIDE) for order in ("rows", "columns")),
    *((torch.bfloat16, *shape, order) for shape in ((800_000, 25_000), WIDE) for order in ("rows", "columns")),
    *(
        (torch.int8, *shape, order)
        for shape in ((400_000, 200_000), (160_000, 500_000))
        for order in ("rows", "columns")
    ),
]
FITS = [
    *((torch.float32, *shape, order) for shape in (TALL, WIDE) for order in ("rows", "columns")),
    (torch.bfloat16, 800_000, 25_000, "rows"),
    (torch.int8, 400_000, 200_000, "rows"),
]
PARTS = [
    (cuda_rows.CudaSession, "scores", "passes"),
    (cuda_terms.Terms, "evaluate", "records' terms (GPU)"),
    (cuda_terms.Terms, "add", "records' terms (GPU)"),
    (cuda_terms.Terms, "rescale", "records' terms (GPU)"),
    *OF_SCORES,
    *STEPS,
    *ON_THE_CPU,
]
HOST_ALLOWANCE_MS, FLOORS_ALLOWED = 20.0, 6.5


@triton.jit
def _read_kernel(X, out, n, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * (BLOCK * BLOCKS)
    total = tl.zeros([BLOCK], tl.int32)
    for k in range(BLOCKS):
        where = first + k * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(X + where, mask=where < n, other=0)
    tl.store(out + tl.program_id(0), tl.sum(total))


def times_ms(work):
    """Times of a piece of work by CUDA events, after one run to warm up."""
    work()
    times = []
    for _ in range(REPEATS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return times


def median_ms(work):
    """Median time of a piece of work."""
    return float(np.median(times_ms(work)))


def floor_ms(X):
    """The fastest plain read of X."""
    words = (X if X.is_contiguous() else X.T).view(torch.int32).view(-1)
    times = []
    for block, blocks, warps in ((2048, 8, 4), (4096, 8, 8), (4096, 16, 4), (8192, 4, 8), (2048, 32, 4), (4096, 4, 4)):
        programs = triton.cdiv(len(words), block * blocks)
        out = torch.empty(programs, dtype=torch.int32, device="cuda")
        options = {"BLOCK": block, "BLOCKS": blocks, "num_warps": warps}
        times.append(median_ms(lambda: _read_kernel[(programs,)](words, out, len(words), **options)))  # noqa: B023
    return min(times)


def features(dtype, n, d, order):
    """Random features on the card."""
    n, d = n // math.isqrt(SMALL), d // math.isqrt(SMALL)
    X = torch.empty((n, d) if order == "rows" else (d, n), dtype=dtype, device="cuda")
    X.random_(-128, 128) if dtype == torch.int8 else X.normal_()
    return X if order == "rows" else X.T


def measure_pass(dtype, n, d, order):
    """One pass, with one public scale for all features and with public numbers for each."""
    X = features(dtype, n, d, order)
    n, d = X.shape
    weights = torch.randint(-(2**16), 2**16 + 1, (n,), dtype=torch.int32, device="cuda")
    sums = torch.zeros(d, dtype=torch.int64, device="cuda")
    bound, read = 63.5 if dtype == torch.int8 else 1.5, CardFeatures(X)
    public = cuda_quantized.on_card(Quantizer(bound), read)
    each = cuda_quantized.on_card(Quantizer(bound, np.linspace(-0.5, 0.5, d), np.linspace(0.5, 2.0, d)), read)
    floor = floor_ms(X)
    time_ms = median_ms(lambda: cuda_kernels.add_sums(X, public, weights, sums))
    each_ms = median_ms(lambda: cuda_kernels.add_sums(X, each, weights, sums))
    size = X.numel() * X.element_size()
    return {
        **_name(dtype, n, d, order),
        "gigabytes": size / 1e9,
        "floor_ms": floor,
        "pass_ms": time_ms,
        "terabytes_per_second": size / time_ms / 1e9,
        "share_of_floor": floor / time_ms,
        "share_of_floor_with_public_numbers_for_each_feature": floor / each_ms,
    }


def _name(dtype, n, d, order):
    return {"dtype": str(dtype).removeprefix("torch."), "rows": n, "columns": d, "stored_by": order}


def response(X):
    """Five effects and Student's t noise."""
    effects = X[:, :5].double().sum(dim=1).cpu().numpy()
    return effects + np.std(effects) / 2 * np.random.default_rng(0).standard_t(3, len(effects))


@contextmanager
def clocked(spent, parts):
    """Add up the time of the named parts of a fit; the GPU is synchronised after each."""
    inner = [0.0]

    def wrapped(work, name):
        def run(*arguments, **options):
            torch.cuda.synchronize()
            start = time.perf_counter()
            inner.append(0.0)
            try:
                return work(*arguments, **options)
            finally:
                torch.cuda.synchronize()
                took = 1e3 * (time.perf_counter() - start)
                spent[name] += took - inner.pop()
                inner[-1] += took

        return run

    before = [(home, attribute, getattr(home, attribute)) for home, attribute, _ in parts]
    for home, attribute, name in parts:
        setattr(home, attribute, wrapped(getattr(home, attribute), name))
    try:
        yield
    finally:
        for home, attribute, work in before:
            setattr(home, attribute, work)


@contextmanager
def checked_first():
    """Fits that check X before their first release, as those with a ledger do."""
    before = PrivateSparseRegressor._check_before_release
    PrivateSparseRegressor._check_before_release = True
    yield
    PrivateSparseRegressor._check_before_release = before


def parts_of(fit):
    """Time of the parts of a fit, each waited for, and of the step to the reference estimator, waited for as one."""
    spent, step = defaultdict(float), defaultdict(float)
    with clocked(spent, PARTS):
        clocked_ms = median_ms(fit)
    with clocked(step, STEPS):
        times_ms(fit)
    parts = {name: each / (REPEATS + 1) for name, each in spent.items()}
    parts["the rest of Python"] = clocked_ms - sum(parts.values())
    return {
        "parts_ms_when_each_is_waited_for": parts,
        "step_ms": sum(step.values()) / (REPEATS + 1),
    }


def measure_fit(dtype, n, d, order):
    """A whole private fit with five features, and where its time goes."""
    X = features(dtype, n, d, order)
    y = response(X)
    fits = {}
    for estimand in ("mean", "typical"):
        for name, units in (("given", STANDARDIZED), ("unknown", {})):
            model = PrivateSparseRegressor(sparsity=5, random_state=0, estimand=estimand, **units)
            model.fit(X, y)
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            times = times_ms(lambda: model.fit(X, y))  # noqa: B023
            fits[f"{estimand}, {name} units"] = {
                "fit_ms": float(np.median(times)),
                "fit_ms_from_to": [min(times), max(times)],
                "extra_gigabytes": (torch.cuda.max_memory_allocated() - before) / 1e9,
                **parts_of(lambda: model.fit(X, y)),  # noqa: B023
            }
    model = PrivateSparseRegressor(sparsity=5, random_state=0, **STANDARDIZED)
    with checked_first():
        checked_ms = median_ms(lambda: model.fit(X, y))
    floor = floor_ms(X)
    return {
        **_name(dtype, *X.shape, order),
        "gigabytes": X.numel() * X.element_size() / 1e9,
        "floor_ms": floor,
        "allowed_ms": FLOORS_ALLOWED * floor + HOST_ALLOWANCE_MS,
        "fit_ms_as_with_a_ledger": checked_ms,
        "fits": fits,
    }


def measure_stream(gigabytes=32):
    """A fit on features in host memory: all levels kept on the card after one read, or none."""
    d = 25_000
    n = int(gigabytes * 1e9 / SMALL / 4 / d)
    X = torch.empty((n, d), device="cuda").normal_()
    y, array = response(X), X.cpu().numpy()
    del X
    torch.cuda.empty_cache()
    model = PrivateSparseRegressor(sparsity=5, random_state=0, **STANDARDIZED)
    results = {"gigabytes": array.nbytes / 1e9}
    for name, room in (("kept", None), ("not_kept", 0)):
        start = time.perf_counter()
        with configured(cuda_free_bytes=room):
            model.fit(Streamed(array), y)
        results[f"fit_seconds_levels_{name}"] = time.perf_counter() - start
    return results


def main():
    """Measure, print, write."""
    warnings.simplefilter("ignore", NotPrivateWarning)
    results = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": triton.__version__}
    print(results)
    for name, measure, cases in (("passes", measure_pass, PASSES), ("fits", measure_fit, FITS)):
        results[name] = []
        for case in cases:
            results[name].append(measure(*case))
            torch.cuda.empty_cache()
            print(json.dumps(results[name][-1], default=float))
    results["stream"] = measure_stream()
    print(results["stream"])
    if SMALL == 1:
        (ROOT / "benchmarks" / "results" / "gpu.json").write_text(json.dumps(results, indent=1) + "\n")
        draw(results, ROOT / "docs" / "img" / "gpu.png")


if __name__ == "__main__":
    main()

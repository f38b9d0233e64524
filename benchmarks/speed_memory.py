"""Tables in memory: passes, whole fits, extra memory, scaling, threads, and a table of a genome's size."""

import numpy as np
from speed_harness import AnonymousMemory, exponent, fresh, in_floors, in_turn, in_turn_after_one, read, record
from speed_tables import features, fit, response, sparse_features, warm_up

from dpsparse import DPIHTH
from dpsparse.algorithms.iht.theory import default_clip_bound
from dpsparse.algorithms.losses import Huber
from dpsparse.data.as_table import as_table
from dpsparse.engine import queries
from dpsparse.engine.config import configured
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.threads import threads

TALL, WIDE = (20_000, 5_000), (2_000, 25_000)
KINDS = [(dtype, order) for dtype in ("float64", "float32") for order in "CF"]
PASS_TARGET = 1.25
# Floor reads of X that a fit with five features may take beside ALLOWANCE seconds.
FIT_TARGETS, ALLOWANCE = {"float64": 3.5, "float32": 4.2}, 0.1
MEGABYTE = 1e6


def _name(X, order=""):
    return f"{X.dtype.name} {order} {X.shape[0]:,} x {X.shape[1]:,}".replace("  ", " ")


def gradient_pass(X, sparsity):
    """One step of the paper's loop: residuals from the support's columns, psi, sums over all columns."""
    rows, support = as_table(X).rows(response(X)), range(sparsity)
    coef = np.zeros(X.shape[1])
    coef[:sparsity] = 0.1
    grid, loss = Quantizer(default_clip_bound(X.shape[1])), Huber(1.0)
    return lambda: rows.evaluate(queries.loss_sums, grid, loss, coef, support, True)


def kernel_section(scale=1):
    """Passes over X, in reads of X."""
    for shape in (TALL, WIDE):
        for dtype, order in KINDS:
            X = features(shape[0] // scale, shape[1], dtype, order)
            for sparsity in (5, 20):
                floors, times = in_turn(lambda: read(X), gradient_pass(X, sparsity))  # noqa: B023
                yield in_floors(f"gradient pass, {_name(X, order)}, s = {sparsity}", floors, times, at_most=PASS_TARGET)
            yield from _levels(X, order)
            with configured(compiled=False):
                floors, times = in_turn(lambda: read(X), gradient_pass(X, 5))  # noqa: B023
            yield in_floors(f"gradient pass without numba, {_name(X, order)}, s = 5", floors, times)
    X = sparse_features(TALL[0] // scale, 50 * TALL[1], 2_000)
    rows = as_table(X).rows(response(X))
    session = rows.session((Quantizer(4.0),))
    works = {
        "gradient pass, s = 5": gradient_pass(X, 5),
        "levels": lambda: rows.quantized((Quantizer(4.0),)),
        "sweep of levels": lambda: session.scores(0.0, [], 1.0),
    }
    for work, call in works.items():
        floors, times = in_turn(lambda: read(X.data, X.indices), call)
        yield in_floors(f"{work}, CSR {_name(X)}, {X.nnz / 1e6:.0f} M stored", floors, times)


def _levels(X, order):
    grid, y = Quantizer(4.0), response(X)
    rows = as_table(X).rows(y)
    floors, times = in_turn(lambda: read(X), lambda: rows.quantized((grid,)))
    yield in_floors(f"levels in int8, {_name(X, order)}", floors, times)
    session = rows.session((grid,))
    for feature in range(5):
        session.add(feature)
    floors, times = in_turn(lambda: read(X), lambda: session.scores(0.0, [0.1] * 5, 1.0))
    yield in_floors(f"sweep of int8 levels, {_name(X, order)}", floors, times)


def paper_fit(X, y):
    """The paper's private method at its defaults."""
    return DPIHTH().fit(X, y)


def fit_section(scale=1):
    """Whole private fits with five features, the noise from the secure source."""
    for dtype, order in KINDS:
        X = features(TALL[0] // scale, TALL[1], dtype, order)
        y = response(X)
        floors, times = in_turn_after_one(lambda: read(X), lambda: fit(X, y))  # noqa: B023
        name = _name(X, order)
        yield in_floors(
            f"fit less {ALLOWANCE} s, {name}", floors, times, allowance=ALLOWANCE, at_most=FIT_TARGETS[dtype]
        )
        floors, times = in_turn(lambda: read(X), lambda: paper_fit(X, y))  # noqa: B023
        yield in_floors(f"DPIHTH less {ALLOWANCE} s, {name}", floors, times, allowance=ALLOWANCE)


def extra_memory(n, d, dtype, order, method):
    """Bytes that a fit takes beside X; for a fresh process."""
    warm_up(dtype, order, method)
    X = features(n, d, dtype, order)
    y = response(X)
    with AnonymousMemory() as memory:
        method(X, y)
    return memory.extra


def memory_section(scale=1):
    """Anonymous memory beside X, for which n d bytes and 50 MB are allowed."""
    n, d = TALL[0] // scale, TALL[1]
    for method in (fit, paper_fit):
        for dtype, order in KINDS:
            extra = fresh(extra_memory, n, d, dtype, order, method) / MEGABYTE
            name = f"{method.__name__.replace('_', ' ')}, {dtype} {order} {n:,} x {d:,}"
            yield record(f"extra memory, {name}", extra, "MB", at_most=n * d / MEGABYTE + 50)


def _table_at(line, n, d):
    """The first cells of a flat array as a table of any shape, without a copy."""
    X = line[: n * d].reshape(n, d)
    return X, response(X)


def _times(calls):
    """Median times of calls that are made in turns."""
    return np.median(in_turn_after_one(*calls, repeats=7), axis=1)


def scaling_section(scale=1):
    """How time grows with size; the time of a small table, most of it fixed, is subtracted."""
    n, d = 640_000 // scale, 2_500
    line = features(n, d, "float32").ravel()
    for side, sizes, shape_of in (
        ("n", [n // 64, n // 8, n // 4, n // 2, n], lambda size: (size, d)),
        ("d", [d // 4, 2 * d, 4 * d, 8 * d, 16 * d], lambda size: (n // 16, size)),
    ):
        tables = [_table_at(line, *shape_of(size)) for size in sizes]
        times = _times([lambda table=table: fit(*table) for table in tables])
        added = np.array(sizes[1:]) - sizes[0]
        yield record(
            f"exponent of {side}, {_grid(sizes, shape_of)}", exponent(added, times[1:], times[0]), "exponent",
            at_least=0.9, at_most=1.1, sizes=sizes, seconds=list(times),
        )  # fmt: skip
    X, y = _table_at(line, 20_000 // scale, 2 * d)
    sizes = [5, 10, 20, 40]
    times = _times([lambda s=s: fit(X, y, s) for s in sizes])
    yield record(
        f"exponent of s, {20_000 // scale:,} x {2 * d:,}, s = 5 to 40", exponent(sizes, times), "exponent",
        sizes=sizes, seconds=list(times),
    )  # fmt: skip


def _grid(sizes, shape_of):
    first, last = shape_of(sizes[0]), shape_of(sizes[-1])
    return f"{first[0]:,} x {first[1]:,} to {last[0]:,} x {last[1]:,}"


def thread_section(scale=1):
    """Passes and fits with 1, 2 and 4 threads, in reads of X by all cores."""
    for dtype in FIT_TARGETS:
        X = features(TALL[0] // scale, TALL[1], dtype)
        y = response(X)
        for work, call in {"gradient pass, s = 5": gradient_pass(X, 5), "fit": lambda: fit(X, y)}.items():  # noqa: B023
            calls = [_with_threads(count, call) for count in (1, 2, 4)]
            floors, *times = in_turn(lambda: read(X), *calls)  # noqa: B023
            for count, each in zip((1, 2, 4), times, strict=True):
                faster = float(np.median(times[0] / each))
                name = f"{work}, {count} thread{'s' * (count > 1)}, {_name(X, 'C')}"
                yield in_floors(name, floors, each, threads=count, times_as_fast_as_one=faster)


def _with_threads(count, call):
    def run():
        with threads(count):
            call()

    return run


def genome_tables(n, d, stored):
    """Fits of sparse tables in turns: bytes of each X, extra bytes, floors and times; for a fresh process."""
    warm = sparse_features(2_000, 10_000, 10)
    fit(warm, response(warm))
    tables = [sparse_features(n, d, each) for each in stored]
    sizes, extras, works = [], [], []
    for X in tables:
        y = response(X)
        with AnonymousMemory() as memory:
            fit(X, y)
        sizes.append(X.data.nbytes + X.indices.nbytes)
        extras.append(memory.extra)
        works += [lambda X=X: read(X.data, X.indices), lambda X=X, y=y: fit(X, y)]
    times = in_turn(*works, repeats=7)
    return sizes, extras, times[::2], times[1::2]


def genome_section(scale=1):
    """100,000 records of a million features, 0.1 % of them stored, and the same with a quarter of the cells."""
    n, d, stored = 100_000 // scale, 1_000_000, (250, 1_000)
    sizes, extras, floors, times = fresh(genome_tables, n, d, stored)
    for k, each in enumerate(stored):
        name = f"CSR {n:,} x {d:,}, {n * each / 1e6:.0f} M stored"
        yield in_floors(f"fit, {name}", floors[k], times[k])
        yield record(f"extra memory, {name}", extras[k] / MEGABYTE, "MB", table_megabytes=sizes[k] / MEGABYTE)
    medians = np.median(times, axis=1)
    yield record("exponent of time in stored cells", exponent(stored, medians), "exponent", at_most=1.1)
    yield record("exponent of memory in stored cells", exponent(stored, extras), "exponent", at_most=1.1)


def quick_section(scale=1):
    """A few ratios within seconds, to check every change."""
    for dtype in FIT_TARGETS:
        X = features(8_000 // scale, TALL[1], dtype)
        y = response(X)
        works = {"gradient pass, s = 5": gradient_pass(X, 5), "fit": lambda: fit(X, y)}  # noqa: B023
        for work, call in works.items():
            floors, times = in_turn(lambda: read(X), call, repeats=15)  # noqa: B023
            yield in_floors(f"{work}, {_name(X, 'C')}", floors, times)

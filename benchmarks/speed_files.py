"""Tables that are not in the memory of one process: in files, and on the workers of a Dask cluster."""

import os
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from speed_harness import AnonymousMemory, Failed, bytes_read, fresh, in_turn_after_one, read, record, seconds
from speed_tables import features, fit, response, warm_up

from dpsparse.engine.threads import n_threads

COLUMNS = 5_000
ROWS_AT_A_TIME = 5_000
BLOCK_BYTES = 2**24
GIGABYTE = 1e9
FILE_TARGET, ANONYMOUS_GIGABYTES, DASK_TARGET = 1.5, 4.0, 1.5
ROUNDS, DASK_ROUNDS = 7, 9


def _blocks(n):
    """A table and its responses, a block of rows at a time."""
    for block, start in enumerate(range(0, n, ROWS_AT_A_TIME)):
        X = features(min(ROWS_AT_A_TIME, n - start), COLUMNS, "float32", seed=block)
        yield X, response(X, seed=10_000 + block)


def write(folder, kind, n):
    """Write a table of n rows and its responses; for a fresh process."""
    y = []

    def blocks():
        for X, responses in _blocks(n):
            y.append(responses)
            yield X

    WRITERS[kind](Path(folder) / f"table.{kind}", n, blocks())
    np.save(Path(folder) / "y.npy", np.concatenate(y))


def _write_npy(path, n, blocks):
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (n, COLUMNS)})
        for X in blocks:
            file.write(X)


def _write_parquet(path, n, blocks):
    import pyarrow as pa
    from pyarrow import parquet

    names = [f"x{j}" for j in range(COLUMNS)]
    with parquet.ParquetWriter(path, pa.schema([(name, pa.float32()) for name in names])) as file:
        for X in blocks:
            file.write_table(pa.table(dict(zip(names, X.T.copy(), strict=True))))


def _write_zarr(path, n, blocks):
    import zarr

    table = zarr.create_array(str(path), shape=(n, COLUMNS), chunks=(ROWS_AT_A_TIME // 5, COLUMNS), dtype="float32")
    start = 0
    for X in blocks:
        table[start : start + len(X)] = X
        start += len(X)


WRITERS = {"npy": _write_npy, "parquet": _write_parquet, "zarr": _write_zarr}


def files_of(path):
    """The files of a table."""
    return [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())


def evict(path):
    """Drop a table's files from the file cache."""
    for file in files_of(path):
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def plain_read(path, threads):
    """Read a table's files in large blocks; each thread reads a part of each file."""

    def read_part(file, start, stop):
        buffer = memoryview(bytearray(BLOCK_BYTES))
        with open(file, "rb", buffering=0) as stream:
            stream.seek(start)
            while start < stop and (count := stream.readinto(buffer[: min(BLOCK_BYTES, stop - start)])):
                start += count

    with ThreadPoolExecutor(threads) as pool:
        for file in files_of(path):
            edges = np.linspace(0, file.stat().st_size, threads + 1).astype(int)
            list(pool.map(read_part, [file] * threads, edges[:-1], edges[1:]))


def cold(work, path):
    """Time of some work on a table with a cold file cache."""
    evict(path)
    return seconds(work)


def opened(path):
    """A file as a user hands it to `fit`."""
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r")
    from dpsparse import OnDisk

    return OnDisk(path)


def measure_file(folder, kind, rounds):
    """Cold fits and cold plain reads in turns, memory, passes, bits; for a fresh process."""
    path, y = Path(folder) / f"table.{kind}", np.load(Path(folder) / "y.npy")
    warm_up("float32")
    size = sum(file.stat().st_size for file in files_of(path))
    threads = min((1, 2), key=lambda count: cold(lambda: plain_read(path, count), path))
    evict(path)
    before = bytes_read()
    with AnonymousMemory() as memory:
        coef = fit(opened(path), y, seed=0).coef_
    passes = max(1, round((bytes_read() - before).max() / size))

    def read_as_often():
        for _ in range(passes):
            plain_read(path, threads)

    pairs = [(cold(read_as_often, path), cold(lambda: fit(opened(path), y), path)) for _ in range(rounds)]
    reads, fits = np.array(pairs).T
    measured = {
        "ratio": float(np.median(fits / reads)),
        "seconds": float(np.median(fits)),
        "read_seconds": float(np.median(reads)),
        "passes": passes,
        "file_gigabytes": size / GIGABYTE,
        "reading_threads": threads,
        "repeats": rounds,
    }
    return measured, memory.peak / GIGABYTE, coef


def fit_in_memory(n):
    """Coefficients of the same values in memory; for a fresh process."""
    X, y = map(np.concatenate, zip(*_blocks(n), strict=True))
    return fit(X, y, seed=0).coef_


def format_section(scale=1):
    """Fits from files against as many plain reads of the same files, both with a cold file cache."""
    for kind, n in (("npy", 600_000), ("npy", 50_000), ("parquet", 50_000), ("zarr", 50_000)):
        n //= scale
        # Formats that are decoded, and files so small that the fixed part of a fit shows, are for information.
        large = kind == "npy" and n == 600_000 // scale
        most = FILE_TARGET if large else None
        with tempfile.TemporaryDirectory() as folder:
            name = f"{kind}, {n:,} x {COLUMNS:,}"
            try:
                fresh(write, folder, kind, n)
                measured, peak, coef = fresh(measure_file, folder, kind, ROUNDS)
            except Failed as failure:
                yield record(f"fit from {name}", None, "plain reads", at_most=most, failed=str(failure))
                continue
        measured["gigabytes"] = n * COLUMNS * 4 / GIGABYTE
        if not large:
            measured["same_bits_as_in_memory"] = bool(np.array_equal(coef, fresh(fit_in_memory, n)))
        yield record(f"fit from {name}", measured.pop("ratio"), "plain reads", at_most=most, **measured)
        most = ANONYMOUS_GIGABYTES if large else None
        yield record(f"anonymous memory, fit from {name}", peak, "GB", at_most=most)


def _worker_block(block_info=None):
    where = block_info[None]
    return features(*where["chunk-shape"], "float32", seed=where["chunk-location"][0])


def dask_times(n, rows, rounds):
    """Fits of a table that lies on two worker processes, and of the same table here, in turns; for a fresh process.

    This process may use as many threads as there are workers.
    """
    import dask
    import dask.array as da
    from dask.distributed import Client, LocalCluster, wait

    warnings.simplefilter("ignore")
    # As docs/how-to/cluster.md advises.
    dask.config.set({"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**30})
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        chunks = (da.core.normalize_chunks(rows, (n,))[0], (COLUMNS,))
        there = da.map_blocks(_worker_block, chunks=chunks, dtype="float32").persist()
        wait(there)
        X = np.empty((n, COLUMNS), dtype="float32")
        for seed, start in enumerate(range(0, n, rows)):
            X[start : start + rows] = features(min(rows, n - start), COLUMNS, "float32", seed=seed)
        y = response(X)
        same = np.array_equal(fit(there, y, seed=0).coef_, fit(X, y, seed=0).coef_)
        works = (lambda: read(X), lambda: fit(X, y), lambda: fit(there, y))
        return *in_turn_after_one(*works, repeats=rounds), same


def dask_section(scale=1):
    """Two worker processes of one thread against one process, 4 GB of float32 in chunks of 250 MB."""
    n, rows = 200_000 // scale, 12_500 // scale
    name = f"fit on two Dask workers, float32 {n:,} x {COLUMNS:,}"
    try:
        floors, alone, times, same = fresh(dask_times, n, rows, DASK_ROUNDS)
    except Failed as failure:
        yield record(name, None, "single-process fits", at_most=DASK_TARGET, failed=str(failure))
        return
    yield record(
        name, np.median(times / alone), "single-process fits", at_most=DASK_TARGET,
        seconds=float(np.median(times)), single_process_seconds=float(np.median(alone)),
        floor_seconds=float(np.median(floors)), single_process_threads=n_threads(), repeats=DASK_ROUNDS,
        same_bits_as_in_memory=bool(same),
    )  # fmt: skip

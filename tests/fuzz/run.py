"""Fuzz the command line and every file format it reads: `python tests/fuzz/run.py --cases 100000`.

Batches run in forked children, so that a crash or a hang of a parser loses one case and is blamed on it.
"""

import argparse
import collections
import contextlib
import io
import mmap
import os
import resource
import struct
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pyarrow
from cases import Fuzzer

BATCH = 500
# Seconds a case may take; the good ones take a hundredth.
LIMIT = 20
MEMORY = 4 * 2**30


def batch(fuzzer, start, stop, shared, report):
    """Run cases in a child; `shared` holds the number of the one under way."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(start, stop):
        shared[:8] = struct.pack("q", number)
        try:
            word, fault = fuzzer.run(number)
        except BaseException:
            word, fault = "escaped", traceback.format_exc()
        print(number, word, "" if fault is None else repr(fault), sep="\t", file=report, flush=True)


def run_batch(fuzzer, start, stop, report):
    """Run cases in a child; return the number after the last one tried, and what ended it, if anything did."""
    shared = mmap.mmap(-1, 8)
    shared[:8] = struct.pack("q", start)
    child = os.fork()
    if child == 0:
        try:
            batch(fuzzer, start, stop, shared, report)
        finally:
            os._exit(0)
    last, since = start, time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        number = struct.unpack("q", shared[:8])[0]
        if done:
            return (stop, None) if status == 0 else (number + 1, f"crash: status {status}")
        if number != last:
            last, since = number, time.monotonic()
        elif time.monotonic() - since > LIMIT:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return number + 1, "hang"
        time.sleep(0.02)


def main():
    """Run, print the tally, and fail if there is a fault."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=100_000)
    options.add_argument("--seconds", type=float, default=float("inf"), help="stop after this long")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--first", type=int, default=0, help="the first case, to replay one")
    chosen = options.parse_args()
    pyarrow.set_cpu_count(1)
    began = time.monotonic()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    faults = []
    with tempfile.TemporaryDirectory(dir=memory) as folder, tempfile.TemporaryFile("w+") as report:
        with contextlib.redirect_stdout(io.StringIO()):
            fuzzer = Fuzzer(Path(folder), chosen.seed)
        number = chosen.first
        while number < chosen.first + chosen.cases and time.monotonic() - began < chosen.seconds:
            number, ended = run_batch(fuzzer, number, min(number + BATCH, chosen.first + chosen.cases), report)
            if ended:
                faults.append(f"{number - 1}\t{ended}")
        report.seek(0)
        lines = [line.rstrip("\n").split("\t") for line in report]
    faults += [f"{case}\t{fault}" for case, _, fault in lines if fault]
    for word, count in sorted(collections.Counter(word for _, word, _ in lines).items()):
        print(f"{count:>8,}  {word}")
    for fault in faults[:50]:
        print("FAULT in case", fault)
    print(
        f"{number - chosen.first:,} cases, {len(faults)} faults, {time.monotonic() - began:.0f} s, seed {chosen.seed}"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""`dpsparse app` that counts, when all else of the interpreter has ended, what its last search for garbage skips."""

import atexit
import gc
import os
import sys

from dpsparse.cli import main

if __name__ == "__main__":
    # The first to be registered is the last to run.
    atexit.register(lambda: os.write(1, f"skips {gc.get_freeze_count()}, searches {len(gc.get_objects())}\n".encode()))
    main(sys.argv[1:])

"""`dpsparse app` whose fits stop after their first release, so that they can be killed there."""

import os
import sys
import time
from pathlib import Path

from dpsparse.cli import main
from dpsparse.estimators._raw_fit import PreparedTable


def held_up(*_, **__):
    """Say that the first release was made, and wait for the end."""
    (Path(os.environ["HELD_UP"]) / "reached").touch()
    while True:
        time.sleep(1)


if __name__ == "__main__":
    PreparedTable.pursue = held_up
    main(sys.argv[1:])

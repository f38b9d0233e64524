"""Commands: ``run`` measures, ``report`` writes docs/comparison.md, ``tables`` prepares the real tables.

``python -m peers run --quick`` takes 5 minutes, ``run`` up to 3 hours on 2 cores, and ``run --full`` as long as it
takes. A run that was stopped goes on where it was. Real tables need ``pip install -e ".[bench]"`` and six files in the
folder `tables` of the one that ``DPSPARSE_DATA`` names; tables that are not there are left out with a line.
"""

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
RESULTS = HERE.parent / "results" / "peers.parquet"
ARTEFACTS = HERE.parents[1] / "artefacts" / "peers"


def parser():
    """The command line."""
    top = argparse.ArgumentParser(prog="peers", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure what has not been measured yet")
    size = run.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a few small designs; leaves the committed results alone")
    size.add_argument("--full", action="store_true", help="all designs and repeats, without a limit of time")
    run.add_argument("--only", action="append", default=[], metavar="PATTERN", help="designs or settings; repeatable")
    run.add_argument("--peer", action="append", default=[], metavar="NAME", help="peers; repeatable")
    run.add_argument("--again", action="store_true", help="make again what is there")
    run.add_argument("--jobs", type=int, default=2, help="processes (2)")
    run.add_argument("--minutes", type=float, help="begin no fit after so many minutes")
    run.add_argument("--parts", type=Path, help="folder of the unfinished run's parts")
    run.add_argument("--resume", type=Path, metavar="FILE", help="results of an earlier run to go on from")
    run.add_argument("--results", type=Path, help="file to merge into")
    run.add_argument("--tables", type=Path, help="folder that `peers tables` wrote")
    report = commands.add_parser("report", help="write the tables and pictures of docs/comparison.md")
    report.add_argument("--results", type=Path, default=RESULTS)
    report.add_argument("--docs", type=Path, default=HERE.parents[1] / "docs")
    tables = commands.add_parser("tables", help="write the real tables as numbers, for a machine without the packages")
    tables.add_argument("folder", type=Path)
    commands.add_parser("list", help="print designs and peers")
    return top


def main(arguments=None):
    """Run a command."""
    options = parser().parse_args(arguments)
    if options.command == "tables":
        from peers.settings.tables import prepare

        for line in prepare(options.folder):
            print(line)
    elif options.command == "list":
        from peers.listing import lines

        print("\n".join(lines()))
    elif options.command == "report":
        from peers.report import write_page

        write_page(options.results, options.docs)
    else:
        measure(options)


def measure(options):
    """The command ``run``."""
    if options.tables:
        os.environ["DPSPARSE_PEERS_TABLES"] = str(options.tables.resolve())
    from peers.adapters import PEERS
    from peers.runner import run
    from peers.settings.design import DEFAULT, FULL, QUICK

    if unknown := set(options.peer) - set(PEERS):
        raise SystemExit(f"--peer {sorted(unknown)}: not among {sorted(PEERS)}")
    size = QUICK if options.quick else FULL if options.full else DEFAULT
    run(
        size,
        only=options.only,
        peers=options.peer,
        again=options.again,
        jobs=options.jobs,
        minutes=options.minutes,
        resume=options.resume,
        folder=options.parts or ARTEFACTS / (QUICK if options.quick else "parts"),
        results=options.results or (ARTEFACTS / "quick.parquet" if options.quick else RESULTS),
        say=lambda line: print(line, flush=True),
    )


if __name__ == "__main__":
    main()

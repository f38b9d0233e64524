"""Speed and memory of passes and fits, against the cost of reading the data.

Run ``python benchmarks/speed.py`` for everything, or name sections: quick, kernels, fits, memory, scaling, threads,
formats, dask, genome, peers (which needs ``.[peers]``). Every claim is printed with its target, and written to
benchmarks/results/speed.json and docs/img/speed.png; sections that are not run keep their last results there.

The floor is a plain read of the same table in the same run: a thread for each core, compiled, eight rows at a time.
Times are medians of at least seven (fewer for peers that take minutes; the output says how many). Runs alternate with
the floor, so that a busy machine slows both; a ratio is the median over turns. Whole fits, scaling and Dask are timed
after a fit of the same table, so that its memory is allocated already. Fits are private: their noise is from the secure
source. Fits from files start with a cold file cache, and are compared with plain reads of as many bytes as the system
counted for the fit.

``--quick --compare`` prints the section quick beside the committed ratios, and fails at more than twice those.
``--small`` divides the rows of all tables by 16, to try the script, and writes nothing.
"""

import json
import os
import platform
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

ROOT = Path(__file__).parent.parent
RESULTS, PICTURE = ROOT / "benchmarks" / "results" / "speed.json", ROOT / "docs" / "img" / "speed.png"
# Module and function of each section; imported when it is run, since only peers needs more than the package.
SECTIONS = {
    "quick": ("speed_memory", "quick_section"),
    "kernels": ("speed_memory", "kernel_section"),
    "fits": ("speed_memory", "fit_section"),
    "memory": ("speed_memory", "memory_section"),
    "scaling": ("speed_memory", "scaling_section"),
    "threads": ("speed_memory", "thread_section"),
    "formats": ("speed_files", "format_section"),
    "dask": ("speed_files", "dask_section"),
    "genome": ("speed_memory", "genome_section"),
    "peers": ("speed_peers", "peer_section"),
}
PACKAGES = {
    "formats": ("pyarrow", "zarr"),
    "dask": ("dask", "distributed"),
    "peers": ("skglm", "abess", "celer"),
}
SMALL = 16
TOO_SLOW = 2.0


def run_section(section, scale):
    """Records of a section, printed as they come, with the machine and the versions."""
    module, function = SECTIONS[section]
    click.echo(f"\n{section}")
    records = []
    for each in getattr(__import__(module), function)(scale):
        records.append(each)
        print_record(each)
    packages = ("numpy", "numba", "scipy", "scikit-learn", *PACKAGES.get(section, ()))
    versions = {"python": platform.python_version()} | {name: version_of(name) for name in packages}
    return {"versions": versions, "cores": os.cpu_count(), "records": records}


def version_of(package):
    """The version of a package, or None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def print_record(each):
    """One line: name, value, target, verdict."""
    asked = [f"{sign} {bound:g}" for sign, bound in ((">=", each["at_least"]), ("<=", each["at_most"])) if bound]
    verdict = {None: "", True: "met", False: "MISSED"}[each["met"]]
    took = f"{each['seconds'] * 1e3:>9,.0f} ms" if isinstance(each.get("seconds"), float) else " " * 12
    value = " " * 9 if each["value"] is None else f"{each['value']:>9.3g}"
    line = f"  {each['name']:<74} {took} {value} {each['unit']:<20} {', '.join(asked):<18} {verdict}"
    notes = ["OTHER BITS THAN IN MEMORY"] * (each.get("same_bits_as_in_memory") is False) + [each.get("failed", "")]
    click.echo(f"{line}  {' '.join(notes)}".rstrip())


def print_verdict(results):
    """How many of the claims are met."""
    asked = [each for part in results.values() for each in part["records"] if each["met"] is not None]
    missed = [each["name"] for each in asked if not each["met"]]
    click.echo(f"\n{len(asked) - len(missed)} of {len(asked)} targets met" + "".join(f"\n  MISSED {m}" for m in missed))


def compare(results, committed):
    """Print ratios beside the committed ones; True if none is more than twice its own."""
    click.echo(f"\n{'floor reads':<50} {'now':>8} {'committed':>10}")
    before = {each["name"]: each["seconds_over_floor"] for each in committed["records"]}
    good = True
    for each in results["records"]:
        now, then = each["seconds_over_floor"], before[each["name"]]
        slow = now > TOO_SLOW * then
        good &= not slow
        click.echo(f"{each['name']:<50} {now:>8.2f} {then:>10.2f}{'   TOO SLOW' * slow}")
    return good


@click.command()
@click.argument("sections", nargs=-1, type=click.Choice(list(SECTIONS)))
@click.option("--quick", is_flag=True, help="Only the section quick.")
@click.option("--compare", "comparing", is_flag=True, help="Compare quick with what is committed; write nothing.")
@click.option("--small", is_flag=True, help="Small tables, to try the script; write nothing.")
def main(sections, quick, comparing, small):
    """Measure, print, write."""
    warnings.simplefilter("ignore")
    sections = ("quick",) if quick else sections or tuple(SECTIONS)
    written = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results = {}
    for section in sections:
        results[section] = run_section(section, SMALL if small else 1)
        if not small and not comparing:
            # Each section as it comes: a later one may run out of memory or patience.
            written[section] = results[section]
            RESULTS.write_text(json.dumps(written, indent=1) + "\n")
    print_verdict(results)
    if comparing:
        sys.exit(0 if compare(results["quick"], written["quick"]) else 1)
    if not small:
        from speed_picture import draw

        draw(written, PICTURE)


if __name__ == "__main__":
    main()

"""`reproduce`: run the missing tasks, then write results, figures, verdicts and a report."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from dpsparse.datasets import fetch_metabric, fetch_nci60
from dpsparse.paper.designs import FULL, PANELS, PARTS, QUICK, TABLES, Data, Size
from dpsparse.paper.experiments import Cell, Pilot, Split
from dpsparse.paper.results import Results
from dpsparse.paper.runner import TaskCache
from dpsparse.paper.write import write_all


def size_of(quick: bool, repeats: int | None) -> Size:
    """How much to run; `repeats` counts repetitions of the panels and splits of the tables."""
    size = QUICK if quick else FULL
    return size if repeats is None else replace(size, repeats=repeats, splits=repeats)


def missing_data(parts: Sequence[str]) -> dict[str, str]:
    """Why tables cannot be made: {part: reason}."""
    reasons = {}
    for part, fetch in (("table1", fetch_nci60), ("table2", fetch_metabric)):
        if part in parts:
            try:
                fetch()
            except (FileNotFoundError, ValueError) as reason:
                reasons[part] = str(reason)
    return reasons


def panel_data(size: Size, parts: Sequence[str]) -> dict[Data, tuple[float, ...]]:
    """The kinds of data that the panels need, with their epsilons; panels share the data they have in common."""
    epsilons: dict[Data, set[float]] = {}
    for panel in (PANELS[name] for name in PANELS if name in parts):
        for regime in size.regimes:
            for zeta in panel.zetas:
                for _, data, epsilon in regime.points(panel.axis, zeta):
                    epsilons.setdefault(data, set()).add(epsilon)
    return {data: tuple(sorted(values)) for data, values in epsilons.items()}


def run_all(
    parts: tuple[str, ...], size: Size, out: str | Path, jobs: int, progress: Callable[[int, int], object]
) -> Results:
    """Run every task of the parts and collect the rows.

    Tasks finished in the folder before are not run again; `progress(done, total)` counts units of work.
    """
    cache = TaskCache(out)
    data = panel_data(size, parts)
    pilots = {kind: Pilot(kind) for kind in data}
    splits = [
        Split(table.name, table.loader, table.target, table.epsilon, split, size.draws)
        for table in TABLES
        if table.table in parts
        for split in range(size.splits)
    ]
    fitting = size.repeats * sum(Cell(kind, 0, epsilons, 0.0).weight for kind, epsilons in data.items())
    total = fitting + sum(pilot.weight for pilot in pilots.values()) + sum(split.weight for split in splits)
    done = 0

    def advance(weight: int) -> None:
        nonlocal done
        done += weight
        progress(done, total)

    progress(0, total)
    cache.run([*pilots.values(), *splits], jobs, advance)
    cells = [
        Cell(kind, repeat, epsilons, cache.rows(pilots[kind])[0]["lam"])
        for kind, epsilons in data.items()
        for repeat in range(size.repeats)
    ]
    cache.run(cells, jobs, advance)
    return Results(
        size,
        tuple(part for part in PARTS if part in parts),
        tuple(row for task in cells for row in cache.rows(task)),
        tuple(row for task in splits for row in cache.rows(task)),
    )


def reproduce_parts(
    parts: Sequence[str],
    *,
    quick: bool,
    repeats: int | None,
    jobs: int,
    out: str | Path,
    console: Console | None = None,
) -> dict[str, Any]:
    """Run the parts, show progress, write everything, and print the verdicts.

    `parts` are names of `PARTS`, "all" or none for all of them. Returns counts of the verdicts, what was left out, and
    where the report is.
    """
    console = console or Console()
    asked = tuple(parts) or ("all",)
    for part in asked:
        if part not in (*PARTS, "all"):
            raise ValueError(f"there is no part {part!r}; choose from {', '.join(PARTS)} or all")
    chosen = PARTS if "all" in asked else tuple(part for part in PARTS if part in asked)
    left_out = missing_data(chosen)
    for part, reason in left_out.items():
        if "all" not in asked:
            raise FileNotFoundError(reason)
        console.print(f"[bold]{part} is left out[/]: {reason}", highlight=False)
    Path(out).mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("fits"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=console) as bar:
            task = bar.add_task("fits")
            results = run_all(
                tuple(part for part in chosen if part not in left_out),
                size_of(quick, repeats),
                out,
                jobs,
                lambda done, total: bar.update(task, completed=done, total=total),
            )
    except KeyboardInterrupt:
        console.print("Stopped; the same command goes on from here.")
        raise
    options = "".join([" --quick" * quick, f" --repeats {repeats}" if repeats else ""])
    words = "all" if "all" in asked else " ".join(chosen)
    verdicts = write_all(results, out, f"dpsparse reproduce {words}{options}", left_out)
    counts = Counter(verdict.verdict for verdict in verdicts)
    tally = ", ".join(f"{count} {word}" for word, count in counts.items())
    console.print(f"{len(verdicts)} verdicts: {tally}. Report: {Path(out) / 'report.html'}", highlight=False)
    return {"verdicts": dict(counts), "left_out": left_out, "report": str(Path(out) / "report.html")}

"""Writes the results of a run: rows as Parquet, verdicts as JSON and Markdown, figures, and the report."""

import io
import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import dpsparse
from dpsparse.io.atomic import write_file
from dpsparse.paper import panel_figures
from dpsparse.paper.claims import CLAIMS
from dpsparse.paper.designs import FIRST_SEED, SETTINGS
from dpsparse.paper.experiments import Row
from dpsparse.paper.reproduction_report import NOTHING, report_page
from dpsparse.paper.results import Results, summarize
from dpsparse.paper.runner import source_digest, versions
from dpsparse.paper.verdicts import Claim, Verdict, all_views, judge


def commit() -> str | None:
    """The commit of the checkout the package runs from, or None where it runs from elsewhere."""
    folder = Path(dpsparse.__file__).parent
    try:
        head = _git(folder, "rev-parse", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--", folder)
    except (OSError, subprocess.SubprocessError):
        return None
    return head + (" with uncommitted changes" if changed else "")


def _git(folder: Path, *arguments: str | Path) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def write_all(results: Results, out: str | Path, command: str, left_out: dict[str, str]) -> list[Verdict]:
    """Write everything into a folder; the same results give the same bytes.

    `left_out` gives the reason for each table that could not be made.
    """
    out = Path(out)
    verdicts = judge(CLAIMS, all_views(results))
    tables = {table.name: summarize(results, table) for table in results.tables}
    about = {
        "command": command,
        "commit": commit(),
        "dpsparse": dpsparse.__version__,
        "source_digest": source_digest(),
        "versions": versions(),
        "first_seed": FIRST_SEED,
        "repeats": results.size.repeats,
        "splits": results.size.splits,
        "draws": results.size.draws,
    }
    pictures = _pictures(results, out / "figures")
    _write_rows(out / "panels.parquet", results.panel_rows)
    _write_rows(out / "tables.parquet", results.table_rows)
    plain = {
        **about,
        "left_out": left_out,
        "verdicts": [_plain_verdict(verdict) for verdict in verdicts],
        "tables": {name: [asdict(row) for row in rows] for name, rows in tables.items()},
    }
    write_file(out / "results.json", json.dumps(plain, indent=1) + "\n")
    write_file(out / "verdicts.md", verdicts_markdown(verdicts))
    write_file(out / "report.html", report_page(results, about, verdicts, tables, pictures, left_out))
    return verdicts


def verdicts_markdown(verdicts: list[Verdict]) -> str:
    """The verdicts as a Markdown table: one row for each claim, one column for each setting with its data in turn."""
    rows: dict[tuple[int, Claim], dict[str, list[str]]] = {}
    for verdict in verdicts:
        cells = rows.setdefault((verdict.number, verdict.claim), {setting: [] for setting in SETTINGS})
        setting = next(setting for setting in SETTINGS if verdict.view.startswith(setting))
        cells[setting].append(verdict.verdict + NOTHING * verdict.says_nothing)
    lines = [f"| | claim | {' | '.join(SETTINGS)} |", "|---" * (2 + len(SETTINGS)) + "|"]
    for (number, claim), cells in rows.items():
        columns = " | ".join(" / ".join(cells[setting]) for setting in SETTINGS)
        lines.append(f"| {number} | {claim.quote} ({claim.source}) | {columns} |")
    return "\n".join(lines) + "\n"


def _plain_verdict(verdict: Verdict) -> dict[str, Any]:
    claim = verdict.claim
    fields = ("number", "view", "verdict", "deciding", "mean", "low", "high", "comparisons", "says_nothing")
    # Two repetitions or fewer give an infinite interval, which JSON cannot hold.
    numbers = {name: getattr(verdict, name) for name in fields}
    bounds = {name: None if abs(numbers[name]) == float("inf") else numbers[name] for name in ("low", "high")}
    return {"source": claim.source, "quote": claim.quote, "rule": claim.rule, **numbers, **bounds}


def _pictures(results: Results, folder: Path) -> dict[str, bytes]:
    """Every figure as PNG and SVG; returns the PNGs."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = {panel.name: partial(panel_figures.draw_panel, results, panel) for panel in results.panels}
    if results.has("n"):
        draw["headline"] = partial(panel_figures.draw_headline, results)
    pngs = {}
    for name, make in draw.items():
        figure = make()
        pngs[name] = panel_figures.as_bytes(figure, "png")
        write_file(folder / f"{name}.png", pngs[name])
        write_file(folder / f"{name}.svg", panel_figures.as_bytes(figure, "svg"))
        panel_figures.close(figure)
    return pngs


def _write_rows(path: Path, rows: Sequence[Row]) -> None:
    import pyarrow
    import pyarrow.parquet

    if rows:
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), buffer, compression="zstd")
        write_file(path, buffer.getvalue())

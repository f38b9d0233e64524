"""The tables of docs/comparison.md, made from the committed results and written between markers."""

import json
import re
from pathlib import Path

import pandas as pd

from peers import results
from peers.adapters import PEERS
from peers.pictures import draw_all
from peers.ranking import FIRST, TIED, UNDECIDED, mean_ranks
from peers.reasons import reason_for
from peers.settings import DESIGNS
from peers.settings.tables import CHOSEN, REAL
from peers.tally import OURS, PRIVATE, UNITS, all_settings, judged, pure_settings, references, verdicts

METRIC_WORDS = {"l2": "l2 error", "f1": "F1", "exact": "exact support", "squared": "squared", "absolute": "absolute"}
NEEDS_WORDS = {
    "nothing": "nothing",
    "units of the features": "exact means and standard deviations",
    "exact units": "exact means and standard deviations, median and MAD of the response",
    "exact units and bounds": "exact means and standard deviations, median and MAD of the response, exact bounds",
    "row norms": "exact units and the largest norm",
    "bounds": "exact bounds of every column",
}
NOT_YET = "Not measured yet."
DUEL = Path(__file__).parents[1] / "results" / "coverage_duel.json"
SETTINGS = tuple(dict.fromkeys(design.setting for design in DESIGNS.values()))


def number(value):
    """Three significant digits."""
    return "" if pd.isna(value) else f"{value:.3g}"


def table(head, rows):
    """A Markdown table; the columns after the first are to the right where they hold numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def gap_text(row):
    """Our error over the rival's with its interval, or our missing share less the rival's."""
    sign = "+" if row.metric in ("f1", "exact") else ""
    return f"{row.gap:{sign}.2f} [{row.low:{sign}.2f}, {row.high:{sign}.2f}]" if row.gap == row.gap else "no line"


def _budget(row):
    return f"{row.epsilon:g}"


def losses_table(frame):
    """Every setting that we lose, in the order of the page."""
    lost = frame[~frame["verdict"].isin([FIRST, TIED, UNDECIDED])]
    if lost.empty:
        return "None in the committed results."
    rows = [
        (
            row.design,
            _budget(row),
            METRIC_WORDS[row.metric],
            row.units,
            f"{row.rival} {number(row.theirs)}",
            number(row.ours),
            gap_text(row),
            row.like_for_like,
            reason_for(row.design, row.units, row.metric, row.epsilon)
            if row.useful
            else "none is better than a constant here",
        )
        for row in lost.itertuples()
    ]
    head = ("setting", "epsilon", "by", "ours with", "first", "ours", "ours over theirs [95 %]", "like for like", "why")
    return table(head, rows)


def tally_table(frame):
    """Settings first, tied, lost and undecided by group, epsilon, metric and kind of units; shares held and ahead."""
    rows = []
    for setting in SETTINGS:
        for (epsilon, metric), part in frame[frame["setting"] == setting].groupby(["epsilon", "metric"], sort=False):
            cells = [cell for units in UNITS for cell in _counts(part[part["units"] == units])]
            rows.append((setting, f"{epsilon:g}", METRIC_WORDS[metric], *cells))
    for label, part in (
        ("**all, epsilon below .3**", frame[frame["epsilon"] < 0.3]),
        ("**all, epsilon .3 and above**", frame[frame["epsilon"] >= 0.3]),
    ):
        cells = [cell for units in UNITS for cell in _counts(part[part["units"] == units])]
        rows.append((label, "", "", *cells))
    head = ("ground", "epsilon", "by", *(f"{units}: {what}" for units in UNITS for what in (
        "first / tied / lost / undecided", "held", "ahead")))  # fmt: skip
    return table(head, rows)


def _counts(part):
    """The cells of one kind of units: counts of verdicts, the shares held of decided settings and ahead of all."""
    decided = part[part["verdict"] != UNDECIDED]
    held = decided["verdict"].isin([FIRST, TIED])
    ahead = part["gap"] <= part["metric"].isin(["f1", "exact"]).map({True: 0.0, False: 1.0})
    counts = [(part["verdict"] == FIRST).sum(), (part["verdict"] == TIED).sum(), (~held).sum(), len(part) - len(held)]
    shares = (f"{share.mean():.0%}" if len(share) else "" for share in (held, ahead))
    return (" / ".join(map(str, counts)), *shares)


def settings_table(frame, rows, setting):
    """All settings of a group: the best rival, ours with both kinds of units, and a reference without privacy."""
    part, lines = frame[frame["setting"] == setting], []
    if part.empty:
        return NOT_YET
    for (name, epsilon, metric), pair in part.groupby(["design", "epsilon", "metric"], sort=False):
        open_fits = references(rows, DESIGNS[name], metric)
        # Of shares the largest is best, of errors the smallest.
        best = (max if metric in ("f1", "exact") else min)(open_fits, key=open_fits.get, default=None)
        by_units = {row.units: f"{number(row.ours)}, {gap_text(row)} {row.verdict}" for row in pair.itertuples()}
        rival = pair.iloc[0]
        cells = [by_units.get(units, "") for units in UNITS]
        lines.append((
            name, f"{epsilon:g}", METRIC_WORDS[metric], f"{rival['rival']} {number(rival['theirs'])}", *cells,
            f"{best} {number(open_fits[best])}" if best else "",
        ))  # fmt: skip
    head = ("design", "epsilon", "by", "best rival", "ours, units known", "ours, nothing known", "not private")
    return table(head, lines)


def pure_table(rows):
    """Settings under pure differential privacy: every peer that keeps it."""
    lines = [
        (design.name, f"{setting.epsilon:g}", peer, number(setting.typical(peer)))
        for design, setting in pure_settings(rows)
        for peer in setting.ranks(PRIVATE)
    ]
    return table(("design", "epsilon", "peer", "F1"), lines) if lines else NOT_YET


def ranks_table(rows):
    """Mean ranks among private peers by group; in brackets the settings in which a peer was ranked."""
    groups = {}
    for design, setting in all_settings(rows):
        if setting.delta > 0 and setting.metric == judged(design)[0]:
            groups.setdefault(design.setting, []).append(setting)
    ranks = {name: mean_ranks(settings, PRIVATE) for name, settings in groups.items()}
    overall = mean_ranks([setting for settings in groups.values() for setting in settings], PRIVATE)
    lines = []
    for peer in overall.index[overall["settings"] > 0]:
        cells = [
            f"{ranks[g].loc[peer, 'rank']:.1f} ({ranks[g].loc[peer, 'settings']})" if ranks[g].loc[peer, "settings"]
            else "" for g in ranks
        ]  # fmt: skip
        lines.append((peer, f"{overall.loc[peer, 'rank']:.1f} ({overall.loc[peer, 'settings']})", *cells))
    return table(("peer", "all", *ranks), lines)


def astray_table(rows):
    """The share of fits on real tables that are worse than a constant by more than a tenth, by peer and epsilon."""
    part = rows[rows["design"].isin([design.name for design in REAL]) & rows["peer"].isin(PRIVATE)]
    if part.empty:
        return NOT_YET
    bad = part.assign(bad=(part["squared"] > 1.1) | (part["failed"] != ""))
    shares = bad.pivot_table(index="peer", columns="epsilon", values="bad", aggfunc="mean")
    shares = shares.loc[shares.mean(axis=1).sort_values().index]
    lines = [(peer, *("" if pd.isna(v) else f"{v:.0%}" for v in values)) for peer, *values in shares.itertuples()]
    return table(("peer", *(f"epsilon {epsilon:g}" for epsilon in shares.columns)), lines)


def peers_table(rows):
    """What every peer is, what it was given, how its adapter was checked, and the time of a fit."""
    seconds, failed = rows.groupby("peer")["seconds"].median(), rows[rows["failed"] != ""].groupby("peer").size()
    lines = []
    for name, peer in PEERS.items():
        kind = f"{'pure epsilon' if peer.pure else '(epsilon, delta)'}, {peer.adjacency}" if peer.private else "none"
        limit = f"at most {peer.most_features:,} features" if peer.most_features else ""
        count = int(failed.get(name, 0))
        lines.append((
            name, kind, NEEDS_WORDS.get(peer.needs, peer.needs), limit, number(seconds.get(name)), count or "",
            peer.reproduced, peer.paper,
        ))  # fmt: skip
    head = ("peer", "guarantee", "given to it", "limit", "seconds", "fits failed", "checked", "source")
    return table(head, lines)


def duel_table(path=DUEL):
    """Coverage and width of intervals, from `coverage_duel.py`: a row a population and epsilon, a column a method."""
    if not path.exists():
        return NOT_YET
    rows = pd.DataFrame(json.loads(path.read_text()))
    methods, lines = list(dict.fromkeys(rows["method"])), []
    for (population, epsilon), part in rows.groupby(["population", "epsilon"], sort=False):
        by_method = {row.method: row for row in part.itertuples()}
        lines.append((population, f"{epsilon:g}", *(_interval_cell(by_method[method]) for method in methods)))
    return table(("records", "epsilon", *methods), lines)


def _interval_cell(row):
    """Coverage in percent and width over least squares'; the share that has an interval where some have none."""
    if not row.given:
        return "none given"
    width = f"{row.width:.3g}" if row.width < 1000 else "over 1000"
    share = f" (of {row.given:.0%})" if row.given < 1 else ""
    return f"{row.covered:.0%}, {width}{share}"


def tables_table():
    """The real tables and why they were chosen."""
    lines = [(t.name, t.source.partition("/")[0].replace("files", "peers' files"), f"{t.shape[0]:,} x {t.shape[1]}",
              t.target or "the last column", t.why) for t in CHOSEN]  # fmt: skip
    return table(("table", "from", "records x features", "response", "why"), lines)


def measured_text(rows, path):
    """What was measured with what."""
    fits, hours = len(rows), rows["seconds"].sum() / 3600
    versions = ", ".join(f"{name} {version}" for name, version in results.about(path).items())
    codes = rows[rows["peer"].isin(OURS.values())].groupby("peer")["version"].nunique().max()
    stale = "" if codes <= 1 else f" Our own fits are of {codes} states of the code."
    repeats = rows.groupby("design")["repeat"].nunique()
    spans = []
    for setting in SETTINGS:
        counts = [repeats[name] for name, design in DESIGNS.items() if design.setting == setting and name in repeats]
        span = "not measured yet" if not counts else f"{len(counts)} designs, {min(counts)} to {max(counts)} repeats"
        spans.append(f"{setting}: {span}")
    return f"{fits:,} fits, {hours:.1f} hours of one core ({'; '.join(spans)}); {versions}.{stale}"


def fill(text, name, content):
    r"""The text with what is between two markers replaced.

    Examples
    --------
    >>> from peers.report import fill
    >>> fill("a <!-- peers:x -->old<!-- /peers:x --> b", "x", "new")
    'a <!-- peers:x -->\n\nnew\n\n<!-- /peers:x --> b'
    """
    start, end = f"<!-- peers:{name} -->", f"<!-- /peers:{name} -->"
    pattern = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"the page has no markers peers:{name}")
    return pattern.sub(lambda _: f"{start}\n\n{content}\n\n{end}", text)


def results_of(path):
    """The rows of peers and designs that there are."""
    rows = results.read(path)
    return rows[rows["peer"].isin(PEERS) & rows["design"].isin(DESIGNS)]


def filled(text, path):
    """The page with all its markers filled from a file of results."""
    rows = results_of(path)
    frame = verdicts(rows)
    parts = {
        "measured": measured_text(rows, path),
        "losses": losses_table(frame),
        "tally": tally_table(frame),
        "pure": pure_table(rows),
        "ranks": ranks_table(rows),
        "astray": astray_table(rows),
        "peers": peers_table(rows),
        "tables": tables_table(),
        "duel": duel_table(),
        **{f"settings-{k}": settings_table(frame, rows, setting) for k, setting in enumerate(SETTINGS)},
    }
    for name, content in parts.items():
        text = fill(text, name, content)
    return text


def write_page(path, docs):
    """Fill the page's markers and draw its pictures."""
    page = docs / "comparison.md"
    page.write_text(filled(page.read_text(), path))
    rows = results_of(path)
    frame = verdicts(rows)
    draw_all(rows, frame, docs / "img")
    print(
        f"{page.name}: {len(frame)} verdicts:",
        ", ".join(f"{n} {v}" for v, n in frame["verdict"].value_counts().items()),
    )

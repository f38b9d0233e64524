"""Verdicts of all settings, as frames that the report's tables and pictures are made of."""

import numpy as np
import pandas as pd

from peers.adapters import PEERS
from peers.ranking import settings_of, typical, verdict_of
from peers.settings import DESIGNS

KNOWN, UNKNOWN = "ours", "ours, nothing known"
OURS = {"units known": KNOWN, "nothing known": UNKNOWN}
BLANKED = {"units known": "ours, record blanked", "nothing known": "ours, nothing known, record blanked"}
# Its sensitivity is wrong, and 0 for some bounds: it is measured, and not ranked.
NOT_RANKED = ("diffprivlib",)
RIVALS = tuple(
    name for name, peer in PEERS.items() if peer.private and not name.startswith("ours") and name not in NOT_RANKED
)
PRIVATE = (*OURS.values(), *RIVALS)


def judged(design):
    """The metrics by which a design is judged: both errors of real tables, otherwise the first of its metrics."""
    return design.metrics if "squared" in design.metrics else design.metrics[:1]


def all_settings(rows):
    """(design, `Setting`) of every design that has rows, for each metric by which it is judged."""
    there = set(rows["design"])
    for design in DESIGNS.values():
        if design.name in there:
            for metric in judged(design):
                for setting in settings_of(rows, design, metric):
                    yield design, setting


def verdicts(rows):
    """One row for each setting, metric and kind of units: the best rival, both typical errors, gap and verdict.

    Pure settings (delta 0) are not here: the package's own method is not purely private (`pure_settings`).
    """
    found = []
    for design, setting in all_settings(rows):
        if setting.delta == 0:
            continue
        for units, ours in OURS.items():
            judgement = verdict_of(setting, ours, RIVALS)
            if judgement is None:
                continue
            rival, gap, verdict = judgement
            blanked = BLANKED[units]
            like = setting.gap(blanked, rival) if blanked in setting.values else None
            found.append({
                "setting": design.setting, "design": design.name, "n": design.n, "d": design.d,
                "epsilon": setting.epsilon, "delta": setting.delta, "metric": setting.metric, "units": units,
                "rival": rival, "theirs": setting.typical(rival),
                "ours": setting.typical(ours) if gap else np.nan,
                "gap": gap.value if gap else np.nan, "low": gap.low if gap else np.nan,
                "high": gap.high if gap else np.nan, "verdict": verdict,
                "like_for_like": like.verdict if like and PEERS[rival].adjacency != "replace-one" else "",
                "repeats": len(setting.values[rival]),
                "useful": setting.metric not in ("squared", "absolute")
                or any(setting.beats_constant(peer) for peer in (rival, ours) if peer in setting.values),
            })  # fmt: skip
    return pd.DataFrame(found)


def pure_settings(rows):
    """Settings at delta 0, where only purely private peers run."""
    return [(design, setting) for design, setting in all_settings(rows) if setting.delta == 0]


def references(rows, design, metric):
    """Typical values of the fits that are not private, by peer, over the repeats they have."""
    part = rows[(rows["design"] == design.name) & rows["epsilon"].isna() & (rows["failed"] == "")]
    return {peer: typical(metric, values) for peer, values in part.groupby("peer")[metric] if np.isfinite(values).all()}

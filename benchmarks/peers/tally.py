"""Verdicts of all settings, as frames that the report's tables and pictures are made of."""

import numpy as np
import pandas as pd

from peers.adapters import PEERS
from peers.ranking import settings_of, typical, verdict_of
from peers.settings import DESIGNS

UNITS = ("units known", "nothing known")
MEAN, TYPICAL = "mean", "typical"
# Our entries by estimand and units, and those beside rivals that protect against adding or removing a record.
OURS = {
    (MEAN, "units known"): "ours, mean",
    (MEAN, "nothing known"): "ours, mean, nothing known",
    (TYPICAL, "units known"): "ours",
    (TYPICAL, "nothing known"): "ours, nothing known",
}
BLANKED = {key: f"{name}, record blanked" for key, name in OURS.items()}
# Its sensitivity is wrong, and 0 for some bounds: it is measured, and not ranked.
NOT_RANKED = ("diffprivlib",)
RIVALS = tuple(
    name for name, peer in PEERS.items() if peer.private and not name.startswith("ours") and name not in NOT_RANKED
)
PRIVATE = (*OURS.values(), *RIVALS)


def estimand_for(metric):
    """The estimand whose entry a metric judges: squared error that of the mean, every other that of the typical.

    Squared error is smallest at the mean and absolute error at the median. The noise of simulated designs is symmetric,
    so that both are the truth there, and "typical" is what rivals on heavy tails estimate.
    """
    return MEAN if metric == "squared" else TYPICAL


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
    measured = set(zip(rows["design"], rows["peer"], strict=True))
    for design, setting in all_settings(rows):
        if setting.delta == 0:
            continue
        estimand = estimand_for(setting.metric)
        for units in UNITS:
            ours = OURS[estimand, units]
            if (design.name, ours) not in measured:
                continue
            judgement = verdict_of(setting, ours, RIVALS)
            if judgement is None:
                continue
            rival, gap, verdict = judgement
            blanked = BLANKED[estimand, units]
            like = setting.gap(blanked, rival) if blanked in setting.values else None
            found.append({
                "setting": design.setting, "design": design.name, "n": design.n, "d": design.d,
                "epsilon": setting.epsilon, "delta": setting.delta, "metric": setting.metric, "units": units,
                "estimand": estimand,
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

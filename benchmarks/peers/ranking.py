"""Who is first: paired intervals over repeats, the rule of ties, ranks.

A setting is one design at one (epsilon, delta). Peers are compared on the same repeats. Errors are compared by ratios
of geometric means, so that one repeat on which a fit went far astray cannot decide alone, and F1 and exact support by
differences of what is missing to 1. The interval is Student's, of the repeats' log ratios or differences. Where it
contains 1 or 0, two peers tie if it is narrow; a wide one decides nothing, and the setting is not counted. A peer that
failed on a repeat is not ranked in that setting.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

LEVEL = 0.95
_SHARES = ("f1", "exact")  # 1 is perfect
FIRST, TIED, LOST, FAILED, UNDECIDED = "first", "tied", "lost", "failed", "undecided"
# The widest interval of a tie: high over low of a ratio of errors, high less low of a difference of shares. Both allow
# about a fifth to either side.
MOST_RATIO, MOST_DIFFERENCE = 1.5, 0.4
# An error that is 0 has no logarithm; no error measured here can be told from 0 below this.
_LEAST = 1e-12


def losses(metric, values):
    """Values of a metric as numbers of which small ones are good, on the scale on which they are averaged."""
    values = np.asarray(values, dtype=float)
    return 1 - values if metric in _SHARES else np.log(np.maximum(values, _LEAST))


def typical(metric, values):
    """The mean of shares, the geometric mean of errors.

    Examples
    --------
    >>> from peers.ranking import typical
    >>> round(typical("squared", [0.5, 2.0]), 9), typical("f1", [0.5, 1.0])
    (1.0, 0.75)
    """
    mean = losses(metric, values).mean()
    return float(1 - mean if metric in _SHARES else np.exp(mean))


@dataclass(frozen=True)
class Gap:
    """How far one peer is from another: a ratio of errors, or a difference of shares missed; below `even` is better."""

    value: float
    low: float
    high: float
    even: float

    @property
    def verdict(self):
        """Whether it is better than the other, worse, as good, or whether the interval is too wide to say."""
        if self.high < self.even:
            return FIRST
        if self.low > self.even:
            return LOST
        shares = self.even == 0
        narrow = self.high - self.low < MOST_DIFFERENCE if shares else self.high < MOST_RATIO * self.low
        return TIED if narrow else UNDECIDED


def gap(metric, one, other):
    """The gap of `one` to `other`, paired by repeats.

    Examples
    --------
    >>> from peers.ranking import gap
    >>> gap("squared", [0.5, 0.4, 0.6], [1.0, 0.8, 1.2]).verdict, gap("squared", [0.5, 2.0], [1.0, 1.0]).verdict
    ('first', 'undecided')
    >>> gap("squared", [1.0, 1.1, 0.9, 1.0], [1.0, 1.0, 1.0, 1.0]).verdict
    'tied'
    """
    differences = losses(metric, one) - losses(metric, other)
    mean, count = differences.mean(), len(differences)
    # Repeats that all agree up to rounding have no spread.
    half = np.inf
    if count > 1:
        half = stats.t.ppf((1 + LEVEL) / 2, count - 1) * differences.std(ddof=1) / np.sqrt(count)
        half = 0.0 if half < 1e-12 else half
    ends = np.array([mean, mean - half, mean + half])
    if metric in _SHARES:
        return Gap(*(float(end) for end in ends.round(12)), 0.0)
    with np.errstate(over="ignore"):
        return Gap(*(float(end) for end in np.exp(ends).round(12)), 1.0)


@dataclass(frozen=True)
class Setting:
    """One design at one (epsilon, delta), by one metric: the values of each peer, one a repeat."""

    design: str
    epsilon: float
    delta: float
    metric: str
    values: dict

    def typical(self, peer):
        """The typical value of a peer."""
        return typical(self.metric, self.values[peer])

    def best(self, peers):
        """The best of some peers; None where none of them was measured."""
        there = [peer for peer in peers if peer in self.values]
        return min(there, key=lambda peer: losses(self.metric, self.values[peer]).mean(), default=None)

    def gap(self, one, other):
        """The gap of one peer to another."""
        return gap(self.metric, self.values[one], self.values[other])

    def ranks(self, peers):
        """Ranks of some peers, from 1 for the best; equal values share their mean rank."""
        there = [peer for peer in peers if peer in self.values]
        order = stats.rankdata([losses(self.metric, self.values[peer]).mean().round(12) for peer in there])
        return dict(zip(there, map(float, order), strict=True))

    def beats_constant(self, peer):
        """Whether a peer's error is below the constant's by its interval."""
        ones = np.ones(len(self.values[peer]))
        return gap(self.metric, self.values[peer], ones).verdict == FIRST


def settings_of(rows, design, metric):
    """The settings of a design, one a budget, from the rows of private fits.

    Repeats that an unfinished run left with fewer peers than others do not count. A peer counts where it failed on none
    of the rest.
    """
    rows = rows[(rows["design"] == design.name) & rows["epsilon"].notna()]
    for (epsilon, delta), part in rows.groupby(["epsilon", "delta"]):
        peers = part.groupby("repeat")["peer"].transform("size")
        part = part[peers == peers.max()]
        part = part.assign(value=part[metric].where(part["failed"] == ""))
        table = part.pivot(index="repeat", columns="peer", values="value")
        table = table.loc[:, np.isfinite(table).all()]
        values = {peer: table[peer].to_numpy() for peer in table}
        yield Setting(design.name, float(epsilon), float(delta), metric, values)


def verdict_of(setting, ours, rivals):
    """The best rival, our gap to it and the verdict; None without rivals. Where ours failed there is no gap."""
    rival = setting.best(rivals)
    if rival is None:
        return None
    if ours not in setting.values:
        return rival, None, FAILED
    found = setting.gap(ours, rival)
    return rival, found, found.verdict


def mean_ranks(settings, peers):
    """Mean ranks over settings and in how many of them each peer was ranked, as a frame."""
    ranks = pd.DataFrame([setting.ranks(peers) for setting in settings], columns=list(peers))
    return pd.DataFrame({"rank": ranks.mean(), "settings": ranks.notna().sum()}).sort_values("rank")

"""Which fits a run makes, in which order, and about how long they take."""

import fnmatch
from dataclasses import dataclass

import numpy as np

from peers.results import NOT_PRIVATE

# Seconds of a fit of a peer that has never been timed: a fixed part, and one for each cell of the table.
UNTIMED = (0.05, 2e-7)

LARGE = 3e6  # cells of a table, from which references are slow
_MAY_PASS = ("ImportError", "ModuleNotFoundError", "FileNotFoundError")


@dataclass(frozen=True)
class Fit:
    """One fit of a cell."""

    peer: str
    epsilon: float
    delta: float

    @property
    def key(self):
        """What tells it from the other fits of its cell; NaN is equal to nothing, so it is spelled out."""
        return self.peer, *(None if np.isnan(value) else float(value) for value in (self.epsilon, self.delta))


@dataclass(frozen=True)
class Cell:
    """All peers on one repeat of a design, and their fits that are still to be made."""

    design: object
    repeat: int
    fits: tuple[Fit, ...]
    seconds: float


def matches(design, patterns):
    """Whether a design is asked for, by its name or the name of its setting; every design is, without patterns."""
    return not patterns or any(
        fnmatch.fnmatch(text.lower(), pattern.lower()) for pattern in patterns for text in (design.name, design.setting)
    )


def refusal(peer, design, delta):
    """Why a peer does not run on a design at this delta; empty where it does."""
    if peer.missing:
        return peer.missing
    if peer.most_features is not None and design.d > peer.most_features:
        return f"not above {peer.most_features:,} features"
    if peer.of_mean and "squared" not in design.metrics:
        return "judged by squared error, which is not measured there"
    if peer.private and delta == 0 and not peer.pure:
        return "not at delta 0: it is not purely private"
    return ""


def fits_of(design, repeat, peers, refused=None):
    """The fits of a cell; refusals are added to `refused`, a dict.

    References without privacy run on the first repeat alone where they are slow or the design is large.
    """
    for peer in peers.values():
        for epsilon, delta in design.budgets if peer.private else (NOT_PRIVATE,):
            reason = refusal(peer, design, delta)
            if reason:
                if refused is not None:
                    refused.setdefault((peer.name, reason), set()).add(design.name)
            elif repeat == 0 or peer.private or not (peer.heavy or design.n * design.d > LARGE):
                yield Fit(peer.name, epsilon, delta)


def done_fits(rows, versions):
    """The keys of fits that need not be made again, by design and repeat.

    A fit of another version of its peer is made again, unless `versions` is None. So is one that failed for want of a
    library or a file: it may be there by now.
    """
    done = {}
    for row in rows.itertuples():
        fresh = versions is None or versions.get(row.peer) == row.version
        if fresh and not row.failed.startswith(_MAY_PASS):
            done.setdefault((row.design, row.repeat), set()).add(Fit(row.peer, row.epsilon, row.delta).key)
    return done


class Timing:
    """Expected seconds of a fit, from earlier ones: on the same design, or on the design of the nearest size."""

    def __init__(self, rows, designs):
        self.known = {}
        timed = rows[rows["seconds"].notna()]
        for (peer, design), seconds in timed.groupby(["peer", "design"])["seconds"].median().items():
            if design in designs:
                cells = designs[design].n * designs[design].d
                self.known.setdefault(peer, {})[design] = cells, float(seconds)

    def seconds(self, peer, design):
        """Seconds on one core."""
        cells, known = design.n * design.d, self.known.get(peer, {})
        if design.name in known:
            return known[design.name][1]
        if not known:
            return UNTIMED[0] + UNTIMED[1] * cells
        near, seconds = min(known.values(), key=lambda pair: abs(np.log(pair[0] / cells)))
        return seconds * cells / near


def cells_of(designs, size, peers, done, timing, refused):
    """Cells with fits to make: the first repeats of all designs first, and of those the longest first."""
    cells = []
    for design in designs:
        for repeat in range(design.count(size)):
            there = done.get((design.name, repeat), set())
            fits = tuple(fit for fit in fits_of(design, repeat, peers, refused) if fit.key not in there)
            if fits:
                seconds = sum(timing.seconds(fit.peer, design) for fit in fits)
                cells.append(Cell(design, repeat, fits, seconds))
    return sorted(cells, key=lambda cell: (cell.repeat, -cell.seconds))

"""The mean residual, of all records: one number, on which the level of predictions rests.

Residuals of costs hardly go below 0 and far above it. So they are counted with their signs, and clipped apart on either
side: noise grows with how far both clips are from each other.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpsparse.algorithms.pursuit import pursuit_constants as c
from dpsparse.algorithms.pursuit.releases import Planned, mean_noise
from dpsparse.algorithms.pursuit.steps.scored import Scores
from dpsparse.engine import scores
from dpsparse.inference.ranges import Range, Sides
from dpsparse.privacy import sensitivity


@dataclass(frozen=True)
class MeanResidual:
    """Two releases: a histogram of residuals, and their mean.

    A mean is one number, so that its clip can be further out than that of all scores together, and its rise can make up
    for what is beyond.
    """

    sizes: Planned
    mean: Planned

    def release(self, at: Scores, unit: float, rows: float) -> tuple[float, Range]:
        """The mean residual, and the range in which residuals are clipped; `rows` is the mean number of a person's."""
        terms = at.terms("score", np.eye(1))
        clip = self._range(at, terms, unit)
        width = float(sensitivity.half_width(clip.below.most, clip.above.most, at.releases.adjacency))
        sides = [(side.bound, side.start, side.rise) for side in (clip.below, clip.above)]
        sums = at.data.records.evaluate(scores.ranged_sums, terms, *sides, width)
        (total,), _ = at.releases.mean(at.releases.due(self.mean), sums, width)
        # A person's score is the sum of their residuals over this root.
        return float(total) / math.sqrt(rows), clip

    def _range(self, at: Scores, terms: scores.Terms, unit: float) -> Range:
        edges = unit * c.OCTAVES
        rising = np.append(edges[1:-1], np.inf)
        below = np.append(-rising[-2::-1], np.nextafter(0.0, -1.0))
        counts = at.data.records.evaluate(scores.score_counts, terms, np.append(below, rising))
        counted, noise = at.releases.histogram(at.releases.due(self.sizes), np.diff(counts, prepend=0))
        sides = Sides.of(edges, counted, noise, at.releases.n_responses, at.tails.index)
        width = partial(sensitivity.half_width, adjacency=at.releases.adjacency)
        return sides.best_range(width, mean_noise(at.releases, self.mean), c.LEVEL_BIAS)

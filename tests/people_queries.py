"""Queries of people who have several rows, with their public numbers, for the engines' tests."""

from dataclasses import replace

import numpy as np

from dpsparse.engine import queries, scores
from dpsparse.engine.quantize import Quantizer
from dpsparse.engine.vector_sums import GRAM_LEVELS, VECTOR_LEVELS

QUANTIZERS = (Quantizer(1.5), Quantizer(1e-9, 0.2))
TERMS = {
    factor: scores.Terms(factor, np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.5], [0.3, 0.0, 1.0]]), [0, 1, 2], 0.1,
                         np.array([0.2, 0.5, -0.3]), tau=1.2)
    for factor in ("score", "slope", "row")
}  # fmt: skip
ONE = scores.Terms("score", np.eye(1), (0,), 0.1, np.array([0.2, 0.5, -0.3]))
MODEL = (0.1, np.array([0.2, 0.5, -0.3]))
WEIGHTED = replace(TERMS["score"], long_rows=scores.LongRows(TERMS["row"].matrix, 0.9))
# Fewer entries than columns, as of features about their means.
FEWER = replace(TERMS["score"], matrix=np.array([[-0.4, 1.0, 0.5], [0.3, 0.0, 1.0]]))
# Each query with its public numbers, and the largest l2 norm of a person's term in levels (None for counts).
QUERIES = [
    (queries.residual_counts, (*MODEL, np.array([-1.0, 0.0, 2.0])), None),
    (queries.column_counts, (1, np.array([-1.0, 0.0, 2.0])), None),
    (queries.product_sums, ([1, 2], 2.0), VECTOR_LEVELS),
    (queries.mean_sums, (1, 0.1, 2.0, 3.0), VECTOR_LEVELS),
    (queries.gain_sums, (*MODEL, 2.0, 0.5), VECTOR_LEVELS),
    (queries.calibration_sums, (*MODEL, 0.1, 2.0, 3.0), VECTOR_LEVELS),
    (queries.median_line_sums, (*MODEL, 0.1, 2.0, 0.9), VECTOR_LEVELS),
    (queries.mean_residual_sums, (*MODEL, 1.0), VECTOR_LEVELS),
    (queries.gradient_sums, (*MODEL, 1.0, [0, 1, 2], 1.0, 2.0), VECTOR_LEVELS),
    (queries.gram_sums, ([0, 1, 2], 1.0, 2.0), GRAM_LEVELS**2),
    (queries.jacobian_sums, (*MODEL, 1.0, [0, 1, 2], 1.0, 2.0), GRAM_LEVELS**2),
    (queries.variance_sums, (*MODEL, 1.0, [0, 1, 2], 1.0, 2.0), GRAM_LEVELS**2),
    (scores.norm_counts, (TERMS["score"], np.array([0.5, 1.0, 4.0, np.inf])), None),
    (scores.norm_counts, (TERMS["slope"], np.array([0.5, 1.0, 4.0, np.inf])), None),
    (scores.norm_counts, (TERMS["row"], np.array([0.5, 1.0, 4.0, np.inf])), None),
    (scores.norm_counts, (WEIGHTED, np.array([0.5, 1.0, 4.0, np.inf])), None),
    (scores.clipped_sums, (TERMS["score"], 1.5, 0.7, 0.4), VECTOR_LEVELS),
    (scores.clipped_sums, (WEIGHTED, 1.5, 0.7, 0.4), VECTOR_LEVELS),
    (scores.norm_counts, (FEWER, np.array([0.5, 1.0, 4.0, np.inf])), None),
    (scores.clipped_sums, (FEWER, 1.5, 0.7, 0.4), VECTOR_LEVELS),
    (scores.clipped_sums, (replace(FEWER, long_rows=WEIGHTED.long_rows), 1.5, 0.7, 0.4), VECTOR_LEVELS),
    (scores.second_moment_sums, (FEWER, 1.5), GRAM_LEVELS**2),
    (scores.score_counts, (ONE, np.array([-1.0, 0.0, 2.0, np.inf])), None),
    (scores.ranged_sums, (ONE, (0.3, np.inf, 0.0), (1.5, 0.7, 0.4), 1.9), VECTOR_LEVELS),
    (scores.second_moment_sums, (WEIGHTED, 1.5), GRAM_LEVELS**2),
    (scores.second_moment_sums, (TERMS["score"], 1.5), GRAM_LEVELS**2),
    (scores.second_moment_sums, (TERMS["slope"], 1.5), GRAM_LEVELS**2),
]


def flat(result):
    """The numbers of what a query gives."""
    return np.concatenate([np.ravel(each) for each in (result if isinstance(result, tuple) else (result,))])

"""Effects from several mean scores, each at effects of its own."""

import numpy as np
import pytest
from scipy.special import expit

from dpsparse.algorithms.pursuit.log_odds import slope_at
from dpsparse.algorithms.pursuit.steps.all_columns import half_white
from dpsparse.inference.scores_together import MeanScore, together

EFFECTS = np.array([0.5, 2.0, -1.0])


def mean_scores(origins, noise=1e-3):
    """Mean scores of logistic responses to normal features, as they are in a large table."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.ones(40_000), rng.standard_normal((40_000, 2))])
    slope = slope_at(0.0, np.eye(3), 1)
    chances = expit(rows @ EFFECTS)
    return [
        MeanScore(o, slope(o, 1.0) * np.eye(3), rows.T @ (chances - expit(rows @ o)) / len(rows), noise, 1.0)
        for o in origins
    ]


def found(origins, prior=0.0, noise=1e-3, sampling=1e9):
    scores, slope = mean_scores(origins, noise), slope_at(0.0, np.eye(3), 1)
    return together(scores, origins[-1], prior * np.eye(3), sampling * np.eye(3), np.eye(3), slope)


def test_a_score_far_away_counts_by_the_slopes_where_it_leads():
    alone = found([np.zeros(3)]).effects
    straight = mean_scores([np.zeros(3)])[0].mean / 0.25
    assert np.linalg.norm(alone - EFFECTS) < np.linalg.norm(straight - EFFECTS) / 2


def test_scores_near_the_effects_decide():
    both = found([np.zeros(3), EFFECTS + 0.05]).effects
    assert np.allclose(both, EFFECTS, atol=0.03)


def test_evidence_is_no_more_than_sampling_allows_and_a_prior_pulls_toward_0():
    limited = found([EFFECTS], noise=1e-6, sampling=50.0)
    assert np.allclose(limited.precision, 50 * np.eye(3), rtol=1e-3)
    pulled = found([EFFECTS], prior=1.0, noise=1e-6, sampling=50.0).effects
    assert np.all(np.abs(pulled) < np.abs(EFFECTS))


def test_rows_become_half_white():
    moments = np.array([[4.0, 1.2], [1.2, 1.0]])
    after = half_white(moments) @ moments @ half_white(moments).T
    assert np.linalg.eigvalsh(after) == pytest.approx(np.sqrt([0.4, 1.6]))

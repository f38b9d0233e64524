"""A significant effect that is a ratio, in words."""

import math
from typing import TYPE_CHECKING

from dpsparse.inference.intervals import SHOWN_PERCENT
from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect, p_words
from dpsparse.model.ratios import ratio_text, ratio_words

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

# An increase of one unit that moves odds or a mean by less than a percent says little: a larger one is told then.
_SMALL = 0.01
_PLAIN_STEP = "a one-unit increase"


def ratio_sentence(model: "LinearModel", effect: Effect, feature: Feature, step: str, of: str | None = None) -> str:
    """A significant effect on odds, or on a mean.

    The effect has an interval. `step` is what a one-unit increase of its feature is, in words; where it hardly moves
    odds or a mean, the sentence is about an increase as large as the power of ten below the feature's scale. `of` is
    what is multiplied, where the model has no words of its own for it.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseClassifier
    >>> X = np.random.default_rng(0).standard_normal((500, 1))
    >>> model = PrivateSparseClassifier(sparsity=1, feature_center=0, feature_scale=1).fit(X, X[:, 0] > 0).released_
    >>> effect = Effect("income", -3e-05, -3e-05, 1e-06, clear=True, center=40_000.0, scale=25_000.0)
    >>> text = ratio_sentence(model, effect, Feature("income"), "a one-unit increase")
    >>> print(text.partition(" (between")[0])
    income: an increase of 10,000 is associated with 0.7408 times the odds that y is 1
    """
    assert effect.estimate is not None
    assert effect.interval is not None
    words = ratio_words(model)
    assert words is not None
    size = _size(effect, feature) if step == _PLAIN_STEP else 1.0
    low, high = (ratio_text(size * end) for end in effect.interval)
    return (
        f"{effect.feature}: {step if size == 1 else f'an increase of {size:,.0f}'} is associated with "
        f"{ratio_text(size * effect.estimate)} times {of or words.of} (between {low} and {high} times, with "
        f"{SHOWN_PERCENT} confidence; {p_words(effect.p_value)})."
    )


def _size(effect: Effect, feature: Feature) -> float:
    """The step that is told of a number."""
    scale = effect.scale or feature.scale or 1.0
    if abs(effect.value) >= _SMALL or not 10 <= scale < math.inf:
        return 1.0
    return 10.0 ** math.floor(math.log10(scale))

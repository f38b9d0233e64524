"""Effects of a fitted private estimator, for tables, reports and notebooks: releases only."""

import math
from dataclasses import dataclass, replace

import numpy as np

from dpsparse.html import number, table, tag

_REACH = 1.6448536269514722  # of a 90 % interval, in standard errors


@dataclass(frozen=True)
class Effect:
    """One feature that was picked.

    Parameters
    ----------
    feature : str
        Its name.
    coef : float
        The effect used for predictions, shrunk by its own error.
    estimate, standard_error : float or None
        The unshrunk effect and its error; None where the method gives none.
    clear : bool
        Whether it stands clear of the noise.
    centred : bool
        False where the feature's public centre is off by more than its spread.
    """

    feature: str
    coef: float
    estimate: float | None = None
    standard_error: float | None = None
    clear: bool = False
    centred: bool = True

    @property
    def interval(self):
        """The 90 % interval, or None."""
        if self.standard_error is None:
            return None
        return self.estimate - _REACH * self.standard_error, self.estimate + _REACH * self.standard_error

    @property
    def verdict(self):
        """Whether it stands clear, in a word or two; a dash where the method cannot tell."""
        if self.interval is None:
            return "-"
        return "yes" if self.clear else "no" if self.centred else "no, centre off"

    def per(self, scale):
        """The effect for a step that is smaller by a scale."""
        numbers = {name: getattr(self, name) for name in ("coef", "estimate", "standard_error")}
        return replace(self, **{name: value and value / scale for name, value in numbers.items()})

    def row(self):
        """Name, effect, interval and verdict, as text."""
        return self.feature, number(self.coef), interval_text(self.interval), self.verdict


def interval_text(interval):
    """An interval as text; a dash for none."""
    return "-" if interval is None else "[{}, {}]".format(*map(number, interval))


def finite_or_none(value):
    """A float, or None where it is not finite."""
    return float(value) if math.isfinite(value) else None


def effects_of(estimator, names):
    """The effects of a fitted private estimator, in order of picking, by the names of its features."""
    unknown = np.full(len(names), np.nan)
    estimates = getattr(estimator, "_effects", unknown[: len(estimator.support_)])
    errors = getattr(estimator, "coef_se_", unknown)
    clear, off_centre = getattr(estimator, "clear_", unknown == 0), getattr(estimator, "_off_centre", ())
    return tuple(
        Effect(
            feature=names[j],
            coef=float(estimator.coef_[j]),
            estimate=finite_or_none(estimate),
            standard_error=finite_or_none(errors[j]),
            clear=bool(clear[j]),
            centred=j not in off_centre,
        )
        for j, estimate in zip(estimator.support_.tolist(), estimates, strict=True)
    )


def effects_table(effects, intercept):
    """The effects as an HTML table."""
    rows = [*(effect.row() for effect in effects), ("(intercept)", number(intercept), "", "")]
    headings = ["feature", "effect", "90 % interval", "clear"]
    return table("Effects, for a step of 1 of each feature", headings, rows, numbers=(1, 2, 3))


def notebook_html(estimator):
    """What a fitted private estimator shows in a notebook: its effects, the promise, the releases by kind."""
    names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
    effects = effects_of(estimator, [str(name) for name in names])
    heading = tag("p", tag("strong", type(estimator).__name__))
    return tag("div", [heading, effects_table(effects, estimator.intercept_), estimator.privacy_.as_html()])

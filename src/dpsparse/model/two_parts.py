"""The two parts of a model of a response that is mostly 0 and otherwise positive, what they say together, their file.

Every entry of the file is checked when it is read.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from dpsparse.algorithms.overall_level import Level, Line, Parts
from dpsparse.inference.significance import critical_value
from dpsparse.model.effect import Effect
from dpsparse.schema import Fields, FileError

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


# By how many scales of a feature records with p near 1/2 typically differ from others, where p depends on it. Set by
# `two_part.py`.
TILT = 0.5


@dataclass(frozen=True)
class TwoParts:
    """Whether a response is above 0, how much it is where it is, and the level of both together.

    Parameters
    ----------
    whether : LinearModel
        A logistic model of whether the response is above 0.
    how_much : LinearModel
        A linear model of the mean response among those above 0, with the offset of the level.
    level : Level
        What was released of the overall mean.
    """

    whether: "LinearModel"
    how_much: "LinearModel"
    level: Level

    def predicted(self, predict: Callable[["LinearModel"], Any]) -> Any:
        """Predictions of the overall mean, from those of the two lines."""
        return self.combined(*(predict(part.for_statistic()) for part in (self.whether, self.how_much)))

    def combined(self, odds: Any, amounts: Any) -> Any:
        """Predictions of the overall mean, from log odds and from amounts."""
        return expit(odds) * np.clip(amounts, 0.0, None)

    def at_zero(self) -> float:
        """The prediction where all features are 0."""
        return float(self.predicted(lambda line: np.float64(line.intercept)))

    def changed(self, change: Callable[["LinearModel"], "LinearModel"]) -> "TwoParts":
        """The same with both models changed in the same way."""
        return replace(self, whether=change(self.whether), how_much=change(self.how_much))

    def effects(self) -> tuple[Effect, ...]:
        """Average marginal effects on the overall mean, of the features that either part selected."""
        return tuple(self._effects())

    def left_out(self) -> dict[str, str]:
        """The selected features that have no effect in either part, and why; what one leaves out the other may have."""
        effects = {each.feature for part in (self.whether, self.how_much) for each in part.effects}
        whys = {**self.whether.left_out, **self.how_much.left_out}
        return {name: why for name, why in whys.items() if name not in effects}

    @property
    def noise_floor(self) -> float | None:
        """The smallest significant effect of a feature of typical error, for a step of its scale; None without any."""
        effects = [effect for effect in self.effects() if effect.interval is not None]
        errors = [_error(effect) * _scale(self.whether, effect) for effect in effects]
        return critical_value(len(self.whether.features)) * float(np.median(errors)) if errors else None

    def _effects(self) -> Iterator[Effect]:
        odds, amounts = ({each.feature: each for each in part.effects} for part in (self.whether, self.how_much))
        height = critical_value(len(self.whether.features))
        for name in dict.fromkeys([*amounts, *odds]):
            yield self._effect(name, odds.get(name), amounts.get(name), height)

    def _effect(self, name: str, odds: Effect | None, amounts: Effect | None, height: float) -> Effect:
        level, seen = self.level, [each for each in (odds, amounts) if each is not None]
        # A feature that a part has not selected has no effect in it, as in a fit of the selected ones without privacy.
        g, b = (each or Effect(name, 0.0, 0.0, 0.0) for each in (odds, amounts))
        unit = amounts if amounts is not None and amounts.scale is not None else seen[0]
        effect = Effect(
            name, level.mean_slope * g.coef + level.share * b.coef, center=unit.center, scale=unit.scale, trusted=False
        )
        doubt = next((each.doubt for each in seen if each.interval is None), None)
        if any(each.interval is None for each in seen):
            return replace(effect, doubt=doubt)
        estimate = level.mean_slope * _estimate(g) + level.share * _estimate(b)
        error = math.hypot(
            level.mean_slope * _error(g),
            level.share * _error(b),
            _estimate(g) * self.slope_error,
            _estimate(b) * self.share_error,
        )
        clear = abs(estimate) > height * error
        return replace(effect, estimate=estimate, standard_error=error, clear=clear, trusted=True)

    @property
    def slope_error(self) -> float:
        """The standard error of the mean of p (1 - p) mu: that of its level, and what errors of effects on mu add.

        Records with p near 1/2 differ in a feature from others, by `TILT` of its scales.
        """
        errors = (_scale(self.how_much, effect) * (effect.standard_error or 0.0) for effect in self.how_much.effects)
        return math.hypot(self.level.mean_slope_error, TILT * self.level.variance * math.hypot(*errors))

    @property
    def share_error(self) -> float:
        """The standard error of the share above 0, noise and sampling."""
        level = self.level
        return math.hypot(level.share_noise, math.sqrt(level.share * (1 - level.share) / level.n_records))


def _estimate(effect: Effect) -> float:
    assert effect.estimate is not None
    return effect.estimate


def _error(effect: Effect) -> float:
    assert effect.standard_error is not None
    return effect.standard_error


def at_level(how_much: "LinearModel", level: Level) -> "LinearModel":
    """A model of amounts whose effects have grown, with the offset of the level."""
    moved = level.moved
    return replace(
        how_much,
        effects=tuple(_grown(effect, level) for effect in how_much.effects),
        intercept=moved(how_much.intercept),
        constant=moved(how_much.constant_prediction),
        noise_floor=how_much.noise_floor and level.error_growth * how_much.noise_floor,
        prediction_range=(moved(level.range[0]), moved(level.range[1])),
        median_shift=None,
    )


def _grown(effect: Effect, level: Level) -> Effect:
    if effect.estimate is None or effect.standard_error is None:
        return replace(effect, coef=level.growth * effect.coef)
    error = math.hypot(level.error_growth * effect.standard_error, level.growth_error * effect.estimate)
    return replace(
        effect, coef=level.growth * effect.coef, estimate=level.growth * effect.estimate, standard_error=error
    )


def parts_of(whether: "LinearModel", how_much: "LinearModel") -> Parts:
    """The released numbers of two fitted parts that releases about the overall mean need."""
    whether, how_much = whether.for_statistic(), how_much.for_statistic()
    share = float(expit(whether.constant_prediction))
    # Amounts are above 0, and so is the distance of most of them from their centre, whatever noise says of their mean.
    typical = max(how_much.constant_prediction, how_much.response_scale or 0.0)
    low, high = how_much.prediction_range or (0.0, math.inf)
    return Parts(_line(whether), _line(how_much), max(low, 0.0), max(high, 0.0), typical, share)


def _line(model: "LinearModel") -> Line:
    effects = tuple(effect.coef for effect in model.effects)
    centers = tuple(float(model.all_centers[place]) for place in model._places)
    constant = model.intercept + sum(effect * center for effect, center in zip(effects, centers, strict=True))
    unshrunk = tuple(effect.value for effect in model.effects)
    spread = math.hypot(*(effect.value * _scale(model, effect) for effect in model.effects))
    return Line(tuple(model._places), centers, effects, unshrunk, constant, spread)


def _scale(model: "LinearModel", effect: Effect) -> float:
    """The scale of a feature, learned or public."""
    (place,) = model.places_of([effect.feature])
    return effect.scale or model.features[place].scale or 1.0


# What a part does not say again: it is that of the whole.
OF_THE_WHOLE = ("format", "version", "made_by", "features", "privacy", "context", "formula", "parts")
# Numbers of the level that may be below 0.
_SIGNED = ("slope", "unshrunk", "second_offset")


def parts_dict(parts: TwoParts, as_dict: "Callable[[LinearModel], dict[str, Any]]") -> dict[str, Any]:
    """Both parts, as `as_dict` writes a model, and the level."""
    models = {"whether": as_dict(parts.whether), "how_much": as_dict(parts.how_much)}
    own = {
        name: {key: value for key, value in each.items() if key not in OF_THE_WHOLE} for name, each in models.items()
    }
    level = asdict(parts.level)
    low, high = level.pop("range")
    return {**own, "level": level | {"low": low, "high": high}}


def read_parts(found: Fields | None, read: "Callable[[Fields], LinearModel]") -> TwoParts | None:
    """Both parts, as `read` reads a model, and the level; None where a file has none."""
    if found is None:
        return None
    parts = TwoParts(read(found.table("whether")), read(found.table("how_much")), _level(found.table("level")))
    found.finish()
    if parts.whether.classes is None or parts.how_much.classes is not None:
        raise FileError(f"{found.where}: 'whether' must be a yes/no model, and 'how_much' none")
    return parts


def _level(found: Fields) -> Level:
    names = [each.name for each in fields(Level) if each.name != "range"]
    numbers = {name: found.number(name, **({} if name in _SIGNED else {"least": 0})) for name in names}
    reach = found.number("low", least=0), found.number("high", least=0)
    found.finish()
    if numbers["share"] > 1 or not numbers["n_records"]:
        raise FileError(f"{found.where}: 'share' must not be above 1, and 'n_records' be above 0")
    return Level(range=reach, **numbers)

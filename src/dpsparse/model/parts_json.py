"""The two parts of a model in its file, every entry checked when they are read."""

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from dpsparse.algorithms.overall_level import Level
from dpsparse.model.two_parts import TwoParts
from dpsparse.schema import Fields, FileError

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

# What a part does not say again: it is that of the whole.
OF_THE_WHOLE = ("format", "version", "made_by", "features", "privacy", "context", "formula", "parts")
# Numbers of the level that may be below 0.
_SIGNED = ("slope", "unshrunk", "second_offset")
# What files of earlier versions lack, and its value there.
_LATER = {"second_offset": 0.0}


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
    known = {name: {"default": value} for name, value in _LATER.items()}
    numbers = {
        name: found.number(name, **known.get(name, {}), **({} if name in _SIGNED else {"least": 0})) for name in names
    }
    reach = found.number("low", least=0), found.number("high", least=0)
    found.finish()
    if numbers["share"] > 1 or not numbers["n_records"]:
        raise FileError(f"{found.where}: 'share' must not be above 1, and 'n_records' be above 0")
    return Level(range=reach, **numbers)

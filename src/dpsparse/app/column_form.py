"""The form of the columns: hundreds of rows, each with what is publicly known of a column."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpsparse.app.settings import FAMILIES, Settings, digest
from dpsparse.io.cells.grammar import Kind
from dpsparse.schema import FileError, alternatives, quoted

if TYPE_CHECKING:
    from starlette.datastructures import FormData

    from dpsparse.app.draft_table import PublicFacts
    from dpsparse.fitting import FamilyName

# What may be known of a column, with the hint of its field.
KNOWN = {
    "learn": ("learn it", ""),
    "range": ("usual range", "20 to 80"),
    "center": ("centre and scale", "50, 15"),
    "share": ("share of 1", "0.2"),
    "categories": ("categories", "north, south, east"),
}
# What may be known of a column whose kind the file declares; anything of others, also the categories of numbers.
_FITTING = {"true or false": ("learn", "share"), "text": ("learn", "categories")}
_PAIRS = {"range": ("low", "high"), "center": ("center", "scale")}
_BETWEEN = re.compile(r"\s+to\s+|\s*[,;]\s*|\s+")


@dataclass(frozen=True)
class Row:
    """A column on the form."""

    name: str
    kind: str  # as the file declares it, or "to be learned"
    used: bool  # Whether it may be selected.
    known: str = "learn"  # a key of `KNOWN`
    value: str = ""  # What is known, as it was typed.

    @property
    def choices(self) -> dict[str, tuple[str, str]]:
        """What may be known of a column of its kind, and what was chosen."""
        fitting = (*_FITTING.get(self.kind, KNOWN), self.known)
        return {key: words for key, words in KNOWN.items() if key in fitting}

    def entries(self) -> dict[str, Any]:
        """The entries of the column's section in a bounds file; FileError where they cannot be read."""
        return {} if self.known == "learn" else _ENTRIES[self.known](self)


def _pair(row: Row) -> dict[str, float]:
    numbers = [float(part) for part in _BETWEEN.split(row.value.strip()) if _is_number(part)]
    if len(numbers) != 2 or len(_BETWEEN.split(row.value.strip())) != 2:
        raise FileError(f"column {quoted(row.name)}: write two numbers, such as {KNOWN[row.known][1]}, or learn it")
    return dict(zip(_PAIRS[row.known], numbers, strict=True))


def _share(row: Row) -> dict[str, float]:
    if not _is_number(row.value.strip()):
        raise FileError(f"column {quoted(row.name)}: write the share of 1 as a number, such as 0.2, or learn it")
    return {"share": float(row.value)}


def _categories(row: Row) -> dict[str, list[str]]:
    names = [part.strip() for part in row.value.split(",") if part.strip()]
    if len(names) < 2:
        raise FileError(f"column {quoted(row.name)}: write at least two categories with commas between, or learn it")
    return {"categories": names}


_ENTRIES: dict[str, Callable[[Row], dict[str, Any]]] = {
    "range": _pair,
    "center": _pair,
    "share": _share,
    "categories": _categories,
}


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def rows_of(facts: "PublicFacts", settings: Settings) -> list[Row]:
    """The rows of a table's columns, with the choices made so far."""
    return [
        Row(name, _kind(facts, name), name not in settings.drop, *_typed(settings.public.get(name)))
        for name in facts.names
    ]


LEARNED = "to be learned"
# Kinds that a file can declare, as people call them.
_WORDS = {Kind.boolean.value: "true or false", Kind.date_ymd.value: "date"}


def _kind(facts: "PublicFacts", name: str) -> str:
    kind = facts.kinds.get(name, LEARNED)
    return _WORDS.get(kind, kind)


def declares(facts: "PublicFacts") -> str:
    """What the file declares of its columns, in a sentence.

    Examples
    --------
    >>> from dpsparse.app.draft_table import PublicFacts
    >>> declares(PublicFacts(("age", "note"), 9, 9, {"age": "number"}))
    'The file declares the kind of 1 of its 2 columns, which is taken as public; the others are learned.'
    """
    count, among = len(facts.kinds), len(facts.names)
    if not count:
        return (
            "The file does not declare the kinds of its columns (CSV files never do): a fit learns them within the "
            "guarantee."
        )
    which = f"all {among}" if count == among else f"{count:,} of its {among:,}"
    rest = "" if count == among else "; the others are learned"
    return (
        f"The file declares the kind{'' if count == 1 else 's'} of {which} columns, which "
        f"{'is' if count == 1 else 'are'} taken as public{rest}."
    )


def _typed(entries: dict[str, Any] | None) -> tuple[str, str]:
    """What somebody would type for the entries of a section."""
    if not entries:
        return "learn", ""
    for known, keys in _PAIRS.items():
        if keys[0] in entries and keys[1] in entries:
            return known, (" to " if known == "range" else ", ").join(f"{entries[key]:.12g}" for key in keys)
    if "share" in entries:
        return "share", f"{entries['share']:.12g}"
    if isinstance(entries.get("categories"), list):
        return "categories", ", ".join(entries["categories"])
    return "learn", ""


def typed_rows(facts: "PublicFacts", form: "FormData") -> list[Row]:
    """The rows as they were typed; FileError where the table has changed since the form was made."""
    if form.get("columns") != digest(facts.names):
        raise FileError("another table was chosen in another tab; look at its columns here")
    return [
        Row(
            name,
            _kind(facts, name),
            form.get(f"use-{place}") == "on",
            str(form[f"known-{place}"]) if form.get(f"known-{place}") in KNOWN else "learn",
            str(form.get(f"value-{place}", "")),
        )
        for place, name in enumerate(facts.names)
    ]


def apply_pattern(rows: Sequence[Row], pattern: str, action: str, value: str) -> list[Row]:
    """The rows with a change made to every column that fits a pattern.

    In the pattern * stands for any text. The action is "use", "leave out", or a key of `KNOWN`; the value is what is
    known of these columns.
    """
    from dpsparse.io.bounds import fits_pattern

    fitting = [row.name == pattern or fits_pattern(pattern, row.name) for row in rows]
    if not any(fitting):
        raise FileError(f"no column is like {quoted(pattern)}; write a name, in which * stands for any text: gene_*")
    change = {"known": action, "value": value} if action in KNOWN else {"used": action == "use"}
    changed = [replace(row, **change) if fits else row for row, fits in zip(rows, fitting, strict=True)]
    if action in KNOWN:
        next(row for row, fits in zip(changed, fitting, strict=True) if fits).entries()
    return changed


@dataclass(frozen=True)
class TypedResponse:
    """What was typed of the response: its family, and the label of yes, the exposure or the public centre and scale."""

    family: "FamilyName" = "linear"
    positive: str = ""  # empty for 1, true or yes
    center: str = ""  # empty for unknown, as the scale
    scale: str = ""
    exposure: str = ""  # empty for none

    def entries(self) -> dict[str, Any]:
        """The entries of ``[response]`` in a bounds file; what belongs to the other family is not read."""
        if self.family == "binomial":
            return {"positive": self.positive.strip()} if self.positive.strip() else {}
        if self.family in ("poisson", "two-part"):
            return {}
        typed = {"center": self.center.strip(), "scale": self.scale.strip()}
        for key, text in typed.items():
            if text and not _is_number(text):
                raise FileError(f"the response's {key} must be a number, or empty to have it learned")
        return {key: float(text) for key, text in typed.items() if text}


def response_of(settings: Settings) -> TypedResponse:
    """What somebody would type for the response of these settings."""
    units = {key: f"{settings.response[key]:.12g}" for key in ("center", "scale") if key in settings.response}
    return TypedResponse(settings.family, settings.positive or "", **units, exposure=settings.exposure or "")


def typed_response(form: "FormData") -> TypedResponse:
    """What was typed of the response."""
    typed = {key: str(form.get(f"response_{key}", "")) for key in ("positive", "center", "scale", "exposure")}
    return TypedResponse(FAMILIES.get(str(form.get("family")), "linear"), **typed)


def chosen(
    settings: Settings,
    rows: Sequence[Row],
    target: str | None,
    response: TypedResponse,
    person: str | None = None,
) -> Settings:
    """The settings with these choices, checked. A target of None leaves it open.

    `person` is the column that says whose row it is; None where each is a person's only one.
    """
    names = [row.name for row in rows]
    if person is not None and person not in names:
        raise FileError(f"there is no column {quoted(person)}; {alternatives(person, names)}")
    if person is not None and person == target:
        raise FileError(f"{quoted(person)} cannot be both the response and the column of people")
    if target is not None and target not in names:
        raise FileError(f"there is no column {quoted(target)}; {alternatives(target, names)}" if target else _NO_TARGET)
    entries = response.entries()
    exposure = response.exposure.strip() or None if response.family == "poisson" else None
    if exposure is not None and (exposure not in names or exposure == target):
        raise FileError(f"the exposure must be another column: {alternatives(exposure, names)}")
    if any(row.name == target and row.kind == Kind.text.value for row in rows) and "positive" not in entries:
        raise FileError(
            f"{quoted(str(target))} is text, as the file declares; choose a column of numbers as the response, or say "
            "that it is yes or no, and which value is yes"
        )
    others = [row for row in rows if row.name not in (target, person, exposure)]
    if not any(row.used for row in others):
        raise FileError("no column is left that could explain the response; tick at least one")
    public = {row.name: known for row in others if row.used and (known := row.entries())}
    settings = replace(
        settings,
        target=target,
        person=person,
        drop=tuple(row.name for row in others if not row.used),
        public=public,
        response=entries,
        family=response.family,
        exposure=exposure,
    )
    bounds = settings.bounds()
    if target is not None:
        bounds.features(names, target)
    return settings


_NO_TARGET = "choose the response: the column to be explained, such as a cost, or whether a loan was denied"

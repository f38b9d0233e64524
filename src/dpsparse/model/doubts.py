"""Why an effect has no interval and no verdict, and what would help, in words."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dpsparse.algorithms.pursuit import result
from dpsparse.model.effect import Effect, Verdict
from dpsparse.schema import listed

_MORE = "more records, a larger epsilon or fewer features to select would help"


@dataclass(frozen=True)
class Doubt:
    """A reason, and its remedy; both without a full stop.

    Examples
    --------
    >>> print(doubt_of(Effect("age", 2.0, trusted=False, doubt="few carriers")))
    too few records differ in it; more records would help, or a rare category put together with others
    """

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}"


# In words for numbers and for categories: a record has a category, and not a number.
DOUBTS = {
    result.MOVED_FAR: Doubt("the last step of the fit still moved it far", _MORE),
    result.OUTLYING: Doubt(
        "most records that tell of it are so far from their predictions that they are clipped",
        "more records, or the logarithm of the response, would help",
    ),
    result.FEW_CARRIERS: Doubt(
        "too few records differ in it",
        "more records would help, or a rare category put together with others",
    ),
    result.MAYBE_FEW: Doubt(
        "the privacy noise at this epsilon leaves open whether enough records differ in it",
        "a larger epsilon or more records would help",
    ),
    result.TOO_NOISY: Doubt("the privacy noise is too large for so many features", _MORE),
    result.NOTHING_LEARNED: Doubt("the response's scale could not be learned", "the model's own reason has the remedy"),
    result.NO_MEAN: Doubt(
        "effects on a mean cannot be had from this many records at this epsilon",
        "fewer features, more records, a larger epsilon, or effects on the typical response would help",
    ),
    result.ON_A_LUMP: Doubt(
        "so many responses are equal that the scale of Huber's regression is that of the lump",
        "effects on the mean would help",
    ),
    result.NOTHING_EXPLAINED: Doubt("the private estimates show no predictive value", _MORE),
}
# What reasons mean where rows were taken less their person's own mean: a column that is constant within people is 0.
_WITHIN = {
    result.FEW_CARRIERS: Doubt(
        "it hardly changes within people, and what does not change has no effect within them",
        "leave it out; or fit without --within (in Python, within=True) for effects between people too",
    ),
    result.MAYBE_FEW: Doubt(
        "the privacy noise at this epsilon leaves open whether it changes within people, and what does not change has "
        "no effect within them",
        "leave it out if it does not; else a larger epsilon or more people would help",
    ),
}
# Of model files that were made otherwise and do not say why.
_UNKNOWN = Doubt("its standard error cannot be trusted", _MORE)
# Reasons that hold for all effects: the model states them itself.
OF_THE_MODEL = (result.NOTHING_LEARNED, result.NOTHING_EXPLAINED)


def doubt_of(effect: Effect, within: bool = False, said: Callable[[str], str] = str) -> Doubt | None:
    """Why an effect is not reliable; None where it is, or where the method gives no errors.

    `within` says whether effects are within people, and `said` how a sentence about records is said
    (`protection.RecordsOfAPerson.said`).
    """
    words = DOUBTS | _WITHIN if within else DOUBTS
    if effect.verdict is not Verdict.NOT_TRUSTED:
        return None
    doubt = words.get(effect.doubt or "", _UNKNOWN)
    return Doubt(said(doubt.reason), said(doubt.remedy))


def doubtful(
    effects: Iterable[Effect], within: bool = False, said: Callable[[str], str] = str
) -> dict[Doubt, list[str]]:
    """The names of effects that are not reliable, by their reason; without reasons that the model states itself."""
    names: dict[Doubt, list[str]] = {}
    for effect in effects:
        doubt = doubt_of(effect, within, said)
        if doubt is not None and effect.doubt not in OF_THE_MODEL:
            names.setdefault(doubt, []).append(effect.feature)
    return names


def in_words(doubt: Doubt, names: Sequence[str]) -> str:
    """Which effects have no interval, why, and what would help; without a full stop."""
    whose = "it has" if len(names) == 1 else "each has"
    return f"{listed(names)}: {doubt.reason}, so {whose} neither an interval nor a verdict; {doubt.remedy}"

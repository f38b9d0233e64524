"""Effects that are ratios, in numbers and words: odds ratios of a yes/no response, rate ratios of a mean."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsparse.html import number
from dpsparse.io.cells.grammar import Kind
from dpsparse.schema import quoted

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel
    from dpsparse.privacy.accounting.release import Release


# Log odds that an odds ratio can be written of.
_LARGEST = 700.0
# An odds ratio nearer to 1 than this is written with more digits: in four of them it would be 1.
_NEAR_ONE = 0.01
# An interval of ratios beyond this in both directions tells nothing but that: its ends are not written out. One that is
# beyond it in one direction may be that of a feature in tiny units.
_TELLING = 1e6
# A released share of yes that noise alone explains is within three standard deviations of 0 or of 1.
_SHARE_DEVIATIONS = 3.0


def odds_ratio(log_odds: float) -> float:
    """The odds ratio of a difference in log odds; finite whatever it is.

    Examples
    --------
    >>> odds_ratio(0.0), odds_ratio(-1e9) > 0, odds_ratio(1e9) < float("inf")
    (1.0, True, True)
    """
    return math.exp(min(max(log_odds, -_LARGEST), _LARGEST))


def probability(log_odds: float) -> float:
    """The probability of yes.

    Examples
    --------
    >>> probability(0.0), round(probability(1.1), 3)
    (0.5, 0.75)
    """
    return 1 / (1 + odds_ratio(-log_odds))


def ratio_text(log_odds: float) -> str:
    """An odds ratio in about four digits; near 1 with as many as tell it from 1.

    Examples
    --------
    >>> ratio_text(0.9864), ratio_text(-2.888e-05), ratio_text(0.0)
    ('2.682', '0.999971', '1')
    """
    ratio = odds_ratio(log_odds)
    off = abs(math.expm1(log_odds)) if abs(log_odds) < 1 else 1.0
    if not 0 < off < _NEAR_ONE:
        return number(ratio)
    digits = 1 - math.floor(math.log10(off))
    return f"{ratio:.{digits}f}" if digits < 15 else "1"


def ratio_interval_text(interval: tuple[float, float] | None) -> str:
    """An interval of log odds as one of odds ratios; a dash for none.

    Examples
    --------
    >>> ratio_interval_text((-0.5, 1.2)), ratio_interval_text((-200.0, 210.0))
    ('[0.6065, 3.32]', '[<1e-06, >1e+06]')
    """
    if interval is None:
        return "-"
    low, high = interval
    if max(low, -high) < -math.log(_TELLING):
        return f"[<{1 / _TELLING:.0e}, >{_TELLING:.0e}]"
    return f"[{ratio_text(low)}, {ratio_text(high)}]"


def label_of_yes(model: "LinearModel") -> str:
    """The label of yes, as a sentence has it."""
    assert model.classes is not None
    return "yes" if model.target_kind == Kind.boolean else model.classes[1]


def names_label(model: "LinearModel") -> bool:
    """Whether yes is a label that was given, and every other one is no."""
    return model.classes is not None and model.classes[0] == f"not {model.classes[1]}"


def odds_of_yes(model: "LinearModel") -> str:
    """The odds that effects multiply: "the odds that denied is yes"."""
    return f"the odds that {model.target} is {label_of_yes(model)}"


def share_release(model: "LinearModel") -> "Release | None":
    """The release of the share of yes; None where there is none."""
    return next((each for each in model.privacy.releases if each.name.endswith("share of yes")), None)


def share_of_yes(model: "LinearModel") -> str:
    """The released share of yes in a sentence; empty where none was released."""
    share = model.share_of_yes
    return "" if share is None else f"about {number(float(f'{100 * share:.2g}'))} % of them {label_of_yes(model)}"


def hardly_any(model: "LinearModel") -> str:
    """That hardly any response is yes, or no, by the released share, and what to look at; empty where many are."""
    share, release = model.share_of_yes, share_release(model)
    if share is None or release is None or model.classes is None:
        return ""
    # With neighbours that blank a record the deviation is half of it.
    noise = release.scale / release.sensitivity / model.privacy.n_records
    if _SHARE_DEVIATIONS * noise < share < 1 - _SHARE_DEVIATIONS * noise:
        return ""
    which = "yes" if share < 0.5 else "no"
    text = (
        f"by the released share hardly any response in {quoted(model.target)} is {which}, no more than the noise would "
        "show of none: nothing can be learned of them"
    )
    if names_label(model) and share < 0.5:
        text += (
            f". Is {quoted(model.classes[1])} written as in the table? Every other label counted as no; dpsparse check "
            "with --target and --positive tells the table's holder"
        )
    return text


@dataclass(frozen=True)
class RatioWords:
    """The words of effects whose exponentials are ratios.

    `ratio`: one of them: "odds ratio".
    `log`: what effects themselves are of: "log odds".
    `of`: what a one-unit increase multiplies, in a sentence: "the odds that denied is yes".
    `model`: the model without privacy: "logistic regression".
    """

    ratio: str
    log: str
    of: str
    model: str

    @property
    def heading(self) -> str:
        """Several of them: "Odds ratios"."""
        return f"{self.ratio.capitalize()}s"


def ratio_words(model: "LinearModel") -> RatioWords | None:
    """The words of a model whose effects are ratios; None where they are differences."""
    if model.ratio is None:
        return None
    if model.classes is None:
        return RatioWords(model.ratio, "log of the mean", mean_of(model), "Poisson regression")
    return RatioWords(model.ratio, "log odds", odds_of_yes(model), "logistic regression")


def mean_of(model: "LinearModel") -> str:
    """The mean that effects multiply: "the mean of visits", or "the rate of visits per unit of years"."""
    if model.exposure is not None:
        return f"the rate of {model.target} per unit of {model.exposure}"
    return f"the mean of {model.target}"

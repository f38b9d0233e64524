"""Effects that are ratios, in words: odds ratios of a yes/no response, rate ratios of a mean."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsparse.model.exposures import is_log_mean
from dpsparse.model.odds import odds_of_yes

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel


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
    if is_log_mean(model):
        return RatioWords(model.ratio, "log of the mean", mean_of(model), "Poisson regression")
    return RatioWords(model.ratio, "log odds", odds_of_yes(model), "logistic regression")


def mean_of(model: "LinearModel") -> str:
    """The mean that effects multiply: "the mean of visits", or "the rate of visits per unit of years"."""
    if model.exposure is not None:
        return f"the rate of {model.target} per unit of {model.exposure}"
    return f"the mean of {model.target}"

"""Variables as wholes: a column of categories, or one with its gap, tested by all of its effects together."""

from collections.abc import Sequence
from dataclasses import dataclass

from dpsparse.io.table_features import Feature
from dpsparse.model.effect import Effect, p_words
from dpsparse.schema import listed


@dataclass(frozen=True)
class Variable:
    """A selected column with several effects.

    Parameters
    ----------
    name : str
        The column.
    features : tuple of str
        The names of its effects.
    p_value : float
        Of the hypothesis that all of them are 0, by a Wald test on their released covariance.
    clear : bool
        Whether that is significant at the 5 % family-wise level (Bonferroni over all columns).
    without : tuple of str, default=()
        The names of its effects that are not reliable: the test is of the others alone.
    """

    name: str
    features: tuple[str, ...]
    p_value: float
    clear: bool
    without: tuple[str, ...] = ()


def in_words(variable: Variable, baseline: str | None) -> str:
    """What a variable says as a whole, without a full stop.

    Examples
    --------
    >>> print(in_words(Variable("region", ("region=north", "region=west"), 0.00002, True), "south"))
    'region': 2 effects against 'south', together significant (p = 2.0e-05)
    """
    against = "" if baseline is None else f" against {listed([baseline])}"
    verdict = "significant" if variable.clear else "not significant"
    said = f"{len(variable.features)} effects{against}, together {verdict} ({p_words(variable.p_value)})"
    if variable.without:
        are = "is" if len(variable.without) == 1 else "are"
        said += f", without {listed(variable.without)}, which {are} not reliable"
    return f"{listed([variable.name])}: {said}"


def n_variables(features: Sequence[Feature], effects: Sequence[Effect]) -> int:
    """How many columns of the table some effects are of."""
    columns = {feature.name: feature.column for feature in features}
    return len({columns[effect.feature] for effect in effects})

"""What the releases about a raw table cost, from public numbers alone, and their slots.

At a share s of rho a count in C histograms is known to sqrt(C / (s rho)) records; a share in proportion to
C / (rho n^2) therefore keeps that noise at a fixed share of the records, within limits at both ends.
"""

import math
from dataclasses import dataclass

from dpsparse.io.cells.grammar import N_BUCKETS, CellClass
from dpsparse.privacy.accounting.gdp import TV_SLACK_SHARE
from dpsparse.privacy.accounting.release import GaussianMechanism, PartitionSelection, Slot
from dpsparse.privacy.mechanisms.partition import RECORD_STEPS

# The most numbers that a release draws for one column.
_NUMBERS = {"kinds": len(CellClass), "distinct values": 1, "categories": N_BUCKETS}
SLOTS = tuple(_NUMBERS)
# The share of the columns that may be text which prices assume to be text: they are fixed before the vote.
_TEXT_SHARE = 1 / 3


@dataclass(frozen=True)
class TableReleases:
    """The releases about a raw table, as a fit plans them.

    Parameters
    ----------
    preparation : tuple of (str, float)
        Names and shares of rho of the releases, before all others, that tell what the columns are.
    naming, failure : float
        The share of rho and the failure probability of the release of the selected features' names; 0 for none.
    """

    preparation: tuple[tuple[str, float], ...] = ()
    naming: float = 0.0
    failure: float = 0.0


def preparation_shares(n, rho, n_columns, n_maybe_text, sparsity):
    """Shares of rho of the releases about a raw table.

    Parameters
    ----------
    n : int
        Records.
    rho : float
        What a record may cost by zCDP.
    n_columns : int
        Columns of features, and the response.
    n_maybe_text : int
        Columns of features that vote or are declared as text.
    sparsity : int
        The most features of the result.

    Returns
    -------
    dict of str to float
        "kinds", "distinct values", "categories", "names"; 0 where there is nothing to release.

    Examples
    --------
    >>> from dpsparse.learning.prices import preparation_shares
    >>> shares = preparation_shares(10_000, 0.03, 20, 19, 5)
    >>> [name for name, share in shares.items() if share > 0.02]
    ['kinds', 'categories', 'names']
    """
    texts = max(1.0, _TEXT_SHARE * n_maybe_text)

    def share(target, low, high):
        return min(max(target / (rho * n**2), low), high)

    return {
        # Noise of a sixtieth of the records in each class: gaps in a thirtieth of them are seen, and kinds need less.
        "kinds": share(4_000 * n_columns, 0.002, 0.05),
        # A twentieth of the records, where a fifth decides.
        "distinct values": share(200 * texts, 0.001, 0.01) if n_maybe_text else 0.0,
        # Buckets of 2 % of the records are candidates.
        "categories": share(3e4 * texts, 0.005, 0.05) if n_maybe_text else 0.0,
        # Names of 3 % of the records, if two selected columns are text.
        "names": share(4e4 * min(sparsity, 3), 0.004, 0.03) if n_maybe_text else 0.0,
    }


def names_failure(guarantee):
    """The failure probability of a fit's names: small in the share of delta that the Gaussian account keeps.

    A twentieth of that share at three times the fit's epsilon, and at epsilon 3 at least: so seven fits of epsilon 1
    in a grant of epsilon 3 use a third of it, and discreteness has the rest. Small probabilities are cheap, since the
    threshold grows with the square root of their logarithm.

    Examples
    --------
    >>> from dpsparse.learning.prices import names_failure
    >>> from dpsparse.privacy.guarantee import Guarantee
    >>> names_failure(Guarantee(1.0, 1e-6)) < 1e-11
    True
    """
    epsilon = min(3 * max(1.0, guarantee.epsilon), 60.0)
    return TV_SLACK_SHARE * guarantee.delta / (1 + math.exp(epsilon)) / 20


def preparation_slot(name, rho, n, failure=None):
    """The slot of a release about a raw table.

    However many columns take part, discreteness is at most that of one column under "zero-out-one": the number of
    draws grows like the number of columns, and so does the variance of their noise. Twice the draws cover rounding.

    Parameters
    ----------
    name : str
        One of `SLOTS`, or "names".
    rho : float
        The price.
    n : int
        Records.
    failure : float or None
        The failure probability of names.

    Returns
    -------
    Slot
        For a commitment.
    """
    scale = RECORD_STEPS / math.sqrt(2 * rho)
    if name == "names":
        return Slot(name, PartitionSelection.drawn(scale=scale, size=2 * n, rho=rho, failure_probability=failure))
    return Slot(name, GaussianMechanism.drawn(scale=scale, size=2 * _NUMBERS[name], rho=rho))

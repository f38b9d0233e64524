"""One account for several fits on parts of the rows."""

from dataclasses import replace

from dpsparse.privacy.accounting.commitment import Commitment, Price
from dpsparse.privacy.accounting.meter import Meter
from dpsparse.privacy.accounting.record import Release
from dpsparse.privacy.guarantee import Guarantee


def in_part(commitment: Commitment, part: int) -> tuple[Price, ...]:
    """The prices of a commitment on all of its rows, once these are a part of a larger table."""
    if any(price.part is not None for price in commitment.prices):
        raise ValueError("a fit that divides its rows cannot be part of another")
    return tuple(replace(price, part=part) for price in commitment.prices)


class MeterShare(Meter):
    """A share of a meter: what is charged here is charged there, as read from one part of its rows.

    The whole meter has committed to the prices of all its shares in order, and refuses anything else.

    Parameters
    ----------
    whole : Meter
        Pays before every release.
    promise : Promise
        What the share is planned by.
    n_records : int
        The public number of rows of the part.
    part : int
        Its number; parts are disjoint.
    name : str
        Put before the names of the releases.
    """

    def __init__(self, whole: Meter, guarantee: Guarantee, n_records: int, *, part: int, name: str) -> None:
        super().__init__(guarantee, n_records, whole.source)
        self._whole, self._part, self._name = whole, part, name

    def charge(self, *releases: Release) -> None:
        """Pay from the whole meter for releases about to be made, all or none; it refuses another process."""
        self._whole.charge(
            *(replace(release, name=f"{self._name}: {release.name}", part=self._part) for release in releases)
        )
        self._releases = (*self._releases, *releases)

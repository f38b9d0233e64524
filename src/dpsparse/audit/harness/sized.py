"""A pursuit that plans as if its table were larger, so that a small table has every release there is."""

from dpsparse import PrivateSparseRegressor
from dpsparse.algorithms.pursuit import settings
from dpsparse.audit.harness.patching import replaced


class SizedPursuit(PrivateSparseRegressor):
    """A pursuit whose N = n sqrt(rho), the size of a table as privacy sees it, is a number given to the class.

    N decides which releases there are and how a budget is shared among them. The budget is that of the guarantee
    all the same, and so are the number of records, every sensitivity and every scale of noise.
    """

    planned_size = 0.0

    def fit(self, X, y=None):
        """Fit with the schedule of that size."""
        with replaced(settings.Settings, size=property(lambda _: self.planned_size)):
            return super().fit(X, y)


def at_size(size):
    """The class of pursuits that plan for one size."""
    return type(f"PursuitAt{size}", (SizedPursuit,), {"planned_size": float(size)})

"""What rows share whose responses are in this process, wherever their features are."""

import numpy as np

from dpsparse.engine import config
from dpsparse.engine.arrays import host
from dpsparse.engine.protocols import NOT_FINITE
from dpsparse.engine.quantize import check_exact
from dpsparse.engine.queries import nonfinite_blocks
from dpsparse.engine.session import LocalSession, total
from dpsparse.engine.threads import items_per_task, parallel_map, slices
from dpsparse.engine.vector_sums import subtract_columns


class LocalRows:
    """A set of rows of X with their responses: the base of `protocols.Rows` here. Subclasses read the features.

    Parameters
    ----------
    y : ndarray
        Responses in float64.
    n_features : int
        Columns of X.
    """

    def __init__(self, y, n_features):
        self.y = y
        self.n_records, self.n_features = len(y), n_features
        check_exact(self.n_records)

    def part(self, index, of):
        """Every `of`-th row from row `index` on: part `index` of `of` disjoint parts."""
        return self.take(slice(index, None, of))

    def blocks(self):
        """Slices that divide the records among threads, for what is computed from a few columns."""
        sizes = config.current
        return slices(self.n_records, items_per_task(self.n_records, sizes.least_records, sizes.most_records))

    def evaluate(self, query, *public):
        """Sum what a query gives over blocks of rows."""
        blocks = self.blocks()
        if len(blocks) < 2:
            return query(self, *public)
        return total(parallel_map(lambda block: query(self.take(block), *public), blocks))

    def session(self, quantizer, *, constant=False, check_finite=True, on_progress=None):
        """Open a session; see `protocols.Rows`."""
        return LocalSession(self, quantizer, constant, self.quantized(quantizer, check_finite))

    def require_finite(self):
        """Raise ValueError with a constant text unless all features are finite."""
        if self.evaluate(nonfinite_blocks):
            raise ValueError(NOT_FINITE)

    def residuals(self, coef, support, quantizer):
        """Responses minus predictions in float64, one feature after another in the order of `support`.

        Parameters
        ----------
        coef : ndarray of shape (n_features,)
            Zero outside the support.
        support : sequence of int
            The features to read.
        quantizer : Quantizer
            Gives the units of the features, and clips them; it does not round them.
        """
        columns = (quantizer.clipped(self.column(j), j) for j in support)
        with np.errstate(all="ignore"):
            return host(subtract_columns(self.y, columns, (coef[j] for j in support)))

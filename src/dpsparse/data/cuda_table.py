"""Features that a GPU reads. Nothing of torch or triton is imported until such features are opened."""

from typing import Any

from dpsparse.data.remote_table import RemoteTable
from dpsparse.data.streamed import Streamed
from dpsparse.engine.protocols import Rows


class CudaTable(RemoteTable):
    """A torch CUDA tensor, an array of CuPy or its like, or `Streamed`."""

    @staticmethod
    def _open(X: Any) -> Any:
        from dpsparse.engine.cuda.cuda_features import on_card, streamed

        return streamed(X.array, X.device) if isinstance(X, Streamed) else on_card(X)

    def rows(self, y: Any, *, check_before_release: bool = True) -> Rows:
        """The rows with their responses."""
        features = self._features
        from dpsparse.engine.cuda.cuda_rows import CudaRows

        return CudaRows(features, y, check_before_release)

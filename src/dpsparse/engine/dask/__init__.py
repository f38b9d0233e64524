"""Rows on a cluster of dask."""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError:
    raise ImportError("dask arrays and data frames need dask: pip install 'dpsparse[dask]'") from None

"""Rows on a GPU."""

try:
    import torch  # noqa: F401
    import triton  # noqa: F401
except ImportError:
    raise ImportError("features on a GPU need torch and triton: pip install 'dpsparse[cuda]'") from None

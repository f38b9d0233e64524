"""Data to try the methods on."""

from dpsparse.datasets.synthetic import make_heavy_tailed

__all__ = ["make_heavy_tailed"]

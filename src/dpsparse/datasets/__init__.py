"""Data to try the methods on."""

from dpsparse.datasets.genes import fetch_metabric, fetch_nci60
from dpsparse.datasets.synthetic import make_heavy_tailed

__all__ = ["fetch_metabric", "fetch_nci60", "make_heavy_tailed"]

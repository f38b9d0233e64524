"""Iterative hard thresholding: the paper's private loop and the non-private reference."""

"""Iterative hard thresholding: the paper's private loop."""

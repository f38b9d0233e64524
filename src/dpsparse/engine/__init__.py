"""Exact sums over rows. Engines never see epsilon."""

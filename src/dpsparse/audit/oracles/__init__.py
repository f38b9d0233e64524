"""Computations that the checks compare the package with; they share no code with it."""

"""Rows in memory, dense or sparse, and the compiled passes over them."""

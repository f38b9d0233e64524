"""Rows whose features stay on a disk."""

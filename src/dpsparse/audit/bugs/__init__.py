"""Planted bugs, each of which some check must catch."""

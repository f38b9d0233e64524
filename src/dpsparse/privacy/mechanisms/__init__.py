"""Mechanisms that release a value privately, each charged to a meter first."""

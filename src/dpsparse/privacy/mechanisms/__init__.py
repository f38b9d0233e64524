"""Mechanisms that release a value privately. Each charges a meter before it draws."""

"""The input of a fit, X and y: its kind of table, its validation, its public units."""

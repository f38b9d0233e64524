"""What a caller passes as X and y: which kind of table it is, its validation, its public units."""

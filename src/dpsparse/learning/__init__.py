"""What a fit learns of a raw table before it reads numbers: kinds of columns and categories of text."""

"""What a fit learns of a raw table before it reads numbers: kinds of columns, categories of text, the responses."""

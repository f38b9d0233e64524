"""A privacy budget kept over many fits, on disk or in a database."""

"""Tables in files: one reader a format."""

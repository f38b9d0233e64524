"""Raw tables: text cells read one by one, so that a record's values depend on that record alone."""

"""Files: tables, stores, bounds, figures."""

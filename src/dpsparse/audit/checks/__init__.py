"""The checks of the audit, each a function that gives findings."""

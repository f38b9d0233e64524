"""The audit's checks, one family a file."""

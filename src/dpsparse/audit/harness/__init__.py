"""The tools of the checks: hostile tables, a tape in the place of the noise."""

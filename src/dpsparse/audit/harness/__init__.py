"""What the checks run fits with: hostile tables, a tape in the place of the noise, edits of the source."""

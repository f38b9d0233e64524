"""`dpsparse app`: a local page from a file to a report. A client of the functions that the command line uses."""
